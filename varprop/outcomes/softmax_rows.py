"""Averages of softmax integrals over the law of rows and over the lengths of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.outcomes.row_law import RowLaw
from varprop.quadrature.gauss import Law
from varprop.quadrature.largest_of_law import largest_of_law
from varprop.quadrature.own_key import own_key_integrals
from varprop.quadrature.own_largest import own_key_largest


class RowAverages(NamedTuple):
    """Expectations for each length of a row, (n,) each; the first eight as `OwnKeyIntegrals`."""

    logsumexp: Floats
    entropy: Floats
    deficit: Floats
    squares: Floats
    squares_excess: Floats
    jacobian: Floats
    own_weight: Floats
    own_square: Floats
    along: Floats
    """E (sum_j p_j l_j)^2 / s^2."""
    across: Floats
    """E p_ii^2 times the squared norm of the own row at right angles to h."""
    own_norm: Floats
    """E p_ii^2 times the squared norm of the own row."""
    other_norms: Floats
    """E sum_{j != i} p_j^2 l_j^2 / s^2."""


def equal_rows(lengths: Floats) -> RowAverages:
    """Return the averages over rows of equal logits."""
    nothing, each = np.zeros_like(lengths), 1 / lengths
    log_n = np.log(lengths)
    return RowAverages(
        logsumexp=log_n,
        entropy=log_n,
        deficit=nothing,
        squares=each,
        squares_excess=nothing,
        jacobian=each - each**2,
        own_weight=each,
        own_square=each**2,
        along=nothing,
        across=nothing,
        own_norm=nothing,
        other_norms=nothing,
    )


def row_averages(law: RowLaw, lengths: Floats) -> RowAverages:
    """Return the averages over rows of this law."""
    total = np.zeros((len(RowAverages._fields), lengths.size))
    for std, own, weights, across in law.nodes():
        found = own_key_integrals(std, lengths, std * own)
        beside = found.own_square @ across
        averages = [getattr(found, name) @ weights for name in RowAverages._fields[:8]]
        averages += [
            found.output / std**2 @ weights,
            beside,
            beside + found.own_square @ (weights * own**2),
            found.other_outputs / std**2 @ weights,
        ]
        total += averages
    return RowAverages(*total)


def largest_weights(law: RowLaw, lengths: Floats) -> Floats:
    """Return E max p for each length: (n,)."""
    result = np.ones_like(lengths)
    several = lengths > 1
    longer = lengths[several]
    if not longer.size:
        return result
    result[several] = 0
    if law.aligned:
        for std, own, weights, _ in law.nodes():
            result[several] += own_key_largest(std, longer, std * own) @ weights
    else:
        laws = zip(law.std.tolist(), law.masses, law.near_gaussian(), strict=True)
        for std, mass, near in laws:
            result[several] += mass * largest_of_law(std, longer, near)
    return result


def mean_over(lengths: Law, values: Floats) -> float:
    """The mean over rows of what is known for each length."""
    return float(lengths.weights @ values / lengths.weights.sum())
