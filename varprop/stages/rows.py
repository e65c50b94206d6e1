"""Joint cumulants of the rows of a sequence, as numbers: the arguments of the closed forms."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np

from varprop.initializers.distributions import Distribution

from .structure import ABSENT, GENERAL, HIGHEST_ORDER, SYMMETRIC

LABELS = "tsr"
Counts = tuple[int, ...]
_PIECE = re.compile(r"([tsr])(\d+)(?:m(\d+))?")


class Source(NamedTuple):
    """One summand of a row: ``scale`` times entries of one distribution."""

    entry: Distribution
    scale: Any = 1

    def cumulant(self, order: int) -> Any:
        """scale^order times the entry's cumulant.

        Raises:
            OverflowError: if it is too small for a float, as well as if it is too large.
        """
        entry = self.entry.cumulant(order)
        if self.scale is UNSCALED:
            return entry
        value = self.scale**order * entry
        if isinstance(value, float):
            lost = abs(value) < SMALLEST and order not in self.vanishing()
        elif isinstance(value, np.ndarray):
            lost = bool(np.any((np.abs(value) < SMALLEST) & (self.scale * entry != 0)))
        else:
            lost = False
        if lost:
            raise OverflowError
        return value

    def drawn(self) -> Distribution:
        """The law of one entry of the summand."""
        entry, scale = self
        return Distribution(
            entry.law, entry.location * scale, entry.scale * scale, entry.square * scale**2
        )

    def vanishing(self) -> frozenset[int]:
        """Which of the cumulants are 0, by order, whatever the scale's size."""
        return ORDERS if is_zero(self.scale) else vanishing_orders(self.entry)


def vanishing_orders(distribution: Distribution) -> frozenset[int]:
    """Which of the cumulants are 0, by order; remembered unless there are arrays to hold."""
    arrays = isinstance(distribution.location, np.ndarray) or isinstance(
        distribution.scale, np.ndarray
    )
    return (_vanishing_orders.__wrapped__ if arrays else _vanishing_orders)(distribution)


@lru_cache(maxsize=256)
def _vanishing_orders(distribution: Distribution) -> frozenset[int]:
    return frozenset(order for order in ORDERS if is_zero(distribution.cumulant(order)))


ORDERS = frozenset(range(1, HIGHEST_ORDER + 1))
"""The orders of the cumulants that are asked for."""
ODD = frozenset(order for order in ORDERS if order % 2)
UNSCALED = 1
"""The scale of a source that nothing multiplies; its cumulants pass as they are."""
SMALLEST = sys.float_info.min
"""Smaller numbers lose digits, or are 0 by mistake."""


class Rows:
    """The random part of input rows: scaled embedding + learned position + segment, masked.

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

    @property
    def sources(self) -> tuple[list[Source], list[Source], list[Source]]:
        """What each row draws for itself, what rows of one token share, and what all rows share."""
        return self._own, self._token, self._common

    def kind(self) -> str:
        """Which cumulants of a row's entry vanish."""
        return _kind(self._own + self._token + self._common)

    def shared_kind(self, repeats: bool) -> str:
        """Which joint cumulants of two rows' entries vanish."""
        kind = _kind((self._token if repeats else []) + self._common, lowest=2)
        return GENERAL if kind != ABSENT and self.kind() == GENERAL else kind

    def cumulant(self, name: str, tokens: str) -> Any:
        """The value of a scalar such as ``x_t2_s1``, where ``tokens`` names each row's token."""
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
        for ways, part, rest in splits(counts):
            if any(rest):
                result = result - ways * self._masked_cumulant(tokens, part) * self._masked_moment(
                    tokens, rest
                )
        return result


def _moment(
    counts: Counts, cumulant: Callable[[Counts], Any], known: dict[Any, Any], tokens: str
) -> Any:
    """A moment from cumulants: the first variable's block, times the moment of the rest, summed."""
    if not any(counts):
        return 1
    if (tokens, counts) not in known:
        known[tokens, counts] = sum(
            ways * cumulant(part) * _moment(rest, cumulant, known, tokens)
            for ways, part, rest in splits(counts)
        )
    return known[tokens, counts]


@lru_cache(maxsize=4096)
def splits(counts: Counts) -> tuple[tuple[int, Counts, Counts], ...]:
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


def _kind(sources: list[Source], lowest: int = 1) -> str:
    asked = ORDERS - set(range(1, lowest))
    if all(asked <= source.vanishing() for source in sources):
        return ABSENT
    return classify(sources)


def classify(sources: list[Source]) -> str:
    """``symmetric`` if no odd cumulant is there, else ``general``."""
    return SYMMETRIC if all(source.vanishing() >= ODD for source in sources) else GENERAL


def is_zero(value: Any) -> bool:
    """Whether a number, an expression, or every entry of an array is 0."""
    zero = value == 0
    return bool(zero.all()) if hasattr(zero, "all") else bool(zero)
