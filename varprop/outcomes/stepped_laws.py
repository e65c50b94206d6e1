"""Gaussian and chi laws as nodes that are no further apart than a step, or as Gauss rules."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from varprop.quadrature.gauss import Law, gauss, gaussian, krylov

TAIL = 8.7
"""Where a Gaussian density is exp(-37.8) of its highest value, below the unit roundoff."""

FEW = 20
"""Nodes of a Gauss rule, or of a panel; what it integrates is smooth on the scale of the law."""

LOOSE = 0.4
"""Distance of nodes at which densities of width 1/sqrt(2), such as chi's, are integrated."""


def panels(low: float, high: float, step: float | None) -> Law:
    """Gauss-Legendre panels; no two nodes are further apart than a step (LOOSE by default)."""
    nodes, weights = _panel()
    # In the middle of a panel nodes are pi/2 times as far apart as on average.
    apart = (LOOSE if step is None else step) * FEW / (math.pi / 2)
    count = math.ceil((high - low) / apart)
    half = (high - low) / (2 * count)
    middles = low + half * (2 * np.arange(count) + 1)
    return Law((middles[:, None] + half * nodes).ravel(), np.tile(half * weights, count))


@lru_cache
def _panel() -> Law:
    return Law(*np.polynomial.legendre.leggauss(FEW))


@lru_cache(maxsize=64)
def normal(step: float | None) -> Law:
    """The standard normal law: equidistant nodes, or the Gauss rule if there is no step."""
    if step is None:
        return gaussian(FEW)
    most = math.ceil(TAIL / step)
    spaced = np.asarray(step * np.arange(-most, most + 1), np.float64)
    masses = np.exp(spaced**2 / -2)
    return Law(spaced, masses / masses.sum())


@lru_cache(maxsize=64)
def chi(freedom: float, step: float | None) -> Law:
    """The length of a standard normal vector: Gauss-Legendre nodes, or the Gauss rule.

        density r^(k-1) exp(-r^2/2), k = freedom >= 1; mode sqrt(k-1)

    Below the mode it falls at least like exp(-distance^2), above like exp(-distance^2/2).
    """
    mode = math.sqrt(freedom - 1)
    low, high = max(-mode, -TAIL / math.sqrt(2)), TAIL
    distance, weights = panels(low, high, step)
    exponent = distance**2 / -2
    if mode > 0:
        ratio = distance / mode
        exponent += (freedom - 1) * (np.log1p(ratio) - ratio)
    weights = weights * np.exp(exponent)
    law = Law(mode + distance, weights / weights.sum())
    return law if step is not None else gauss(krylov(law, FEW)).law
