"""Discrete laws that stand for products of chi-square variables.

Laws are kept of logarithms, where a product is a sum and where the density of a chi-square is
analytic, so that the trapezoidal rule converges exponentially and has positive weights.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.gauss import CERTAIN, Law

STEP = 0.25
"""Largest step: the error is exp(-2 pi (pi/2) / STEP) = 7e-18, densities being analytic for
|Im u| < pi/2. Others are halves, quarters and so on, so that grids of two laws fit."""

STEPS = 0.5
"""Step in standard deviations of a narrow law: the error is exp(-2 pi^2 / STEPS^2) = 5e-35."""

DEPTH = 36.0
"""What is left out is exp(-DEPTH) of the highest density, below the unit roundoff."""


class Grid(NamedTuple):
    """A law on equidistant points of a logarithm."""

    first: int
    step: float
    weights: Floats

    def law(self) -> Law:
        """The points and their probabilities."""
        numbers = self.first + np.arange(self.weights.size)
        return Law(np.asarray(self.step * numbers, np.float64), self.weights)


def _step(width: float) -> float:
    """The largest of STEP, STEP/2, .. that a law of this standard deviation allows."""
    halvings = math.ceil(math.log2(STEP / (STEPS * width)))
    return STEP * 2.0 ** -max(0, halvings)


def _width(freedom: float) -> float:
    """The standard deviation of log chi^2, nearly, from below."""
    return math.sqrt(2 / freedom)


@lru_cache(maxsize=256)
def _log_chi_square(freedom: float, step: float, depth: float) -> Grid:
    """The law of u = log(X / freedom), X ~ chi^2: density ~ exp(freedom/2 (u + 1 - e^u))."""
    half = freedom / 2
    spread = math.sqrt(2 * depth / half)
    # u + 1 - e^u <= u + 1 and, for u > 0, <= -u^2 / 2.
    numbers = np.arange(
        math.floor((-spread - depth / half) / step), math.ceil(spread / step) + 1, dtype=np.float64
    )
    log_density = -half * _beyond_linear(step * numbers)
    (kept,) = np.nonzero(log_density > -depth)
    weights = np.exp(log_density[kept])
    return Grid(int(numbers[kept[0]]), step, weights / weights.sum())


@lru_cache(maxsize=256)
def log_chi_squares(*freedoms: float, depth: float = DEPTH) -> Law:
    """Return the law of log of a product of independent chi^2 over their degrees of freedom.

    Any number of degrees of freedom will do; infinitely many are certainty. What is left out is
    exp(-depth) of the highest density.
    """
    finite = [freedom for freedom in freedoms if freedom < math.inf]
    if not finite:
        return CERTAIN
    step = _step(min(_width(freedom) for freedom in finite))
    result = _log_chi_square(finite[0], step, depth)
    for freedom in finite[1:]:
        other = _log_chi_square(freedom, step, depth)
        weights = np.convolve(result.weights, other.weights)
        result = Grid(result.first + other.first, step, weights)
    return _thinned(result, math.hypot(*map(_width, finite))).law()


def _thinned(grid: Grid, width: float) -> Grid:
    """The trapezoidal rule with the larger step that the law of a product allows."""
    every = round(_step(width) / grid.step)
    start = -grid.first % every
    weights = grid.weights[start::every]
    return Grid((grid.first + start) // every, grid.step * every, weights / weights.sum())


def _beyond_linear(u: Floats) -> Floats:
    """e^u - 1 - u, without cancellation."""
    small = np.clip(u, -0.1, 0.1)
    series = np.ones_like(u)
    for k in range(11, 2, -1):
        series = 1 + small / k * series
    return np.where(small == u, u**2 / 2 * series, np.expm1(u) - u)


@lru_cache(maxsize=256)
def log_beta(first: float, second: float) -> Law:
    """Return the law of log(A / (A + C)), A and C chi^2 of these degrees of freedom (C = 0 for 0).

    density of t = log(A / C) ~ exp(first/2 t) / (1 + e^t)^{(first + second)/2}
    """
    if second == 0:
        return CERTAIN
    alpha, gamma = first / 2, second / 2
    mode, width = math.log(alpha / gamma), math.sqrt((alpha + gamma) / (alpha * gamma))
    spread = math.sqrt(2 * DEPTH) * width
    low, high, step = -spread - DEPTH / alpha, spread + DEPTH / gamma, _step(width)
    t = step * np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64)
    # log(1 + e^{mode + t}) = log(1 + e^mode) + log(1 + share (e^t - 1)).
    share = alpha / (alpha + gamma)
    # e^t may overflow in narrow parameters: for t > 0 it is taken out.
    up = np.maximum(t, 0)
    total = up + np.log(share * np.exp(t - up) + (1 - share) * np.exp(-up))
    log_density = alpha * t - (alpha + gamma) * total
    kept = log_density > -DEPTH
    weights = np.exp(log_density[kept])
    return Law(-np.logaddexp(0, -mode - t[kept]), weights / weights.sum())
