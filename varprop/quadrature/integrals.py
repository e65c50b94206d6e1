"""What the one-dimensional integrals of a softmax row give."""

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
