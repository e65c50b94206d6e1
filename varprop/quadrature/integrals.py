"""What the one-dimensional integrals of a softmax row give, without and with a given logit."""

from __future__ import annotations

from typing import NamedTuple

from varprop.fields.numeric import Floats


class Integrals(NamedTuple):
    """Expectations over rows of n independent N(0, variance) logits, each of shape (n,)."""

    excess: Floats
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
    mean_logit_square: Floats
    """E (sum p l)^2 / variance, which is 1 / n for narrow logits."""


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
    other_outputs: Floats
    """E sum p^2 l^2 over the other keys."""
    loss: Floats
    """E log sum_j e^{l_j} - a."""
