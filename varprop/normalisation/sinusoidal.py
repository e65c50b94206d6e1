"""Gaussian rows with sinusoidal positions: what is left of each pairing is summed over positions.

    E y_t = kappa_t f~_t,    E[y_ti y_tj] = A_t delta_ij + B_t f~_ti f~_tj, and so on,

with A, B, kappa functions of |f~_t|^2 alone, one quadrature for each position.  Rows are
independent, so a product over different positions is a product of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import perm, prod
from typing import Any

import numpy as np

from varprop.encodings import place_average
from varprop.fields.numeric import Floats

from .directions import polynomial
from .distinct import distinct_mean
from .fixed_rows import FixedRows
from .pairings import ROWS, Product, Term, Terms, Vertex, pairings
from .record import Record
from .weights import weight, weights_along

PLACES = 2**22
"""Places at which a mean is computed at most."""


class SinusoidalRows:
    """Products of Gaussian rows with sinusoidal positions, at a place or on average over them."""

    def __init__(self, record: Record) -> None:
        self.record, self.fixed = record, FixedRows(record)
        self._weights: dict[tuple[int, int, int], Any] = {}
        self._averages: dict[tuple[Product, tuple[int, ...]], float | None] = {}

    def at(
        self, product: Product, powers: Sequence[int], place: Mapping[int, int], channel: int | None
    ) -> float:
        """E of a product times |y|^(2 power) of each row; ``place`` holds a position for each."""
        rows = self.fixed.rows([place.get(i, 0) for i in range(ROWS)])
        squares = [float(row @ row) for row in rows]
        total = 0.0
        for (pairs, fixed), coefficient in self._terms(product):
            value = coefficient
            for vertex in fixed.vertices():
                entries = prod(rows[i] ** vertex[ROWS + i] for i in range(ROWS) if vertex[ROWS + i])
                value *= float(entries[channel] if vertex is fixed.free else np.sum(entries))
            for i in place:
                entries = product.count(i)
                value *= weight(
                    self.record, self.record.variance, squares[i], entries, pairs[i], powers[i]
                )
            total += value
        return total

    def average(self, product: Product, powers: Sequence[int]) -> float | None:
        """The mean over distinct positions, or None where it needs more than sums over them."""
        key = product, tuple(powers)
        if key not in self._averages:
            possible = self.fixed.same or self.fixed.possible
            self._averages[key] = self._average(product, powers) if possible else None
        return self._averages[key]

    def _average(self, product: Product, powers: Sequence[int]) -> float | None:
        active = [i for i in range(ROWS) if powers[i] or product.count(i)]
        total = 0.0
        for term, coefficient in self._terms(product):
            value = self._average_term(term, product, powers, active)
            if value is None:
                return None
            total += coefficient * value
        return total

    def spread(
        self,
        products: Sequence[tuple[float, Product, Sequence[int]]],
        is_vector: bool,
        positions: int,
    ) -> float | None:
        """The variance over places of a sum of factor * product * |y|^(2 power).

        None where a place is one of too many pairs, or there are too many positions.
        """
        length, width = self.record.length, self.record.width if is_vector else 1
        if length**positions * width > PLACES or not (self.fixed.same or self.fixed.possible):
            return None
        values = np.zeros((length,) * positions + (width,) * is_vector)
        for factor, product, powers in products:
            for (pairs, fixed), coefficient in self._terms(product):
                value: Any = factor * coefficient
                shown = [i for i in range(ROWS) if powers[i] or product.count(i)]
                for i in shown:
                    line = self._weight(product.count(i), pairs[i], powers[i])
                    value = value * self._along_axis(line, i, values.ndim)
                for vertex in fixed.vertices():
                    value = value * self._everywhere(vertex, vertex is fixed.free, values.ndim)
                values += value
        if positions == 2:
            values = values[~np.eye(length, dtype=bool)]
        return float(values.var())

    def _everywhere(self, vertex: Vertex, free: bool, axes: int) -> Floats:
        """A product of fixed parts at all places."""
        rows = self.fixed.rows(np.arange(self.record.length))
        first, second = rows ** vertex[ROWS], rows ** vertex[ROWS + 1]
        if free:
            return first
        if vertex[ROWS] and vertex[ROWS + 1]:
            pairs: Floats = first @ second.T
            return pairs
        held = 0 if vertex[ROWS] else 1
        line: Floats = self._along_axis((first * second).sum(axis=1), held, axes)
        return line

    def _along_axis(self, line: Any, axis: int, axes: int) -> Any:
        """Values at each position along one axis of an array over places; a number stays one."""
        return (
            line.reshape([-1 if i == axis else 1 for i in range(axes)]) if np.ndim(line) else line
        )

    def _terms(self, product: Product) -> list[tuple[Term, float]]:
        """Terms that are not 0, with their coefficients: f~ sums to 0 where rows are centred."""
        terms: Terms = pairings(product, (True,) * ROWS, self.record.layernorm)
        width, kept = Fraction(self.record.width), []
        for term, coefficients in terms.items():
            value = float(polynomial(coefficients, width))
            lone = any(sum(vertex) == 1 for vertex in term.fixed.closed)
            if value and not (lone and self.record.layernorm):
                kept.append((term, value))
        return kept

    def _average_term(
        self, term: Term, product: Product, powers: Sequence[int], active: Sequence[int]
    ) -> float | None:
        lines = {i: self._weight(product.count(i), term.pairs[i], powers[i]) for i in active}
        if self.fixed.same:
            return self._closed_average(term.fixed.closed, prod(lines.values()))
        crossing: list[Vertex] = []
        for vertex in term.fixed.closed:
            shown = [i for i in range(ROWS) if vertex[ROWS + i]]
            if len(shown) == 1:
                lines[shown[0]] = lines[shown[0]] * self.fixed.sums(vertex[ROWS + shown[0]])
            else:
                crossing.append(vertex)
        if not crossing:
            return distinct_mean(list(lines.values()), self.record.length)
        if len(crossing) > 1 or sum(crossing[0]) > 2:
            return None
        first, second = (i for i in range(ROWS) if crossing[0][ROWS + i])
        others = [lines[i] for i in active if i not in (first, second)]
        return self._inner_products(lines[first], lines[second], others)

    def _closed_average(self, vertices: Sequence[Vertex], factor: float) -> float | None:
        """All weights are the same everywhere: averages of the encoding itself."""
        parts = tuple(
            tuple(
                (f"f_{label}", (0,))
                for label, n in zip("tsr", v[ROWS:], strict=True)
                for _ in range(n)
            )
            for v in vertices
        )
        if not parts:
            return factor
        ordered = tuple(sorted(tuple(sorted(part)) for part in parts))
        mean = place_average(self.fixed.encoding, ordered, self.record.length)
        if mean is None:
            return None
        return factor * mean * self.record.amplitude ** sum(map(sum, vertices))

    def _inner_products(self, left: Any, right: Any, others: Sequence[Any]) -> float:
        """The mean of left_t right_s f~_t . f~_s, times a function of a third position or none."""
        length = self.record.length
        total = self._pair_sum(left, right)
        if others:
            third = others[0]
            total = total * float(np.sum(np.broadcast_to(third, length)))
            total -= self._pair_sum(left * third, right) + self._pair_sum(left, right * third)
        return total / perm(length, 2 + len(others))

    def _pair_sum(self, left: Any, right: Any) -> float:
        """sum over t != s of left_t right_s f~_t . f~_s."""
        first = self.fixed.weighted(left)
        second = first if left is right else self.fixed.weighted(right)
        return float(first @ second) - float(np.sum(left * right * self.fixed.sums(2)))

    def _weight(self, entries: int, pairs: int, power: int) -> Any:
        """A row's weight at each position, or one number where it is the same everywhere."""
        key = entries, pairs, power
        if key not in self._weights:
            record = self.record
            if self.fixed.same:
                square = record.width / 2 * record.amplitude**2
                found = weight(record, record.variance, square, *key)
            else:
                found = weights_along(record, self.fixed.sums(2), key)
            self._weights[key] = found
        return self._weights[key]
