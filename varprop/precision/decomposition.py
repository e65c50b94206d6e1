"""Laws of one entry as mixtures of a few simple ones, for integrals over cells."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from .cells import REACH, Mixture, Normal, Uniform
from .laws import (
    Array,
    Cut,
    Entry,
    Shifted,
    log_normal_interval,
    log_point_interval,
    log_uniform_interval,
)
from .mixtures import Product, Sphere

Decomposed = Mixture | Sphere | Array | None
FEW = 1e-18
"""Shares of a mixture that are left out."""
FARTHEST = 12.0
"""Stds at which a cut normal law may begin: farther out closed forms lose their digits."""
SPACING = 1 / 16
"""Distance in stds of the places that stand for many centres: the error is 1e-8 of a cell's."""


@singledispatch
def decomposed(entry: Entry) -> Decomposed:
    """The law as a mixture, a point on a sphere, or equally likely numbers; None for neither."""
    raise TypeError(f"no law of rounding for {type(entry).__name__}")


@decomposed.register
def _(entry: Sphere) -> Decomposed:
    return entry


@decomposed.register
def _(entry: Product) -> Decomposed:
    logs, weights = (np.asarray(part) for part in entry._nodes())
    square, chances = entry.square * np.exp(logs), np.exp(weights)
    shares = chances * square
    kept = (chances > FEW) | (shares > FEW * shares.sum())
    scales = np.sqrt(square[kept])
    return Mixture(Normal(), np.zeros_like(scales), scales, chances[kept])


@decomposed.register
def _(entry: Shifted) -> Decomposed:
    centres, scale = entry.location + entry.fixed, entry.scale
    if entry.interval is log_point_interval or not scale:
        return centres
    weights = np.full(centres.size, 1 / centres.size)
    law: Normal | Uniform = Normal()
    if entry.interval is log_normal_interval:
        centres, weights = _condensed(centres, weights, SPACING * scale)
    elif entry.interval is log_uniform_interval:
        law = Uniform()
    elif isinstance(entry.interval, Cut):
        low, high, unit = entry.interval
        if low > FARTHEST or high < -FARTHEST:
            return None
        law, scale = Normal(max(low, -FARTHEST - REACH), min(high, FARTHEST + REACH)), scale / unit
        weights = weights / law.mass
    return Mixture(law, centres, np.full(centres.size, scale), weights)


def _condensed(centres: Array, weights: Array, spacing: float) -> tuple[Array, Array]:
    """An even grid in place of many centres, weighted so that it interpolates to sixth order."""
    least = float(centres.min())
    if (float(centres.max()) - least) / spacing + 6 >= centres.size:
        return centres, weights
    place = (centres - least) / spacing
    whole = np.floor(place).astype(int)
    t, offsets = place - whole, range(-2, 4)
    size = int(whole.max()) + 6
    shares = np.zeros(size)
    for offset in offsets:
        others = [other for other in offsets if other != offset]
        factors = [(t - other) / (offset - other) for other in others]
        shares += np.bincount(whole + offset + 2, weights * math.prod(factors), size)
    return least + spacing * (np.arange(size) - 2), shares
