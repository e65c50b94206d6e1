"""Streaming statistics over replicates, and the standard errors that follow from them.

A stage's tensor gives every replicate a short vector of statistics, each an average over places.
Replicates are independent, entries of one tensor are not, so all spread is taken between these
vectors. Only their running mean and covariance are kept, and functions of the mean get their
standard error by the delta method:

    stderr(f) = sqrt(g' C g),   g = df/dmean,   C = covariance of the mean.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from varprop.simulation.estimates import ROUNDING, Estimate
from varprop.simulation.measurement import MeasuredMoments
from varprop.simulation.streaming import FloatArray, Streaming
from varprop.stages import stage_named

LARGEST = 1e150
"""Beyond this, squares of float64 numbers overflow."""


@dataclass(frozen=True)
class Pilot:
    """The shift and scale in which a stage is measured, so that nothing cancels or overflows.

    `scale` is a power of two: dividing by it is exact.
    """

    shift: float
    scale: float

    @classmethod
    def of(cls, stage: str, values: FloatArray) -> "Pilot":
        """From a first batch of values.

        Raises:
            ValueError: they are too large to be squared in float64.
        """
        largest = max(float(values.max()), -float(values.min()))
        if not largest < LARGEST:
            raise ValueError(f"{stage}: entries beyond {LARGEST:g} cannot be measured in float64")
        scale = math.ldexp(1.0, math.frexp(largest)[1]) if largest else 1.0
        return cls(float((values / scale).mean()), scale)


@dataclass(frozen=True)
class StageStatistics:
    """What is kept of one stage: replicate vectors, and half mean squared differences of pairs.

    A replicate's vector holds the first four moments around the pilot shift, the second moment
    around 0, and the cross-position moment or the row variance where the stage has one.
    """

    stage: str
    pilot: Pilot
    units: Streaming
    pairs: Streaming
    further: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        stage: str,
        values: FloatArray,
        pilot: Pilot,
        shared_places: bool,
        further: Mapping[str, FloatArray] | None = None,
    ) -> "StageStatistics":
        """Statistics of a block of replicates; two successive ones make a pair.

        Where the two replicates of a pair share random places they are not independent of each
        other, and their average is the unit. A last replicate without a partner is a unit of its
        own: the mean stays unbiased, and so does the variance of the mean.
        """
        scaled = values / pilot.scale
        vectors = _replicate_vectors(stage, scaled, pilot.shift)
        further = further or {}
        vectors = np.column_stack([vectors, *further.values()])
        even = len(vectors) // 2 * 2
        if shared_places:
            together = vectors[:even].reshape(even // 2, 2, -1).mean(axis=1)
            vectors = np.concatenate([together, vectors[even:]])
        differences = scaled[0:even:2] - scaled[1:even:2]
        halves = _place_means(np.square(differences, out=differences)) / 2
        units, pairs = Streaming.of(vectors), Streaming.of(halves[:, np.newaxis])
        return cls(stage, pilot, units, pairs, tuple(further))

    def merge(self, other: "StageStatistics") -> "StageStatistics":
        """Both blocks together."""
        return replace(
            self, units=self.units.merge(other.units), pairs=self.pairs.merge(other.pairs)
        )

    def moments(self) -> MeasuredMoments:
        """The estimates, in the stage's own units."""
        shift, scale = self.pilot.shift, self.pilot.scale
        units, square = self.units, scale * scale
        first, second, third, fourth, raw, *extra = (float(entry) for entry in units.mean)

        def estimate(
            value: float, factor: float, *gradient: float, curved: float = 0.0
        ) -> Estimate:
            padded = np.zeros(len(units.mean))
            padded[: len(gradient)] = gradient
            return Estimate(value * factor, math.hypot(units.stderr(padded), curved) * factor)

        after = len(units.mean) - len(self.further)
        further = {
            name: estimate(float(units.mean[place]), 1.0, *[0.0] * place, 1.0)
            for place, name in enumerate(self.further, start=after)
        }
        # E[mean^2] exceeds the squared expectation by the variance of the mean.
        central = max(second - first**2 + float(units.covariance[0, 0]), 0.0)
        slope = (-2 * first, 1.0)
        # The square of a mean near 0 has no slope, but a variance of 2 C^2: all behind a norm.
        curved = math.sqrt(2) * float(units.covariance[0, 0])
        root = math.sqrt(central)
        # Entries that differ by rounding only have no shape to speak of.
        spread = central > ROUNDING**2 * raw
        std_slope = [entry / (2 * root) for entry in slope] if spread else []
        kurtosis = None
        if spread:
            quartic = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
            quartic_slope = (
                12 * first * second - 4 * third - 12 * first**3,
                6 * first**2,
                -4 * first,
                1.0,
            )
            ratio = quartic / central**2
            gradient = (
                a / central**2 - 2 * ratio * b / central
                for a, b in zip(quartic_slope, (*slope, 0.0, 0.0), strict=True)
            )
            kurtosis = estimate(ratio - 3, 1.0, *gradient)
        own = estimate(extra[0], square, 0, 0, 0, 0, 0, 1) if after > 5 else None
        half = float(self.pairs.mean[0])
        return MeasuredMoments(
            mean=estimate(shift + first, scale, 1.0),
            variance=estimate(central, square, *slope, curved=curved),
            second_moment=estimate(raw, square, 0, 0, 0, 0, 1),
            std=estimate(root, scale, *std_slope, curved=curved / (2 * root) if spread else 0.0),
            ensemble_variance=Estimate(half * square, self.pairs.stderr(np.ones(1)) * square),
            excess_kurtosis=kurtosis,
            cross_position_moment=own if stage_named(self.stage).is_vector else None,
            row_variance=own if stage_named(self.stage).is_pair else None,
            further=further,
        )


def _replicate_vectors(stage: str, scaled: FloatArray, shift: float) -> FloatArray:
    """Each replicate's statistics, shape (replicate, entries)."""
    raw = _place_means(np.square(scaled))
    centred = scaled - shift
    power = centred.copy()
    columns = [_place_means(power)]
    for _ in range(3):
        np.multiply(power, centred, out=power)
        columns.append(_place_means(power))
    columns.append(raw)
    if stage_named(stage).is_vector and scaled.shape[1] > 1:
        # The sum over t != s is the square of the sum less the diagonal t = s.
        length = scaled.shape[1]
        totals = _place_means(np.square(scaled.sum(axis=1)))
        columns.append((totals / length - raw) / (length - 1))
    if stage_named(stage).is_pair and scaled.shape[-1] > 1:
        columns.append(_place_means(scaled.var(axis=-1, ddof=1)))
    return np.stack(columns, axis=1)


def _place_means(values: FloatArray) -> FloatArray:
    """Average over everything but the replicate."""
    means: FloatArray = values.reshape(len(values), math.prod(values.shape[1:])).mean(axis=1)
    return means
