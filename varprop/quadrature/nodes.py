"""Where the integrands of softmax expectations live on the axis of x = log t, and how finely."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from varprop.fields.numeric import Floats

NEGLECTED = 53 * math.log(2)
"""Integrals are cut where what is left out is exp(-NEGLECTED) of them, the unit roundoff."""

STEP = 0.25
"""Step of the trapezoidal rule in units of the integrand's own scale.

The kernels t^k exp(-t), in x = log t, are analytic for |Im x| < pi/2, where the rule's error is
exp(-2 pi (pi/2) / STEP) = exp(-39.5), less than the unit roundoff.
"""


def decay(exponent: Floats) -> Floats:
    """exp(exponent), raised to exp(-300) where smaller: processors are slow where it underflows."""
    return np.asarray(np.exp(np.maximum(exponent, -300.0)), np.float64)


def normal_density(z: Floats) -> Floats:
    """The density of N(0, 1)."""
    return decay(z**2 * -0.5) / math.sqrt(2 * math.pi)


def blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of the rows that keep a table within 2^14 numbers, which stay in the fastest cache."""
    height = max(1, 2**14 // columns)
    return (slice(first, first + height) for first in range(0, rows, height))


def extent(n: float) -> float:
    """1 + sqrt(2 log n): where the largest of n standard Gaussians is, or a little beyond it."""
    return 1 + math.sqrt(2 * math.log(n))


def log_t_nodes(std: float, fewest: float, most: float) -> tuple[Floats, float]:
    """Return equidistant nodes u = log t that carry the integrals for n in fewest .. most.

        step = STEP max(1, std / extent(most))

    The integrands are made of powers of phi(u) = P(W > u), W = log(Exp(1)) + N(0, std^2); the
    rate at which n (1 - phi) grows with u is 1 for narrow logits and about sqrt(2 log n) / std
    for wide ones, and sets their scale.

    Returns:
        nodes (u,) and the step.
    """
    step = STEP * max(1.0, std / extent(most))
    first = math.floor(_left_end(std, most) / step)
    last = math.ceil(_right_end(std, fewest) / step)
    return np.asarray(step * np.arange(first, last + 1), np.float64), step


def _left_end(std: float, n: float) -> float:
    """Where n (1 - phi) <= exp(-NEGLECTED), by Chernoff's bound, 0 < a < 1.

    P(W <= u) <= exp(a u) E exp(-a W) = exp(a u + a^2 std^2 / 2) Gamma(1 - a)
    """
    small = NEGLECTED + math.log(n)
    slopes = [k / 16 for k in range(8, 16)]
    if std > 1:
        slopes.append(min(0.5, math.sqrt(2 * small) / std))
    return max(-(small + math.lgamma(1 - a)) / a - a * std * std / 2 for a in slopes)


def _right_end(std: float, n: float) -> float:
    """Where phi^n <= exp(-1.5 NEGLECTED); the half more pays for powers of t up to t^4.

    P(W > u) <= exp(-a u) E exp(a W) = exp(-a u + a^2 std^2 / 2) Gamma(1 + a), any a > 0, and
    1 - phi >= P(Z <= -b) P(log Exp(1) <= u + std b) >= Q(b) (1 - 1/e) exp(u + std b)
    for u + std b <= 0.
    """
    from scipy.special import ndtr, ndtri

    small = 1.5 * NEGLECTED
    slopes = [2.0**k for k in range(-2, 7)]
    if std > 1:
        slopes.append(math.sqrt(2 * small / n) / std)
    end = min((small / n + math.lgamma(1 + a)) / a + a * std * std / 2 for a in slopes)
    tail = small / (n * (1 - math.exp(-1)))
    if tail < 0.5:
        b = np.linspace(0, -float(ndtri(tail)), 33)
        end = min(end, float(np.min(np.log(np.minimum(tail / ndtr(-b), 1)) - std * b)))
    return end
