"""Softmax expectations for logits of standard deviation 1/3 or more, up to any size."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.integrals import Integrals
from varprop.quadrature.nodes import NEGLECTED, STEP, blocks, decay
from varprop.quadrature.own_kernels import own_kernels

HIGHEST = 4.25
"""End of the grid of x = log t + l; every kernel is below 1e-21 there."""

SMOOTH = 0.5
"""Width of the Gaussian distribution function that stands in for 1 - exp(-e^x)."""


class WideTable:
    """Everything that depends on u = log t and the standard deviation alone.

        m_k(u) = int N(x - u; 0, std^2) e^{k x - e^x} dx

    phi = m_0 has a kernel that does not decay. With Phi the Gaussian distribution function,
    1 - phi(u) = Phi((u + gamma) / sqrt(std^2 + SMOOTH^2))
               + int N(x - u) [1 - exp(-e^x) - Phi((x + gamma) / SMOOTH)] dx.
    """

    def __init__(self, std: float, log_t: Floats, step: float, most: float) -> None:
        from scipy.special import ndtr

        self.std, self.log_t, self.step = std, log_t, step
        kernels = _kernels(math.floor(-(math.log(most) + NEGLECTED) / STEP))
        averages = np.empty((self.log_t.size, 7))
        for rows in blocks(self.log_t.size, kernels.x.size):
            offset = (kernels.x - self.log_t[rows, None]) / std
            gaussian = decay(offset**2 * -0.5)
            averages[rows, :3] = gaussian @ kernels.decaying
            gaussian *= offset
            averages[rows, 3:6] = gaussian @ kernels.primitives
            gaussian *= offset
            averages[rows, 6] = gaussian @ kernels.decaying[:, 2]
        averages *= STEP / std / math.sqrt(2 * math.pi)
        averages[:, 3:] *= [1 / std, 1 / std, 1, 1]
        bump, *self._averages = averages.T
        smooth = ndtr((self.log_t + np.euler_gamma) / math.hypot(std, SMOOTH))
        # Rounding may put 1 - phi beyond 1 where phi itself is nothing.
        self.small = np.clip(smooth + bump, 0, 1 - 2.0**-53)
        self.log_phi = np.log1p(-self.small)

    def integrals(self, n: Floats) -> Integrals:
        """Return all one-dimensional integrals for each row length n >= 2: (n,) each.

            F = -gamma - n int u m_1 phi^{n-1},  E sum p^2 = n int m_2 phi^{n-1},
            entropy = -n int E[(gamma + x) e^{x - e^x}] phi^{n-1},
            E sum p^2 (1 - p)^2 = n int (m_2 - m_3 + m_4/6) phi^{n-1},
            E sum_{i != j} p_i^2 p_j^2 = n (n-1)/6 int m_2^2 phi^{n-2},
            E (sum p z)^2 = n int E[z^2 t^2 e^{-t}] phi^{n-1}
                          + n (n-1) int E[z t e^{-t}]^2 phi^{n-2},  z = l / std.

        The kernels of the third and fourth integrate to 0: for wide logits they would cancel. By
        parts, int N k dx = int N (x - u)/std^2 K dx with K' = k, which is
        K = (gamma + x) exp(-e^x) + E_1(e^x) and K = (t^2/2 - t^3/6) e^-t, t = e^x.
        """
        first, second, entropy, own, logit, logit_square = self._averages
        phi = np.exp(self.log_phi)
        singles = [self.log_t * first, second, entropy, own, logit_square]
        columns = np.stack([*singles, second**2 / phi / 6, logit**2 / phi], axis=1)
        power = decay(np.multiply.outer(n - 1, self.log_phi))
        means = (n * self.step) * (power @ columns).T
        excess = -np.euler_gamma - means[0] - np.log(n)
        return Integrals(
            excess=excess,
            entropy=means[2],
            deficit=np.log(n) - means[2],
            squares=means[1],
            squares_excess=means[1] - 1 / n,
            jacobian=means[3] + (n - 1) * means[5],
            mean_logit_square=means[4] + (n - 1) * means[6],
        )


class _Kernels(NamedTuple):
    """Nodes x = log t + l, (x,); kernels for N(x - u) and for N(x - u) (x - u), (x, kernel)."""

    x: Floats
    decaying: Floats
    primitives: Floats


@lru_cache
def _kernels(lowest: int) -> _Kernels:
    """Return the kernels at the multiples of STEP from lowest * STEP to HIGHEST."""
    from scipy.special import ndtr

    x = np.asarray(STEP * np.arange(lowest, round(HIGHEST / STEP) + 1), np.float64)
    t = np.exp(x)
    bump = -np.expm1(-t) - ndtr((x + np.euler_gamma) / SMOOTH)
    decaying = np.stack([bump, t * np.exp(-t), t**2 * np.exp(-t)], axis=1)
    first, own = t * np.exp(-t), (t**2 / 2 - t**3 / 6) * np.exp(-t)
    primitives = np.stack([own_kernels(x).entropy, own, first], axis=1)
    return _Kernels(x, decaying, primitives)
