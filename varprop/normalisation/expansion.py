"""Lengths of normed rows of any law: Taylor's expansion in the variance of a row.

With v about m = E v, h = (v - m) / (m + eps), r0 = m / (m + eps) and e = eps / (m + eps):

    (v / (v + eps))^k = ((r0 + h) / (1 + h))^k = sum_i c_i h^i,    |remainder| <= B_k E h^4

for the sum up to i = 4, with B_1 = 1 and B_k = sum_j C(k, j) sum_l<=j C(j - l + 3, 3) e^(j - l):
e / (1 + h) = eps / (v + eps) is at most 1.  The moments of v are exact: v is a polynomial of the
sums of x^2 and of x over independent channels, whose joint cumulants add up.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import comb, factorial
from typing import Any

import numpy as np

from varprop.algebra.discrete import central_moments
from varprop.fields.numeric import Floats
from varprop.stages.rows import splits

from .fixed_rows import FixedRows
from .record import HIGHEST, Record

LIMIT = 0.02
"""Bound on the error, E h^4, beyond which nothing is told."""
ENTRIES = 2**22
"""Entries of a table of fixed parts whose cumulants are taken at most: a second."""
PART = 2**16
"""Entries whose cumulants are held at once."""
ORDER = 4
Key = tuple[int, ...]


class Expansion:
    """E[(v / (v + eps))^k] of one row; at each position where these differ."""

    def __init__(self, record: Record) -> None:
        self.record = record

    @cached_property
    def moments(self) -> tuple[Any, list[Any]] | None:
        """E v and E (v - E v)^k for k up to 4; None where that is too much work."""
        record = self.record
        if record.base is None:
            found = _row_moments(record, np.full((1, 1), record.mean), record.width)
            return found[0][0], [moment[0] for moment in found[1]]
        if record.length * record.width > ENTRIES:
            return None
        fixed = FixedRows(record._replace(layernorm=False))
        step = max(1, PART // record.width)
        parts = []
        for first in range(0, record.length, step):
            places = np.arange(first, min(first + step, record.length))
            parts.append(_row_moments(record, fixed.rows(places), 1))
        means = np.concatenate([mean for mean, _ in parts])
        return means, [np.concatenate([m[k] for _, m in parts]) for k in range(ORDER + 1)]

    @cached_property
    def departures(self) -> list[Any]:
        """E h^i for i = 0 ... 4."""
        assert self.moments is not None
        mean, central = self.moments
        return [moment / (mean + self.record.eps) ** i for i, moment in enumerate(central)]

    @property
    def bound(self) -> float:
        """E h^4, at the position where it is largest."""
        return float(np.max(self.departures[ORDER]))

    @property
    def last(self) -> float:
        """The size of the last term of E[v / (v + eps)] that is kept."""
        assert self.moments is not None
        share = self.record.eps / (self.moments[0] + self.record.eps)
        return float(np.max(share * self.departures[ORDER]))

    def moment(self, power: int) -> Any:
        """E[(v / (v + eps))^power]: a number, or one for each position."""
        assert self.moments is not None
        share = self.moments[0] / (self.moments[0] + self.record.eps)
        total = 0.0
        for i, departure in enumerate(self.departures):
            for a in range(min(i, power) + 1):
                down = (-1) ** (i - a) * comb(power + i - a - 1, i - a)
                total = total + comb(power, a) * down * share ** (power - a) * departure
        return total

    def error(self, power: int) -> float:
        """What the remainder can be at most, relative to the mean over positions."""
        assert self.moments is not None
        share = self.record.eps / (self.moments[0] + self.record.eps)
        bound = sum(
            comb(power, j) * comb(j - l + 3, 3) * share ** (j - l)
            for j in range(1, power + 1)
            for l in range(1, j + 1)
        )
        size = float(np.mean(self.moment(power)))
        return float(np.mean(bound * self.departures[ORDER])) / size if size else 0.0


def _row_moments(record: Record, fixed: Floats, copies: int) -> tuple[Floats, list[Floats]]:
    """E v and its central moments for rows of these fixed parts, shape (rows, channels).

    Each channel stands for ``copies`` of them.
    """
    width = record.width
    raw = _entry_moments(record, fixed)
    if record.layernorm:
        level = raw[1].mean(axis=1, keepdims=True)
        raw = [
            sum(comb(n, j) * raw[j] * (-level) ** (n - j) for j in range(n + 1))
            for n in range(HIGHEST + 1)
        ]
    highest = 2 * ORDER if record.layernorm else 0
    keys: list[Key] = [
        (a, b) for a in range(ORDER + 1) for b in range(highest + 1) if 2 * a + b <= 2 * ORDER
    ]
    joint = {key: raw[2 * key[0] + key[1]] for key in keys}
    sums = {key: copies * k.sum(axis=1) for key, k in _cumulants(joint, keys).items()}
    squares = sums[1, 0]
    zero = np.zeros_like(squares)
    sums |= {(1, 0): zero, (0, 1): zero}  # both sums are taken about their means
    about = _moments(sums, keys)
    spread = about.get((0, 2), zero) / width
    central = []
    for k in range(ORDER + 1):
        total = zero
        for i, j in product(range(k + 1), repeat=2):
            if i + j <= k and (i, 2 * j) in about:
                ways = factorial(k) // (factorial(i) * factorial(j) * factorial(k - i - j))
                total = total + ways * about[i, 2 * j] * (-1 / width) ** j * spread ** (k - i - j)
        central.append(total / float(width) ** k)
    return (squares - spread) / width, central


def _entry_moments(record: Record, fixed: Floats) -> list[Any]:
    """E x^n of an entry x = mask * (noise + fixed), for n = 0 ... 8."""
    gaussian = (record.mean, record.variance, *(0.0,) * (HIGHEST - 2))
    noise = central_moments(record.cumulants or gaussian)
    keep = 1 - record.dropout
    found: list[Any] = [np.ones_like(fixed)]
    for n in range(1, HIGHEST + 1):
        whole = sum(comb(n, l) * noise[l] * fixed ** (n - l) for l in range(n + 1))
        found.append(whole * keep ** (1 - n))
    return found


def _cumulants(moments: dict[Key, Any], keys: list[Key]) -> dict[Key, Any]:
    found: dict[Key, Any] = {}
    for key in keys[1:]:
        parts = (
            found[block] * ways * moments[rest] for ways, block, rest in splits(key) if any(rest)
        )
        found[key] = moments[key] - sum(parts)
    return found


def _moments(cumulants: dict[Key, Any], keys: list[Key]) -> dict[Key, Any]:
    found: dict[Key, Any] = {keys[0]: 1.0}
    for key in keys[1:]:
        found[key] = sum(ways * cumulants[block] * found[rest] for ways, block, rest in splits(key))
    return found
