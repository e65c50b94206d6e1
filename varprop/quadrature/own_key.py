"""Softmax expectations of rows in which one key's logit is given and the others are Gaussian."""

from __future__ import annotations

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.integrals import OwnKeyIntegrals
from varprop.quadrature.lengths import over_lengths
from varprop.quadrature.own_rows import OwnRows


def own_key_integrals(std: float, lengths: Floats, own: Floats) -> OwnKeyIntegrals:
    """Return the integrals for each row length and each logit of the own key.

    Args:
        std: of the other logits, >= 0.
        lengths: (n,), how many keys there are, the own one among them, >= 1.
        own: (a,), finite.
    """
    ones, zeros = np.ones_like(own), np.zeros_like(own)
    alone = OwnKeyIntegrals(
        logsumexp=own,
        logsumexp_excess=own,
        entropy=zeros,
        deficit=zeros,
        squares=ones,
        squares_excess=zeros,
        jacobian=zeros,
        own_weight=ones,
        own_square=ones,
        output=own**2,
        other_outputs=zeros,
        loss=zeros,
    )
    result = np.repeat(np.array(alone)[..., None], lengths.size, axis=2)
    others = np.asarray(lengths[lengths > 1] - 1, np.float64)
    if others.size:
        rows = OwnRows(std, float(others.min()), float(others.max()), own)

        def evaluate(n: Floats) -> Floats:
            return np.array(rows.integrals(n)).reshape(-1, n.size)

        found = over_lengths(evaluate, others)
        result[..., lengths > 1] = found.reshape(len(result), own.size, -1)
    return OwnKeyIntegrals(*result.transpose(0, 2, 1))
