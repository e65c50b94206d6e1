"""From a prediction to the averages of its softmax rows, and how far they can be trusted."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from varprop.fields.numeric import Floats
from varprop.outcomes.front import Front
from varprop.outcomes.key_law import exact_law, matched_law
from varprop.outcomes.neglected import Effect, neglected, position_share
from varprop.outcomes.row_law import RowLaw
from varprop.outcomes.softmax_rows import (
    RowAverages,
    equal_rows,
    largest_weights,
    mean_over,
    row_averages,
)
from varprop.positions import Sinusoidal
from varprop.quadrature.gauss import Law
from varprop.quadrature.length_rule import length_rule

if TYPE_CHECKING:
    from varprop.predict import Prediction


class SoftmaxLaw:
    """The rows of one prediction; everything is computed when it is first read."""

    def __init__(self, prediction: Prediction) -> None:
        self.prediction, self.front = prediction, Front(prediction)
        longest = self.front.length
        self.lengths = (
            length_rule(longest)
            if prediction.spec.causal
            else Law(np.array([float(longest)]), np.ones(1))
        )

    @cached_property
    def is_equal(self) -> bool:
        """Whether all logits of a row are the same."""
        return self.front.is_equal or (not self.front.is_exact and self.variance == 0)

    @cached_property
    def is_exact(self) -> bool:
        """Whether nothing is neglected."""
        return self.is_equal or self.front.is_exact

    @cached_property
    def variance(self) -> float | None:
        """E s^2, the mean variance of logits along a row; None where it is not known."""
        logits = self._long["logits"] if self._long is not None else None
        if logits is None:
            return None
        known = logits.row_variance
        return None if known is None else max(float(known), 0.0)

    @cached_property
    def _long(self) -> Prediction | None:
        """The prediction, for three keys where there are two: they have a variance along a row."""
        if self.front.length > 2:
            return self.prediction
        spec = self.prediction.spec
        longer = spec.replace(seq_len=3)
        fields = ("embedding_scale", "logit_scale", "token_repeat")
        same = all(getattr(spec, field) == getattr(longer, field) for field in fields)
        for field in spec._drawn:
            pair = [made.distribution(field) for made in (spec, longer)]
            same = same and all(pair[0].cumulant(k) == pair[1].cumulant(k) for k in (1, 2, 4))
        return type(self.prediction)(longer) if same else None

    @cached_property
    def law(self) -> RowLaw | None:
        """The law of rows; None where nothing is known, or all logits are the same."""
        return self._law(odd=False)

    def _law(self, odd: bool) -> RowLaw | None:
        if self.is_equal:
            return None
        if self.front.is_exact:
            return exact_law(self.front, odd)
        if self.variance is None:
            return None
        return matched_law(self.front, self.variance, *self._own, odd)

    @cached_property
    def _own(self) -> tuple[float, float]:
        """E a and E a^2 of the own key, beside what the row shares, c, uncorrelated with a."""
        assert self.variance is not None
        own, others = self.prediction["self_logits"], self.prediction["logits"]
        if own.mean is None or own.second_moment is None or others.second_moment is None:
            return 0.0, self.variance
        shared = float(others.mean or 0.0)
        mean = float(own.mean) - shared
        # E (a + c)^2 of the own logit, E c^2 + E s^2 of the others.
        square = own.second_moment - others.second_moment + self.variance - 2 * mean * shared
        return mean, max(float(square), mean**2)

    @property
    def shared_mean(self) -> float | None:
        """The mean of what a row's logits share."""
        stage = "logits" if self.front.length > 1 else "self_logits"
        found = self.prediction[stage].mean
        return None if found is None else float(found)

    @cached_property
    def effects(self) -> list[Effect]:
        """What is neglected; nothing where the law is exact."""
        if self.is_exact or self.variance is None:
            return []
        total = self.prediction["logits"].second_moment
        common = max(float(total) - self.variance, 0.0) if total is not None else self.variance
        found = neglected(self.front, self.variance, self._own, common)
        if self.front.length == 2:
            found.append(Effect("a row variance that is that of three keys", self._longer))
        return found

    @property
    def _longer(self) -> float:
        """Nothing where positions are alike; three places are further apart than two."""
        fixed = isinstance(self.front.spec.position, Sinusoidal)
        return position_share(self.front) if fixed else 0.0

    @property
    def error(self) -> float:
        """The sizes of all effects together."""
        return float(sum(effect.size for effect in self.effects))

    @cached_property
    def averages(self) -> RowAverages | None:
        """Expectations for each length in `lengths`; None where nothing is known."""
        points = self.lengths.points
        if self.is_equal:
            return equal_rows(points)
        return None if self.law is None else row_averages(self.law, points)

    @cached_property
    def largest(self) -> Floats | None:
        """E max p for each length; None where nothing is known."""
        points = self.lengths.points
        if self.is_equal:
            return 1 / points
        law = self._law(odd=True)
        return None if law is None else largest_weights(law, points)

    def mean(self, name: str) -> float | None:
        """The mean over rows of one of the averages."""
        if self.averages is None:
            return None
        return mean_over(self.lengths, getattr(self.averages, name))
