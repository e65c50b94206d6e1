"""The sum of p_j^2 l_j^2 over the keys beside the own one."""

from __future__ import annotations

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.averages import averages
from varprop.quadrature.lengths import over_lengths
from varprop.quadrature.own_kernels import own_kernels
from varprop.quadrature.own_nodes import own_nodes

SHARED = 4.0
"""Scale of the other keys, per own logit, up to which all share their nodes."""


def other_squares(std: float, lengths: Floats, own: Floats) -> Floats:
    """Return E sum_{j != i} p_j^2 l_j^2 for each length and own logit a: (n, a).

        N int phi0 E[l^2 t^2 e^{-t}] phi^{N-1} du,  N = n - 1,  phi0 = e^{-t0}, t0 = e^{u + a}

    Args:
        std, lengths, own: as for `own_key_integrals`.
    """
    result = np.zeros((own.size, lengths.size))
    longer = lengths > 1
    others = np.asarray(lengths[longer] - 1, np.float64)
    if not others.size:
        return result.T
    nodes = own_nodes(std, float(others.min()), float(others.max()), own, SHARED * own.size)
    found = averages(std, nodes.u.ravel())
    log_phi, square = (
        np.broadcast_to(column.reshape(nodes.u.shape), (own.size, nodes.u.shape[1]))
        for column in (found.log_phi, found.logit_square)
    )
    free = nodes.weights * own_kernels(nodes.x).equal * square

    def evaluate(n: Floats) -> Floats:
        power = np.exp(np.maximum((n[:, None] - 1) * log_phi[:, None], -700.0))
        return np.asarray(n * (power @ free[..., None])[..., 0], np.float64)

    result[:, longer] = over_lengths(evaluate, others)
    return result.T
