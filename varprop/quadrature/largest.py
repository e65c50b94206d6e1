"""The expected largest weight of a softmax row: a double integral."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.narrow import NarrowTable
from varprop.quadrature.nodes import NEGLECTED, blocks, decay, extent, normal_density
from varprop.quadrature.wide import HIGHEST, WideTable

ORDER = 16
"""Gauss-Legendre nodes of a panel."""

PANEL = 3.0
"""Length of a panel in units of the integrand's scale.

The error, of the polynomial under the inner integral, is below 1e-12 of the result (2: 1e-15).
"""


def largest_weight(table: NarrowTable | WideTable, lengths: Floats) -> Floats:
    """Return E max p for each row length n >= 2 that the table covers: (n,).

        E max p = n int du int dl N(l; 0, std^2) e^{x - e^x} psi(u, l)^{n-1},  x = u + l,
        psi(u, l) = E[exp(-e^u e^l'); l' < l] = phi(u) - int_l^inf N(l') exp(-e^{u + l'}) dl':

    l is the largest logit, 1 / sum_j e^{l_j} = int exp(-t sum_j e^{l_j}) dt, t = e^u. The integral
    over u is the trapezoidal rule, that over l panels of Gauss-Legendre nodes, on which the inner
    integral is that of the interpolating polynomial.
    """
    fewest, most = lengths.min(), lengths.max()
    # The largest logit varies by std / extent, e^{-e^x} by 1: panels follow the narrower one.
    if table.std < extent(most):
        rate = max(table.std, extent(most))
        nodes, weights, half = panels(*gaussian_window(table.std, fewest, most), rate)
        density = normal_density(nodes)
    else:
        nodes, weights, half = panels(-(math.log(most) + NEGLECTED), HIGHEST, 1.0)
        density = None
    sums = np.zeros(lengths.size)
    for rows in blocks(table.log_t.size, nodes.size):
        u = table.log_t[rows, None, None]
        if density is None:
            t = np.exp(nodes)
            integrand = normal_density((nodes - u) / table.std) * decay(-t) / table.std
        else:
            t = np.exp(u + table.std * nodes)
            integrand = density * decay(-t)
        above = integral_above(integrand, half)
        # Rounding may put 1 - psi beyond 1 where psi itself is nothing.
        log_psi = np.log1p(-np.minimum(table.small[rows, None, None] + above, 1 - 2.0**-53))
        integrand *= weights * t
        sums += [float((integrand * decay((n - 1) * log_psi)).sum()) for n in lengths]
    return np.asarray(lengths * table.step * sums, np.float64)


def gaussian_window(std: float, fewest: float, most: float) -> tuple[float, float]:
    """Where the largest of n standard Gaussians matters, for n in fewest .. most.

    Below, Phi(z)^n <= exp(-NEGLECTED). Above, N(z) e^{std z} is exp(-NEGLECTED) of what it is at
    the typical maximum: a weight grows with its logit, until it is near 1.
    """
    from scipy.special import ndtri_exp

    typical = extent(most) - 1
    tilt = min(std, typical)
    return (
        float(ndtri_exp(-NEGLECTED / fewest)),
        tilt + math.sqrt((extent(most) - tilt) ** 2 + 2 * NEGLECTED),
    )


def panels(low: float, high: float, rate: float) -> tuple[Floats, Floats, float]:
    """Nodes and weights (panel, ORDER) from low to high, and half the length of a panel."""
    nodes, weights, _ = legendre()
    count = math.ceil((high - low) * rate / PANEL)
    half = (high - low) / (2 * count)
    middles = low + half * (2 * np.arange(count) + 1)
    return middles[:, None] + half * nodes, half * weights, half


def integral_above(values: Floats, half: Floats | float) -> Floats:
    """Integrals from each node to the end of the last panel: (u, panel, ORDER).

    Args:
        values: (u, panel, ORDER).
        half: half the length of a panel, the same for all or (u, 1, 1).
    """
    _, weights, matrix = legendre()
    totals = values @ weights
    later = np.cumsum(totals[:, ::-1], axis=1)[:, ::-1] - totals
    result: Floats = half * (later[..., None] + values @ matrix.T)
    return result


@lru_cache
def legendre() -> tuple[Floats, Floats, Floats]:
    """Nodes, weights, and the matrix B that integrates from node i to 1: sum_j B_ij f(x_j).

    The interpolating polynomial is sum_k (k + 1/2) P_k(x) sum_j w_j P_k(x_j) f(x_j), and
    int_x^1 P_k = (P_{k-1}(x) - P_{k+1}(x)) / (2 k + 1), or 1 - x for k = 0.
    """
    nodes, weights = np.polynomial.legendre.leggauss(ORDER)
    values = np.polynomial.legendre.legvander(nodes, ORDER)
    orders = np.arange(1, ORDER)
    integrals = np.empty((ORDER, ORDER))
    integrals[:, 0] = 1 - nodes
    integrals[:, 1:] = (values[:, :-2] - values[:, 2:]) / (2 * orders + 1)
    matrix = (integrals * (np.arange(ORDER) + 0.5)) @ (values[:, :-1].T * weights)
    return nodes, weights, matrix
