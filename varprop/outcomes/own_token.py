"""The logit of the input token itself in a tied head, at depth zero.

    a = factor h.e,  h = sqrt(d) x/|x|,  x = c e + p

Of Gaussian rows x = F + sigma z the part of e that depends on x is c s^2/sigma^2 (x - F), so with
x.z/|x| = noise (see `directions`)

    a = factor sqrt(d) (c s^2/sigma noise + s t/sigma Z) + factor mean(e) sum_i y_i,

Z a standard normal variable of its own, s and t the std of e's and p's entries.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from varprop.fields.numeric import Floats
from varprop.outcomes.directions import Directions
from varprop.outcomes.hidden import Hidden
from varprop.outcomes.own_cumulants import shift
from varprop.outcomes.stepped_laws import FEW, normal
from varprop.quadrature.gauss import Law, gauss, krylov

SMALLEST = 16
"""The least d_model at which rows that are not Gaussian are taken to be nearly so."""


class OwnToken:
    """Moments and law of the token's own logit, for rows that all have a direction.

    Of rows that are not Gaussian, the terms with third and fourth cumulants are added to mean and
    variance up to order 1/d_model; what is neglected is ``error``, relative.
    """

    def __init__(self, hidden: Hidden, factor: float) -> None:
        self.hidden, self.factor = hidden, factor
        table, other, std = hidden.table_std, hidden.other_std, hidden.std
        unit = factor * math.sqrt(hidden.width)
        self.gaussian = hidden.gaussian and hidden.table.gaussian
        self.independent = 0 in (hidden.scale, table, factor)
        self.from_row = 0.0 if self.independent else unit * table * (hidden.scale * table / std)
        self.from_rest = unit * table if self.independent else unit * table * (other / std)

    @property
    def known(self) -> bool:
        """Whether the law is known, exactly or nearly."""
        return self.gaussian or self.independent or self.hidden.width >= SMALLEST

    @property
    def error(self) -> float:
        """The relative error of what is known."""
        error = 0.0 if self.independent else self.hidden.fixed.error
        if not (self.gaussian or self.independent):
            parts = [self.hidden.table, *self.hidden.others]
            error += max(part.departure for part in parts) / self.hidden.width
        return error

    @cached_property
    def _nodes(self) -> list[Directions]:
        return [self.hidden.directions(length) for length in self.hidden.fixed.length]

    @cached_property
    def centred_mean(self) -> float:
        """E a, the table's mean taken off its entries."""
        means = [float(q.weights @ q.noise) for q in self._nodes]
        return self.from_row * float(self.hidden.fixed.weights @ means) + self._shift[0]

    @cached_property
    def centred_variance(self) -> float:
        """Variance of a, the table's mean taken off its entries."""
        return self._gaussian_variance + self._shift[1]

    @cached_property
    def _gaussian_variance(self) -> float:
        mean = self.centred_mean - self._shift[0]
        found = self.from_rest**2
        for weight, q in zip(self.hidden.fixed.weights, self._nodes, strict=True):
            found += float(weight * (q.weights @ (self.from_row * q.noise - mean) ** 2))
        return found

    @cached_property
    def product(self) -> float:
        """E of a, the table's mean taken off its entries, times sum_i y_i; for Gaussian rows."""
        hidden, found = self.hidden, 0.0
        fixed = hidden.fixed
        rows = zip(fixed.length, fixed.total, fixed.weights, self._nodes, strict=True)
        for length, total, weight, q in rows:
            if length:
                both = float(q.weights @ (q.noise * q.cosine))
                found += float(weight * both * total / length)
        return self.from_row * math.sqrt(hidden.width) * found

    @cached_property
    def _shift(self) -> tuple[float, float]:
        """What third and fourth cumulants add to mean and variance."""
        if self.gaussian or self.independent:
            return 0.0, 0.0
        return shift(self.hidden, self.factor * math.sqrt(self.hidden.width))

    @property
    def width(self) -> float:
        """The std of the wider part of a, nearly."""
        return max(abs(self.from_row), abs(self.from_rest))

    def law(self, step: float) -> Law:
        """Nodes of a, the table's mean taken off its entries, about a step apart."""
        smooth = abs(self.from_rest) >= abs(self.from_row)  # the wider part is resolved
        fine = min(step / self.width, 0.5)
        parts, shares = [], []
        for length, weight in zip(self.hidden.fixed.length, self.hidden.fixed.weights, strict=True):
            q = self.hidden.directions(length, None if smooth else fine)
            noise, masses = q.noise, q.weights
            if smooth:
                noise, masses = gauss(krylov(Law(noise, masses), FEW)).law
            parts.append(self.from_row * noise)
            shares.append(weight * masses)
        values: Floats = np.concatenate(parts)
        weights: Floats = np.concatenate(shares)
        if self.from_rest:
            rest, masses = normal(fine if smooth else None)
            values = np.add.outer(values, self.from_rest * rest).ravel()
            weights = np.multiply.outer(weights, masses).ravel()
        return Law(self._moved(values), weights / weights.sum())

    def _moved(self, values: Floats) -> Floats:
        shift, more = self._shift
        if not (shift or more):
            return values
        mean = self.centred_mean
        stretch = math.sqrt(self.centred_variance / self._gaussian_variance)
        return mean + stretch * (values - (mean - shift))
