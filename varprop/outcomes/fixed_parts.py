"""The fixed part F of a row before the final norm: means of what is drawn, and sinusoids.

F_t = level + f_t in every channel, less its mean over channels if the norm centres
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from varprop.encodings import Encoding
from varprop.fields.numeric import Floats
from varprop.quadrature.gauss import Law, gauss, krylov

MOST, LONGEST, FEWEST = 2**24, 2**16, 64
"""Sinusoidal entries and positions that are looked at; of longer sequences a subset is."""


class FixedParts(NamedTuple):
    """A rule for positions: |F|, the sum of F over channels, its square, and weights, (k,) each.

    ``error`` is that of an average over a subset of the positions, relative to |F|.
    """

    length: Floats
    total: Floats
    total_square: Floats
    weights: Floats
    error: float = 0.0

    def nonzero(self) -> FixedParts:
        """Those of positions at which F is not 0."""
        kept = self.length > 0
        weights = self.weights[kept] / self.weights[kept].sum()
        return FixedParts(
            self.length[kept], self.total[kept], self.total_square[kept], weights, self.error
        )


def level_part(level: float, d_model: int, centred: bool) -> FixedParts:
    """The same number in every channel, at every position."""
    total = np.array([0.0 if centred else level * d_model])
    length = np.asarray(abs(total) / math.sqrt(d_model), np.float64)
    return FixedParts(length, total, total**2, np.ones(1))


def sinusoidal_parts(
    encoding: Encoding, seq_len: int, level: float, centred: bool, nodes: int | None
) -> FixedParts:
    """Sinusoids on top of a level, each position on its own, or a Gauss rule for |F|^2."""
    sums, squares = position_sums(encoding, seq_len)
    width = encoding.width
    if centred:
        square = np.maximum(squares - sums**2 / width, 0.0)
        total = np.zeros_like(sums)
    else:
        square = np.maximum(squares + 2 * level * sums + width * level**2, 0.0)
        total = sums + width * level
    weights = np.full(len(sums), 1 / len(sums))
    error = 0.0
    if len(sums) < seq_len and np.sqrt(square).mean() > 0:
        error = float(np.sqrt(square).std() / np.sqrt(square).mean() / math.sqrt(len(sums)))
    total_square = total**2
    if nodes is not None:
        rule = gauss(krylov(Law(square, weights), nodes))
        square, weights = np.maximum(rule.law.points, 0.0), rule.law.weights
        total, total_square = rule.projected(total), rule.projected(total_square)
    return FixedParts(np.sqrt(square), total, total_square, weights, error)


@lru_cache(maxsize=64)
def position_sums(encoding: Encoding, seq_len: int) -> tuple[Floats, Floats]:
    """Sum and sum of squares over channels of a table of sinusoids, (position,) each.

    Positions are pairs of a coarse and a fine step, t = a + b, and exp(i w t) the product of two
    factors. Of a table that is too large the steps are a stratified subset.
    """
    frequencies, width = encoding.frequencies(), encoding.width
    seen = min(seq_len, LONGEST, max(MOST // width, FEWEST))
    side = math.isqrt(seen - 1) + 1
    if seen == seq_len:
        fine, coarse = np.arange(side), side * np.arange(-(-seq_len // side))
    else:
        stride = seq_len // side
        golden = (math.sqrt(5) - 1) / 2
        fine = np.floor(stride * (golden * np.arange(side) % 1))
        coarse = stride * np.arange(side)
    # sin + cos is the real part of (1 - i) exp(i w t), and sin that of -i exp(i w t).
    factors = np.full(len(frequencies), 1 - 1j)
    factors[encoding.pairs :] = -1j
    turned = factors * np.exp(1j * np.multiply.outer(coarse, frequencies))
    sums = (turned @ np.exp(1j * np.multiply.outer(frequencies, fine))).real.ravel()
    squares = np.full(len(sums), float(encoding.pairs))
    if width % 2:
        places = np.add.outer(coarse, fine).ravel()
        squares += np.sin(frequencies[-1] * places) ** 2
    kept = min(len(sums), seq_len)
    return sums[:kept], squares[:kept]
