"""The truths of the page on rotary positions."""

from itertools import product

import numpy as np

from ..laws import average, variance
from .definitions import independent, moment, scoring, shared
from .points import rotation
from .registry import equation, size

TRACES = [size(theta=angle) for angle in (0.3, 1.1, 2.9)]
TURNED = r"q_{t}^{\top} R k_{s}"
TURNS = [size(1, 2), size(2, 2), size(1, 3), size(2, 3, kappa=-2.0), size(1, 4)]


@equation("rotary.block", r"2\cos^{2}\theta + 2\sin^{2}\theta", TRACES, is_formula=True)
def _(o):
    return (rotation([o.theta], 2) ** 2).sum()


@equation("rotary.variance", rf"\mathrm{{Var}}[\lambda {TURNED}]", TURNS)
def _(o):
    return o.lam**2 * variance(scoring(o, p=False, R=o.R), **independent(o))


@equation("rotary.given", rf"\mathbb{{E}}[({TURNED})^{{2}} \mid x]", TURNS)
def _(o):
    return average(moment(scoring(o, x=o.x, R=o.R)), **shared(o, held=True))


@equation("rotary.shared", rf"\mathrm{{Var}}[{TURNED}]", TURNS)
def _(o):
    return variance(scoring(o, p=False, R=o.R), **shared(o))


@equation("rotary.trace", r"\mathrm{tr} R_{\theta}", TRACES)
def _(o):
    return np.trace(rotation([o.theta], 2))


@equation("rotary.trace_square", r"\mathrm{tr} R_{\theta}^{2}", TRACES)
def _(o):
    return np.trace(rotation([o.theta], 2) @ rotation([o.theta], 2))


@equation("rotary.same_token", rf"\mathbb{{E}}[{TURNED}]", TURNS)
def _(o):
    return average(scoring(o, 0, 0, p=False, R=o.R), **shared(o, 1))


@equation("rotary.still", r"\mathrm{Var}[q_{t} \cdot k_{s}]", TURNS)
def _(o):
    return variance(scoring(o, p=False, R=np.eye(o.h)), **shared(o))


@equation("rotary.far", rf"\mathrm{{Var}}[{TURNED}]", [size(1, 2), size(2, 2), size(1, 4)])
def _(o):
    """The average over all angles; polynomials of degree 2 in each need no more than five."""
    angles = 2 * np.pi * np.arange(5) / 5
    turns = [rotation(chosen, o.h) for chosen in product(angles, repeat=o.h // 2)]
    return np.mean([variance(scoring(o, p=False, R=R), **shared(o)) for R in turns])
