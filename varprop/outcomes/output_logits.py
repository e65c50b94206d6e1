"""Moments of the stage output_logits."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from varprop.moments import ATTRIBUTES
from varprop.outcomes.head import HeadMoments
from varprop.outcomes.moments import quantity
from varprop.outcomes.own_moments import Known, own_moments
from varprop.outcomes.own_token import OwnToken


class OutputLogits(HeadMoments):
    """A logit whose row of the head is independent of the hidden state h, |h|^2 = d_model.

        l = factor h.e,  factor = output_scale hidden_scale

    ``own_token_mean``, ``own_token_second_moment`` and ``own_token_variance`` are those of the
    input token's own row in a tied head at depth zero, which h holds a part of, and
    ``own_token_ratio`` is its second moment over that of any other row; else None.

    Exact, but for the own token's where the method says so.  None where nothing is known: sums
    of the entries of h matter to a head with a mean or with tails.
    """

    further: ClassVar[tuple[str, ...]] = (
        "own_token_mean",
        "own_token_second_moment",
        "own_token_variance",
        "own_token_ratio",
    )
    exact: ClassVar[frozenset[str]] = frozenset(ATTRIBUTES)

    @quantity
    def method(self) -> Any:
        """Exact, quadrature for the own token of Gaussian rows, or asymptotic with its error."""
        if self.hidden.live is None:
            return "exact; None, as rows are constant and a LayerNorm leaves only rounding of them"
        if self.own_token_mean is None:
            return "exact"
        own = OwnToken(self.hidden, self.head.factor)
        if own.error:
            return f"asymptotic: own token's moments to a relative error of about {own.error:.1g}"
        return "quadrature"

    @quantity
    def error(self) -> Any:
        """The relative error of the own token's moments; the others are exact."""
        if self.own_token_mean is None or not self.hidden.live:
            return 0.0
        return float(OwnToken(self.hidden, self.head.factor).error)

    @quantity
    def mean(self) -> Any:
        """E l: 0 for a head of mean 0, and after a LayerNorm."""
        return self._moments[0]

    @quantity
    def variance(self) -> Any:
        """factor^2 d_model times the variance of the head's entries, and what its mean adds."""
        return self._moments[1]

    @quantity
    def second_moment(self) -> Any:
        """E l^2."""
        mean, variance = self._moments
        return None if mean is None or variance is None else variance + mean**2

    @cached_property
    def _moments(self) -> tuple[float | None, float | None]:
        return self.head.moments()

    @quantity
    def ensemble_variance(self) -> Any:
        """The variance less that of the mean over positions."""
        if self.variance is None or not self.mean_moves:
            return self.variance
        if not self.hidden.gaussian:
            return None
        hidden, live = self.hidden, self.hidden.live
        per_sum = self.head.factor * self.head.drawn.cumulant(1)
        squares = float(hidden.fixed.weights @ np.square(hidden.sums.channel_sums))
        total_square = hidden.sums.of((1, 1))
        assert total_square is not None  # as rows are Gaussian
        within = max(total_square - squares, 0.0)
        return float(live * (self.head.spread + per_sum**2 * within))

    @cached_property
    def mean_moves(self) -> bool:
        """Whether the mean depends on the position."""
        hidden = self.hidden
        return bool(hidden.turning and not hidden.centred and self.head.drawn.cumulant(1) != 0)

    @quantity
    def excess_kurtosis(self) -> Any:
        """Of the pooled distribution; 0 for a Gaussian head of mean 0."""
        live, variance = self.hidden.live, self.variance
        if not live or not variance:
            return None
        fourth = self.head.fourth_moment_excess()
        if fourth is None or (live < 1 and self.mean != 0):
            return None
        if live < 1:
            fourth = live * fourth + 3 * (1 / live - 1) * variance**2
        return float(fourth / variance**2)

    @quantity
    def own_token_mean(self) -> Any:
        """E of the own token's logit."""
        return self._own[0]

    @quantity
    def own_token_second_moment(self) -> Any:
        """Mean square of the own token's logit."""
        return self._own[1]

    @quantity
    def own_token_variance(self) -> Any:
        """Variance of the own token's logit."""
        return self._own[2]

    @quantity
    def own_token_ratio(self) -> Any:
        """Mean square of the own token's logit over that of another token's."""
        own, other = self.own_token_second_moment, self.second_moment
        return None if own is None or not other else own / other

    @cached_property
    def _own(self) -> Known:
        """Mean, second moment and variance of the own token's logit."""
        return own_moments(self.hidden, self.head) if self.tied else (None, None, None)
