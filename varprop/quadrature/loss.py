"""The expected cross-entropy of Gaussian logits that know nothing of the target."""

from __future__ import annotations

from typing import Any

import numpy as np

from varprop.fields.numeric import Floats, integer
from varprop.quadrature.arguments import nonnegative, require_broadcast
from varprop.quadrature.own_key import own_key_losses
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


def own_token_losses(
    vocab_size: int, logit_variance: float, own: Floats, weights: Floats
) -> tuple[float, float]:
    """Return the expected loss where the target is the own token, and where it is another one.

        E log Z - E a = E log(1 + e^{-a} sum_others e^l),  E log Z = E log(e^a + sum_others e^l)

    for vocab_size - 1 independent logits N(0, logit_variance) and one logit a of a discrete law,
    that of the token whose row made the output, under tied weights. The first is that of the
    second form: it has full relative accuracy where a is large and it is tiny.

    Args:
        vocab_size: V, the own token included, 1 to 10^12.
        logit_variance: of the other tokens' logits, finite and >= 0.
        own: (k,), the values of a, or the nodes of a quadrature over it.
        weights: (k,), their probabilities, which sum to 1.
    """
    size = integer(vocab_size, "vocab_size")
    std = float(nonnegative(logit_variance, "logit_variance")) ** 0.5
    losses, logsumexps = own_key_losses(std, float(size), np.asarray(own, np.float64))
    return float(losses @ weights), float(logsumexps @ weights)


def _moments(vocab_size: Any, logit_variance: Any) -> SoftmaxMoments:
    size = integer(vocab_size, "vocab_size")
    variance = nonnegative(logit_variance, "logit_variance")
    require_broadcast(vocab_size=size, logit_variance=variance)
    return SoftmaxMoments(size, variance)
