"""Where the integrands of rows with one given logit live on the axis of u = log t."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.nodes import NEGLECTED, STEP, extent, log_t_nodes
from varprop.quadrature.wide import HIGHEST

BEYOND = 745.0
"""exp(-BEYOND) underflows."""


class OwnNodes(NamedTuple):
    """Nodes and what they are for."""

    u: Floats
    """(1, node) where all own logits share them, else (own, node)."""
    x: Floats
    """u + a, (own, node), which is small where u and a may be large and rounded."""
    weights: Floats
    """(node,), of the integral over u."""
    own: Floats
    """The own logits (own,), moved to the nodes where they are too low or too high for them."""


def own_nodes(std: float, fewest: float, most: float, own: Floats, shared: float) -> OwnNodes:
    """Return nodes that carry the integrals of fewest .. most keys beside the own one.

        phi0(t) = e^{-t e^a} is exp(-e^x), x = u + a,  and phi^n varies at the scale
        sigma = max(1, std / extent(n)).

    Up to sigma = shared one trapezoidal rule with the step of phi0 serves all own values. Beyond,
    each own value has a trapezoidal rule in v, x = v - (sigma - 1) log(1 + e^{corner - v}), whose
    steps are STEP around x = 0 and STEP sigma to the left of the corner. On the lines
    v = y + i pi/2, which give the error, Im x = pi/2 + (sigma - 1) atan e^{corner - y} and so
    Re(-e^x) <= e^y (sigma - 1) e^{corner - y} < 1/e for corner = -1 - log sigma: phi0 stays small.

    To the right of x = HIGHEST phi0 is nothing, so nothing is left out there. An own logit so low
    that phi0 = 1 wherever phi^n > 0, to rounding, is moved up to where this begins to be true: it
    changes nothing of F. One so high that P(sum e^{l - a} > Exp(1)), which bounds E (1 - p0), is
    below the smallest number is moved down to where it is so: its weight is 1.
    """
    inherited, _ = log_t_nodes(std, fewest, most)
    low = -(float(inherited[-1]) + NEGLECTED + 8)
    high = _left(std, BEYOND + math.log(most))
    moved = np.clip(own, low, -high)
    # The others' part is log-concave in u; it may not be cut before it is exp(-NEGLECTED) of what
    # it is at u = -a. E_1(t) and powers of t there are worth less than e^8.
    depth = _rate(std, -float(moved.max())) + NEGLECTED + math.log(most) + 8
    first = _left(std, depth)
    scale = max(1.0, std / extent(most))
    if scale <= shared:
        last = max(float(inherited[-1]), first + 1)
        numbers = np.arange(math.floor(first / STEP), math.ceil(last / STEP) + 1)
        u = np.asarray(STEP * numbers[None], np.float64)
        return OwnNodes(u, u + moved[:, None], np.full(numbers.size, STEP), moved)
    corner, lowest = -1 - math.log(scale), first + float(moved.min())
    # x <= scale v - (scale - 1) corner.
    start = min((lowest + (scale - 1) * corner) / scale, corner)
    v = STEP * np.arange(math.floor(start / STEP), round(HIGHEST / STEP) + 1)
    x = v - (scale - 1) * np.logaddexp(0, corner - v)
    weights = STEP * (1 + (scale - 1) / (1 + np.exp(v - corner)))
    u = np.asarray(x - moved[:, None], np.float64)
    return OwnNodes(u, np.broadcast_to(x, u.shape), weights, moved)


def _rate(std: float, u: float) -> float:
    """-log(1 - phi(u)), nearly, from below: (u/std)^2 / 2, or -u - std^2 / 2 left of -std^2."""
    depth = max(-u, 0.0)
    return (depth / std) ** 2 / 2 if depth < std * std else depth - std * std / 2


def _left(std: float, rate: float) -> float:
    """Where `_rate` is this."""
    root = math.sqrt(2 * rate)
    return -(std * root if root < std else rate + std * std / 2)
