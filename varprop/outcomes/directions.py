"""Where a Gaussian row points: x = L f + z with a unit vector f and standard normal noise z.

    cosine = x.f / |x|,   noise = x.z / |x| = |x| - L cosine

Their joint law depends on L and on the number of dimensions only.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.outcomes.stepped_laws import TAIL, chi, normal, panels

FAR, MANY = 12.0, 128
"""A length of the fixed part, and a number of dimensions, beyond which |x| is never near 0, where
it has a kink: the integrands are then smooth in Cartesian coordinates."""

ANGLES = 0.025
"""Distance of the nodes of an angle, as a part of its interval."""

NEGLIGIBLE = 1e-20
"""Probability of a node that can be left out."""


class Directions(NamedTuple):
    """Nodes of the joint law: noise, cosine, its square, and probabilities, (k,) each."""

    noise: Floats
    cosine: Floats
    square: Floats
    weights: Floats

    @classmethod
    def still(cls) -> Directions:
        """Rows without noise point along f."""
        one = np.ones(1)
        return cls(np.zeros(1), one, one, one)


@lru_cache(maxsize=256)
def directions(dimensions: int, length: float, step: float | None = None) -> Directions:
    """Nodes for a fixed part of this length; the noise is resolved to `step`, if there is one."""
    if length == 0:
        noise, weights = chi(dimensions, step)
        # Any direction is as likely as any other.
        return Directions(noise, np.zeros_like(noise), np.full_like(noise, 1 / dimensions), weights)
    if dimensions == 1:
        noise, cosine, weights = _line(length, step)
    elif length > FAR or dimensions > MANY:
        noise, cosine, weights = _cartesian(dimensions, length, step)
    else:
        noise, cosine, weights = _polar(dimensions, length, step)
    return Directions(noise, cosine, cosine**2, weights)


def _line(length: float, step: float | None) -> tuple[Floats, Floats, Floats]:
    """One dimension: the sign of L + z jumps at z = -L."""
    jump = min(length, TAIL)
    parts = [panels(-jump, TAIL, step)]
    if jump < TAIL:
        parts.append(panels(-TAIL, -jump, step))
    z, weights = (np.concatenate(both) for both in zip(*parts, strict=True))
    weights = weights * np.exp(z**2 / -2)
    sign = np.repeat([1.0, -1.0][: len(parts)], [len(nodes) for nodes, _ in parts])
    return sign * z, sign, weights / weights.sum()


def _cartesian(dimensions: int, length: float, step: float | None) -> tuple[Floats, Floats, Floats]:
    """Noise z along f, normal, and r across it, chi; the one that moves more is resolved."""
    across = math.sqrt(dimensions - 1)
    cosine = length / math.hypot(length, across)
    sine = across / math.hypot(length, across)
    along = cosine**3 > math.sqrt(0.5) * sine * (1 + cosine**2)
    z, z_weights = normal(step if along else None)
    r, r_weights = chi(dimensions - 1, None if along else step)
    front = length + z[:, None]
    size = np.hypot(front, r)
    noise = z[:, None] * (front / size) + r * (r / size)
    weights = np.multiply.outer(z_weights, r_weights)
    return noise.ravel(), (front / size).ravel(), weights.ravel()


def _polar(dimensions: int, length: float, step: float | None) -> tuple[Floats, Floats, Floats]:
    """|x| and the angle to f, in which noise and cosine are smooth even where |x| is near 0.

    density |x|^(D-1) exp(-(|x| - L)^2/2 - L |x| (1 - cos a)) sin(a)^(D-2)
    """
    middle = math.hypot(length, math.sqrt(dimensions - 1))  # |x| is this to about 1
    low = max(0.0, middle - TAIL - 1)
    high = middle + TAIL + 1
    size, weights = panels(low, high, step)
    pull = length * size
    bend = dimensions - 2
    highest = 2 * pull / (bend + np.sqrt(bend**2 + 4 * pull**2))
    centre = np.arccos(highest)
    # The exponent's second derivative is bend + pull or more at its highest point, and
    # 1 - cos(a) >= 2 (a / pi)^2.
    half = np.minimum(math.pi, TAIL * (math.pi / 2) / np.sqrt(np.maximum(bend + pull, 1e-300)))
    left, right = np.maximum(0, centre - half), np.minimum(math.pi, centre + half)
    nodes, angle_weights = panels(0.0, 1.0, ANGLES)
    angle = left[:, None] + (right - left)[:, None] * nodes
    exponent = (dimensions - 1) * np.log(size) - (size - length) ** 2 / 2
    exponent = exponent[:, None] - pull[:, None] * (2 * np.sin(angle / 2) ** 2)
    exponent += bend * np.log(np.sin(angle))
    both = np.exp(exponent - exponent.max()) * np.multiply.outer(
        weights * (right - left), angle_weights
    )
    both = (both / both.sum()).ravel()
    cosine = np.cos(angle)
    noise, cosine = (size[:, None] - length * cosine).ravel(), cosine.ravel()
    kept = both > NEGLIGIBLE
    return noise[kept], cosine[kept], both[kept]
