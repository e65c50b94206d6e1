"""Means of rational functions of a noncentral chi-square, by quadrature of its Laplace transform.

Y = a X with X noncentral chi-square of D degrees, and F = a lambda its noncentrality in units of Y:

    M(s) = E e^(-sY) = (1 + 2as)^(-D/2) exp(-F s / (1 + 2as)),
    E[Y^m / (Y + C)^q] = 1/Gamma(q) int_0^inf s^(q-1) e^(-Cs) E[Y^m e^(-sY)] ds.

Tilting by e^(-sY) leaves a noncentral chi-square, with a / (1 + 2as) for a and F / (1 + 2as)^2 for
F.  Every integrand is positive, so nothing cancels, and a = 0, the sure Y = F, needs no other
formula.
"""

from __future__ import annotations

from math import factorial, lgamma, log
from typing import Any

import numpy as np

from varprop.algebra.discrete import raw_moments
from varprop.fields.numeric import Floats

STEP = 0.2
"""Spacing in log s.

In |Im log s| < pi/2 the integrand has no singularity, so the trapezoidal rule errs by
|Gamma(q + i w)| / Gamma(q) with w = 2 pi / STEP: 1e-16 at q = 4.
"""
FALL = 42.0
"""Both ends are cut where the integrand has fallen by e^-FALL."""
CHUNK = 2**18
"""Values of the integrand held at once."""


def ratio_mean(
    degrees: Any, variance: Any, square: Any, constant: Any, power: int, inverse: float
) -> Floats:
    """E[Y^power / (Y + constant)^inverse]; the arguments broadcast, and so is the result shaped.

    Args:
        degrees: D > 0.
        variance: a >= 0.
        square: F >= 0.
        constant: C >= 0; with C = 0 the mean must exist, D > 2 (inverse - power), or F > 0 = a.
        power: m, an integer from 0 to 4.
        inverse: q >= 0.
    """
    arrays = [np.asarray(x, dtype=float) for x in (degrees, variance, square, constant)]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    if inverse == 0:
        if power:
            raise ValueError("power: accepted: 0 where inverse is 0")
        return np.ones(shape)
    flat = [np.broadcast_to(array, shape).ravel() for array in arrays]
    # In units of the size of Y + C, where all integrands live on one grid.
    size = flat[3] + flat[0] * flat[1] + flat[2]
    known = size > 0
    result = np.zeros(len(size))
    if known.any():
        a, F, C = (array[known] / size[known] for array in flat[1:])
        result[known] = _scaled(flat[0][known], a, F, C, power, inverse)
        if power != inverse:
            result[known] *= size[known] ** (power - inverse)
    return result.reshape(shape)


def _scaled(
    degrees: Floats, variance: Floats, square: Floats, constant: Floats, power: int, inverse: float
) -> Floats:
    """The same where C + D a + F = 1."""
    last = np.log(_end(degrees, variance, square, constant, power, inverse)).max()
    count = int((last + FALL / inverse) / STEP) + 2
    logs = last - STEP * np.arange(count)
    s = np.exp(logs)
    growth = inverse * logs - lgamma(inverse) + log(STEP)
    result = np.empty(len(degrees))
    rows = max(1, CHUNK // len(s))
    for first in range(0, len(degrees), rows):
        part = slice(first, first + rows)
        D, a, F, C = (x[part, None] for x in (degrees, variance, square, constant))
        spread = 1 + 2 * a * s
        exponent = growth - D / 2 * np.log1p(2 * a * s) - (F / spread + C) * s
        tilted = _raw_moment(D, a / spread, F / spread / spread, power)
        result[part] = (np.exp(exponent) * tilted).sum(axis=1)
    return result


def _end(
    degrees: Floats, variance: Floats, square: Floats, constant: Floats, power: int, inverse: float
) -> Floats:
    """Where each integrand has fallen: through e^(-Cs), through the power of s, or through F."""
    fall = FALL + 10 + 6 * inverse  # s^q has grown meanwhile
    falling = degrees / 2 + power - inverse
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        by_constant = np.where(constant > 0, fall / constant, np.inf)
        growth = inverse * np.maximum(0.0, -np.log(2 * variance))
        exponent = np.minimum((fall + growth) / falling, 600.0)
        by_power = np.where(
            (falling > 0) & (variance > 0), np.expm1(exponent) / (2 * variance), np.inf
        )
        left = square - 2 * fall * variance  # F s / (1 + 2as) = fall
        by_square = np.where(left > 0, fall / left, np.inf)
    return np.minimum(np.minimum(np.minimum(by_constant, by_power), by_square), 1e290)


def _raw_moment(degrees: Floats, variance: Floats, square: Floats, order: int) -> Any:
    """E Y^order from the cumulants 2^(j-1) (j-1)! a^(j-1) (D a + j F)."""
    cumulants = [
        factorial(j - 1) * (2 * variance) ** (j - 1) * (degrees * variance + j * square)
        for j in range(1, order + 1)
    ]
    return raw_moments(cumulants)[order]
