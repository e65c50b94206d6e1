"""Moments of the softmax of a row of independent Gaussian logits of one variance."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from varprop.fields.numeric import Floats, integer
from varprop.fields.validation import Immutable, refusal, shorten
from varprop.quadrature.arguments import mixture_weights, nonnegative, require_broadcast
from varprop.quadrature.integrals import Integrals
from varprop.quadrature.rows import RowFunction, largest, mixture, one_dimensional, points


class SoftmaxMoments(Immutable):
    """Expectations over the softmax p of n logits, each computed when it is first read.

    Attributes:
        n, variance: what was asked for, broadcast together (n alone, for a mixture).

    Every other attribute is a float, or an array of the broadcast shape. They are quadratures of
    analytic integrands, relative error below 1e-10 (the tests compare resolutions and routes).
    """

    n: Any
    variance: Any
    _weights: Floats | None
    _shape: tuple[int, ...]

    def __init__(self, n: Any, variance: Any, weights: Floats | None = None) -> None:
        shape = np.broadcast_shapes(np.shape(n), () if weights is not None else np.shape(variance))
        self._set(n=n, variance=variance, _weights=weights, _shape=shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.n, self.variance, self._weights)

    def __repr__(self) -> str:
        return f"<SoftmaxMoments: entropy {self.entropy}, sum_squares {self.sum_squares}>"

    @cached_property
    def logsumexp(self) -> Any:
        """E log sum_j e^{l_j}, for logits of mean 0."""
        return self._shaped(self._integrals.excess + np.log(self._lengths))

    @cached_property
    def logsumexp_excess(self) -> Any:
        """E log sum_j e^{l_j} - log n, to full relative accuracy."""
        return self._shaped(self._integrals.excess)

    @cached_property
    def entropy(self) -> Any:
        """E[-sum_j p_j log p_j] = E log sum e^l - variance (1 - E sum p^2)."""
        return self._shaped(self._integrals.entropy)

    @cached_property
    def entropy_deficit(self) -> Any:
        """log n - entropy, to full relative accuracy."""
        return self._shaped(self._integrals.deficit)

    @cached_property
    def max_weight(self) -> Any:
        """E max_j p_j."""
        return self._shaped(self._bounded(self._evaluate(largest)[0]))

    @cached_property
    def sum_squares(self) -> Any:
        """E sum_j p_j^2."""
        return self._shaped(self._bounded(self._integrals.squares))

    @cached_property
    def effective_keys(self) -> Any:
        """1 / E sum_j p_j^2."""
        return self._shaped(1 / self._bounded(self._integrals.squares))

    @cached_property
    def weight_variance(self) -> Any:
        """Variance of one weight, E p_j^2 - 1/n^2, to full relative accuracy."""
        return self._shaped(self._integrals.squares_excess / self._lengths)

    @cached_property
    def jacobian_squared_norm(self) -> Any:
        """E ||diag(p) - p p^T||^2 = E[sum p^2 - 2 sum p^3 + (sum p^2)^2] (Frobenius)."""
        return self._shaped(self._integrals.jacobian)

    @cached_property
    def mean_logit_square(self) -> Any:
        """E (sum_j p_j l_j)^2, for logits of mean 0: variance / n where they are narrow.

        Raises (when read):
            ValueError: it leaves the range of double precision.
        """
        squares = self._integrals.mean_logit_square
        if not np.isfinite(squares).all():
            raise ValueError(
                "mean_logit_square: beyond double precision with this variance; "
                f"accepted: up to about 1e306, got {shorten(self.variance)}"
            )
        return self._shaped(squares)

    @cached_property
    def _lengths(self) -> Floats:
        return np.broadcast_to(np.asarray(self.n, np.float64), self._shape).ravel()

    @cached_property
    def _integrals(self) -> Integrals:
        return Integrals(*self._evaluate(one_dimensional))

    def _evaluate(self, function: RowFunction) -> Floats:
        """Quantities of all points: (quantity, point)."""
        if self._weights is not None:
            return mixture(function, self._lengths, self.variance, self._weights)
        variances = np.broadcast_to(np.asarray(self.variance), self._shape).ravel()
        return points(function, self._lengths, variances)

    def _bounded(self, values: Floats) -> Floats:
        """Values from 1/n to 1, which rounding may miss where logits are equal or very wide."""
        return np.clip(values, 1 / self._lengths, 1)

    def _shaped(self, values: Floats) -> Any:
        if self._shape == ():
            return float(values[0])
        array = values.reshape(self._shape)
        array.flags.writeable = False
        return array


def softmax_moments(n: Any, variance: Any) -> SoftmaxMoments:
    """Return the moments of the softmax of n independent N(0, variance) logits.

        p_j = e^{l_j} / sum_k e^{l_k},  j = 1 .. n

    A part that all logits of a row share changes nothing but `logsumexp`, by its mean.

    Args:
        n: number of logits, an integer or an array of them, 1 to 10^12.
        variance: of each logit, a number or an array, finite and >= 0; broadcasts with n.

    Raises:
        TypeError: n is no integer, variance no number (booleans and text are none).
        ValueError: One is out of range, or the shapes do not broadcast.
    """
    lengths, variances = integer(n, "n"), nonnegative(variance, "variance")
    require_broadcast(n=lengths, variance=variances)
    return SoftmaxMoments(lengths, variances)


def mixture_moments(n: Any, variances: Any, weights: Any) -> SoftmaxMoments:
    """Return the moments of a softmax whose logits' common variance is itself random.

        E f = sum_k weights_k E[f; variances_k]

    Args:
        n: number of logits, an integer or an array of them; what is read has its shape.
        variances: (k,), the values of the variance, or the nodes of a quadrature over it.
        weights: (k,), their probabilities, >= 0; divided by their sum.

    Raises:
        TypeError: As for `softmax_moments`.
        ValueError: As for `softmax_moments`, or variances and weights do not match.
    """
    nodes, probabilities = mixture_weights(variances, weights)
    return SoftmaxMoments(integer(n, "n"), nodes, probabilities)


def causal_moments(seq_len: int, variances: Any, weights: Any = (1,)) -> SoftmaxMoments:
    """Return the moments of the rows of length 1, 2, .. seq_len of a causal mask: (seq_len,) each.

    Args:
        seq_len: length of the longest row.
        variances, weights: as for `mixture_moments`, the same for each row; one number will do.

    Raises:
        TypeError: As for `softmax_moments`.
        ValueError: As for `mixture_moments`.
    """
    longest = integer(seq_len, "seq_len")
    if np.ndim(longest):
        raise TypeError(refusal("seq_len", "one integer", seq_len))
    several = isinstance(variances, (list, tuple)) or np.ndim(variances)
    nodes = variances if several else [variances]
    return mixture_moments(np.arange(1, longest + 1), nodes, weights)
