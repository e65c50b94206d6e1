"""The truths of the page on the softmax."""

import numpy as np
from scipy.special import ndtr

from ..laws import average
from ..rows import (
    density,
    entropy,
    integrands,
    jacobian,
    largest,
    largest_integrands,
    legendre,
    logsumexp,
    moments,
    over_rows,
    softmax,
    squares,
    taylor,
)
from .definitions import project, table, weights
from .registry import equation, size

ROWS = [size(n=2, v=0.6), size(n=3, v=1.3), size(n=2, v=2.1), size(n=3, v=0.4)]
SQUARES = r"\mathbb{E} \sum_{j} p_{j}^{2}"
ENTROPY = r"-\mathbb{E} \sum_{j} p_{j} \log p_{j}"
JACOBIAN = r"\mathbb{E} \lVert J \rVert^{2}"


def of_rows(name, left, statistic):
    @equation(name, left, ROWS)
    def _(o):
        integrands(o)
        return over_rows(o.n, o.v, statistic)


of_rows("softmax.sum", r"\mathbb{E} \sum_{j} p_{j}", lambda l: softmax(l).sum(1))
of_rows("softmax.squares", SQUARES, squares)
of_rows("softmax.cubes", r"\mathbb{E} \sum_{j} p_{j}^{3}", lambda l: (softmax(l) ** 3).sum(1))
of_rows(
    "softmax.square",
    r"\mathbb{E} \left(\sum_{j} p_{j}^{2}\right)^{2}",
    lambda l: squares(l) ** 2,
)
of_rows("softmax.jacobian", JACOBIAN, jacobian)
of_rows("softmax.logsumexp", r"\mathbb{E} \log Z", logsumexp)


def slope(function, v: float) -> float:
    """The derivative, by a complex step."""
    return function(v + 1e-30j).imag / 1e-30


@equation("softmax.heat", r"\frac{\partial \phi}{\partial v}", ROWS)
def _(o):
    o.m_1, o.m_2 = (moments(o.v, 0.7, k) for k in (1, 2))
    return slope(lambda v: moments(v, 0.7, 0), o.v)


@equation("softmax.stein", r"1 - 2 \frac{dF}{dv}", ROWS)
def _(o):
    integrands(o)
    return 1 - 2 * slope(lambda v: over_rows(o.n, v, logsumexp), o.v)


@equation("softmax.entropy", ENTROPY, ROWS)
def _(o):
    integrands(o)
    o.F, o.Q = (over_rows(o.n, o.v, statistic) for statistic in (logsumexp, squares))
    return over_rows(o.n, o.v, entropy)


@equation("softmax.largest", r"\mathbb{E} \max_{j} p_{j}", ROWS)
def _(o):
    largest_integrands(o)
    return largest(o.n, o.v)


NARROW = [size(n=n, v=v) for n, v in ((2, 0.9), (3, 0.7), (4, 1.1), (5, 0.8))]


def narrow(name, left, statistic, order):
    @equation(name, left, NARROW)
    def _(o):
        return taylor(o.n, statistic, order) @ o.v ** np.arange(order + 1)


narrow("softmax.small", r"F + \mathcal{O}(v^{4})", logsumexp, 3)
narrow("softmax.small_squares", SQUARES + r" + \mathcal{O}(v^{3})", squares, 2)
narrow(
    "softmax.small_entropy",
    r"\log n + \mathbb{E} \sum_{j} p_{j} \log p_{j} + \mathcal{O}(v^{4})",
    lambda l: np.log(l.shape[1]) - entropy(l),
    3,
)


def wide(name, left, of_pair):
    """The density of the gap between the two largest, at 0, times the integral over the gap."""

    @equation(name, rf"\lim_{{v \to \infty}} \sqrt{{v}} {left}", [size(n=n) for n in (2, 3, 6)])
    def _(o):
        z, w = legendre(np.float64(-9), np.float64(9), 200)
        o.M = (w * z * o.n * density(z, 1) * ndtr(z) ** (o.n - 1)).sum()
        tied = (w * o.n * (o.n - 1) * density(z, 1) ** 2 * ndtr(z) ** (o.n - 2)).sum()
        gap, w = legendre(40.0 * np.arange(2), 40.0 * np.arange(1, 3), 200)
        return tied * (w * of_pair(1 / (1 + np.exp(-gap)), 1 / (1 + np.exp(gap)))).sum()


wide("softmax.wide_squares", rf"\left(1 - {SQUARES}\right)", lambda p, q: 1 - p**2 - q**2)
wide("softmax.wide_largest", r"\left(1 - \mathbb{E} \max_{j} p_{j}\right)", lambda p, q: q)
wide(
    "softmax.wide_jacobian",
    JACOBIAN,
    lambda p, q: (p - p**2) ** 2 + (q - q**2) ** 2 + 2 * (p * q) ** 2,
)
wide(
    "softmax.wide_entropy", rf"\left({ENTROPY}\right)", lambda p, q: -p * np.log(p) - q * np.log(q)
)

HEADS = [size(), size(2), size(1, 2), size(1, 3), size(3), size(2, 2)]


def row_variance(o):
    def statistic(E, Q, K):
        query = project(Q, o.c * E)[:, 0]
        row = o.lam * np.einsum("nai,na->ni", K, query)
        return (o.c * o.s) ** 2 * (row**2).sum(1)

    return statistic


def normal_row(o):
    normal = {"Q": weights(o, o.a_q, normal=True), "K": weights(o, o.a_k, normal=True)}
    return {"E": table(o, 1, excess_kurtosis=0.0), **normal}


@equation("softmax.row_mean", r"\mathbb{E} v", HEADS)
def _(o):
    return average(row_variance(o), **normal_row(o))


@equation("softmax.row_spread", r"\frac{\mathrm{Var}[v]}{\left(\mathbb{E} v\right)^{2}}", HEADS)
def _(o):
    v, drawn = row_variance(o), normal_row(o)
    return average(lambda **a: v(**a) ** 2, **drawn) / average(v, **drawn) ** 2 - 1


@equation("softmax.own_key", r"\frac{\mathbb{E} \ell_{tt}^{2}}{\mathbb{E} v}", HEADS)
def _(o):
    def own(E, Q, K):
        x = o.c * E
        return (o.lam * (project(Q, x) * project(K, x)).sum((1, 2))) ** 2

    return average(own, **normal_row(o)) / average(row_variance(o), **normal_row(o))
