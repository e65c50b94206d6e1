"""Functions of a row's length n at many lengths at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.nodes import blocks

BLOCK = 16
"""Ratio of the longest to the shortest row of a block."""

DEGREE = 40
"""Chebyshev nodes of a block.

Every integral converges for complex n with Re n > 0, that is |Im log n| < pi/2. Half a block is
log(BLOCK) / 2 = 1.39 long: the ellipse of convergence has rho = 1.13 + sqrt(1 + 1.13^2) = 2.64, and
the interpolation error is of the order of rho^-DEGREE = 1e-17.
"""

Evaluate = Callable[[Floats], Floats]
"""From lengths (n,), real and >= 2, to quantities (quantity, n)."""


def over_lengths(evaluate: Evaluate, lengths: Floats) -> Floats:
    """Return what `evaluate` gives at each length, called at few of them where they are many.

    Args:
        evaluate: analytic in log n for Re n > 0.
        lengths: (n,), >= 2, in any order, repeated or not.

    Returns:
        (quantity, n)
    """
    distinct, where = np.unique(lengths, return_inverse=True)
    edges = distinct[0] * BLOCK ** np.arange(1 + math.log(distinct[-1] / distinct[0], BLOCK))
    groups = np.split(distinct, np.searchsorted(distinct, edges[1:]))
    parts = [_over_block(evaluate, block) for block in groups if block.size]
    return np.concatenate(parts, axis=1)[:, where.ravel()]


def _over_block(evaluate: Evaluate, lengths: Floats) -> Floats:
    if len(lengths) <= DEGREE:
        return evaluate(lengths)
    low, high = np.log(lengths[[0, -1]])
    middle, half = (high + low) / 2, (high - low) / 2
    angles = math.pi * (np.arange(DEGREE) + 0.5) / DEGREE
    orders = np.arange(DEGREE)
    values = evaluate(np.exp(middle + half * np.cos(angles)))
    coefficients = values @ np.cos(np.multiply.outer(angles, orders)) * (2 / DEGREE)
    coefficients[:, 0] /= 2
    x = np.clip((np.log(lengths) - middle) / half, -1, 1)
    result = np.empty((len(values), len(lengths)))
    for part in blocks(x.size, len(values)):
        result[:, part] = np.polynomial.chebyshev.chebval(x[part], coefficients.T)
    return result
