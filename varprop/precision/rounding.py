"""What rounding to a format adds: the mean square of (rounded x - x), from the law of x.

Between two powers of two the numbers of a format are multiples of one step; below the smallest
normal number too. So the mean square is a sum over these stretches, from the largest down to where
the rest no longer counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .decomposition import decomposed
from .formats import Format
from .laws import Entry
from .mixtures import Sphere

ACCURACY = 1e-10
"""Stretches that cannot add more than this share of the sum are left out."""
RARE = 1e-9
"""If fewer entries stay finite, nothing is said of them."""


def rounding_variance(entry: Entry, form: Format) -> float | None:
    """E[(rounded x - x)^2] given that the result is finite, to 1e-7 of itself.

    None if it hardly ever is, and for a normal number cut to a tail beyond 12 stds.
    """
    finite = math.exp(entry.log_between(0.0, form.overflow))
    if finite < RARE:
        return None
    law = decomposed(entry)
    if law is None:
        return None
    if isinstance(law, np.ndarray):
        size = np.abs(law)
        size = size[size < form.overflow]
        step = np.maximum(np.ldexp(form.eps, np.frexp(size)[1] - 1), form.smallest_subnormal)
        return float(np.square(np.rint(size / step) * step - size).mean())
    total = 0.0
    for low, high, step in stretches(form):
        if step**2 / 4 <= ACCURACY * total:
            break
        if isinstance(law, Sphere):
            total += _on_sphere(law, low, min(high, law.radius), step)
        elif low < law.reach:
            total += law.distance(low, high, step) + law.distance(-high, -low, step)
    return max(total, 0.0) / finite


def second_moment(entry: Entry) -> float | None:
    """E[x^2]; None where the mean square of rounding is None too."""
    law = decomposed(entry)
    if law is None:
        return None
    if isinstance(law, Sphere):
        return law.radius**2 / law.dimensions
    return float(np.square(law).mean()) if isinstance(law, np.ndarray) else law.second_moment()


def stretches(form: Format) -> Iterator[tuple[float, float, float]]:
    """Where magnitudes that stay finite have one step, and the step, from the largest down."""
    smallest = form.smallest_subnormal / form.eps
    low, high = math.ldexp(1.0, math.frexp(form.largest)[1] - 1), form.overflow
    while low >= smallest:
        yield low, high, low * form.eps
        low, high = low / 2, low
    yield 0.0, high, form.smallest_subnormal


def _on_sphere(law: Sphere, low: float, high: float, step: float) -> float:
    """The same for radius*sin(angle), whose density in the angle goes like cos^(dimensions-2)."""
    from scipy.special import gammaln

    if high <= low:
        return 0.0
    ends = np.append(np.arange(low, high, step / 2), high)
    angles = np.arcsin(np.minimum(ends / law.radius, 1.0))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half, middle = np.diff(angles)[:, None] / 2, (angles[1:] + angles[:-1])[:, None] / 2
    angle = middle + half * nodes
    x, power = law.radius * np.sin(angle), law.dimensions - 2
    density = np.exp(power * np.log(np.cos(angle))) if power else 1.0
    found = (np.square(x - np.rint(x / step) * step) * density * half) @ weights
    constant = gammaln(law.dimensions / 2) - gammaln((law.dimensions - 1) / 2) - np.log(np.pi) / 2
    return float(2 * np.exp(constant) * found.sum())
