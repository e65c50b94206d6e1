"""What is known of a product of contractions of normed rows, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from varprop.encodings.trigonometric import LABELS, is_free

from .directions import on_sphere, shared_group, uniform_mean
from .distinct import distinct_mean
from .expansion import LIMIT, Expansion
from .masked import masked_moment
from .pairings import ROWS, Product
from .reading import Parts, independent, read, split, vanishes
from .record import Record
from .sinusoidal import SinusoidalRows


class Place(NamedTuple):
    """Positions by label and a channel, None for a score."""

    positions: Mapping[str, int]
    channel: int | None


class NormedRows:
    """The rows y that come out of a norm, for a specification of single numbers."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._found: dict[Any, float | None] = {}

    def expectation(self, parts: Parts, tokens: str, place: Place | None = None) -> float | None:
        """E of a product of contractions of rows, or None if it is not known.

        Args:
            parts: contractions of y_t, y_s, y_r, summed over channels or at a free one.
            tokens: a letter for each of t, s, r; equal ones hold the same token.
            place: where; None averages over distinct positions and over the free channel.
        """
        key = parts, tokens, None if place is None else (*place.positions.items(), place.channel)
        if key not in self._found:
            self._found[key] = self._expectation(parts, tokens.ljust(ROWS, "-"), place)
        return self._found[key]

    def _expectation(self, parts: Parts, tokens: str, place: Place | None) -> float | None:
        record = self.record
        shown = {name[-1] for part in parts for name, _ in part if name[0] == "y"}
        if place is None and len(shown) > record.length:
            return None
        if vanishes(record, parts, tokens):
            return 0.0
        turned = [part for part in parts if any(name[0] != "y" for name, _ in part)]
        if turned:
            # A rotation keeps the sum over channels of squares, and nothing else is known of it.
            whole = len(turned) == 2 and turned[0] == turned[1] and is_free(turned[0])
            if not whole or place is not None:
                return None
            row = (next(part for part in turned[0] if part[0][0] == "y")[0], (-1,))
            parts = (*(part for part in parts if part not in turned), (row,), (row,))
        product = read(record, parts, tokens)
        factor = 1.0
        if product.free is not None and (place is None or record.exchangeable):
            product = Product(tuple(sorted((*product.closed, product.free))))
            factor = 1 / record.width
        return self._value(product, tokens, factor, place)

    def _value(
        self, product: Product, tokens: str, factor: float, place: Place | None
    ) -> float | None:
        record = self.record
        if record.layernorm and any(sum(vertex) == 1 for vertex in product.closed):
            return 0.0  # a free entry that is averaged over channels
        rest, powers = split(product)
        if record.constant == 0:
            factor *= float(record.width ** sum(powers))
            powers = [0] * ROWS
        found: float | None
        if not any(powers) and not rest.vertices():
            found = 1.0
        elif record.gaussian and record.exchangeable:
            found = uniform_mean(record, rest, powers, tokens)
        elif not independent(record, rest, powers, tokens):
            found = None
        elif record.gaussian:
            found = self._sinusoidal(rest, powers, place)
        else:
            found = None if rest.vertices() else self._lengths(powers, place)
        return None if found is None else factor * found

    def spread(
        self, terms: Sequence[tuple[Any, str, Parts]], is_vector: bool, positions: int
    ) -> float | None:
        """The variance over places of a sum of products, for rows with sinusoidal positions.

        Args:
            terms: factor, tokens and contractions of each product.
            is_vector: whether a place has a channel.
            positions: how many positions a place has, 1 or 2.
        """
        kept: list[tuple[float, Product, list[int]]] = []
        for factor, tokens, parts in terms:
            held = tokens.ljust(ROWS, "-")
            if not factor or vanishes(self.record, parts, held):
                continue
            product, powers = split(read(self.record, parts, held))
            if not self.record.gaussian or not independent(self.record, product, powers, held):
                return None
            kept.append((factor, product, powers))
        return self._waves.spread(kept, is_vector, positions) if kept else 0.0

    def symbolic(self, parts: Parts, tokens: str, width: Any) -> Any:
        """The same with eps = 0 as an expression in d, or None where that is not known."""
        record, tokens = self.record, tokens.ljust(ROWS, "-")
        if vanishes(record, parts, tokens):
            return 0
        if record.eps or any(name[0] != "y" for part in parts for name, _ in part):
            return None
        product = read(record, parts, tokens)
        factor = 1
        if product.free is not None:
            product, factor = Product(tuple(sorted((*product.closed, product.free)))), 1 / width
        if record.layernorm and any(sum(vertex) == 1 for vertex in product.closed):
            return 0
        rest, powers = split(product)
        if not rest.closed:
            return factor * width ** sum(powers)
        active = [i for i in range(ROWS) if rest.count(i)]
        uniform = record.gaussian and record.exchangeable and not record.level
        if not uniform or shared_group(record, active, tokens) != ():
            return None
        return factor * width ** sum(powers) * on_sphere(rest, (0,) * ROWS, width, record.layernorm)

    def _sinusoidal(
        self, product: Product, powers: Sequence[int], place: Place | None
    ) -> float | None:
        if place is None:
            return self._waves.average(product, powers)
        positions = {LABELS.index(label): at for label, at in place.positions.items()}
        return self._waves.at(product, powers, positions, place.channel)

    @cached_property
    def _waves(self) -> SinusoidalRows:
        return SinusoidalRows(self.record)

    @cached_property
    def expansion(self) -> Expansion:
        """Of lengths of rows that are not Gaussian."""
        return Expansion(self.record)

    def _lengths(self, powers: Sequence[int], place: Place | None) -> float | None:
        """E of a product of |y|^(2 power) of independent rows that are not Gaussian."""
        record = self.record
        if record.degrees == 0:
            return 0.0
        if self.is_mixture:
            return prod([float(record.width) ** k * masked_moment(record, k) for k in powers if k])
        if self.unknown is not None:
            return None
        shown = [(LABELS[i], k, self.expansion.moment(k)) for i, k in enumerate(powers) if k]
        size = float(record.width) ** sum(powers)
        if place is not None and not record.exchangeable:
            return size * prod(float(line[place.positions[label]]) for label, _, line in shown)
        return size * distinct_mean([line for _, _, line in shown], record.length)

    @property
    def is_mixture(self) -> bool:
        """Whether rows are Gaussian but for their masks, with nothing else in them."""
        record = self.record
        plain = record.exchangeable and not record.layernorm and record.mean == 0
        return plain and not record.cumulants and record.dropout > 0

    @cached_property
    def unknown(self) -> str | None:
        """Why lengths that have no quadrature are not expanded either; None if they are."""
        if self.expansion.moments is None:
            return "not known: rows that are not Gaussian, at too many positions"
        if self.expansion.bound > LIMIT:
            return (
                "not known: rows that are not Gaussian, and whose variance varies too much for an "
                f"expansion (E h^4 = {self.expansion.bound:.2g}, at most {LIMIT:g})"
            )
        return None
