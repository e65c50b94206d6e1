"""The invariants of the sinusoidal table by name, at a cost that does not depend on seq_len."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .averages import place_average
from .geometric import sine_ratio
from .trigonometric import Encoding, Part


def power_sum(**powers: int) -> Part:
    """The contraction sum_c p_t[c]^a p_s[c]^b as ``power_sum(t=a, s=b)``."""
    return tuple((f"f_{label}", (0,)) for label in sorted(powers) for _ in range(powers[label]))


@dataclass(frozen=True)
class SinusoidalInvariants:
    """Averages of the sinusoidal table p, shape (seq_len, d_model).

        p[t, 2k] = sin(t w_k),    p[t, 2k+1] = cos(t w_k),    w_k = base^(-2k/d_model)

    >>> SinusoidalInvariants(d_model=512, seq_len=128).mean_square
    0.5
    """

    d_model: int
    seq_len: int
    base: float = 10000.0

    @property
    def encoding(self) -> Encoding:
        """The table's sizes and frequencies."""
        return Encoding("sinusoidal", self.d_model, self.d_model, self.base)

    def _average(self, *parts: Part) -> Any:
        return place_average(self.encoding, parts, self.seq_len)

    @property
    def mean(self) -> float:
        """Mean entry, over positions and channels."""
        return float(self._average(power_sum(t=1))) / self.d_model

    @property
    def mean_square(self) -> float:
        """Mean squared entry: exactly 1/2 for even d_model."""
        return float(self._average(power_sum(t=2))) / self.d_model

    @property
    def variance(self) -> float:
        """Variance of the entries over positions and channels: mean square less squared mean."""
        return self.mean_square - self.mean**2

    @property
    def mean_fourth_norm(self) -> float:
        """Mean of |p_t|^4."""
        return float(self._average(power_sum(t=2), power_sum(t=2)))

    @property
    def mean_square_norm_product(self) -> float | None:
        """Mean of |p_i|^2 |p_j|^2 over i != j; None for one position."""
        result: float | None = self._average(power_sum(t=2), power_sum(s=2))
        return result

    @property
    def mean_inner_product(self) -> float | None:
        """Mean of p_i . p_j over i != j; None for one position."""
        result: float | None = self._average(power_sum(t=1, s=1))
        return result

    @property
    def mean_squared_inner_product(self) -> float | None:
        """Mean of (p_i . p_j)^2 over i != j; None for one position.

        It is a double sum over frequencies, so it takes seconds for the largest widths.
        """
        result: float | None = self._average(power_sum(t=1, s=1), power_sum(t=1, s=1))
        return result

    @property
    def mean_vector_square_norm(self) -> float:
        """Squared norm of the mean row, |sum_t p_t / seq_len|^2."""
        return float(np.sum((self.channel_sums / self.seq_len) ** 2))

    @property
    def channel_sums(self) -> NDArray[np.float64]:
        """Sum over positions of each channel, shape (d_model,)."""
        frequencies = self.encoding.frequencies()
        size = self.seq_len * sine_ratio(frequencies, self.seq_len)
        phase = frequencies * ((self.seq_len - 1) / 2)
        sums = np.empty(self.d_model)
        sums[0::2] = size * np.sin(phase)
        sums[1::2] = (size * np.cos(phase))[: self.encoding.pairs]
        return sums

    def table(self) -> NDArray[np.float64]:
        """The table itself, shape (seq_len, d_model)."""
        return self.encoding.table(np.arange(self.seq_len))
