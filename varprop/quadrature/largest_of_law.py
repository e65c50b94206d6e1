"""The expected largest weight of rows whose own key has a law near a Gaussian."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.averages import averages
from varprop.quadrature.largest import gaussian_window, integral_above, panels
from varprop.quadrature.nodes import (
    NEGLECTED,
    blocks,
    decay,
    extent,
    log_t_nodes,
    normal_density,
)
from varprop.quadrature.wide import HIGHEST

LOWEST = -9.0
"""Where a Gaussian own key has nothing left, in standard deviations."""


class NearGaussian(NamedTuple):
    """The density N(y) sum_m c_m He_m(y) / sqrt(m!) of y = (b - mean) / std."""

    mean: float
    std: float
    coefficients: Floats
    """(m,), c_0 = 1."""

    def factor(self, y: Floats) -> Floats:
        """The sum, at y."""
        before, now = np.zeros_like(y), np.ones_like(y)
        total: Floats = self.coefficients[0] * now
        for m, coefficient in enumerate(self.coefficients[1:], start=1):
            before, now = now, (y * now - math.sqrt(m - 1) * before) / math.sqrt(m)
            total = total + coefficient * now
        return total

    def below(self, y: Floats) -> Floats:
        """P(Y < y): the integral of N He_m is -N He_{m-1}."""
        from scipy.special import ndtr

        rest = self.coefficients[1:] / np.sqrt(np.arange(1, self.coefficients.size))
        shifted = self._replace(coefficients=rest) if rest.size else None
        tail = 0.0 if shifted is None else shifted.factor(y) * normal_density(y)
        return np.asarray(self.coefficients[0] * ndtr(y) - tail, np.float64)


def largest_of_law(std: float, lengths: Floats, own: NearGaussian) -> Floats:
    """Return E max p for n - 1 logits N(0, std^2) and an own logit std b: (n,).

        E max p = int du [int rho(l) t e^{-t} psi^N dl + N int N(l) t e^{-t} psi^{N-1} phi0 dl],
        psi(u, l) = E[e^{-t'}; l' < l],  phi0(u, l) = E[e^{-e^{u + s b}}; s b < l],
        t = e^{u + l}, N = n - 1

    as in `largest_weight`; phi0 is integrated from below, as no power of it is taken.

    Args:
        std: of the other logits, > 0.
        lengths: (n,), >= 2.
        own: the law of b.
    """
    fewest, most = float(lengths.min()), float(lengths.max())
    u, step = log_t_nodes(std * max(1.0, own.std), max(fewest - 1, 1.0), most)
    small = -np.expm1(averages(std, u).log_phi)
    nodes, weights, half, start = _grid(std, most, own)
    in_logits = std < extent(most)
    others = lengths - 1
    sums = np.zeros(lengths.size)
    for rows in blocks(u.size, nodes.size):
        at = u[rows, None, None]
        z = nodes[None] if in_logits else (nodes - at) / std
        t = np.exp(at + std * nodes) if in_logits else np.exp(nodes)[None]
        scale = 1.0 if in_logits else std
        y = (z - own.mean) / own.std
        equal = decay(-t)
        plain = normal_density(z) * equal / scale
        mine = normal_density(y) * own.factor(y) * equal / (scale * own.std)
        # Rounding may put 1 - psi beyond 1 where psi itself is nothing.
        complement = small[rows, None, None] + integral_above(plain, half)
        log_psi = np.log1p(-np.minimum(complement, 1 - 2.0**-53))
        above = integral_above(mine, half)
        whole = (mine * weights).sum(axis=(1, 2), keepdims=True)
        # The panels of logits start where there is nothing of the own key's law.
        low = 0.0 if in_logits else own.below(((start - at) / std - own.mean) / own.std)
        below = low + whole - above
        t = t * weights
        first = (mine * np.exp(log_psi) * t).ravel()
        second = (plain * below * t).ravel()
        log_psi = log_psi.ravel()
        for i, n in enumerate(others):
            power = decay((n - 1) * log_psi)
            sums[i] += float(power @ first + n * (power @ second))
    return np.asarray(step * sums, np.float64)


def _grid(std: float, most: float, own: NearGaussian) -> tuple[Floats, Floats, float, float]:
    """Of l / std, or of wide u + l: nodes, weights (panel, ORDER), half a panel, start."""
    if std < extent(most):
        low, rate = min(LOWEST, own.mean + own.std * LOWEST), max(std, extent(most))
        high = gaussian_window(std * max(own.std, 1.0), 2.0, most)[1]
        high = max(own.mean, 0.0) + max(own.std, 1.0) * high
    else:
        low, high, rate = -(math.log(most) + NEGLECTED), HIGHEST, 1.0
    return *panels(low, high, rate), low
