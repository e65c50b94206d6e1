"""Means over distinct positions of products of one function of each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import perm
from typing import Any

import numpy as np

from varprop.fields.numeric import Floats


def distinct_mean(functions: Sequence[Any], length: int) -> float:
    """The mean of f(t) g(s) ... over different positions t, s, ...

    Args:
        functions: each an array (length,), or one number where it is the same everywhere.

    The positions are added up in each of their orders, t < s < ... first: unlike the product of
    sums less the sum of products, that adds only positive numbers where all values are positive.
    """
    constant = 1.0
    lines: list[Floats] = []
    for function in functions:
        if np.ndim(function):
            lines.append(function)
        else:
            constant *= float(function)
    if not lines:
        return constant
    total = 0.0
    for order in permutations(lines):
        below = order[0]
        for line in order[1:]:
            below = line * _earlier(below)
        total += float(below.sum())
    return constant * total / perm(length, len(lines))


def _earlier(values: Floats) -> Floats:
    """The sum of what comes before each position."""
    sums = np.zeros_like(values)
    np.cumsum(values[:-1], out=sums[1:])
    return sums
