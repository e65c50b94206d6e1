"""Running mean and covariance of independent vectors, and standard errors by the delta method."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Streaming:
    """Count, mean and scatter (sum of outer products of deviations) of vectors seen so far."""

    count: int
    mean: FloatArray
    scatter: FloatArray

    @classmethod
    def of(cls, samples: FloatArray) -> "Streaming":
        """The statistics of `samples`, shape (vectors, entries)."""
        if not len(samples):
            entries = samples.shape[1]
            return cls(0, np.zeros(entries), np.zeros((entries, entries)))
        mean = samples.mean(axis=0)
        deviations = samples - mean
        # einsum, not BLAS: the same bits whatever else runs.
        return cls(len(samples), mean, np.einsum("ri,rj->ij", deviations, deviations))

    def merge(self, other: "Streaming") -> "Streaming":
        """Both together, by the update of Chan, Golub and LeVeque (1979)."""
        count = self.count + other.count
        if not self.count or not other.count:
            return self if self.count else other
        step = other.mean - self.mean
        mean = self.mean + step * (other.count / count)
        between = np.multiply.outer(step, step) * (self.count * (other.count / count))
        return Streaming(count, mean, self.scatter + other.scatter + between)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the mean; 0 where a single vector cannot tell."""
        return self.scatter / (self.count * max(self.count - 1, 1))

    def stderr(self, gradient: FloatArray) -> float:
        """Delta-method standard error of a function of the mean with this gradient."""
        if self.count < 2:
            return math.inf
        return math.sqrt(max(float(gradient @ self.covariance @ gradient), 0.0))
