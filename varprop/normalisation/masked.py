"""Lengths of zero-mean Gaussian rows of which dropout keeps some channels, after RMSNorm.

Of d channels K are kept, a binomial number; the sum of squares is then a chi-square of K degrees.
"""

from __future__ import annotations

import numpy as np

from varprop.fields.numeric import Floats

from .chi_square import ratio_mean
from .record import Record


def masked_moment(record: Record, power: int) -> float:
    """E[(v / (v + eps))^power]."""
    kept, chances = binomial(record.width, 1 - record.dropout)
    some = kept > 0
    variance = record.variance / (1 - record.dropout) ** 2
    found = ratio_mean(kept[some], variance, 0.0, record.constant, power, power)
    return float(chances[some] @ found)


def binomial(count: int, chance: float) -> tuple[Floats, Floats]:
    """The values of a binomial number that have a weight in double precision, and their weights.

    From the ratio of neighbours: logarithms of factorials would lose digits where these are large.
    """
    middle = int(count * chance)
    reach = int(12 * (count * chance * (1 - chance)) ** 0.5) + 60
    values = np.arange(max(0, middle - reach), min(count, middle + reach) + 1, dtype=float)
    steps = (count - values[:-1]) / (values[:-1] + 1) * (chance / (1 - chance))
    logs = np.concatenate([[0.0], np.cumsum(np.log(steps))])
    weights = np.exp(logs - logs.max())
    return values, weights / weights.sum()
