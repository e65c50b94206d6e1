"""Expectations that are no polynomials of the draws: quadratures with controlled error.

Front doors:
    softmax, loss: moments of a softmax of Gaussian logits, and its loss; arguments: what they take.

Rows of Gaussian logits:
    rows: either of the tables, narrow or wide, at the nodes of log t that nodes gives; lengths: at
    many lengths at once; length_rule: summed over those of a causal mask.
    largest: the largest weight; integrals: the names of all other quantities.

Rows of which one logit, the own key's, is another:
    own_key: all quantities but the largest weight; own_rows, own_nodes, own_kernels, averages: the
    integrals, their nodes and factors; own_equal: where the others are equal.
    own_largest, largest_of_law: the largest weight, for given own logits and for a law of them.

Laws of few points:
    gauss: Gauss rules; log_laws: products of chi-square variables; on_grid: masses on a grid.
"""

from varprop.quadrature.loss import expected_loss, expected_loss_excess
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
    "softmax_moments",
]
