"""Laws of one entry: logarithms of the probabilities of a large and of a small magnitude.

Every law has `log_tail(a)`, log P(|X| >= a), and `log_between(low, high)`,
log P(low <= |X| < high), for 0 <= low < high and a > 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from varprop.fields.numeric import Floats
from varprop.initializers.distributions import GAUSSIAN, POINT, UNIFORM, Distribution
from varprop.initializers.truncation import TruncatedNormal

CANCELS, WIDER = 1e-8, 1e-5
"""Intervals narrower than the first, in stds, have the mean density of one of the second."""


class Interval(Protocol):
    """From lower and upper ends to log P(lower <= X < upper)."""

    def __call__(self, a: Floats, b: Floats, /) -> Floats: ...


class Entry(Protocol):
    """The law of one entry of a stage."""

    def log_tail(self, a: float) -> float: ...

    def log_between(self, low: float, high: float) -> float: ...


def log_normal_interval(a: Floats, b: Floats) -> Floats:
    """log(Phi(b) - Phi(a)) for a <= b, to full relative accuracy in both tails and if narrow."""
    from scipy.special import log_ndtr, ndtr

    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    flipped = a + b > 0  # work on the left, where the distribution function is small
    a, b = np.where(flipped, -b, a), np.where(flipped, -a, b)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        upper = log_ndtr(b)
        one_side = upper + np.log1p(-np.exp(log_ndtr(a) - upper))
        one_side = np.where(np.isneginf(upper), -np.inf, one_side)
        result = np.where(b > 0, np.log1p(-ndtr(a) - ndtr(-b)), one_side)
        narrow = (b - a) * np.maximum(1, np.abs(a + b) / 2) < 0.5
    result = np.where(b > a, result, -np.inf)
    narrow &= b > a
    if narrow.any():
        nodes, weights = np.polynomial.legendre.leggauss(12)
        half, middle = (b[narrow] - a[narrow]) / 2, (a[narrow] + b[narrow]) / 2
        t = half[:, None] * nodes
        inner = np.exp(-middle[:, None] * t - t**2 / 2) @ weights * half
        with np.errstate(divide="ignore"):
            result[narrow] = np.log(inner) - middle**2 / 2 - np.log(2 * np.pi) / 2
    return result


def log_uniform_interval(a: Floats, b: Floats) -> Floats:
    """The same for a uniform number on [-1, 1]."""
    length = np.maximum(np.minimum(b, 1) - np.maximum(a, -1), 0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(length / 2))


def log_point_interval(a: Floats, b: Floats) -> Floats:
    """The same for the number 0."""
    return np.where((a <= 0) & (b > 0), 0.0, -np.inf)


class Cut(NamedTuple):
    """The same for a standard normal number cut to [low, high], divided by `unit`."""

    low: float
    high: float
    unit: float

    def __call__(self, a: Floats, b: Floats) -> Floats:
        low, high = np.array(self.low), np.array(self.high)
        inside = np.clip(a * self.unit, low, high), np.clip(b * self.unit, low, high)
        return np.minimum(log_normal_interval(*inside) - log_normal_interval(low, high), 0.0)


class Shifted(NamedTuple):
    """location + scale*Z + f, with f drawn evenly from the numbers `fixed`."""

    interval: Interval
    location: float
    scale: float
    fixed: Floats

    def log_tail(self, a: float) -> float:
        return self._mean(self._part(a, np.inf), self._below(-a))

    def log_between(self, low: float, high: float) -> float:
        if low == 0:
            return self._mean(self._part(-np.nextafter(high, 0), high))
        mirrored = self._part(-np.nextafter(high, 0), -np.nextafter(low, 0))
        return self._mean(self._part(low, high), mirrored)

    def _below(self, a: float) -> Floats:
        # The mirrored law at a: ends that belong to the interval matter for a point.
        return self._part(-np.inf, np.nextafter(a, np.inf))

    def _part(self, low: float, high: float) -> Floats:
        centre = self.location + self.fixed
        scale = self.scale or 1.0
        if self.scale and high - low < CANCELS * scale:  # the difference of the ends would be lost
            middle = ((low + high) / 2 - centre) / scale
            wide = WIDER / (1 + np.abs(middle))
            share = np.log((high - low) / scale) - np.log(2 * wide)
            return np.asarray(self.interval(middle - wide, middle + wide) + share)
        return self.interval((low - centre) / scale, (high - centre) / scale)

    @staticmethod
    def _mean(*parts: Floats) -> float:
        return log_sum(np.concatenate(parts)) - float(np.log(parts[0].size))


def log_sum(logs: Floats) -> float:
    """log(sum(exp(logs))), -inf for a sum of zeros."""
    top = float(logs.max())
    return top if np.isinf(top) else top + float(np.log(np.exp(logs - top).sum()))


NOTHING = Shifted(log_point_interval, 0.0, 0.0, np.zeros(1))
"""The law of the number 0."""


def shifted(drawn: Distribution, fixed: Floats) -> Shifted | None:
    """The law of a drawn number plus a fixed one; None for a law that is not known here."""
    interval = _interval(drawn)
    if interval is None:
        return None
    return Shifted(interval, float(drawn.location), abs(float(drawn.scale)), fixed)


def _interval(drawn: Distribution) -> Interval | None:
    if drawn.degenerate:
        return log_point_interval
    law: Any = drawn.law
    if law is GAUSSIAN:
        return log_normal_interval
    if law is UNIFORM:
        return log_uniform_interval
    if law is POINT or not isinstance(law, TruncatedNormal):
        return None
    low, high = sorted(float(np.sign(drawn.scale)) * float(end) for end in (law.low, law.high))
    plain = TruncatedNormal(law.low, law.high, False, law.functions)
    return Cut(low, high, float(np.sqrt(plain.cumulant(2))) if law.unit else 1.0)


def sum_of(parts: list[Distribution]) -> Distribution | None:
    """The law of a sum of independent numbers: Gaussian ones and constants, or one of any law."""
    random = [part for part in parts if not part.degenerate]
    location = float(sum(float(part.location) for part in parts))
    if not random:
        return Distribution(POINT, location, 0.0, 0.0)
    if len(random) > 1 and any(part.law is not GAUSSIAN for part in random):
        return None
    square = float(sum(float(part.square) for part in random))
    scale = float(random[0].scale) if len(random) == 1 else float(np.sqrt(square))
    return Distribution(random[0].law, location, scale, square)
