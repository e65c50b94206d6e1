"""Scaling the query before the product with the key, against scaling the logits after it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from varprop.moments import plain

from .record import StagePrecision


class QueryScaling(NamedTuple):
    """What the logit scale spares and costs where it multiplies the query.

    After the product, the raw scores must stay finite first; before it, only the logits must.
    Both have their overflow probabilities in their records.

    Attributes:
        scale: the exact logit scale.
        multiplier: the scale after rounding.
        variance_factor: what that makes of the variance of logits, relative to the exact one.
        scores: q . k, what is formed first if the scale comes after.
        logits: all that is ever formed if it comes before.
        scaled_query: scale * q, with the noise of rounding it once more, and what gets subnormal.
    """

    scale: float
    multiplier: float
    variance_factor: float
    scores: StagePrecision
    logits: StagePrecision
    scaled_query: StagePrecision

    @property
    def exact(self) -> bool:
        """Whether the scale is a power of two: then no digit is lost short of subnormals."""
        return self.multiplier == self.scale and math.frexp(abs(self.scale))[0] == 0.5

    @property
    def added_noise_ratio(self) -> float | None:
        """E[(rounded scale*q - scale*q)^2] / E[(scale*q)^2], or 0 if `exact`.

        For a query in exact arithmetic. One that has been rounded itself lies on a lattice, which
        changes the ratio by a few eps of itself; by more for a scale of few digits, such as 3.
        """
        return 0.0 if self.exact else self.scaled_query.rounding_noise_ratio

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "scale": self.scale,
            "multiplier": plain(self.multiplier),
            "exact": self.exact,
            "added_noise_ratio": self.added_noise_ratio,
            "variance_factor": plain(self.variance_factor),
            "scores": self.scores.to_dict(),
            "logits": self.logits.to_dict(),
            "scaled_query": self.scaled_query.to_dict(),
        }
