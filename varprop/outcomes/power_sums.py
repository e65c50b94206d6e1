"""What is known of sums of powers of the entries of rows after a norm."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from varprop.normalisation.directions import on_sphere
from varprop.normalisation.pairings import EMPTY, ROWS, Product

if TYPE_CHECKING:
    from varprop.outcomes.hidden import Hidden


class PowerSums:
    """Averages of products of sum_i y_i^k over the rows y of a hidden state that have a direction.

    |y|^2 is d_model. The rest follows from symmetry, from a centred norm, or, of the first power,
    from the law of the direction of Gaussian rows.
    """

    def __init__(self, hidden: Hidden) -> None:
        self.hidden = hidden

    def of(self, orders: tuple[int, ...]) -> float | None:
        """E of a product of power sums sum_i y_i^k, over rows that have a direction.

        None where it is not known.
        """
        rest = tuple(order for order in orders if order != 2)
        factor = float(self.hidden.width) ** (len(orders) - len(rest))
        value = self._others(rest)
        return None if value is None else factor * value

    def _others(self, orders: tuple[int, ...]) -> float | None:
        d, total = float(self.hidden.width), sum(orders)
        if not orders:
            return 1.0
        if self.hidden.centred and 1 in orders:
            return 0.0
        if total % 2 and self.hidden.symmetric:
            return 0.0
        if self.hidden.dimensions == 1 and total % 2 == 0:  # entries are 1 or -1
            return d ** len(orders)
        if not (self.hidden.std or self.hidden.turning):  # all entries are 1, or all are -1
            return math.copysign(1, self.hidden.level) ** total * d ** len(orders)
        if orders == (1, 1) and self.hidden.symmetric:
            return d
        if self.hidden.gaussian and self.hidden.symmetric:
            return self._on_the_sphere(orders)
        if self.hidden.gaussian and orders in ((1,), (1, 1)):
            return self.channel_sum if len(orders) == 1 else self.channel_sum_square
        return None

    def _on_the_sphere(self, orders: tuple[int, ...]) -> float:
        """Rows that point in every direction alike."""
        product = Product(tuple(sorted((order, *EMPTY[1:]) for order in orders)))
        width = Fraction(self.hidden.width)
        return float(on_sphere(product, (0,) * ROWS, width, self.hidden.centred))

    @cached_property
    def channel_sum(self) -> float:
        """E sum y: of sqrt(d_model) times the cosine along F, for Gaussian noise."""
        return float(self.hidden.fixed.weights @ self.channel_sums)

    @property
    def channel_sums(self) -> list[float]:
        """E sum y at each node of the fixed parts."""
        root = math.sqrt(self.hidden.width)
        fixed = self.hidden.fixed
        along = [
            root * float(q.weights @ q.cosine) for q in map(self.hidden.directions, fixed.length)
        ]
        rows = zip(along, fixed.total, fixed.length, strict=True)
        return [a * float(t / n) if n else 0.0 for a, t, n in rows]

    @cached_property
    def channel_sum_square(self) -> float:
        """E (sum y)^2; across F any direction is as likely as any other."""
        d, fixed, found = self.hidden.width, self.hidden.fixed, 0.0
        rows = zip(fixed.length, fixed.total_square, fixed.weights, strict=True)
        for length, total_square, weight in rows:
            q = self.hidden.directions(length)
            along = float(q.weights @ q.square)
            part = total_square / (length**2 * d) if length else 0.0
            across = (1 - along) * (1 - part) / (d - 1) if d > 1 else 0.0
            found += float(weight) * d**2 * float(along * part + across)
        return found
