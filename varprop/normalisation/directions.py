"""Rows whose direction is uniform, but for a mean or for what two rows share: all products of them.

    E[product of contractions] = sum over pairings of (polynomial in d)
                                 * prod over rows of weight(entries, pairs) * (fixed parts)

Without a fixed part the weight is E|y|^(2k) / (D (D + 2) ... (D + 2k - 2)), the moments of a point
on a sphere.  What two or three rows share is Gaussian too: given its length, its direction is
uniform, so its own products are pairings again, and the length is integrated over.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from varprop.quadrature.log_laws import log_chi_squares

from .pairings import ROWS, Product, Terms, pairings
from .record import Record
from .weights import weight

DEEP = 92.0
"""What is left out of the law of a length is exp(-DEEP): fourth powers then keep all digits."""


def rising(degrees: Any, count: int) -> Any:
    """D (D + 2) ... (D + 2 count - 2)."""
    return prod((degrees + 2 * i for i in range(count)), start=1)


def polynomial(coefficients: dict[int, int], width: Any) -> Any:
    """Its value: exact for a Fraction or a symbol."""
    return sum((number * width**power for power, number in coefficients.items()), start=0 * width)


def on_sphere(product: Product, powers: Sequence[int], width: Any, centred: bool) -> Any:
    """E of a product with eps = 0 and no fixed part; ``width`` is a Fraction or a symbol."""
    terms = pairings(product, (False,) * ROWS, centred)
    counts = [product.count(place) // 2 for place in range(ROWS)]
    shape = sum((polynomial(p, width) for p in terms.values()), start=0 * width)
    below = prod((rising(width - int(centred), count) for count in counts), start=1)
    return shape * width ** (sum(counts) + sum(powers)) / below


def uniform_mean(
    record: Record, product: Product, powers: Sequence[int], tokens: Sequence[str]
) -> float | None:
    """E of a product, times |y|^(2 power) of each row; None where rows share in two ways.

    ``tokens`` names the token of each row; rows without entries or powers do not matter.
    """
    width = Fraction(record.width)
    active = [i for i in range(ROWS) if powers[i] or product.count(i)]
    if record.degrees == 0:
        return 0.0
    group = shared_group(record, active, tokens)
    if group is None:
        return None
    if not group and not record.level:
        if record.constant == 0:
            return float(on_sphere(product, powers, width, record.layernorm))
        terms = pairings(product, (False,) * ROWS, record.layernorm)
    elif not group:
        terms = pairings(product, (True,) * ROWS, record.layernorm)
    else:
        alone = tuple(i in group for i in range(ROWS))
        terms = pairings(product, alone, record.layernorm)
        return _given_shared(record, terms, product, powers, tokens, active, group)
    total = 0.0
    square = float(record.width * record.level**2)
    for (pairs, fixed), coefficients in terms.items():
        value = float(polynomial(coefficients, width)) * float(record.width) ** len(fixed.closed)
        value *= record.level ** sum(sum(v) for v in fixed.vertices())
        for i in active:
            value *= weight(record, record.variance, square, product.count(i), pairs[i], powers[i])
        total += value
    return total


def shared_group(
    record: Record, active: Sequence[int], tokens: Sequence[str]
) -> tuple[int, ...] | None:
    """Which of the rows have something in common; () if none, None if it is not known how.

    It is not where pairs share different amounts, and not where what is shared has a mean.
    """
    amounts = {(i, j): record.shared(tokens[i], tokens[j]) for i in active for j in active if i < j}
    sharing = [pair for pair, amount in amounts.items() if amount]
    if not sharing:
        return ()
    if record.level or len(set(amounts.values())) > 1 < len(sharing):
        return None
    return tuple(sorted({i for pair in sharing for i in pair}))


def _given_shared(
    record: Record,
    terms: Terms,
    product: Product,
    powers: Sequence[int],
    tokens: Sequence[str],
    active: Sequence[int],
    group: tuple[int, ...],
) -> float:
    amount = record.shared(tokens[group[0]], tokens[group[1]])
    law = log_chi_squares(float(record.degrees), depth=DEEP)
    each = amount * np.exp(law.points)
    squares = record.degrees * each
    width, total = Fraction(record.width), 0.0
    for (pairs, fixed), coefficients in terms.items():
        joined = _joined(fixed)
        count = joined.count(0)
        if count % 2:
            continue
        again = pairings(joined, (False,) * ROWS, record.layernorm)
        shape = polynomial(coefficients, width) * sum(polynomial(p, width) for p in again.values())
        if shape == 0:
            continue
        values = law.weights * each ** (count // 2)
        for i in active:
            inside = i in group
            variance = record.variance - amount if inside else record.variance
            if inside and amount == record.common:
                variance = record.own + record.token
            elif inside:
                variance = record.own
            square = squares if inside else 0.0
            values = values * weight(
                record, variance, square, product.count(i), pairs[i], powers[i]
            )
        below = Fraction(rising(record.degrees, count // 2), record.degrees ** (count // 2))
        total += float(shape / below) * float(values.sum())
    return total


def _joined(fixed: Product) -> Product:
    """The fixed parts of all rows as entries of one."""

    def one(vertex: tuple[int, ...]) -> tuple[int, ...]:
        return (sum(vertex), *(0,) * (2 * ROWS - 1))

    free = None if fixed.free is None else one(fixed.free)
    return Product(tuple(sorted(map(one, fixed.closed))), free)
