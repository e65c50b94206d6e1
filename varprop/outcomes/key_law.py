"""The law of a row of keys given its query, for the structure that a specification has.

With G = |x_i|^2 / sigma^2 ~ chi^2_d and independent A ~ chi^2_{d_head}, K ~ chi^2_d, h the query as
keys see it (keys j != i are h.x_j), s = sigma |h|, and the own logit a = h.x_i = s b:

    query and key drawn    |q|^2 = (w_q sigma^2 G + bias) A,  s^2 = l^2 w_k sigma^2 |q|^2 K
    key the identity       s^2 = l^2 sigma^2 (w_q sigma^2 G + bias) K
    query the identity     s^2 = l^2 w_k sigma^4 G K
    both the identity      s^2 = l^2 sigma^4 G,  b = sqrt(G)
    one projection         h = l W^T W x_i, of which l w |x_i| A is along x_i and
                           l w |x_i| sqrt(A C) across, C ~ chi^2_{d-1}.  With beta = A / (A + C) and
                           T = A + C ~ chi^2_{d_head + d - 1}, which are independent,
                           s^2 = l^2 w^2 sigma^4 (G beta) T^2,  b = sqrt(G beta).

Elsewhere h has a direction of its own and b = sqrt(G) c, c one coordinate of a unit vector.
"""

from __future__ import annotations

import math

import numpy as np

from varprop.fields.numeric import Floats
from varprop.outcomes.front import Front
from varprop.outcomes.row_law import Own, Parts, RowLaw
from varprop.outcomes.row_nodes import few, row_law
from varprop.quadrature.gauss import CERTAIN, Law, gaussian, sphere_coordinate
from varprop.quadrature.log_laws import log_beta, log_chi_squares

COORDINATES = 32
"""Gauss nodes of one coordinate of a unit vector, before they are compressed."""


def parts_of(front: Front) -> Parts:
    """Return what s^2 is made of; the factor is right where the law is exact."""
    d, head, sigma = front.width, front.head, front.row_variance
    square = front.scale**2 * sigma
    freedom = front.freedom
    strength = log_chi_squares(freedom)
    if front.query_identity and front.key_identity:
        return Parts(square * sigma * d, 1.0, 0.0, strength, CERTAIN)
    if front.spec.shared_qk:
        total = log_chi_squares(float(head + d - 1))
        factor = front.second("query") * (head + d - 1)
        rest = Law(2 * total.points, total.weights)
        return Parts(square * sigma * d * factor**2, 1.0, 0.0, strength, rest)
    if front.query_identity:
        rest = log_chi_squares(float(d))
        return Parts(square * front.second("key") * sigma * d * d, 1.0, 0.0, strength, rest)
    drawn = front.second("query") * front.square * d
    bias = front.second("query_bias")
    if front.key_identity:
        return Parts(square * d, drawn, bias, strength, log_chi_squares(float(d)))
    rest = log_chi_squares(float(head), float(d))
    return Parts(square * front.second("key") * head * d, drawn, bias, strength, rest)


def exact_law(front: Front, odd: bool = False) -> RowLaw:
    """Return the law where keys given the query are independent Gaussians.

    Args:
        front: the specification.
        odd: whether what is averaged is no even function of s: E max p grows like s from 1/n.
    """
    parts, d = parts_of(front), front.width
    sign = math.copysign(1, front.scale)
    if not front.aligned:
        return row_law(parts, _apart(d, 0.0, 1.0, odd), front.length)
    if front.spec.shared_qk and not front.query_identity:
        parts, norm = _shared(parts, front)
        return row_law(parts, _along(d, sign, 0.0), front.length, norm)
    return row_law(parts, _along(d, sign, 0.0), front.length)


def _apart(d: int, mean: float, std: float, odd: bool) -> Own:
    """b = mean + std sqrt(G) c."""
    coordinate = sphere_coordinate(d, COORDINATES)

    def standing(strength: Floats) -> Floats:
        return np.asarray(
            mean + std * np.sqrt(d * strength)[:, None] * coordinate.points, np.float64
        )

    return Own(standing, lambda strength: d * strength, coordinate.weights, odd or mean != 0, False)


def _along(d: int, factor: float, std: float) -> Own:
    """b = factor sqrt(Q) + std N(0, 1)."""
    noise = gaussian(COORDINATES) if std else Law(np.zeros(1), np.ones(1))

    def standing(strength: Floats) -> Floats:
        root = factor * np.sqrt(d * strength)[:, None]
        return np.asarray(root + std * noise.points, np.float64)

    return Own(standing, lambda strength: d * strength, noise.weights, True, True)


def _shared(parts: Parts, front: Front) -> tuple[Parts, Floats]:
    """Put Q = G beta in the place of G, and return the G of each Q: (Q,)."""
    bend = min(1.0, 1 / parts.scale) if parts.scale > 1 else 1.0
    norm = few(parts.strength, bend)
    share = few(log_beta(float(front.head), float(front.width - 1)), bend)
    along = np.multiply.outer(norm.points, share.points).ravel()
    whole = np.repeat(norm.points, share.points.size)
    weights = np.multiply.outer(norm.weights, share.weights).ravel()
    with np.errstate(divide="ignore"):
        law = Law(np.log(along), weights)
    return parts._replace(strength=law), front.width * whole


def matched_law(
    front: Front, variance: float, own_mean: float, own_square: float, odd: bool = False
) -> RowLaw:
    """Return a law of the same structure with E s^2, E a and E a^2 as given."""
    parts, d = parts_of(front), front.width
    norm = None
    if front.spec.shared_qk and not front.query_identity:
        parts, norm = _shared(parts._replace(scale=1.0), front)
    strength, rest = (np.exp(law.points) for law in (parts.strength, parts.rest))
    masses, others = parts.strength.weights, parts.rest.weights
    slope, offset = parts.slope, parts.offset
    if not slope + offset > 0:  # rows of no spread of their own, behind fixed positions
        slope = 1.0
    unit = float(masses @ (slope * strength + offset)) * float(others @ rest)
    slope, offset = slope / unit, offset / unit
    parts = parts._replace(scale=variance, slope=slope, offset=offset)
    root = float(others @ np.sqrt(rest)) * math.sqrt(variance)
    if not front.aligned:
        inner = slope * strength + offset
        mean = own_mean / (root * float(masses @ np.sqrt(inner)))
        left = max(own_square - mean**2 * variance, 0.0)
        std = math.sqrt(
            left / (variance * float(others @ rest) * float(masses @ (inner * strength)))
        )
        return row_law(parts, _apart(d, mean, std, odd), front.length)
    # E a = factor E[s sqrt(Q)], E a^2 = factor^2 E[s^2 Q] + std^2 E s^2.
    along = np.sqrt(slope * strength + offset)
    first = root * float(masses @ (along * np.sqrt(d * strength)))
    factor = own_mean / first
    second = variance * float(others @ rest) * float(masses @ (along**2 * d * strength))
    std = math.sqrt(max(own_square - factor**2 * second, 0.0) / variance)
    return row_law(parts, _along(d, factor, std), front.length, norm)
