"""Softmax expectations for narrow logits, as departures from equal logits, without cancellation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.integrals import Integrals
from varprop.quadrature.nodes import NEGLECTED, decay, log_t_nodes

WIDEST = 1 / 3
"""Largest standard deviation of logits treated here."""

GAUSSIAN_STEP = 0.7
"""Step of the trapezoidal rule for a Gaussian average; its error is 2 exp(-2 pi^2 / 0.49) = 6e-18.

Times WIDEST it is below STEP, which exp(-t e^l) asks for.
"""


class NarrowTable:
    """Everything that depends on t = exp(u) and the standard deviation alone.

        r_k = m_k / (t^k e^-t) - 1 = E[exp(k l - t (e^l - 1)) - 1],  m_k = t^k E[e^{k l} e^{-t e^l}]

    With phi = m_0 the differences from equal logits, where m_k = t^k e^-t, are
    F - log n = -int (phi^n - e^{-n t}) du and
    E sum p^2 - 1/n = n int t^2 e^-t (r_2 phi^{n-1} + phi^{n-1} - e^{-(n-1) t}) du.
    """

    def __init__(self, std: float, fewest: float, most: float) -> None:
        self.std = std
        self.log_t, self.step = log_t_nodes(std, fewest, most)
        self._t = np.exp(self.log_t)
        self._log_ratio = np.log1p(self._relative(0))
        self.log_phi = self._log_ratio - self._t

    @property
    def small(self) -> Floats:
        """1 - phi at each node of log t: (u,)."""
        complement: Floats = -np.expm1(self.log_phi)
        return complement

    def integrals(self, n: Floats) -> Integrals:
        """Return all one-dimensional integrals for each row length n >= 2: (n,) each."""
        t, equal = self._t, np.exp(-self._t)
        relative = self._relative(2)
        second = t**2 * equal * (1 + relative)
        fourths = t**4 * equal * (1 + self._relative(4)) / 6
        own = second - t**3 * equal * (1 + self._relative(3)) + fourths
        pairs = second**2 / np.exp(self.log_phi) / 6
        power = decay(np.multiply.outer(n - 1, self.log_phi))
        excess = -self.step * self._difference(n).sum(axis=-1)
        squares = (relative * power + self._difference(n - 1)) @ (t**2 * equal)
        squares_excess = n * self.step * squares
        jacobian = n * self.step * (power @ own + (n - 1) * (power @ pairs))
        deficit = self.std**2 * (1 - 1 / n - squares_excess) - excess
        return Integrals(
            excess=excess,
            entropy=np.log(n) - deficit,
            deficit=deficit,
            squares=1 / n + squares_excess,
            squares_excess=squares_excess,
            jacobian=jacobian,
        )

    def _difference(self, n: Floats) -> Floats:
        """phi^n - e^{-n t}: (n, u)."""
        exponent = np.multiply.outer(n, self._log_ratio)
        equal = decay(-np.multiply.outer(n, self._t))
        # expm1 for what is small; elsewhere it may overflow, and nothing cancels.
        close: Floats = equal * np.expm1(np.minimum(exponent, 1))
        far = decay(np.multiply.outer(n, self.log_phi)) - equal
        return np.where(exponent < 1, close, far)

    def _relative(self, k: int) -> Floats:
        """r_k: (u,), with z and -z taken together, so that what is odd in l cancels exactly.

        exp(a) + exp(b) - 2 = 2 expm1(m) cosh(d) + 4 sinh(d/2)^2,  a, b = m + d, m - d
        """
        z, weights = _gaussian()
        l = self.std * z
        t = self._t[:, None]
        middle = -2 * t * np.sinh(l / 2) ** 2
        half = k * l - t * np.sinh(l)
        # Where d is large the paired form would cancel in its turn, and the plain one does not.
        near = np.clip(half, -1, 1)
        paired = 2 * np.expm1(middle) * np.cosh(near) + 4 * np.sinh(near / 2) ** 2
        plain = np.expm1(middle + half) + np.expm1(middle - half)
        relative: Floats = np.where(abs(half) < 1, paired, plain) @ weights
        return relative


@lru_cache
def _gaussian() -> tuple[Floats, Floats]:
    """Positive nodes and weights of the symmetric rule for E f(Z): weights * (f(z) + f(-z))."""
    # Powers up to e^{4 l} move the Gaussian's weight by 4 std.
    largest = math.sqrt(2 * NEGLECTED) + 4 * WIDEST
    count = math.ceil(largest / GAUSSIAN_STEP)
    z = np.asarray(GAUSSIAN_STEP * (np.arange(count) + 0.5), np.float64)
    return z, GAUSSIAN_STEP * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
