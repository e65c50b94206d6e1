"""Moments of the stage attention_output: o_i = sum_j p_ij v_j, v = W x + b, after any dropout.

Of the sum X = sum_j p_j x_j only E|X|^2 matters, as the value weights are independent of it:

    E o^2 = E[w^2] E|X|^2 + E[b^2] E(sum p)^2   (mean weight 0, or channels alike)

Along h a key's row is l_j / |h|, across it is independent of the weights, for the own key too:

    E|X|^2 = sigma^2 ((d - 1) E sum_{j != i} p_j^2 + E (sum_j p_j l_j)^2 / s^2
                      + E p_i^2 |own row across|^2 / sigma^2) + d cross
    E|X|^2 += drop / (1 - drop) E sum_j p_j^2 |x_j|^2

where cross is what rows have in common, sigma^2 the rest of an entry's mean square.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from varprop.norms import LayerNorm
from varprop.outcomes.moments import OutcomeMoments, quantity
from varprop.outcomes.neglected import position_share
from varprop.outcomes.softmax_law import SoftmaxLaw
from varprop.outcomes.softmax_rows import mean_over
from varprop.positions import Rotary, Sinusoidal


class AttentionOutput(OutcomeMoments):
    """Moments of the output of attention; `method` and `error` are those of the weights.

    What is neglected besides: where rows are not exact, the mean of rows under value weights with a
    mean is taken to be the same in all channels, and p to be independent of what rows share.
    """

    @property
    def _rows(self) -> SoftmaxLaw:
        rows: SoftmaxLaw = self.prediction["attention"].rows
        return rows

    @quantity
    def mean(self) -> Any:
        """The mean of the bias, and of the weights times that of the rows: sum p is 1."""
        front = self._rows.front
        first = float(front.drawn("value").cumulant(1))
        bias = float(front.drawn("value_bias").cumulant(1))
        if first == 0 or isinstance(self.prediction.spec.norm, LayerNorm):
            return bias
        row = 0.0 if front.is_exact else front.rows.mean
        return None if row is None else bias + first * front.width * float(row)

    @quantity
    def second_moment(self) -> Any:
        """Mean square."""
        front, square = self._rows.front, self._square
        squares = self._rows.mean("squares")
        if square is None or squares is None:
            return None
        bias = front.drawn("value_bias")
        total = 1 + self._noise * squares
        fixed = front.second("value_bias") * total
        value = front.drawn("value")
        first, spread = float(value.cumulant(1)), float(value.cumulant(2))
        result = spread * square + fixed
        if first and not isinstance(self.prediction.spec.norm, LayerNorm):
            # (sum_c X_c)^2: d^2 times the mean's square, and what channels add independently.
            row = 0.0 if front.is_exact else front.rows.mean
            if row is None:
                return None
            d, row = front.width, float(row)
            summed = (d * row) ** 2 * total + max(square - d * row**2 * total, 0.0)
            result += first**2 * summed + 2 * first * float(bias.cumulant(1)) * d * row * total
        return result

    @quantity
    def variance(self) -> Any:
        """Over draws and places."""
        if self.second_moment is None or self.mean is None:
            return None
        return max(self.second_moment - self.mean**2, 0.0)

    @quantity
    def ensemble_variance(self) -> Any:
        """The variance, where each place has the same mean."""
        front = self._rows.front
        alike = float(front.drawn("value").cumulant(1)) == 0 or front.is_exact
        return self.variance if alike else None

    @quantity
    def method(self) -> Any:
        """That of the weights, and what positions change besides."""
        method = self.prediction["attention"].method
        for words, size in (
            ("positions of short rows nearer to each other", self._early),
            ("keys that are turned against each other", self._turned),
        ):
            if size:
                kept = "asymptotic: neglected" if method == "quadrature" else method
                method = f"{kept}, {words} ({size:.1g})"
        return method

    @quantity
    def error(self) -> Any:
        """That of the weights, and of a mean of the value weights that meets unequal channels."""
        error = float(self.prediction["attention"].error)
        return error + self._uneven + self._early + self._turned

    @property
    def _turned(self) -> float:
        """Share of what keys have along h, which rotary positions turn from key to key."""
        rows, front = self._rows, self._rows.front
        if not isinstance(front.spec.position, Rotary) or rows.is_equal:
            return 0.0
        known, square, averages = self._square, front.rows.second_moment, rows.averages
        if not known or not square or averages is None:
            return 0.0
        return float(square) * mean_over(rows.lengths, averages.along) / known

    @property
    def _early(self) -> float:
        """Bound of what rows of a causal mask with sinusoidal positions are off by, relative.

        Their first i keys have more in common than all have, by up to what one has with itself.
        """
        rows, front = self._rows, self._rows.front
        spec = front.spec
        if not (spec.causal and isinstance(spec.position, Sinusoidal)) or front.length == 1:
            return 0.0
        known, cross, square = self._square, self._cross, front.rows.second_moment
        if known is None or cross is None or not square:
            return 0.0
        share = position_share(front)
        uneven = share / (2 * front.width) if front.width % 2 else 0.0  # |f|^2 of unequal size
        lengths = rows.lengths.points
        off = (float(square) - cross) * mean_over(rows.lengths, share * (1 - 1 / lengths))
        off += float(square) * mean_over(rows.lengths, uneven / lengths)
        return front.width * off / known if known > 0 else math.inf

    @property
    def _uneven(self) -> float:
        front = self._rows.front
        value = front.drawn("value")
        first = float(value.cumulant(1))
        if first == 0 or front.is_exact or isinstance(self.prediction.spec.norm, LayerNorm):
            return 0.0
        return front.width * first**2 / (first**2 + float(value.cumulant(2)))

    @property
    def _noise(self) -> float:
        """drop / (1 - drop): variance of a mask."""
        drop = float(self.prediction.spec.attention_dropout)
        return drop / (1 - drop)

    @property
    def _square(self) -> float | None:
        """E|X|^2, averaged over rows."""
        rows, front = self._rows, self._rows.front
        averages, square = rows.averages, front.rows.second_moment
        if averages is None or square is None:
            return None
        d, square = front.width, float(square)
        cross = self._cross
        if cross is None:
            return None
        free = max(square - cross, 0.0)
        if rows.is_equal:
            shares = averages.squares
            each = d * shares * free
            masked = d * shares * square
        else:
            others = averages.squares - averages.own_square
            each = free * ((d - 1) * others + averages.along + averages.across)
            masked = np.zeros_like(each)
            if self._noise:
                masked = free * ((d - 1) * others + averages.other_norms + averages.own_norm)
                masked += d * averages.squares * cross
        total = mean_over(rows.lengths, each + d * cross + self._noise * masked)
        return max(total, 0.0)

    @property
    def _cross(self) -> float | None:
        """What rows have in common, per entry; sinusoidal ones far apart may cancel: below 0."""
        front = self._rows.front
        if front.is_exact or front.length == 1:
            return 0.0
        found = front.rows.cross_position_moment
        return None if found is None else float(found)
