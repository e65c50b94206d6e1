"""Rules of quadrature: Gaussian and chi laws, Gauss rules of any weighted points."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from varprop.fields.numeric import Floats

Rule = tuple[Floats, Floats]
"""Nodes and probabilities, (k,) each."""

TAIL = 8.7
"""Where a Gaussian density is exp(-37.8) of its highest value, below the unit roundoff."""

FEW = 20
"""Nodes of a Gauss rule, or of a panel; what it integrates is smooth on the scale of the law."""

LOOSE = 0.4
"""Distance of nodes at which densities of width 1/sqrt(2), such as chi's, are integrated."""


def legendre(low: float, high: float, step: float | None) -> Rule:
    """Gauss-Legendre panels; no two nodes are further apart than a step (LOOSE by default)."""
    nodes, weights = _panel()
    # In the middle of a panel nodes are pi/2 times as far apart as on average.
    apart = (LOOSE if step is None else step) * FEW / (math.pi / 2)
    count = math.ceil((high - low) / apart)
    half = (high - low) / (2 * count)
    middles = low + half * (2 * np.arange(count) + 1)
    return (middles[:, None] + half * nodes).ravel(), np.tile(half * weights, count)


@lru_cache
def _panel() -> Rule:
    return np.polynomial.legendre.leggauss(FEW)


@lru_cache(maxsize=64)
def gaussian(step: float | None) -> Rule:
    """The standard normal law: equidistant nodes, or the Gauss rule if there is no step."""
    if step is None:
        roots, heights = np.polynomial.hermite_e.hermegauss(FEW)
        return roots, heights / heights.sum()
    most = math.ceil(TAIL / step)
    spaced = np.asarray(step * np.arange(-most, most + 1), np.float64)
    masses = np.exp(spaced**2 / -2)
    return spaced, masses / masses.sum()


@lru_cache(maxsize=64)
def chi(freedom: float, step: float | None) -> Rule:
    """The length of a standard normal vector: Gauss-Legendre nodes, or the Gauss rule.

        density r^(k-1) exp(-r^2/2), k = freedom >= 1; mode sqrt(k-1)

    Below the mode it falls at least like exp(-distance^2), above like exp(-distance^2/2).
    """
    mode = math.sqrt(freedom - 1)
    low, high = max(-mode, -TAIL / math.sqrt(2)), TAIL
    distance, weights = legendre(low, high, step)
    exponent = distance**2 / -2
    if mode > 0:
        ratio = distance / mode
        exponent += (freedom - 1) * (np.log1p(ratio) - ratio)
    weights = weights * np.exp(exponent)
    rule = mode + distance, weights / weights.sum()
    return rule if step is not None else gauss(*rule, FEW)[:2]


def gauss(
    values: Floats, weights: Floats, count: int, *others: Floats
) -> tuple[Floats, Floats, tuple[Floats, ...]]:
    """The Gauss rule of weighted points with up to `count` nodes, and other functions at them.

    Lanczos' process gives polynomials p_k that are orthonormal under the weights. Each of
    `others`, (point,), is projected on them: at a node it is sum_k <p_k, other> p_k(node), so
    that the rule integrates its product with a smooth function of the value.

    Returns:
        nodes and weights (k,), and the others (k,) each.
    """
    root = np.sqrt(weights)
    norm = np.linalg.norm(root)
    basis = np.zeros((min(count, len(values)), len(values)))
    basis[0] = root / norm
    centre, spread = float(weights @ values / weights.sum()), float(np.ptp(values))
    scaled = (values - centre) / (spread or 1.0)
    diagonal, beside = [], []
    for found in range(1, len(basis) + 1):
        after = scaled * basis[found - 1]
        diagonal.append(float(basis[found - 1] @ after))
        for _ in range(2):  # twice is enough
            after -= (basis[:found] @ after) @ basis[:found]
        length = float(np.linalg.norm(after))
        if found == len(basis) or not length > 1e-13:
            break
        beside.append(length)
        basis[found] = after / length
    jacobi = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    nodes, columns = np.linalg.eigh(jacobi)
    projected = tuple(columns.T @ (basis[:found] @ (root * other)) for other in others)
    first = columns[0] * norm
    return centre + spread * nodes, first**2, tuple(values / first for values in projected)
