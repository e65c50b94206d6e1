"""Joint cumulants of the rows of a sequence, as numbers: the arguments of the closed forms."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np

from .structure import ABSENT, GENERAL, SYMMETRIC

LABELS = "tsr"
Counts = tuple[int, ...]
_PIECE = re.compile(r"([tsr])(\d+)(?:m(\d+))?")


class Source(NamedTuple):
    """One summand of a row: ``scale`` times entries with these cumulants."""

    entry: Callable[[int], Any]
    scale: Any = 1

    def cumulant(self, order: int) -> Any:
        """scale^order times the entry's cumulant.

        Raises:
            OverflowError: if it is too small for a float, as well as if it is too large.
        """
        entry = self.entry(order)
        if self.scale is UNSCALED:
            return entry
        value = self.scale**order * entry
        numeric = isinstance(value, float | np.ndarray)
        if numeric and np.any((np.abs(value) < SMALLEST) & (self.scale * entry != 0)):
            raise OverflowError
        return value

    def vanishes(self, order: int) -> bool:
        """Whether the cumulant is 0 whatever the scale's size."""
        return is_zero(self.entry(order)) or is_zero(self.scale)


UNSCALED = 1
SMALLEST = sys.float_info.min
"""Smaller numbers lose digits, or are 0 by mistake."""


class Rows:
    """The random part of the input rows: scaled embedding + learned position + segment, times
    masks.

    ``own`` are cumulants (order -> value) of what each row draws for itself, ``token`` of what
    rows with the same token share, ``common`` of what all rows share; a mask keeps an entry with
    probability 1 - dropout and divides it by that.
    """

    def __init__(
        self, own: list[Source], token: list[Source], common: list[Source], dropout: Any = 0
    ) -> None:
        self._own, self._token, self._common, self._dropout = own, token, common, dropout
        self._noise: dict[tuple[str, Counts], Any] = {}
        self._moments: dict[tuple[str, Counts], Any] = {}

    def kind(self) -> str:
        """Which cumulants of a row's entry vanish."""
        return _kind(self._own + self._token + self._common)

    def shared_kind(self, repeats: bool) -> str:
        """Which joint cumulants of two rows' entries vanish."""
        kind = _kind((self._token if repeats else []) + self._common, from_order=2)
        return GENERAL if kind != ABSENT and self.kind() == GENERAL else kind

    def cumulant(self, name: str, tokens: str) -> Any:
        """The value of a scalar such as ``x_t2_s1``;

        ``tokens`` names each row's token ("00": the same).
        """
        counts = _counts(name)
        if is_zero(self._dropout):
            return self._noise_cumulant(tokens, counts[:3])
        return self._masked_cumulant(tokens, counts)

    def _noise_cumulant(self, tokens: str, counts: Counts) -> Any:
        order = sum(counts)
        shown = [token for token, count in zip(tokens, counts, strict=False) if count]
        sources = list(self._common)
        if len(set(shown)) == 1:
            sources += self._token
        if len(shown) == 1:
            sources += self._own
        return sum(source.cumulant(order) for source in sources)

    def _noise_moment(self, tokens: str, counts: Counts) -> Any:
        return _moment(counts, lambda part: self._noise_cumulant(tokens, part), self._noise, tokens)

    def _masked_moment(self, tokens: str, counts: Counts) -> Any:
        """E of a product of masked entries and masks: masks and noise are independent."""
        result = self._noise_moment(tokens, counts[:3])
        for noise, mask in zip(counts[:3], counts[3:], strict=True):
            if noise + mask > 1:  # E[m^k] = (1 - dropout)^(1 - k)
                result = result / (1 - self._dropout) ** (noise + mask - 1)
        return result

    def _masked_cumulant(self, tokens: str, counts: Counts) -> Any:
        if sum(counts) == 1:
            return self._masked_moment(tokens, counts)
        result = self._masked_moment(tokens, counts)
        for ways, part, rest in _splits(counts):
            if any(rest):
                result = result - ways * self._masked_cumulant(tokens, part) * self._masked_moment(
                    tokens, rest
                )
        return result


def _moment(
    counts: Counts, cumulant: Callable[[Counts], Any], known: dict[Any, Any], tokens: str
) -> Any:
    """A moment from cumulants:

    the block that holds the first variable, times the moment of the rest.
    """
    if not any(counts):
        return 1
    if (tokens, counts) not in known:
        known[tokens, counts] = sum(
            ways * cumulant(part) * _moment(rest, cumulant, known, tokens)
            for ways, part, rest in _splits(counts)
        )
    return known[tokens, counts]


@lru_cache(maxsize=4096)
def _splits(counts: Counts) -> tuple[tuple[int, Counts, Counts], ...]:
    """All blocks that hold the first variable: in how many ways, the block, and what is left."""
    first = next(place for place, count in enumerate(counts) if count)
    result: list[tuple[int, Counts]] = [(1, ())]
    for place, count in enumerate(counts):
        held = 1 if place == first else 0
        result = [
            (ways * comb(count - held, taken - held), (*part, taken))
            for ways, part in result
            for taken in range(held, count + 1)
        ]
    return tuple(
        (ways, part, tuple(c - p for c, p in zip(counts, part, strict=True)))
        for ways, part in result
    )


@lru_cache(maxsize=1024)
def _counts(name: str) -> Counts:
    """``x_t2m1_s1`` as counts of noise and mask at t, s, r: (2, 1, 0, 1, 0, 0)."""
    noise, masks = [0, 0, 0], [0, 0, 0]
    for label, z, m in _PIECE.findall(name):
        place = LABELS.index(label)
        noise[place], masks[place] = int(z), int(m or 0)
    return (*noise, *masks)


def _kind(sources: list[Source], from_order: int = 1) -> str:
    if all(source.vanishes(order) for source in sources for order in range(from_order, 9)):
        return ABSENT
    return classify(sources)


def classify(sources: list[Source]) -> str:
    """``symmetric`` if no odd cumulant is there, else ``general``."""
    odd_vanish = all(source.vanishes(order) for source in sources for order in (1, 3, 5, 7))
    return SYMMETRIC if odd_vanish else GENERAL


def is_zero(value: Any) -> bool:
    zero = value == 0
    return bool(zero.all()) if hasattr(zero, "all") else bool(zero)
