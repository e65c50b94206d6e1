"""Softmax expectations of rows of one variance, at any lengths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.integrals import Integrals
from varprop.quadrature.largest import largest_weight
from varprop.quadrature.lengths import over_lengths
from varprop.quadrature.narrow import WIDEST, NarrowTable
from varprop.quadrature.nodes import log_t_nodes
from varprop.quadrature.wide import WideTable

RowFunction = Callable[[float, Floats], Floats]
"""From a standard deviation and lengths (n,), real and >= 2, to quantities (quantity, n)."""


def row_table(std: float, lengths: Floats) -> NarrowTable | WideTable:
    """Return the table of one standard deviation that serves all these lengths."""
    most = float(lengths.max())
    log_t, step = log_t_nodes(std, float(lengths.min()), most)
    if std < WIDEST:
        return NarrowTable(std, log_t, step)
    return WideTable(std, log_t, step, most)


def one_dimensional(std: float, lengths: Floats) -> Floats:
    """Return the fields of `Integrals`, (7, n)."""
    return np.array(row_table(std, lengths).integrals(lengths))


def largest(std: float, lengths: Floats) -> Floats:
    """Return E max p, (1, n)."""
    return largest_weight(row_table(std, lengths), lengths)[None]


SINGLE: dict[RowFunction, tuple[float, ...]] = {
    one_dimensional: tuple(
        float(name in ("squares", "mean_logit_square")) for name in Integrals._fields
    ),
    largest: (1.0,),
}
"""The quantities of a row of one key, whose weight is 1."""

IN_VARIANCES: dict[RowFunction, tuple[bool, ...]] = {
    one_dimensional: tuple(name == "mean_logit_square" for name in Integrals._fields),
    largest: (False,),
}
"""The quantities that are given in units of the variance; averages are not."""


def points(function: RowFunction, lengths: Floats, variances: Floats) -> Floats:
    """Return (quantity, point) at each of the points: lengths (point,), variances (point,)."""
    distinct, where = np.unique(variances, return_inverse=True)
    order = np.argsort(where, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(where))[:-1])
    result = np.empty((len(SINGLE[function]), lengths.size))
    for variance, group in zip(distinct, groups, strict=True):
        result[:, group] = mixture(function, lengths[group], np.array([variance]), np.ones(1))
    return result


def mixture(function: RowFunction, lengths: Floats, variances: Floats, weights: Floats) -> Floats:
    """Return (quantity, n), averaged over variances (k,) with weights (k,)."""
    in_variances, unit = np.array(IN_VARIANCES[function])[:, None], variances.max()
    factors = weights * np.where(in_variances, variances / (unit or 1.0), 1.0)

    def averaged(n: Floats) -> Floats:
        values = [function(std, n) for std in np.sqrt(variances).tolist()]
        return np.asarray(np.einsum("qk,kqn->qn", factors, values), np.float64)

    single = np.array(SINGLE[function]) * factors.sum(axis=1)
    result = np.repeat(single[:, None], lengths.size, axis=1)
    longer = lengths > 1
    if longer.any():
        result[:, longer] = over_lengths(averaged, lengths[longer])
    with np.errstate(over="ignore"):  # of a variance near the largest number, inf
        return np.where(in_variances, result * (unit), result)
