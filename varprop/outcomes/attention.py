"""Moments of the stage attention: the softmax over a row of keys, the query's own among them.

    p_ij = e^{l_ij} / sum_k e^{l_ik}

Given the query, keys are nearly independent Gaussians; their variance is random, and so is the own
key's logit. `key_law` says for which specifications that is exact, and `neglected` what it misses
elsewhere.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from varprop.outcomes.moments import OutcomeMoments, quantity
from varprop.outcomes.softmax_law import SoftmaxLaw
from varprop.outcomes.softmax_rows import mean_over


class Attention(OutcomeMoments):
    """Moments of the weights; those of the softmax, by their names, are before any dropout.

    Where `method` is "quadrature" they are good to about 1e-7, at widths of 1 to 4 to 1e-6 and the
    largest weight to 1e-5: row variances have long tails there.

    Averages over rows: with a causal mask they have the lengths 1, 2, .. seq_len. `mean`,
    `variance` and `second_moment` are over all pairs that a query may see, and after dropout.
    """

    further: ClassVar[tuple[str, ...]] = (
        "logsumexp",
        "entropy",
        "entropy_deficit",
        "max_weight",
        "sum_squares",
        "effective_keys",
        "weight_variance",
        "jacobian_squared_norm",
        "regime",
    )
    exact: ClassVar[frozenset[str]] = frozenset({"mean"})

    @cached_property
    def rows(self) -> SoftmaxLaw:
        """The rows and their law."""
        return SoftmaxLaw(self.prediction)

    @quantity
    def mean(self) -> Any:
        """One over the number of keys; 2 / (seq_len + 1) for all pairs of a causal mask."""
        length = self.rows.front.length
        return 2 / (length + 1) if self.prediction.spec.causal else 1 / length

    @quantity
    def second_moment(self) -> Any:
        """E sum p^2 / (1 - attention_dropout), over the number of keys."""
        squares = self.rows.mean("squares")
        if squares is None:
            return None
        return squares * self._per_pair / (1 - self.prediction.spec.attention_dropout)

    @quantity
    def variance(self) -> Any:
        """second_moment - mean^2, from E sum p^2 - 1/n without cancellation."""
        rows = self.rows
        excess, squares = rows.mean("squares_excess"), rows.mean("squares")
        if excess is None or squares is None:
            return None
        drop = float(self.prediction.spec.attention_dropout)
        points, weights = rows.lengths
        count = float(weights.sum())
        uneven = float(weights @ (1 / points)) / count * self._per_pair - self.mean**2
        if not self.prediction.spec.causal:
            uneven = 0.0
        spread = excess * self._per_pair + uneven + squares * self._per_pair * drop / (1 - drop)
        return max(spread, 0.0)

    @quantity
    def ensemble_variance(self) -> Any:
        """second_moment - mean square of E p_ij at each place; where places but i = j are alike."""
        rows = self.rows
        if not rows.is_exact or rows.averages is None:
            return None
        length, own = rows.lengths.points, rows.averages.own_weight
        others = (1 - own) ** 2 / np.maximum(length - 1, 1)
        places = mean_over(rows.lengths, own**2 + np.where(length > 1, others, 0.0))
        return max(self.second_moment - places * self._per_pair, 0.0)

    @property
    def _per_pair(self) -> float:
        """From a mean over rows of a sum over keys to the mean over pairs."""
        return float(self.mean)

    @quantity
    def logsumexp(self) -> Any:
        """E log sum_j e^{l_ij}."""
        rows = self.rows
        found, shared = rows.mean("logsumexp"), rows.shared_mean
        return None if found is None or shared is None else found + shared

    @quantity
    def entropy(self) -> Any:
        """E[-sum_j p_j log p_j]."""
        return self.rows.mean("entropy")

    @quantity
    def entropy_deficit(self) -> Any:
        """log n - entropy, to full relative accuracy."""
        deficit = self.rows.mean("deficit")
        return None if deficit is None else max(deficit, 0.0)  # it may round below where s is tiny

    @quantity
    def max_weight(self) -> Any:
        """E max_j p_j."""
        largest = self.rows.largest
        return None if largest is None else min(mean_over(self.rows.lengths, largest), 1.0)

    @quantity
    def sum_squares(self) -> Any:
        """E sum_j p_j^2."""
        squares = self.rows.mean("squares")
        return None if squares is None else min(squares, 1.0)

    @quantity
    def effective_keys(self) -> Any:
        """1 / E sum_j p_j^2."""
        return None if self.sum_squares is None else 1 / self.sum_squares

    @quantity
    def weight_variance(self) -> Any:
        """Mean over rows of E sum_j p_j^2 / n - 1/n^2."""
        rows = self.rows
        if rows.averages is None:
            return None
        return mean_over(rows.lengths, rows.averages.squares_excess / rows.lengths.points)

    @quantity
    def jacobian_squared_norm(self) -> Any:
        """E ||diag(p) - p p^T||^2 = E[sum p^2 - 2 sum p^3 + (sum p^2)^2]."""
        return self.rows.mean("jacobian")

    @quantity
    def regime(self) -> Any:
        """How peaked rows are, in words.

        "near uniform" down to half of the keys that equal logits would use, by `effective_keys`;
        "one key dominates" below two of them, a mean of sum p^2 above 1/2; else "spread over k of
        n keys". Gaussian rows of one variance s^2 are near uniform up to s^2 = log 2, as
        n E sum p^2 = e^{s^2} for long rows, and condense on few keys from s^2 = 2 log n on.
        """
        keys = self.effective_keys
        if keys is None:
            return None
        rows = self.rows
        equal = 1 / mean_over(rows.lengths, 1 / rows.lengths.points)
        if keys >= equal / 2:
            return "near uniform"
        if keys < 2:
            return "one key dominates"
        return f"spread over {keys:.3g} of {rows.front.length} keys"

    @quantity
    def method(self) -> Any:
        """Quadrature where the law of keys is exact, else asymptotic and what is neglected."""
        rows = self.rows
        if rows.is_exact:
            return "quadrature"
        if rows.averages is None:
            return "asymptotic: the variance of logits along a row is not known"
        listed = [f"{words} ({size:.1g})" for words, size in rows.effects if size > 1e-6]
        taken = "asymptotic: keys as independent Gaussians given the query"
        missed = ", ".join(listed) if listed else "effects below 1e-6"
        return f"{taken}; neglected, and relative size: {missed}"

    @quantity
    def error(self) -> Any:
        """What `method` adds up to; 0 for a quadrature."""
        rows = self.rows
        return math.inf if rows.averages is None and not rows.is_exact else rows.error
