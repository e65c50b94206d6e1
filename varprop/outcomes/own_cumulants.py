"""Rows that are not Gaussian: what third and fourth cumulants add to the own token's logit.

    a = factor sqrt(d) N1 / sqrt(N2),  N1 = sum e_i x_i,  N2 = sum x_i^2,  x = c e + p

is expanded around the means of N1 and N2, sums of d independent terms, up to order 1/d.
"""

from __future__ import annotations

from varprop.outcomes.hidden import Hidden


def shift(hidden: Hidden, unit: float) -> tuple[float, float]:
    """What is added to mean and variance of unit N1 / sqrt(N2), entries of e having mean 0.

    To first order a moves by sum_i q_i / sqrt(N2), q = e x - r x^2 with r = N1 / (2 N2), and
    E[N1 / sqrt(N2)] by 3/8 N1 Var(N2) / N2^(5/2) - Cov(N1, N2) / (2 N2^(3/2)).
    """
    c, d, fixed = hidden.scale, hidden.width, hidden.fixed
    e3, e4 = (float(hidden.table.cumulant(order)) for order in (3, 4))
    p3, p4 = (sum(float(part.cumulant(order)) for part in hidden.others) for order in (3, 4))
    first = hidden.dimensions * c * hidden.table_std**2
    mean, variance = 0.0, 0.0
    for length, total, weight in zip(fixed.length, fixed.total, fixed.weights, strict=True):
        second = hidden.dimensions * hidden.std**2 + length**2
        r = first / (2 * second)
        both = d * c**3 * e4 + 3 * total * c**2 * e3
        squares = d * (c**4 * e4 + p4) + 4 * total * (c**3 * e3 + p3)
        mean += weight * (3 * first * squares / second / 8 - both / 2) / second**1.5
        bend, slope = c - r * c**2, 1 - 2 * r * c
        quartic = d * (bend**2 * e4 + r**2 * p4)
        cubic = total * (2 * bend * slope * e3 + 4 * r**2 * p3)
        variance += weight * (quartic + cubic) / second
    return float(unit * mean), float(unit**2 * variance)
