"""Softmax expectations of rows in which one key's logit is given and the others are Gaussian."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.lengths import over_lengths
from varprop.quadrature.own_largest import own_key_largest
from varprop.quadrature.own_rows import OwnRows

__all__ = ["OwnKeyIntegrals", "own_key_integrals", "own_key_largest", "own_key_losses"]


class OwnKeyIntegrals(NamedTuple):
    """Expectations over rows of n - 1 logits N(0, std^2) and one logit a: each (n, a).

    Relative error below 1e-10, of positive integrands that do not cancel, but for these: from
    std = WIDEST on logsumexp is a sum, good to 1e-13 (|a| + std), where it passes 0, and excesses
    and deficit are what is left of logsumexp, entropy and squares.
    """

    logsumexp: Floats
    """E log sum_j e^{l_j}."""
    logsumexp_excess: Floats
    """E log sum_j e^{l_j} - log n."""
    entropy: Floats
    deficit: Floats
    """log n - entropy."""
    squares: Floats
    """E sum p^2."""
    squares_excess: Floats
    """E sum p^2 - 1/n."""
    jacobian: Floats
    """E ||diag(p) - p p^T||^2."""
    own_weight: Floats
    """E p of the own key."""
    own_square: Floats
    """E p^2 of the own key."""
    output: Floats
    """E (sum p l)^2, the own logit a among the l."""


def own_key_integrals(std: float, lengths: Floats, own: Floats) -> OwnKeyIntegrals:
    """Return the integrals for each row length and each logit of the own key.

    Args:
        std: of the other logits, >= 0.
        lengths: (n,), how many keys there are, the own one among them, >= 1.
        own: (a,), finite.
    """
    return OwnKeyIntegrals(*_quantities(std, lengths, own).transpose(0, 2, 1)[:-1])


def own_key_losses(std: float, length: float, own: Floats) -> tuple[Floats, Floats]:
    """Return E log Z - a, to full relative accuracy, and E log Z: (a,) each."""
    quantities = _quantities(std, np.array([length], np.float64), own)
    return quantities[-1, :, 0], quantities[0, :, 0]


def _quantities(std: float, lengths: Floats, own: Floats) -> Floats:
    """The fields of `OwnRowIntegrals`: (quantity, a, n)."""
    ones, zeros = np.ones_like(own), np.zeros_like(own)
    alone = [own, own, zeros, zeros, ones, zeros, zeros, ones, ones, own**2, zeros]
    result = np.repeat(np.array(alone)[..., None], lengths.size, axis=2)
    others = np.asarray(lengths[lengths > 1] - 1, np.float64)
    if others.size:
        rows = OwnRows(std, float(others.min()), float(others.max()), own)

        def evaluate(n: Floats) -> Floats:
            return np.array(rows.integrals(n)).reshape(-1, n.size)

        result[..., lengths > 1] = over_lengths(evaluate, others).reshape(len(alone), own.size, -1)
    return result
