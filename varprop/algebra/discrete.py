"""Discrete laws with given cumulants, by Gauss quadrature of their moments.

Cumulants k_1 ... k_m give central moments; these give, by the Chebyshev algorithm in exact
rational arithmetic, the recurrence p_(j+1) = (x - a_j) p_j - b_j p_(j-1) of the orthogonal
polynomials; the eigenvalues of the symmetric tridiagonal matrix with diagonal a and off-diagonal
sqrt(b) are the points of the law, and the squares of its eigenvectors' first components their
probabilities.

Reference: G. H. Golub and J. H. Welsch, Calculation of Gauss quadrature rules, Math. Comp. 23
(1969).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb, frexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_ZERO = Fraction(1, 10**12)
"""What rounding errors in the cumulants may do to a norm, relative to its moment."""
_AGREES = 1e-9
"""How closely the law found must have the moments: far beyond what a simulation can resolve."""


class DiscreteLaw(NamedTuple):
    """Points and their probabilities."""

    points: Numbers
    probabilities: Numbers

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
        """Draw independent values."""
        steps = np.cumsum(self.probabilities)[:-1]
        return self.points[np.searchsorted(steps, rng.random(shape), side="right")]


def discrete_law(cumulants: Sequence[Fraction]) -> DiscreteLaw | None:
    """The law with the fewest points that has the cumulants k_1, k_2, ...; None if no law has them.

    If they end at an odd order there is one.  If they end at an even order one recurrence
    coefficient is free; it is set to the mean of the others, which makes a law symmetric whose odd
    cumulants vanish and leaves no point far out.

    Args:
        cumulants: at least two.  Rounding errors, as in 0.1² for a variance of 0.01, may put them
            1e-12 outside what laws have.
    """
    mean, variance = cumulants[0], cumulants[1]
    if variance < 0:
        return None
    if not variance:
        return None if any(cumulants[2:]) else DiscreteLaw(np.array([float(mean)]), np.ones(1))
    unit = Fraction(2) ** (frexp(variance)[1] // 2)
    scaled = [k / unit**order for order, k in enumerate(cumulants, start=1)]
    moments = list(map(Fraction, central_moments(scaled)))
    recurrence = _recurrence(moments)
    if recurrence is None:
        return None
    diagonal, squares = (np.array(list(map(float, numbers))) for numbers in recurrence)
    beside = np.sqrt(squares[1:])
    points, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    probabilities = vectors[0] ** 2 / np.sum(vectors[0] ** 2)
    for order, moment in enumerate(moments):
        terms = probabilities * points**order
        if abs(terms.sum() - float(moment)) > _AGREES * max(
            np.abs(terms).sum(), abs(float(moment))
        ):
            return None
    return DiscreteLaw(float(mean) + float(unit) * points, probabilities)


def central_moments(cumulants: Sequence[Any]) -> list[Any]:
    """m_0 ... m_n about the mean: the raw moments for a first cumulant of 0."""
    return raw_moments([0, *cumulants[1:]])


def raw_moments(cumulants: Sequence[Any]) -> list[Any]:
    """m_0 ... m_n from k_1 ... k_n, numbers of any kind: m_n = sum_j C(n-1, j-1) k_j m_(n-j)."""
    moments: list[Any] = [1]
    for n in range(1, len(cumulants) + 1):
        moments.append(
            sum(comb(n - 1, j - 1) * cumulants[j - 1] * moments[n - j] for j in range(1, n + 1))
        )
    return moments


def _recurrence(moments: Sequence[Fraction]) -> tuple[list[Fraction], list[Fraction]] | None:
    """The coefficients a_j and b_j; as many as the moments determine, or as the law has points.

    ``row[i]`` is E[p_j x^(j+i)].  The norm E[p_j²] vanishes where the law has j points, and is
    negative where no law has the moments.
    """
    diagonal: list[Fraction] = []
    squares: list[Fraction] = []
    before, row = [Fraction(0)] * (len(moments) + 1), list(moments)
    norm_before, slope_before = Fraction(1), Fraction(0)
    while row:
        norm, scale = row[0], abs(moments[2 * len(diagonal)])
        if norm <= _ZERO * scale:
            return None if norm < -_ZERO * scale else (diagonal, squares)
        slope = row[1] / norm if len(row) > 1 else None
        free = sum(diagonal, start=Fraction(0)) / max(len(diagonal), 1)
        a = free if slope is None else slope - slope_before
        b = norm / norm_before
        diagonal.append(a)
        squares.append(b)
        after = [row[i + 2] - a * row[i + 1] - b * before[i + 2] for i in range(len(row) - 2)]
        before, row = row, after
        norm_before, slope_before = norm, slope or Fraction(0)
    return diagonal, squares
