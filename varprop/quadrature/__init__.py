"""Expectations that are no polynomials of the draws: quadratures with controlled error."""

from varprop.quadrature.loss import expected_loss, expected_loss_excess, own_token_losses
from varprop.quadrature.softmax import (
    SoftmaxMoments,
    causal_moments,
    mixture_moments,
    softmax_moments,
)

__all__ = [
    "SoftmaxMoments",
    "causal_moments",
    "expected_loss",
    "expected_loss_excess",
    "mixture_moments",
    "own_token_losses",
    "softmax_moments",
]
