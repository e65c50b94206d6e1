"""The integrals over rows of n - 1 Gaussian logits and one given logit."""

from __future__ import annotations

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.averages import averages, narrow_averages
from varprop.quadrature.integrals import OwnKeyIntegrals
from varprop.quadrature.narrow import WIDEST, NarrowTable
from varprop.quadrature.nodes import STEP
from varprop.quadrature.own_equal import equal_others
from varprop.quadrature.own_kernels import own_kernels
from varprop.quadrature.own_nodes import own_nodes

SHARED = 1.0
"""Up to this scale of the others' part, times the number of own values, all share their nodes.

Shared nodes are as many times more as the scale is larger, and what the others make of them is
evaluated once, not for each own value.
"""

WIDEST_SHARED = 16.0
"""And never beyond this scale, which would be too many nodes."""


class OwnRows:
    """Everything that depends on u = log t, the others' standard deviation, and the own logits.

    With phi0 = e^{-t0}, t0 = t e^a, m_k as in `Averages` and N = n - 1 other keys,

        F - a     = N int E_1(t0) m_1 phi^{N-1},
        entropy   = N int [K(x0) m_1 + t0 phi0 E K(x) + (N-1) phi0 E K(x) m_1 / phi] phi^{N-1},
        E p0^k    = int t0^k phi0 phi^N,  k = 1, 2,
        E sum p^2 = E p0^2 + N int m_2 phi0 phi^{N-1},
        E (sum p l)^2 = a^2 E p0^2 + N int phi0 [(2 a t0 E[l t e^{-t}] + E[l^2 t^2 e^{-t}])
                        phi^{N-1} + (N-1) E[l t e^{-t}]^2 phi^{N-2}],

    the first two by parts, with K(x) = (gamma + x) e^{-t} + E_1(t) > 0. For the Jacobian
    p^2 (1 - p)^2 is p^2 (sum of the other weights)^2:

        E [sum p^2 (1 - p)^2 + sum_{i != j} p_i^2 p_j^2]
            = N/6 int phi0 [4 t0^2 m_2 phi^{N-1} + (N-1) (t0^2 m_1^2 + 2 t0 m_1 m_2 + 2 m_2^2
              + (N-2) m_1^2 m_2 / phi) phi^{N-2}].

    Nothing in these cancels where one key has nearly all the weight.
    """

    def __init__(self, std: float, fewest: float, most: float, own: Floats) -> None:
        self._std, self._own = std, own
        nodes = own_nodes(std, fewest, most, own, min(SHARED * own.size, WIDEST_SHARED))
        self._moved, u = nodes.own, nodes.u
        if std < WIDEST:
            self._table = NarrowTable(std, u[0], STEP)
            columns = narrow_averages(self._table)
            self._equal = np.exp(2 * u[0] - np.exp(u[0]))
        else:
            columns = averages(std, u.ravel())
        self._columns = [column.reshape(u.shape)[:, None, :] for column in columns]
        kernels = moved = own_kernels(nodes.x)
        lowered = np.minimum(own - self._moved, 0)
        if lowered.any():
            kernels = own_kernels(nodes.x + lowered[:, None])
        self._free = nodes.weights * kernels.equal
        self._first, self._second = self._free * kernels.t, self._free * kernels.t**2
        self._integral = nodes.weights * moved.exponential_integral
        self._entropy = nodes.weights * kernels.entropy

    def integrals(self, others: Floats) -> OwnKeyIntegrals:
        """Return the integrals for numbers of other keys, (n,), real and >= 1: (own, n) each."""
        log_phi, first, second, entropy, logit, logit_square = self._columns
        many, own = others[:, None], self._own[:, None]
        phi = np.exp(log_phi)
        power = np.exp(np.maximum((many - 1) * log_phi, -700.0))
        pairs = (many - 1) * power / phi
        loss = others * _sum(self._integral, first * power)
        entropies = _sum(self._entropy, first * power) + _sum(self._first, entropy * power)
        entropies += _sum(self._free, pairs * entropy * first)
        weight = _sum(self._first, phi * power)
        square = _sum(self._second, phi * power)
        other_squares = others * _sum(self._free, second * power)
        jacobian = _sum(self._second, 4 * second * power + pairs * first**2)
        jacobian += 2 * _sum(self._first, pairs * first * second)
        mixed = 2 * second**2 + (many - 2) * first**2 * second / phi
        jacobian += _sum(self._free, pairs * mixed)
        outputs = _sum(self._free, logit_square * power)
        output = 2 * own * _sum(self._first, logit * power) + outputs
        output += _sum(self._free, pairs * logit**2)
        log_n, entropies = np.log(others + 1), others * entropies
        # An own logit moved up changes nothing of F, one moved down is F.
        logsumexp = loss + np.maximum(own, self._moved[:, None])
        result = OwnKeyIntegrals(
            logsumexp=logsumexp,
            logsumexp_excess=logsumexp - log_n,
            entropy=entropies,
            deficit=log_n - entropies,
            squares=square + other_squares,
            squares_excess=square + other_squares - 1 / (others + 1),
            jacobian=others * jacobian / 6,
            own_weight=weight,
            own_square=square,
            output=own**2 * square + others * output,
            other_outputs=others * outputs,
            loss=loss + np.maximum(self._moved[:, None] - own, 0),
        )
        return self._narrow(others, result) if self._std < WIDEST else result

    def _narrow(self, others: Floats, result: OwnKeyIntegrals) -> OwnKeyIntegrals:
        """Replace what is nearly that of equal others by the difference from them."""
        own, equal = self._own[:, None], equal_others(others + 1, self._own[:, None])
        difference = self._table.difference(others)[None]
        excess = -_sum(self._free, difference)
        weight = _sum(self._first, difference)
        power = np.exp(np.maximum((others[:, None] - 1) * self._table.log_phi, -700.0))
        squares = self._table.relative(2) * power + self._table.difference(others - 1)
        squares = others * _sum(self._free, (self._equal * squares)[None])
        squares_excess = equal.squares_excess + _sum(self._second, difference) + squares
        # By Stein, entropy = F - a E p0 - std^2 E sum_others p (1 - p).
        spread = 1 - result.own_weight - (result.squares - result.own_square)
        deficit = self._std**2 * spread + own * weight + equal.deficit - excess
        log_n = np.log(others + 1)
        return result._replace(
            logsumexp=equal.logsumexp + excess,
            logsumexp_excess=equal.excess + excess,
            deficit=np.where(result.entropy > log_n / 2, deficit, result.deficit),
            squares=1 / (others + 1) + squares_excess,
            squares_excess=squares_excess,
        )


def _sum(kernel: Floats, columns: Floats) -> Floats:
    """Sums over the nodes, (own, n), of a kernel (own, node) and of columns (own or 1, n, node)."""
    if len(columns) == 1:
        return np.asarray(kernel @ columns[0].T, np.float64)
    return np.asarray((columns @ kernel[..., None])[..., 0], np.float64)
