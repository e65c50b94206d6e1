"""Softmax expectations for narrow logits, as departures from equal logits, without cancellation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.integrals import Integrals
from varprop.quadrature.nodes import NEGLECTED, decay

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

    def __init__(self, std: float, log_t: Floats, step: float) -> None:
        self.std, self.log_t, self.step = std, log_t, step
        self._t = np.exp(self.log_t)
        self._log_ratio = np.log1p(self.relative(0))
        self.log_phi = self._log_ratio - self._t

    @property
    def small(self) -> Floats:
        """1 - phi at each node of log t: (u,)."""
        complement: Floats = -np.expm1(self.log_phi)
        return complement

    def integrals(self, n: Floats) -> Integrals:
        """Return all one-dimensional integrals for each row length n >= 2: (n,) each."""
        t, equal, phi = self._t, np.exp(-self._t), np.exp(self.log_phi)
        relative = self.relative(2)
        first, third, fourth = (self.moment(k) for k in (1, 3, 4))
        second = t**2 * equal * (1 + relative)
        own = second - third + fourth / 6
        pairs = second**2 / phi / 6
        # By Stein, E[l f(l)] = std^2 E f'(l).
        logit_squares = second + self.std**2 * (4 * second - 5 * third + fourth)
        logit_pairs = self.std**2 * (first - second) ** 2 / phi
        power = decay(np.multiply.outer(n - 1, self.log_phi))
        excess = -self.step * self.difference(n).sum(axis=-1)
        squares = (relative * power + self.difference(n - 1)) @ (t**2 * equal)
        squares_excess = n * self.step * squares
        jacobian = n * self.step * (power @ own + (n - 1) * (power @ pairs))
        logits = n * self.step * (power @ logit_squares + (n - 1) * (power @ logit_pairs))
        deficit = self.std**2 * (1 - 1 / n - squares_excess) - excess
        return Integrals(
            excess=excess,
            entropy=np.log(n) - deficit,
            deficit=deficit,
            squares=1 / n + squares_excess,
            squares_excess=squares_excess,
            jacobian=jacobian,
            mean_logit_square=logits,
        )

    def moment(self, k: int) -> Floats:
        """m_k at each node of log t: (u,)."""
        moment: Floats = np.exp(k * self.log_t - self._t) * (1 + self.relative(k))
        return moment

    def difference(self, n: Floats) -> Floats:
        """phi^n - e^{-n t}: (n, u)."""
        exponent = np.multiply.outer(n, self._log_ratio)
        equal = decay(-np.multiply.outer(n, self._t))
        # expm1 for what is small; elsewhere it may overflow, and nothing cancels.
        close: Floats = equal * np.expm1(np.minimum(exponent, 1))
        far = decay(np.multiply.outer(n, self.log_phi)) - equal
        return np.where(exponent < 1, close, far)

    def relative(self, k: int) -> Floats:
        """r_k: (u,), with z and -z taken together, so that what is odd in l cancels exactly.

        exp(a) + exp(b) - 2 = 2 expm1(m) cosh(d) + 4 sinh(d/2)^2,  a, b = m + d, m - d
        """
        z, weights = gaussian_rule()
        l = self.std * z
        t = self._t[:, None]
        middle = -2 * t * np.sinh(l / 2) ** 2
        half = k * l - t * np.sinh(l)
        # Where d is large the paired form would cancel in its turn, and the plain one does not.
        near = np.clip(half, -1, 1)
        paired = 2 * np.expm1(middle) * np.cosh(near) + 4 * np.sinh(near / 2) ** 2
        # Beyond 700 e^{-t} makes nothing of it.
        high = np.minimum(middle + half, 700.0), np.minimum(middle - half, 700.0)
        plain = np.expm1(high[0]) + np.expm1(high[1])
        relative: Floats = np.where(abs(half) < 1, paired, plain) @ weights
        return relative


@lru_cache
def gaussian_rule() -> tuple[Floats, Floats]:
    """Positive nodes and weights of the symmetric rule for E f(Z): weights * (f(z) + f(-z))."""
    # Powers up to e^{4 l} move the Gaussian's weight by 4 std.
    largest = math.sqrt(2 * NEGLECTED) + 4 * WIDEST
    count = math.ceil(largest / GAUSSIAN_STEP)
    z = np.asarray(GAUSSIAN_STEP * (np.arange(count) + 0.5), np.float64)
    return z, GAUSSIAN_STEP * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
