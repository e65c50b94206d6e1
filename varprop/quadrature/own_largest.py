"""The expected largest weight of rows in which one key's logit is given."""

from __future__ import annotations

import math

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.averages import averages
from varprop.quadrature.largest import PANEL, gaussian_window, integral_above, legendre
from varprop.quadrature.lengths import over_lengths
from varprop.quadrature.nodes import NEGLECTED, blocks, decay, extent, normal_density
from varprop.quadrature.own_kernels import own_kernels
from varprop.quadrature.own_nodes import own_nodes
from varprop.quadrature.wide import HIGHEST

SHARED = 1.5
"""Up to this scale of the others' part own values share their nodes (see `own_nodes`)."""


def own_key_largest(std: float, lengths: Floats, own: Floats) -> Floats:
    """Return E max p, the own key among the keys: (n, a).

    Args:
        std: of the other logits, >= 0.
        lengths: (n,), how many keys there are, the own one among them, >= 1.
        own: (a,), finite.
    """
    result = np.ones((own.size, lengths.size))
    several = lengths > 1
    others = np.asarray(lengths[several] - 1, np.float64)
    if not others.size:
        return result.T
    if std == 0:
        log_n = np.log(others)
        highest = np.maximum(own, 0.0)[:, None]
        result[:, several] = np.exp(highest - np.logaddexp(own[:, None], log_n))
        return result.T
    nodes = own_nodes(std, float(others.min()), float(others.max()), own, SHARED)
    small = -np.expm1(averages(std, nodes.u.ravel()).log_phi).reshape(nodes.u.shape)
    for i, (a, x) in enumerate(zip(own.tolist(), nodes.x, strict=True)):
        kept, k = x <= HIGHEST, i % len(nodes.u)  # beyond, phi0 is nothing
        row = _Row(std, nodes.u[k, kept], x[kept], nodes.weights[kept], small[k, kept], a)
        result[i, several] = over_lengths(row.largest, others)[0]
    return np.clip(result.T, 1 / lengths[:, None], 1)


class _Row:
    """The double integral of one own logit a.

        E max p = int t0 phi0 psi(u, a)^N du
                + N int phi0 du int_a^inf N(l; 0, std^2) e^{x - e^x} psi(u, l)^{N-1} dl,
        t0 = e^{u + a}, phi0 = e^{-t0}, x = u + l,

    psi as in `largest_weight`; the first integral is for the own key being the largest.
    """

    def __init__(
        self, std: float, u: Floats, x: Floats, weights: Floats, small: Floats, own: float
    ) -> None:
        self._std, self._u, self._small, self._own = std, u, small, own
        kernels = own_kernels(x)
        self._free = weights * kernels.equal
        self._first = self._free * kernels.t

    def largest(self, others: Floats) -> Floats:
        """Return E max p for numbers of other keys (n,): (1, n)."""
        fewest, most = float(others.min()), float(others.max())
        # In units of std for the logit l where the density of the largest is the narrower of the
        # two factors; else on the axis of x.
        in_logits = self._std < extent(most)
        start, length, count = self._window(fewest, most, in_logits)
        half = length / (2 * count)
        points, gauss, _ = legendre()
        panels = 2 * np.arange(count)[:, None] + 1 + points
        sums = np.zeros(others.size)
        for rows in blocks(self._u.size, panels.size):
            u, halves = self._u[rows, None, None], half[rows, None, None]
            offset = start[rows, None, None] + halves * panels
            integrand, t = self._integrand(u, offset, in_logits)
            above = integral_above(integrand, halves)
            whole = (integrand @ gauss).sum(axis=1) * half[rows]
            inner = integrand * t * (gauss * halves)
            log_psi = self._log_psi(self._small[rows, None, None] + above)
            log_own = self._log_psi(self._small[rows] + whole)
            for i, n in enumerate(others):
                sums[i] += self._first[rows] @ decay(n * log_own)
                other = (inner * decay((n - 1) * log_psi)).sum(axis=(1, 2))
                sums[i] += n * (self._free[rows] @ other)
        return sums[None]

    def _window(self, fewest: float, most: float, in_logits: bool) -> tuple[Floats, Floats, int]:
        """Where panels start and how far they reach, (u,) each, and how many there are."""
        if in_logits:
            low, high = gaussian_window(self._std, fewest, most)
            start = np.full(self._u.size, min(max(self._own / self._std, low), high))
            rate = max(self._std, extent(most))
        else:
            low, high, rate = -(math.log(most) + NEGLECTED), HIGHEST, 1.0
            start = np.clip(self._u + self._own, low, high)
        return start, high - start, max(1, math.ceil((high - float(start.min())) * rate / PANEL))

    def _integrand(self, u: Floats, offset: Floats, in_logits: bool) -> tuple[Floats, Floats]:
        """N(l) exp(-t) times the unit of the offset, and t = e^{u + l}."""
        if in_logits:
            t, z = np.exp(u + self._std * offset), offset
        else:
            t, z = np.exp(offset), (offset - u) / self._std
        scale = 1 if in_logits else self._std
        return normal_density(z) / scale * decay(-t), t

    @staticmethod
    def _log_psi(complement: Floats) -> Floats:
        """Rounding may put 1 - psi beyond 1 where psi itself is nothing."""
        return np.log1p(-np.minimum(complement, 1 - 2.0**-53))
