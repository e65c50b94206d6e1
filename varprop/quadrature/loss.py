"""The expected cross-entropy of Gaussian logits that know nothing of the target."""

from __future__ import annotations

from typing import Any

from varprop.fields.numeric import integer
from varprop.quadrature.arguments import nonnegative, require_broadcast
from varprop.quadrature.softmax import SoftmaxMoments


def expected_loss(vocab_size: Any, logit_variance: Any) -> Any:
    """Return the expected cross-entropy for uniform targets.

        E log sum_{v=1}^V e^{l_v} - E l_target,  l_v independent N(0, logit_variance)

    What all logits share drops out, and so does any mean that does not depend on the target.

    Args:
        vocab_size: V, an integer or an array of them, 1 to 10^12.
        logit_variance: a number or an array, finite and >= 0; broadcasts with vocab_size.

    Returns:
        A float, or an array of the broadcast shape; relative error below 1e-10.

    Raises:
        TypeError: vocab_size is no integer, logit_variance no number.
        ValueError: One is out of range, or the shapes do not broadcast.
    """
    return _moments(vocab_size, logit_variance).logsumexp


def expected_loss_excess(vocab_size: Any, logit_variance: Any) -> Any:
    """Return `expected_loss` - log(vocab_size) without cancellation; logit_variance / 2 if small.

    Raises:
        TypeError: As for `expected_loss`.
        ValueError: As for `expected_loss`.
    """
    return _moments(vocab_size, logit_variance).logsumexp_excess


def _moments(vocab_size: Any, logit_variance: Any) -> SoftmaxMoments:
    size = integer(vocab_size, "vocab_size")
    variance = nonnegative(logit_variance, "logit_variance")
    require_broadcast(vocab_size=size, logit_variance=variance)
    return SoftmaxMoments(size, variance)
