"""The sinusoidal table in numbers: by closed forms, and written down."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from varprop.claims.quantities import Quantity
from varprop.encodings.sinusoidal import SinusoidalInvariants
from varprop.simulation.estimates import Estimate

LONGEST = 2**26
"""Entries of a table beyond which it is not written down to be measured."""


def sinusoids(d_model: int, seq_len: int, what: str) -> Quantity:
    """Mean square, pooled variance or variance within a channel of the sinusoidal table."""

    def predicted() -> float:
        table = SinusoidalInvariants(d_model, seq_len)
        if what == "within":
            return table.mean_square - table.mean_vector_square_norm / d_model
        return table.mean_square if what == "square" else table.variance

    def measured() -> Estimate | None:
        known = _written(d_model, seq_len)
        return None if known is None else Estimate(known[what], 1e-9)

    return Quantity(predicted, measured)


@lru_cache(maxsize=16)
def _written(d_model: int, seq_len: int) -> dict[str, float] | None:
    """The same from the table itself, written down a block of positions at a time."""
    if d_model * seq_len > LONGEST:
        return None
    sums, squares = np.zeros(d_model), 0.0
    for start in range(0, seq_len, 4096):
        positions = np.arange(start, min(start + 4096, seq_len))[:, None]
        rows = np.empty((len(positions), d_model))
        for first, wave in enumerate((np.sin, np.cos)):
            channels = np.arange(first, d_model, 2)
            rows[:, first::2] = wave(positions / 10000.0 ** ((channels - first) / d_model))
        sums += rows.sum(0)
        squares += float((rows**2).sum())
    square, means = squares / (d_model * seq_len), sums / seq_len
    pooled = square - float(means.mean()) ** 2
    return {"square": square, "pooled": pooled, "within": square - float((means**2).mean())}
