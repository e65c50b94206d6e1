"""Products of a Gaussian number and lengths of Gaussian vectors, by quadrature over the lengths.

A length squared is a (non-central) chi-square number, and the logarithm of a product of them is a
sum: its density is a convolution, taken on an even grid, where the trapezoidal rule is exact to
rounding for densities this smooth. Densities stay logarithms, so that far tails keep their digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats

from .laws import log_normal_interval, log_sum

LEFT, RIGHT = 60.0, 745.0
"""A grid ends where the density is exp(-60) of its highest on the left, exp(-745) on the right."""
FINEST = 0.03
"""Step of a grid in the logarithm: the integrand of a tail of 1e-300 has a std of 0.04."""


NARROW = FINEST / 100
"""Lengths that need a smaller step than this."""


class Length(NamedTuple):
    """scale * (non-central) chi-square number, to a power."""

    scale: float
    degrees: int
    noncentrality: float = 0.0
    power: int = 1

    @property
    def step(self) -> float:
        """A step that resolves the density of the logarithm."""
        spread = 2 * (self.degrees + 2 * self.noncentrality)
        return self.power * float(np.sqrt(spread)) / (self.degrees + self.noncentrality) / 2.5


class Grid(NamedTuple):
    """Logarithms of the density of a logarithm, from `start` in even steps."""

    start: float
    logs: Floats


class Product(NamedTuple):
    """sqrt(square * product of lengths) * standard normal."""

    square: float
    lengths: tuple[Length, ...] = ()

    def log_tail(self, a: float) -> float:
        return self._total(lambda std: log_normal_interval(a / std, np.full_like(std, np.inf)))

    def log_between(self, low: float, high: float) -> float:
        return self._total(lambda std: log_normal_interval(low / std, high / std))

    def _total(self, one_side: Callable[[Floats], Floats]) -> float:
        logs, weights = self._nodes()
        std = np.exp(0.5 * (np.log(self.square) + logs))
        return min(log_sum(weights + one_side(std) + np.log(2)), 0.0)

    def _nodes(self) -> tuple[Floats, Floats]:
        if not self.lengths:
            return np.zeros(1), np.zeros(1)
        return _nodes(self.lengths)


@lru_cache(maxsize=16)
def _nodes(lengths: tuple[Length, ...]) -> tuple[Floats, Floats]:
    """Places of the logarithm of a product and logarithms of their weights.

    Narrow lengths have a grid of their own: one that resolves them all would have millions.
    """
    places, logs = np.zeros(1), np.zeros(1)
    narrow = [length for length in lengths if length.step < NARROW]
    wide = [length for length in lengths if length.step >= NARROW]
    for group in filter(None, (narrow, wide)):
        step = min(FINEST, *(length.step for length in group))
        grid = _convolved([_grid(length, step) for length in group], step)
        own = grid.start + step * np.arange(grid.logs.size)
        places = np.add.outer(places, own).ravel()
        logs = np.add.outer(logs, grid.logs + np.log(step)).ravel()
    return places, logs


def _convolved(grids: Sequence[Grid], step: float) -> Grid:
    """The density of a sum: a running sum over the shorter grid, in logarithms."""
    total = grids[0]
    for grid in grids[1:]:
        long, short = sorted((total.logs, grid.logs), key=len, reverse=True)
        logs = np.full(long.size + short.size - 1, -np.inf)
        for place, weight in enumerate(short + np.log(step)):
            part = logs[place : place + long.size]
            np.logaddexp(part, long + weight, out=part)
        total = Grid(total.start + grid.start, logs)
    return total


def _grid(length: Length, step: float) -> Grid:
    fine = step / length.power
    middle = float(np.log(length.degrees + length.noncentrality))

    def drop(x: float) -> float:
        ends = log_chi_square(np.array([middle, x]), length)
        return float(ends[0] - ends[1])

    left = _edge(drop, middle, -1.0, LEFT)
    right = _edge(drop, middle, 1.0, RIGHT)
    x = left + fine * np.arange(int(np.ceil((right - left) / fine)) + 1, dtype=np.float64)
    logs = log_chi_square(x, length) - np.log(length.power)
    return Grid(length.power * (left + float(np.log(length.scale))), logs)


def _edge(drop: Callable[[float], float], middle: float, side: float, depth: float) -> float:
    """Where the density has dropped so far, by doubling and bisection."""
    reach = 0.01
    while drop(middle + side * reach) < depth:
        reach *= 2
    low, high = 0.0, reach
    for _ in range(12):
        half = (low + high) / 2
        low, high = (half, high) if drop(middle + side * half) < depth else (low, half)
    return middle + side * high


def log_chi_square(x: Floats, length: Length) -> Floats:
    """Log density of the logarithm of a chi-square number, at x; scale and power play no part."""
    from scipy.special import gammaln

    half, shift = length.degrees / 2, length.noncentrality
    central = half * (x - np.log(2)) - np.exp(x) / 2 - gammaln(half)
    if not shift:
        return np.asarray(central)
    # The quotient to the central density is exp(-shift/2) 0F1(; half; shift e^x / 4).
    return np.asarray(central - shift / 2 + log_0f1(half, np.exp(x) * shift / 4))


def log_0f1(b: float, z: Floats) -> Floats:
    """log 0F1(; b; z) for z > 0: from the Bessel function I_(b-1)(2 sqrt(z)), or Debye's series."""
    from scipy.special import gammaln, ive

    order, argument = b - 1, 2 * np.sqrt(z)
    scaled = ive(order, argument)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_bessel = np.log(scaled) + argument
        direct = gammaln(b) - order * np.log(argument / 2) + log_bessel
    tiny = ~(scaled > 1e-280)
    if not tiny.any():
        return np.asarray(direct)
    return np.where(tiny, _uniform_0f1(b, argument) if order >= 20 else np.log1p(z / b), direct)


def _uniform_0f1(b: float, argument: Floats) -> Floats:
    """Debye's expansion for a large order, DLMF 10.41.3, in which the gamma function cancels."""
    order = b - 1
    t = argument / order
    root = np.sqrt(1 + t**2)
    p = 1 / root
    u1 = (3 * p - 5 * p**3) / 24
    u2 = (81 * p**2 - 462 * p**4 + 385 * p**6) / 1152
    u3 = (30375 * p**3 - 369603 * p**5 + 765765 * p**7 - 425425 * p**9) / 414720
    series = 1 + u1 / order + u2 / order**2 + u3 / order**3
    at_zero = 1 - 1 / (12 * order) + 1 / (288 * order**2) + 139 / (51840 * order**3)
    exponent = order * (t**2 / (root + 1) + np.log(2 / (1 + root)))
    return np.asarray(exponent - np.log(root) / 2 + np.log(series / at_zero))


class Sphere(NamedTuple):
    """radius * one coordinate of a point drawn evenly from the unit sphere in some dimensions."""

    radius: float
    dimensions: int

    def log_tail(self, a: float) -> float:
        from scipy.special import betainc

        rest = 1 - min((a / self.radius) ** 2, 1)
        with np.errstate(divide="ignore"):
            return float(np.log(betainc((self.dimensions - 1) / 2, 0.5, rest)))

    def log_between(self, low: float, high: float) -> float:
        from scipy.special import betainc

        ends = np.minimum((np.array([low, high]) / self.radius) ** 2, 1)
        below, above = betainc(0.5, (self.dimensions - 1) / 2, ends)
        with np.errstate(divide="ignore"):
            return float(np.log(above - below))
