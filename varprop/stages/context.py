"""A specification as the source of everything a closed form needs: structure, scalars, averages.

The same code serves numbers (floats and arrays) and formulas (SymPy); only the kind of number
differs.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from varprop.encodings import Encoding, place_average
from varprop.encodings.trigonometric import wave_sum
from varprop.expressions import NUMERIC, Functions
from varprop.initializers.distributions import Distribution
from varprop.positions import Learned, Rotary, Sinusoidal
from varprop.spec import TransformerSpec

from .derivation import Parts, closed_form
from .normed import Normed
from .place_polynomials import Average, PlacePolynomial, exchanged
from .rows import UNSCALED, Rows, Source, classify, is_zero
from .stage import Stage, narrowed
from .structure import ABSENT, GENERAL, IDENTITY, Structure


class Context:
    """What the stages of one specification share."""

    def __init__(self, spec: TransformerSpec, functions: Functions = NUMERIC) -> None:
        self.spec, self.functions = spec, functions
        self.sizes = spec.sizes(functions)
        self._rows: dict[str, Rows] = {}
        self._structures: dict[str, Structure] = {}
        self._distributions: dict[str, Distribution] = {}
        # Which cumulants vanish is seen from numbers: symbolic ones take long to simplify to 0.
        self._numeric = Context(spec) if functions.symbolic else self

    def value(self, field: str) -> Any:
        """A number of the spec, or its expression."""
        return self.spec.number(field, self.functions)

    def distribution(self, field: str) -> Distribution:
        """What a field draws."""
        if field not in self._distributions:
            self._distributions[field] = self.spec.distribution(field, self.functions)
        return self._distributions[field]

    def rows(self, kind: str) -> Rows:
        """The random part of the rows that a stage reads, before any norm."""
        kind = "input" if kind in ("stream", "normed") else kind
        if kind not in self._rows:
            self._rows[kind] = self._compose(kind)
        return self._rows[kind]

    def _compose(self, kind: str) -> Rows:
        own: list[Source] = []
        token: list[Source] = []
        common: list[Source] = []
        if kind != "position":
            scale = UNSCALED if kind == "table" else self.value("embedding_scale")
            token.append(self._source("embedding", scale))
        if kind in ("position", "input") and isinstance(self.spec.position, Learned):
            own.append(self._source("position"))
        if kind == "input" and self.spec.segment is not None:
            common.append(self._source("segment"))
        return Rows(own, token, common, self.value("dropout") if kind == "input" else 0)

    def structure(self, kind: str) -> Structure:
        """The shape of the closed forms of stages that read these rows."""
        if self._numeric is not self:
            return self._numeric.structure(kind)
        if kind not in self._structures:
            self._structures[kind] = self._structure(kind)
        return self._structures[kind]

    def _structure(self, kind: str) -> Structure:
        spec = self.spec
        normed = kind == "normed" or (kind == "stream" and spec.norm is not None)
        position = ABSENT
        if isinstance(spec.position, Sinusoidal) and kind not in ("table", "scaled"):
            position = "sinusoidal"
        elif isinstance(spec.position, Rotary):
            position = "rotary"
        return Structure(
            own=ABSENT if normed else self.rows(kind).kind(),
            position=position,
            mask=position == "sinusoidal" and kind != "position" and not is_zero(spec.dropout),
            normed=normed,
            query=self._projection_kind("query"),
            key=self._projection_kind("key"),
            query_bias=self._bias_kind("query_bias"),
            key_bias=self._bias_kind("key_bias"),
            shared=spec.shared_qk,
        )

    def _projection_kind(self, field: str) -> str:
        if getattr(self.spec, field) == IDENTITY:
            return IDENTITY
        return classify([self._source(field)])

    def _bias_kind(self, field: str) -> str:
        source = self._source(field)
        return ABSENT if {1, 2} <= source.vanishing() else classify([source])

    def _source(self, field: str, scale: Any = UNSCALED) -> Source:
        return Source(self.distribution(field), scale)

    def is_too_long(self, stage: Stage) -> bool:
        """Whether third and fourth cumulants of a stage are left underived.

        With sinusoidal positions, a table and weights (or biases) that both have a mean or a skew
        give a score's fourth cumulant a million terms and more if the projection is shared or
        dropout masks the positions.
        """
        structure = self.structure(stage.rows)
        drawn = (structure.query, structure.key, structure.query_bias, structure.key_bias)
        skewed = structure.own == GENERAL and GENERAL in drawn
        shared = structure.shared or structure.mask
        return not stage.is_vector and structure.position == "sinusoidal" and skewed and shared

    def polynomial(self, stage: Stage, what: str, tokens: str) -> PlacePolynomial:
        """A closed form of a stage with its scalars put in, where ``tokens`` share tokens."""
        repeats, rows = len(set(tokens)) < len(tokens), self.rows(stage.rows)
        shared = self._numeric.rows(stage.rows).shared_kind(repeats) if tokens[1:] else ABSENT
        structure = narrowed(self.structure(stage.rows), stage.definition, shared)
        form = closed_form(stage.definition, structure, what)
        return PlacePolynomial(form(lambda name: self._scalar(name, rows, tokens)))

    def _scalar(self, name: str, rows: Rows, tokens: str) -> Any:
        if name in self.sizes:
            return self.sizes[name]
        head, _, tail = name.partition("_")
        if head == "x":
            return rows.cumulant(name, tokens)
        what, _, order = tail.rpartition("_")
        return self.distribution(f"{head}_bias" if what == "bias" else head).cumulant(int(order))

    @cached_property
    def encodings(self) -> Any:
        """The fixed encoding, or an array of them where sizes are arrays; None if there is none."""
        position = self.spec.position
        if isinstance(position, Sinusoidal):
            width = self.spec.d_model
            return _broadcast_encoding("sinusoidal", width, width, position.base)
        if isinstance(position, Rotary):
            width = self.spec.d_head
            return _broadcast_encoding("rotary", width, position.channels(width), position.base)
        return None

    @cached_property
    def points(self) -> list[Context]:
        """Contexts of single numbers: of each point where the spec holds arrays, else this one."""
        if self._numeric is not self:
            return self._numeric.points
        return [Context(point) for point in self.spec.points()] if self.spec.shape else [self]

    @cached_property
    def normed(self) -> Normed:
        """What is known of the rows that a norm puts out."""
        return Normed(self)

    @cached_property
    def average(self) -> Average:
        """What gives the mean of a product of contractions over distinct positions and channels."""
        if not self.functions.symbolic and isinstance(self._averages, Averages):
            return self._averages.__getitem__
        return self._encoding_average

    def average_after_norm(self, tokens: str) -> Average:
        """The same where contractions hold normed rows, and ``tokens`` share tokens."""
        return lambda parts: self.normed.average(parts, tokens, self.average)

    def _encoding_average(self, parts: Parts) -> Any:
        if self.functions.symbolic:
            from .symbolic import place_mean

            return place_mean(self, exchanged(parts))
        if isinstance(self._averages, Averages):
            return self._averages[parts]
        return np.frompyfunc(lambda one: one[parts], 1, 1)(self._averages).astype(float)

    @cached_property
    def _averages(self) -> Any:
        """The averages for the fixed encoding; an array of them where sizes are arrays."""
        lengths = self.spec.seq_len
        if isinstance(self.encodings, Encoding) and isinstance(lengths, int):
            return averages_of(self.encodings, lengths)
        each = np.frompyfunc(lambda encoding, n: averages_of(encoding, int(n)), 2, 1)
        return each(self.encodings, lengths)

    def at(self, parts: Parts, place: dict[str, int], channel: int | None) -> Any:
        """The value of a product of contractions at one place."""
        value = 1.0
        for part in parts:
            value *= wave_sum(self.encodings, part, channel).at(place)
        return value


class Averages(dict[Parts, float | None]):
    """Averages over places for one encoding and length, each computed when it is first asked for.

    Products that differ by the names of their positions only average alike.
    """

    def __init__(self, encoding: Encoding, seq_len: int) -> None:
        super().__init__()
        self._encoding, self._seq_len = encoding, seq_len

    def __missing__(self, parts: Parts) -> float | None:
        value = self[parts] = place_average(self._encoding, exchanged(parts), self._seq_len)
        return value


averages_of = lru_cache(maxsize=256)(Averages)


def _broadcast_encoding(kind: str, width: Any, turning: Any, base: Any) -> Any:
    def make(w: Any, t: Any, b: Any) -> Encoding:
        return Encoding(kind, int(w), int(t), float(b))

    if all(np.ndim(value) == 0 for value in (width, turning, base)):
        return make(width, turning, base)
    return np.frompyfunc(make, 3, 1)(width, turning, base)
