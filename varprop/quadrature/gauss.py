"""Gauss quadrature of discrete laws."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats


class Law(NamedTuple):
    """Values and their probabilities, (point,) each."""

    points: Floats
    weights: Floats


ENDED = 1e-14
"""Length of a next polynomial, before it is scaled, that is nothing but rounding."""

CERTAIN = Law(np.zeros(1), np.ones(1))
"""The law of log 1."""


class Krylov(NamedTuple):
    """Orthonormal polynomials of a discrete law."""

    diagonal: Floats
    beside: Floats
    """The Jacobi matrix: (order,) and (order - 1,)."""
    vectors: Floats
    """sqrt(weight) times each polynomial at each point: (point, order)."""
    root: Floats
    """sqrt(weight): (point,)."""


class Gauss(NamedTuple):
    """A Gauss rule, and what it makes of each point."""

    law: Law
    cardinal: Floats
    """E[L_k; point], L_k the polynomial that is 1 at node k, 0 at the others: (node, point)."""

    def projected(self, values: Floats) -> Floats:
        """The polynomial nearest to what has these values at the points, at the nodes: (node,).

        The rule integrates its product with a smooth function.
        """
        return self.cardinal @ values / self.law.weights


def krylov(law: Law, order: int) -> Krylov:
    """Return the first polynomials by Lanczos' algorithm, orthogonalised twice."""
    root = np.sqrt(law.weights)
    order = min(order, law.points.size)
    basis, diagonal, beside = np.empty((order, root.size)), [], []
    basis[0] = root / np.linalg.norm(root)
    centre = float(law.weights @ law.points)
    scale = float(np.abs(law.points - centre).max()) or 1.0
    shifted = (law.points - centre) / scale
    for k in range(order):
        following = shifted * basis[k]
        diagonal.append(float(following @ basis[k]))
        for _ in range(2):
            following -= (basis[: k + 1] @ following) @ basis[: k + 1]
        length = float(np.linalg.norm(following))
        if k + 1 == order or length < ENDED:
            break
        beside.append(length)
        basis[k + 1] = following / length
    vectors = basis[: len(diagonal)].T
    return Krylov(centre + scale * np.array(diagonal), scale * np.array(beside), vectors, root)


def gauss(basis: Krylov, order: int | None = None) -> Gauss:
    """Return the Gauss rule of this order, the highest if None (Golub and Welsch, 1969)."""
    order = min(order or basis.diagonal.size, basis.diagonal.size)
    beside = basis.beside[: order - 1]
    matrix = np.diag(basis.diagonal[:order]) + np.diag(beside, 1) + np.diag(beside, -1)
    nodes, vectors = np.linalg.eigh(matrix)
    first = vectors[0]
    cardinal = (first * (basis.vectors[:, :order] @ vectors) * basis.root[:, None]).T
    return Gauss(Law(nodes, first**2), cardinal)


@lru_cache(maxsize=64)
def sphere_coordinate(dimension: int, count: int) -> Law:
    """Return Gauss nodes for one coordinate of a uniform unit vector: (1 - c^2)^{(d - 3)/2}.

    The Jacobi matrix of Gegenbauer polynomials, lambda = d/2 - 1, has
    beta_k^2 = k (k + 2 lambda - 1) / (4 (k + lambda) (k + lambda - 1)).
    """
    if dimension == 1:
        return Law(np.array([-1.0, 1.0]), np.full(2, 0.5))
    k, offset = np.arange(2, count), dimension / 2 - 1
    squares = k * (k + 2 * offset - 1) / (4 * (k + offset) * (k + offset - 1))
    beside = np.sqrt([1 / dimension, *squares])
    nodes, vectors = np.linalg.eigh(np.diag(beside, 1) + np.diag(beside, -1))
    return Law(nodes, vectors[0] ** 2)


@lru_cache(maxsize=64)
def gaussian(count: int) -> Law:
    """Return Gauss nodes of N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return Law(nodes, weights / weights.sum())
