"""The truths of the page on the sum."""

import numpy as np

from ..laws import average, law, variance
from .definitions import table
from .registry import ENTRY, EVEN, SMALL, WIDTHS, equation


def entry(o, position: int = 0):
    return lambda E: o.c * E[:, position, 0] + o.p[position, 0]


@equation("sum.mean", r"\mathbb{E}[x_{ti}]", ENTRY)
def _(o):
    return average(entry(o), E=table(o, 1))


@equation("sum.variance", r"\mathrm{Var}[x_{ti}]", ENTRY)
def _(o):
    return variance(entry(o), E=table(o, 1))


@equation("sum.second_moment", r"\mathbb{E}[x_{ti}^{2}]", ENTRY)
def _(o):
    return average(lambda E: entry(o)(E) ** 2, E=table(o, 1))


@equation("sum.pooled", r"\mathrm{Var}[x]", EVEN)
def _(o):
    def places(E):
        x = o.c * E[:, 0, 0, None, None] + o.p
        return np.stack([x, x**2], axis=1)

    mean, square = average(places, E=table(o, 1, channels=1)).mean((1, 2))
    return square - mean**2


def row_norm(o):
    return lambda E: ((o.c * E[:, 0] + o.p[0]) ** 2).sum(1)


def row_inner(o):
    return lambda E: ((o.c * E[:, 0] + o.p[0]) * (o.c * E[:, 1] + o.p[1])).sum(1)


@equation("sum.norm", r"\mathbb{E} \lVert x_{t} \rVert^{2}", WIDTHS)
def _(o):
    return average(row_norm(o), E=table(o, 1))


@equation("sum.norm_variance", r"\mathrm{Var} \lVert x_{t} \rVert^{2}", WIDTHS)
def _(o):
    return variance(row_norm(o), E=table(o, 1))


@equation("sum.inner", r"\mathbb{E}[x_{t} \cdot x_{s}]", SMALL)
def _(o):
    return average(row_inner(o), E=table(o, 2))


@equation("sum.inner_variance", r"\mathrm{Var}[x_{t} \cdot x_{s}]", SMALL)
def _(o):
    return variance(row_inner(o), E=table(o, 2))


@equation("sum.cross", r"\mathbb{E}[x_{ti} x_{si}]", ENTRY)
def _(o):
    return average(lambda E: entry(o)(E) * entry(o, 1)(E), E=table(o, 2))


@equation("sum.segment", r"\mathbb{E}[x_{ti} x_{si}]", ENTRY)
def _(o):
    def shared(E, S):
        return (entry(o)(E) + S[:, 0]) * (entry(o, 1)(E) + S[:, 0])

    return average(shared, E=table(o, 2), S=((1,), law(o.sigma**2, 0.0)))


def dropped(o, power: int):
    def statistic(E, S, kept):
        return ((entry(o)(E) + S[:, 0]) * kept[:, 0] / o.eta) ** power

    keep = law(0.25)._replace(points=np.array([0.0, 1.0]), weights=np.array([1 - o.eta, o.eta]))
    return average(statistic, E=table(o, 1), S=((1,), law(o.sigma**2)), kept=((1,), keep))


@equation("sum.dropout", r"\mathbb{E}[(m x)_{ti}^{2}]", ENTRY)
def _(o):
    return dropped(o, 2)


@equation("sum.dropout_variance", r"\mathrm{Var}[(m x)_{ti}]", ENTRY)
def _(o):
    return dropped(o, 2) - dropped(o, 1) ** 2
