"""Laws of one entry as mixtures of a few simple ones, for integrals over cells."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.on_grid import on_grid

from .cells import REACH, Mixture, Normal, Uniform
from .laws import (
    Cut,
    Entry,
    Shifted,
    log_normal_interval,
    log_point_interval,
    log_uniform_interval,
)
from .mixtures import Product, Sphere

Decomposed = Mixture | Sphere | Floats | None
FEW = 1e-18
"""Shares of a mixture that are left out."""
FARTHEST = 12.0
"""Stds at which a cut normal law may begin: farther out closed forms lose their digits."""
SPACING, ORDER = 1 / 16, 6
"""Distance in stds of the places that stand for many centres, and of how many of them each centre
is spread over: the error is 1e-8 of a cell's."""


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
    centres: Floats = entry.location + entry.fixed
    scale = entry.scale
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


def _condensed(centres: Floats, weights: Floats, spacing: float) -> tuple[Floats, Floats]:
    """An even grid in place of many centres, where that has fewer points."""
    least = float(centres.min())
    if (float(centres.max()) - least) / spacing + ORDER >= centres.size:
        return centres, weights
    start, shares = on_grid(centres - least, weights, spacing, ORDER)
    numbers = start + np.arange(shares.size, dtype=np.float64)
    return least + spacing * numbers, shares
