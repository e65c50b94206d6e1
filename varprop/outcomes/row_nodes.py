"""From the law of a row, as a formula in independent variables, to few nodes and weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.outcomes.row_law import Own, Parts, RowLaw
from varprop.quadrature.gauss import Gauss, Law, gauss, krylov
from varprop.quadrature.nodes import extent

Trials = Callable[[Floats], Floats]
"""From points (point,) to functions of them (trial, point)."""

TOLERANCE = 1e-8
"""What a Gauss rule may be off for its trial functions, which are harder than most."""

BENDS = (0.1, 1.0, 10.0)
"""Row variances at which functions of s turn from s^2 to constant: one alone may fit by chance."""

SPREAD_TOLERANCE = np.array([TOLERANCE, TOLERANCE, TOLERANCE, TOLERANCE, 1e-7])
"""The same for functions of s; the last has a stronger singularity than any softmax."""

TAIL = 1e-6
"""Of E s^2, in rows so wide that nothing is asked of them."""

KEPT = 48
"""Gauss nodes that a law of more points is replaced by."""

ORDERS = (3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24)
"""Numbers of nodes that are tried for the row's standard deviation; one would know no correlation
with the own key."""

FEWEST_ALIGNED = 10
"""The first of them where the own key is in line with the query."""

OWN_ORDERS = (4, 6, 8, 10, 12, 16, 20, 24)
"""Numbers of nodes that are tried for the own key."""


def row_law(parts: Parts, own: Own, longest: float, norm: Floats | None = None) -> RowLaw:
    """Return the nodes of a law whose parts are discrete.

    Both variables are projected on polynomials: in log(1 + s^2), or log(1 + s), and b. A function
    f(s) g(b) is off by the product of what f and E[g | s] are from polynomials, as in Gauss' rule.

    Args:
        parts: what s^2 is made of.
        own: the own key.
        longest: number of keys, which tells how steep functions of s are.
        norm: at each point of Q (Q,), instead of what `own` says.
    """
    bend = min(1.0, 1 / (parts.scale * (parts.slope + parts.offset)))
    strength, rest = few(parts.strength, bend, norm), few(parts.rest, bend)
    variance = parts.scale * np.multiply.outer(
        parts.slope * strength.points + parts.offset, rest.points
    )
    joint = np.multiply.outer(strength.weights, rest.weights)
    # Where a is no odd function that averages out, F is one of s and not of s^2 alone.
    power = 1 if own.odd else 2
    spread = Law(np.log1p(np.sqrt(variance) ** power).ravel(), joint.ravel())
    # An own key that has nearly all the weight leaves exp(-s b) to the others.
    orders = ORDERS[ORDERS.index(FEWEST_ALIGNED) :] if own.aligned else ORDERS
    chosen = _chosen(spread, _of_spread(longest, power), SPREAD_TOLERANCE, orders)
    std = np.expm1(chosen.law.points) ** (1 / power)
    given = chosen.cardinal.reshape(-1, *joint.shape).sum(axis=2) / strength.weights
    places = np.multiply.outer(strength.weights, own.weights)
    # Where most of E sum p^2 - 1/n comes from, more than where most rows are.
    mean = float(variance.ravel() @ joint.ravel())
    typical = math.sqrt(mean * float((variance.ravel() / mean) ** 2 @ joint.ravel()))
    standing = Law(own.standing(strength.points).ravel(), places.ravel())
    allowed = TOLERANCE * (1 if own.aligned else math.sqrt(longest))  # one of n like keys
    # The largest weight bends where b is near the largest of the others, in units of s: at 1.
    bent = OWN_ORDERS[-1:] if own.odd and not own.aligned else OWN_ORDERS
    stood = _chosen(standing, _of_own(typical, _steepest(variance, joint), longest), allowed, bent)
    cardinal = stood.cardinal.reshape(-1, *places.shape)
    squared = own.norm(strength.points) if norm is None else strength.values
    beside = squared[:, None] - own.standing(strength.points) ** 2
    weights = given @ cardinal.sum(axis=2).T
    along = given @ (cardinal * beside).sum(axis=2).T
    return RowLaw(std, stood.law.points, weights, along, own.aligned).without_nothing()


class Few(NamedTuple):
    """The law of a positive X, and the mean of a companion at each of its points."""

    points: Floats
    weights: Floats
    values: Floats


def few(law: Law, bend: float, values: Floats | None = None) -> Few:
    """From the law of log X to that of X, as Gauss nodes for functions of log(1 + sqrt(X / bend)).

    They are linear in sqrt(X) where s^2 is small and logarithmic where it is large.
    """
    points = np.exp(law.points)
    values = np.zeros_like(points) if values is None else values
    if points.size <= KEPT:
        return Few(points, law.weights, values)
    found = gauss(krylov(Law(np.log1p(np.sqrt(points / bend)), law.weights), KEPT))
    nodes, weights = found.law
    return Few(bend * np.expm1(nodes) ** 2, weights, found.projected(values))


def _chosen(law: Law, trials: Trials, allowed: Floats | float, orders: tuple[int, ...]) -> Gauss:
    """The Gauss rule of the lowest order that is right for all trial functions.

    Args:
        allowed: relative errors, one for each trial function.
    """
    basis = krylov(law, orders[-1])
    expected = trials(law.points) @ law.weights
    for order in orders:
        found = gauss(basis, order)
        off = abs(trials(found.law.points) @ found.law.weights - expected)
        if order >= basis.diagonal.size or np.all(off <= allowed * abs(expected)):
            break
    return found


def _of_spread(longest: float, power: int) -> Trials:
    """Functions of log(1 + s^power) like those of a softmax.

    From s^2 to constant and from constant to 1/s, with poles at Im log s^2 = pi/2 as theirs, and
    E sum p^2 - 1/n, which is nearly (e^{s^2} - 1) / n until it is large.
    """

    def trials(v: Floats) -> Floats:
        square = np.expm1(v) ** (2 / power)
        grown = np.expm1(np.minimum(square, 500.0))
        return np.array(
            [
                *(square / np.hypot(1, square / bend) for bend in BENDS),
                np.hypot(1, square / (2 * math.log(longest))) ** -0.5,
                np.log1p(grown / longest),
            ]
        )

    return trials


def _steepest(variance: Floats, weights: Floats) -> float:
    """The s beyond which only a share TAIL of E s^2 is left."""
    order = np.argsort(variance, axis=None)
    held = np.cumsum((variance * weights).ravel()[order])
    place = int(np.searchsorted(held, (1 - TAIL) * held[-1]))
    return math.sqrt(float(variance.ravel()[order[min(place, order.size - 1)]]))


def _of_own(typical: float, steepest: float, longest: float) -> Trials:
    """Functions of b like the own key's weight: where it meets the largest of the others, or half
    of their sum; what it leaves to the others; its square; and what equal logits do not have, in
    the steepest rows that matter to it.
    """
    highest, reach = 1.7 * extent(longest), extent(longest) - 1
    rate, steep = min(typical, highest), min(steepest, highest)
    middles = np.array([[0.0], [reach], [math.log(longest) / typical]])

    def trials(b: Floats) -> Floats:
        steps = np.tanh(rate * (b - middles) / 2) / 2
        beside = np.tanh(steep * b[None] / 2) ** 2
        return np.concatenate([0.5 + steps, 0.5 - steps, b[None] ** 2, beside])

    return trials
