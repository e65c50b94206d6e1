"""Sums over the rows of a causal mask, of length 1 .. n, from few real lengths."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np

from varprop.quadrature.gauss import Law, gauss, krylov

EACH = 4
"""Rows up to this length are taken one by one."""

RATIO = 32
"""Ratio of the longest to the shortest row of a block, at most."""

NODES = 12
"""Gauss nodes of a block in log n.

What is averaged is analytic for |Im log n| < pi/2; half a block is log(RATIO) / 2 = 1.73 long, its
ellipse of convergence has rho = 0.91 + sqrt(1 + 0.91^2) = 2.26, and the error is of the order of
rho^(-2 NODES) = 3e-9 of a block.
"""

COUNTED = 1024
"""Up to here a block is the sum over its integers; beyond, the integral of the midpoint rule, whose
error is 1 / (24 COUNTED^2) = 4e-8 of one row of the block."""


@lru_cache(maxsize=64)
def length_rule(longest: int) -> Law:
    """Return lengths, real and >= 1, and weights whose sum is `longest`.

    sum_{m=1}^{longest} f(m) = sum_k weights_k f(points_k), to 1e-8 for f analytic in log m.
    """
    first = np.arange(1, min(longest, EACH) + 1, dtype=np.float64)
    points, weights = [first], [np.ones_like(first)]
    count = math.ceil(math.log(max(longest / EACH, 1)) / math.log(RATIO))
    edges = [round(EACH * (longest / EACH) ** (k / count)) for k in range(count)]
    for low, high in pairwise([*edges, longest] if edges else []):
        block = _counted(low, high) if low < COUNTED else _midpoint(low, high)
        points.append(np.exp(block.points))
        weights.append((high - low) * block.weights)
    return Law(np.concatenate(points), np.concatenate(weights))


def _counted(low: int, high: int) -> Law:
    """Gauss nodes for log m, m uniform over low + 1 .. high."""
    count = high - low
    law = Law(np.log(np.arange(low + 1, high + 1)), np.full(count, 1 / count))
    return law if count <= NODES else gauss(krylov(law, NODES)).law


def _midpoint(low: int, high: int) -> Law:
    """Gauss nodes for log m, m uniform from low + 1/2 to high + 1/2."""
    nodes, weights = np.polynomial.legendre.leggauss(4 * NODES)
    start, stop = math.log(low + 0.5), math.log(high + 0.5)
    points = (start + stop) / 2 + (stop - start) / 2 * nodes
    masses = weights * np.exp(points - stop)
    return gauss(krylov(Law(points, masses / masses.sum()), NODES)).law
