"""What a claim says of a number, as an interval that the number must lie in.

>>> about(512).holds(530)
True
>>> printed("0.226").holds(0.01 * 512**0.5)
True
>>> exponent(2).holds(1.97)
True
"""

from __future__ import annotations

import math
from typing import NamedTuple

NEAR = 0.05
"""What "about" means, relative; and, absolute, for an exponent of growth."""


class Relation(NamedTuple):
    """An interval in words; `outside` turns it round."""

    text: str
    low: float
    high: float
    outside: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number satisfies it; nan does not."""
        return (self.low <= value <= self.high) != self.outside and not math.isnan(value)

    def __str__(self) -> str:
        return self.text


def about(value: float) -> Relation:
    """Within 5 % of a value."""
    low, high = sorted((value * (1 - NEAR), value * (1 + NEAR)))
    return Relation(f"about {value:.6g}", low, high)


def unlike(value: float) -> Relation:
    """Not within 5 % of a value."""
    return about(value)._replace(text=f"not {value:.6g}", outside=True)


def exponent(value: float) -> Relation:
    """Growth like d_model to this power, within 0.05."""
    return Relation(f"exponent {value:.6g}", value - NEAR, value + NEAR)


def printed(text: str) -> Relation:
    """Rounds to the digits as printed."""
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return Relation(text, float(text) - half * 1.000001, float(text) + half * 1.000001)


def at_most(value: float) -> Relation:
    """No larger than a stated threshold."""
    return Relation(f"at most {value:.6g}", -math.inf, value)


def at_least(value: float) -> Relation:
    """No smaller than a stated threshold."""
    return Relation(f"at least {value:.6g}", value, math.inf)


def between(low: float, high: float) -> Relation:
    """Between two stated thresholds."""
    return Relation(f"{low:.6g} to {high:.6g}", low, high)


DROWNED = 0.1
"""A summand is drowned if it holds less than this part of the sum's mean square."""
HEARD = between(DROWNED, 1 - DROWNED)
"""Neither side of a sum drowns."""
MATCHING = between(0.25, 0.75)
"""Two magnitudes match if the smaller holds at least a quarter of the power of the sum."""
STABLE = between(0.1, 10)
"""A variance is in a reasonable range if it is within a factor of ten of 1."""
UNIFORM = at_least(1 - NEAR)
"""A softmax is all but uniform if its entropy is within 5 % of the logarithm of its length."""
CLEAR = at_most(1 - NEAR)
"""Probabilities differ clearly if the softmax is not all but uniform."""
SATURATED = at_least(0.5)
"""A softmax is saturated if its largest weight is expected to be at least a half."""
UNSATURATED = at_most(0.5)
"""The largest weight is expected to be at most a half."""
VANISHED = at_most(0.1)
"""A gradient has vanished below a tenth of what logits of variance 1 let through."""
FAIR_LOSS = at_most(1.1)
"""A first loss is fair if it is within 10 % of the logarithm of the vocabulary size."""
KEPT = at_least(2)
"""An amplification is kept where it still at least doubles the variance."""
"""The thresholds that stand for qualitative words."""
