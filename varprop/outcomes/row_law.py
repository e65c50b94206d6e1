"""The joint law of a row's standard deviation and of its own key, as few nodes and weights.

Given the query, keys j != i are independent N(0, s^2) and the own key has the logit a = s b:

    s^2 = scale (slope Q + offset) R,   b = a function of Q and of c,   Q, R, c independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.gauss import Law
from varprop.quadrature.largest_of_law import NearGaussian

HERMITE = 16
"""Polynomials of the own key's law, whose mean product with those of the law of s decays."""

NOTHING = 1e-14
"""Weights that are left out: of narrow rows the rare wide ones may count 10^4 times as much."""


class Own(NamedTuple):
    """The own key: functions of Q (Q,) that are (Q, c), and the weights of c."""

    standing: Callable[[Floats], Floats]
    """b = a / s."""
    norm: Callable[[Floats], Floats]
    """Squared norm of the own row in units of an entry's variance; b^2 of it are along h."""
    weights: Floats
    """(c,)"""
    odd: bool
    """Whether b and -b are not equally likely."""
    aligned: bool
    """Whether b is made of Q alone, but for noise."""


class Parts(NamedTuple):
    """s^2 = scale (slope Q + offset) R with laws of log Q and log R, of mean about 1 each."""

    scale: float
    slope: float
    offset: float
    strength: Law
    rest: Law


class RowLaw(NamedTuple):
    """E f(s, a) = sum_kr weights_kr f(std_k, std_k own_r)."""

    std: Floats
    """(k,)"""
    own: Floats
    """(r,)"""
    weights: Floats
    """(k, r): their sums over r are positive, themselves they need not be."""
    across: Floats
    """Weights of f times what of the own row's squared norm is at right angles to h: (k, r)."""
    aligned: bool
    """Whether the own key is in line with the query: its law is then no near Gaussian."""

    @property
    def masses(self) -> Floats:
        """Probabilities of the nodes of s: (k,)."""
        return np.asarray(self.weights.sum(axis=1), np.float64)

    @property
    def variance(self) -> float:
        """E s^2."""
        return float(self.masses @ self.std**2)

    @property
    def own_mean(self) -> float:
        """E a."""
        return float(self.std @ self.weights @ self.own)

    @property
    def own_square(self) -> float:
        """E a^2."""
        return float(self.std**2 @ self.weights @ self.own**2)

    def without_nothing(self) -> RowLaw:
        """The law without nodes of s that weigh nothing, where what is small is judged by s^2."""
        masses = self.masses * np.minimum(self.std**2, 1.0)
        kept = masses > NOTHING * masses.sum()
        weights, across = self.weights[kept], self.across[kept]
        return self._replace(std=self.std[kept], weights=weights, across=across)

    def nodes(self) -> Iterator[tuple[float, Floats, Floats, Floats]]:
        """Each s, with the b that weigh something there, their weights and those of `across`."""
        for std, weights, across in zip(self.std.tolist(), self.weights, self.across, strict=True):
            kept = abs(weights) > NOTHING
            if kept.any():
                yield std, self.own[kept], weights[kept], across[kept]

    def near_gaussian(self) -> list[NearGaussian]:
        """The law of b at each node of s, as polynomials times one Gaussian density."""
        total = self.weights.sum(axis=0)
        mean = float(total @ self.own)
        std = math.sqrt(max(float(total @ (self.own - mean) ** 2), 0.0))
        orders = range(min(self.own.size, HERMITE))
        table = [NearGaussian(0.0, 1.0, np.eye(HERMITE)[m]) for m in orders]
        y = (self.own - mean) / std
        moments = self.weights @ np.array([one.factor(y) for one in table]).T
        return [NearGaussian(mean, std, row / row[0]) for row in moments]
