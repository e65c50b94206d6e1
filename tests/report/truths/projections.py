"""The truths of the page on queries and keys."""

from typing import Any

import numpy as np

from ..laws import average, covariance, law, variance
from .definitions import free, moment, project, table, weights
from .registry import WIDTHS, equation, size


def query(o, channel: int = 0, position: int = 0, x: Any = None, B: bool = False):
    """One entry of a query, of the held input or of the sum."""

    def statistic(W, E=None, B=0.0):
        rows = o.c * E + o.p[: E.shape[1]] if x is None else x
        return project(W, rows)[:, position, channel] + (B[:, channel] if np.ndim(B) else B)

    return statistic


@equation("projections.given", r"\mathbb{E}[q_{ta}^{2} \mid x]", WIDTHS)
def _(o):
    return average(moment(query(o, x=o.x)), W=weights(o, o.a_q), B=((1,), law(o.b_q)))


@equation("projections.given_cross", r"\mathbb{E}[q_{ta} q_{sa} \mid x]", WIDTHS)
def _(o):
    both = moment(query(o, x=o.x), query(o, position=1, x=o.x))
    return average(both, W=weights(o, o.a_q), B=((1,), law(o.b_q)))


@equation("projections.variance", r"\mathrm{Var}[q_{ta}]", WIDTHS[:4])
def _(o):
    return variance(query(o), E=table(o, 1), W=weights(o, o.a_q), B=((1,), law(o.b_q)))


@equation("projections.cross", r"\mathbb{E}[q_{ta} q_{sa}]", WIDTHS[:3])
def _(o):
    both = moment(query(o), query(o, position=1))
    return average(both, E=table(o, 2), W=weights(o, o.a_q), B=((1,), law(o.b_q)))


@equation(
    "projections.sinusoidal",
    r"\mathrm{Var}[q_{ta}]",
    [size(2, at=(7, 0, 0)), size(4, at=(5, 0, 0)), size(6, at=(9, 0, 0), kappa=-2.0)],
)
def _(o):
    return variance(query(o), E=table(o, 1), W=weights(o, o.a_q))


FOURTH = [*WIDTHS[:3], size(4)]


@equation("projections.given_fourth", r"\mathbb{E}[q_{ta}^{4} \mid x]", WIDTHS)
def _(o):
    square = moment(query(o, x=o.x))
    return average(moment(square), W=weights(o, o.a_q, normal=True))


@equation("projections.given_squares", r"\mathbb{E}[q_{ta}^{2} q_{tb}^{2} \mid x]", FOURTH)
def _(o):
    squares = moment(moment(query(o, x=o.x)), moment(query(o, 1, x=o.x)))
    return average(squares, W=weights(o, o.a_q, 2, normal=True))


@equation("projections.fourth", r"\mathbb{E}[q_{ta}^{4}] - 3 \mathbb{E}[q_{ta}^{2}]^{2}", FOURTH)
def _(o):
    square, drawn = moment(free(o)), {"E": table(o, 1), "W": weights(o, o.a_q, 1, normal=True)}
    return average(moment(square), **drawn) - 3 * average(square, **drawn) ** 2


@equation("projections.squares", r"\mathrm{Cov}[q_{ta}^{2}, q_{tb}^{2}]", WIDTHS[:3])
def _(o):
    drawn = {"E": table(o, 1), "W": weights(o, o.a_q, 2, normal=True)}
    return covariance(moment(free(o)), moment(free(o, 1)), **drawn)


@equation(
    "projections.kurtosis",
    r"\frac{\mathbb{E}[q_{ta}^{4}]}{\mathbb{E}[q_{ta}^{2}]^{2}} - 3",
    FOURTH,
)
def _(o):
    square, drawn = moment(free(o)), {"E": table(o, 1), "W": weights(o, o.a_q, 1, normal=True)}
    return average(moment(square), **drawn) / average(square, **drawn) ** 2 - 3


@equation("projections.mean_weight", r"\mathrm{Var}[q_{ta}]", WIDTHS[:4])
def _(o):
    return variance(free(o), E=table(o, 1), W=weights(o, o.a_q, mean=o.mu))


@equation("projections.correlated", r"\mathrm{Cov}[q_{ta}, q_{tb}]", WIDTHS[:3])
def _(o):
    drawn = {"E": table(o, 1), "W": weights(o, o.a_q, 2, mean=o.mu)}
    return covariance(free(o), free(o, 1), **drawn)
