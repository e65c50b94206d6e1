"""The truths of the page on scores and logits."""

from ..laws import average, covariance, law, variance
from .definitions import SCORE, independent, moment, scoring, shared
from .registry import HEADS, MATRICES, SMALL, equation, size

VARIANCE = r"\mathrm{Var}[\ell_{ts}]"
EVEN_SCORES = [size(2, at=(3, 8, 0)), size(2, 2, at=(1, 9, 0)), size(4, at=(7, 30, 0), kappa=-2.0)]


@equation("scores.given", r"\mathbb{E}[\ell_{ts}^{2} \mid x]", [*SMALL, size(3, 2)])
def _(o):
    return o.lam**2 * average(moment(scoring(o, x=o.x)), **independent(o, held=True))


@equation("scores.variance", VARIANCE)
def _(o):
    return o.lam**2 * variance(scoring(o), **independent(o))


@equation("scores.sinusoidal", VARIANCE, EVEN_SCORES)
def _(o):
    return o.lam**2 * variance(scoring(o), **independent(o))


@equation("scores.biased", VARIANCE, [size(), size(2), size(1, 2), size(2, 2, kappa=-2.0)])
def _(o):
    biases = {"Bq": ((o.h,), law(o.b_q)), "Bk": ((o.h,), law(o.b_k))}
    return o.lam**2 * variance(scoring(o), **independent(o), **biases)


ROWS = [size(), size(2), size(1, 2), size(2, 2, kappa=-2.0)]


@equation("scores.covariance", r"\mathrm{Cov}[\ell_{ts}, \ell_{tr}]", ROWS)
def _(o):
    return o.lam**2 * covariance(scoring(o), scoring(o, 0, 2), **independent(o, 3))


@equation("scores.row_variance", VARIANCE + r" - \mathrm{Cov}[\ell_{ts}, \ell_{tr}]", ROWS)
def _(o):
    drawn = independent(o, 3)
    apart = variance(scoring(o), **drawn) - covariance(scoring(o), scoring(o, 0, 2), **drawn)
    return o.lam**2 * apart


@equation("scores.given_fourth", rf"\mathbb{{E}}[({SCORE})^{{4}} \mid x]", [*SMALL, size(1, 3)])
def _(o):
    square = moment(scoring(o, x=o.x))
    return average(moment(square), **independent(o, normal=True, held=True))


TAILS = [size(), size(2), size(1, 2), size(1, 3), size(3, kappa=-2.0)]
KURTOSIS = rf"\frac{{\mathbb{{E}}[({SCORE})^{{4}}]}}{{\mathbb{{E}}[({SCORE})^{{2}}]^{{2}}}} - 3"


@equation("scores.fourth", rf"\mathbb{{E}}[({SCORE})^{{4}}]", TAILS)
def _(o):
    return average(moment(moment(scoring(o, p=False))), **independent(o, normal=True))


@equation("scores.kurtosis", KURTOSIS, TAILS)
def _(o):
    square, drawn = moment(scoring(o, p=False)), independent(o, normal=True)
    return average(moment(square), **drawn) / average(square, **drawn) ** 2 - 3


@equation("scores.wide", rf"\lim_{{d \to \infty}} {KURTOSIS}", HEADS)
def _(o):
    """At infinite width the entries of queries and keys are independent and normal."""

    def square(q, k):
        return (q * k).sum(1) ** 2

    drawn = {"q": ((o.h,), law(o.a_q, 0.0)), "k": ((o.h,), law(o.a_k, 0.0))}
    return average(moment(square), **drawn) / average(square, **drawn) ** 2 - 3


@equation("scores.plain", VARIANCE)
def _(o):
    return o.lam**2 * variance(scoring(o, p=False), **independent(o))


@equation("scores.shared_given", rf"\mathbb{{E}}[({SCORE})^{{2}} \mid x]", [*SMALL, size(2, 3)])
def _(o):
    return average(moment(scoring(o, x=o.x)), **shared(o, held=True))


@equation("scores.shared", rf"\mathrm{{Var}}[{SCORE}]", MATRICES)
def _(o):
    return variance(scoring(o, p=False), **shared(o))


@equation("scores.repeated", rf"\mathrm{{Var}}[{SCORE}]")
def _(o):
    apart, same = (moment(scoring(o, 0, s, p=False)) for s in (1, 0))
    drawn = independent(o)
    return (1 - o.rho) * average(apart, **drawn) + o.rho * average(same, **drawn)
