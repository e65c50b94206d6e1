"""The mean square of a distance to the nearest multiple of a step, over a part of the line.

Where the density hardly changes within a step it is step^2/12 times the probability, corrected at
the ends by the Euler-Maclaurin formula: with t = frac(x/step + 1/2) and Bernoulli polynomials,

    distance^2 = step^2 (B_2(t) + 1/12),    int B_n(t) dx = step B_{n+1}(t) / (n + 1).

Elsewhere it is the sum over cells, each in closed form. Reference: DLMF 24.2, 24.17(i).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats

REACH = 9.0
"""Standard deviations beyond which a normal law has 2e-19."""
SMOOTH = 0.25
"""Steps narrower than this share of a law's `scale`: the error is 1e-7 of step^2/12."""
CHUNK = 2**14
"""Components whose cells are held at once, 10 MB for each array."""


class Normal(NamedTuple):
    """The standard normal law cut to [low, high]."""

    low: float = -REACH
    high: float = REACH

    @property
    def mass(self) -> float:
        """What `integral` gives for the constant 1 on the whole law."""
        ends = np.array([self.low, self.high])
        return float(self.integral(ends[:1], ends[1:], np.ones(1), np.zeros(1))[0])

    @property
    def scale(self) -> float:
        """On which the density changes: in a tail it falls as fast as an exponential."""
        return 1 / max(1.0, self.low, -self.high)

    def integral(self, start: Floats, stop: Floats, offset: Floats, scale: Floats) -> Floats:
        """The integral of (offset + scale z)^2 from start to stop; not normalised by the mass."""
        from scipy.special import ndtr

        flip = np.where(start > 0, -1.0, 1.0)  # work on the left, where nothing cancels
        share = flip * (ndtr(flip * stop) - ndtr(flip * start))
        first, last = (np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) for z in (start, stop))
        edges = (scale * start + 2 * offset) * first - (scale * stop + 2 * offset) * last
        return np.asarray((scale**2 + offset**2) * share + scale * edges)

    def derivatives(self, z: Floats) -> tuple[Floats, ...]:
        """The density and its first three derivatives."""
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        return density, -z * density, (z**2 - 1) * density, (3 - z**2) * z * density


class Uniform(NamedTuple):
    """The uniform law on [-1, 1]."""

    low: float = -1.0
    high: float = 1.0
    mass: float = 1.0
    scale: float = 1.0

    def integral(self, start: Floats, stop: Floats, offset: Floats, scale: Floats) -> Floats:
        """The same for a uniform number."""
        a, b = offset + scale * start, offset + scale * stop
        return (stop - start) * (a * a + a * b + b * b) / 6

    def derivatives(self, z: Floats) -> tuple[Floats, ...]:
        """The density and its first three derivatives."""
        return np.full_like(z, 0.5), *(np.zeros_like(z) for _ in range(3))


class Mixture(NamedTuple):
    """centre + scale*Z with these chances (of either sign, where they interpolate)."""

    law: Normal | Uniform
    centres: Floats
    scales: Floats
    weights: Floats

    @property
    def reach(self) -> float:
        """A magnitude that is not exceeded."""
        widest = max(-self.law.low, self.law.high)
        return float((np.abs(self.centres) + widest * self.scales).max())

    def second_moment(self) -> float:
        """The mean square."""
        low, high = (np.full_like(self.scales, end) for end in self.law[:2])
        return float(self.weights @ self.law.integral(low, high, self.centres, self.scales))

    def distance(self, a: float, b: float, step: float) -> float:
        """The integral of the squared distance to the nearest multiple, over a <= x < b."""
        with np.errstate(over="ignore"):
            start, stop = (
                np.clip((end - self.centres) / self.scales, *self.law[:2]) for end in (a, b)
            )
        total = 0.0
        smooth = step < SMOOTH * self.law.scale * self.scales
        for method, chosen in ((self._smooth, smooth), (self._cells, ~smooth)):
            places = np.flatnonzero(chosen & (stop > start))
            for first in range(0, places.size, CHUNK):
                some = places[first : first + CHUNK]
                c, s = self.centres[some], self.scales[some]
                total += float(self.weights[some] @ method(start[some], stop[some], c, s, step))
        return total

    def _smooth(self, start: Floats, stop: Floats, c: Floats, s: Floats, step: float) -> Floats:
        ratio = step / s
        value = self.law.integral(start, stop, np.ones_like(s), np.zeros_like(s)) / 12
        for z, sign in ((stop, 1.0), (start, -1.0)):
            t = (c + s * z) / step + 0.5
            powers = ratio, -(ratio**2) / 4, ratio**3 / 20, -(ratio**4) / 120
            terms = zip(bernoulli(t - np.floor(t)), powers, self.law.derivatives(z), strict=True)
            value = value + sign / 3 * sum(b * power * f for b, power, f in terms)
        return np.asarray(step**2 * value)

    def _cells(self, start: Floats, stop: Floats, c: Floats, s: Floats, step: float) -> Floats:
        first = np.rint((c + s * start) / step)
        count = int(((stop - start) * s).max() / step) + 3
        start, stop, c, s = (x[:, None] for x in (start, stop, c, s))
        v = (first[:, None] + np.arange(count)) * step
        with np.errstate(over="ignore"):
            a, b = (np.clip((v - c + half * step) / s, start, stop) for half in (-0.5, 0.5))
        return np.asarray(self.law.integral(a, b, c - v, s).sum(axis=1))


def bernoulli(t: Floats) -> tuple[Floats, ...]:
    """The Bernoulli polynomials of degree 3 to 6."""
    return (
        ((t - 1.5) * t + 0.5) * t,
        ((t - 2) * t + 1) * t * t - 1 / 30,
        (((t - 2.5) * t + 5 / 3) * t * t - 1 / 6) * t,
        (((t - 3) * t + 2.5) * t * t - 0.5) * t * t + 1 / 42,
    )
