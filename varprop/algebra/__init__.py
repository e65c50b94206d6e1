"""Exact moments of contractions of random and fixed tensors with symbolic sizes.

>>> from varprop import algebra as va
>>> h, d, n = va.dims("h d n")
>>> W = va.iid("W", (h, d), variance="w")                       # Gaussian, mean 0
>>> E = va.iid("E", (n, d), variance="s", excess_kurtosis="g")  # known up to the fourth cumulant
>>> P = va.fixed("P", (n, d))
>>> q = va.einsum("ai,ti->ta", W, 2 * E + P)                    # a projection of every row
>>> va.variance(q["t", "a"])
4*d*s*w + w*Sum(P[t, i]**2, (i, 0, d - 1))
>>> va.covariance(q["t", "a"], q["s", "a"])
w*Sum(P[s, i]*P[t, i], (i, 0, d - 1))
>>> va.variance(va.einsum("ii->", va.iid("M", (d, d), variance=1)))   # a trace
d
>>> va.cumulant(va.einsum("ti->t", E)["t"], 4)                  # a sum over channels
d*g*s**2
>>> x = va.iid("x", d, variance=1)
>>> va.simulate(va.einsum("i,i->", x, x), {d: 50}).mean.value   # close to 50  # doctest: +SKIP
49.98
"""

from .constructors import dims, einsum, fixed, iid, joint, ones
from .evaluation import evaluate
from .moments import covariance, cumulant, mean, moment, variance
from .simulation import Estimate, Simulation, simulate

__all__ = [
    "Estimate",
    "Simulation",
    "covariance",
    "cumulant",
    "dims",
    "einsum",
    "evaluate",
    "fixed",
    "iid",
    "joint",
    "mean",
    "moment",
    "ones",
    "simulate",
    "variance",
]
