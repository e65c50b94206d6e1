"""The truths of the page on self-scores."""

from ..laws import average, law, variance
from .definitions import OWN, SCORE, independent, moment, scoring, shared
from .registry import HEADS, MATRICES, SMALL, equation, size


@equation("self.given", rf"\mathbb{{E}}[({OWN})^{{2}} \mid x]", [*SMALL, size(3, 2)])
def _(o):
    return average(moment(scoring(o, 0, 0, x=o.x)), **independent(o, held=True))


@equation("self.variance", rf"\mathrm{{Var}}[{OWN}]", [*SMALL, size(3, 2)])
def _(o):
    return variance(scoring(o, 0, 0), **independent(o, 1))


@equation("self.excess", rf"\mathrm{{Var}}[{OWN}] - \mathrm{{Var}}[{SCORE}]")
def _(o):
    o.p[1] = o.p[0, ::-1]
    own, other = (variance(scoring(o, 0, s), **independent(o)) for s in (0, 1))
    return own - other


@equation("self.shared_given", rf"\mathbb{{E}}[({OWN})^{{2}} \mid x]", MATRICES)
def _(o):
    return average(moment(scoring(o, 0, 0, x=o.x)), **shared(o, held=True))


@equation("self.shared_mean", rf"\mathbb{{E}}[{OWN}]", MATRICES)
def _(o):
    return average(scoring(o, 0, 0), **shared(o, 1))


@equation("self.shared_variance", rf"\mathrm{{Var}}[{OWN}]", [*MATRICES, size(3, 2)])
def _(o):
    return variance(scoring(o, 0, 0, p=False), **shared(o, 1))


@equation("self.plain", rf"\mathrm{{Var}}[{OWN}]", [*SMALL, size(3, 2)])
def _(o):
    return variance(scoring(o, 0, 0, p=False), **independent(o, 1))


@equation("self.shared_wide", rf"\lim_{{d \to \infty}} \mathrm{{Var}}[{OWN}]", HEADS)
def _(o):
    """At infinite width the entries of a query are independent, normal and of variance 1."""
    return variance(lambda q: (q**2).sum(1), q=((o.h,), law(1.0, 0.0)))
