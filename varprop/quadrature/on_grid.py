"""Laws of many points as masses on an even grid."""

from __future__ import annotations

import math

import numpy as np

from varprop.fields.numeric import Floats


def on_grid(values: Floats, weights: Floats, step: float, order: int) -> tuple[int, Floats]:
    """Return masses at the multiples of a step that integrate smooth functions alike.

    Each value is spread over the grid points around it by Lagrange's interpolation: exact for
    polynomials of a degree below `order`, which is even.

    Returns:
        the number of the first point, and the masses.
    """
    places = values / step
    lowest = np.floor(places).astype(np.int64) - (order // 2 - 1)
    offset = places - lowest
    start, number = int(lowest.min()), int(np.ptp(lowest)) + order
    # Products of the distances to the points before, and to those after.
    before, after = [np.ones_like(weights)], [weights]
    for point in range(order - 1):
        before.append(before[-1] * (offset - point))
        after.append(after[-1] * (offset - (order - 1 - point)))
    masses = np.zeros(number)
    for point in range(order):
        share = before[point] * after[order - 1 - point]
        scale = (-1) ** (order - 1 - point) * math.factorial(point)
        share /= scale * math.factorial(order - 1 - point)
        masses += np.bincount(lowest - start + point, share, number)
    return start, masses
