"""What the entries of one row are worth in a product, given its fixed part."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.lengths import over_lengths

from .chi_square import ratio_mean
from .record import Record

DIRECT = 512
"""Positions up to which each has a quadrature of its own."""


def weight(
    record: Record, variance: float, square: Any, entries: int, pairs: int, power: int
) -> Any:
    """a^pairs d^(power + entries/2) E[Y^power / (Y + C)^(power + entries/2)].

    It is what a row's ``entries`` of which 2 ``pairs`` found a partner are worth, times
    |y|^(2 power); Y is the sum of squares with 2 (entries - pairs) degrees more.
    """
    inverse = power + entries / 2
    degrees = record.degrees + 2 * (entries - pairs)
    mean = _ratio if isinstance(square, float) else ratio_mean
    found = mean(degrees, variance, square, record.constant, power, inverse)
    return variance**pairs * record.width**inverse * found


@lru_cache(maxsize=4096)
def _ratio(*arguments: Any) -> float:
    return float(ratio_mean(*arguments))


def weights_along(record: Record, squares: Floats, key: tuple[int, int, int]) -> Floats:
    """A row's weight at each squared length; where these are many, interpolated in log(Y + C).

    A weight is analytic wherever |f~|^2 + D a + C has a positive real part.
    """
    offset = record.degrees * record.variance + record.constant
    if len(squares) <= DIRECT or offset == 0:
        found: Floats = weight(record, record.variance, squares, *key)
        return found

    def evaluate(sizes: Floats) -> Floats:
        values: Floats = weight(record, record.variance, np.maximum(sizes - offset, 0.0), *key)
        return values[None]

    along: Floats = over_lengths(evaluate, squares + offset)[0]
    return along
