"""Products of contractions of rows, averaged over their directions: pairings, counted once.

Given the square of its length, E[y_i y_j ... y_n] of one row is, by Stein's identity applied again
and again, a sum over partial pairings of its entries.  A pair (i, j) gives delta_ij, or
delta_ij - 1/d where the row's mean is taken off; an entry left alone gives the row's fixed part f_i
(its mean, its sinusoids, what it shares with another row).  The weight of a term depends only on
how many pairs there are.

A row has one index, so a product of contractions is a multiset of vertices, one for each index that
is summed: how many entries of each row, and then of each fixed part, carry that index.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

ROWS = 3
Vertex = tuple[int, ...]
"""Entries of rows t, s, r, then of their fixed parts."""
EMPTY: Vertex = (0,) * (2 * ROWS)


class Product(NamedTuple):
    """Vertices that are summed over channels, sorted, and the one at a given channel, if any."""

    closed: tuple[Vertex, ...]
    free: Vertex | None = None

    def count(self, place: int) -> int:
        """How many entries there are of one row or fixed part."""
        return sum(vertex[place] for vertex in self.vertices())

    def vertices(self) -> tuple[Vertex, ...]:
        """All of them."""
        return self.closed if self.free is None else (*self.closed, self.free)


class Term(NamedTuple):
    """A product of fixed parts, and how many pairs each row gave."""

    pairs: tuple[int, ...]
    fixed: Product


Terms = dict[Term, dict[int, int]]
"""For each term its coefficient, a polynomial in d: power -> integer."""


@lru_cache(maxsize=4096)
def pairings(product: Product, alone: tuple[bool, ...], centred: bool) -> Terms:
    """All terms of a product.

    Args:
        product: what is averaged.
        alone: for each row whether it has a fixed part; without one every entry has a partner.
        centred: whether a pair gives delta_ij - 1/d.
    """
    place = next((i for v in product.vertices() for i in range(ROWS) if v[i]), None)
    if place is None:
        return {Term((0,) * ROWS, _without_empty(product)): {product.closed.count(EMPTY): 1}}
    result: Terms = {}
    for following, paired, factor, power in _choices(product, place, alone[place], centred):
        for (pairs, fixed), coefficient in pairings(following, alone, centred).items():
            more = tuple(n + (paired and i == place) for i, n in enumerate(pairs))
            total = result.setdefault(Term(more, fixed), {})
            for exponent, number in coefficient.items():
                total[exponent + power] = total.get(exponent + power, 0) + factor * number
    return result


def _choices(
    product: Product, place: int, alone: bool, centred: bool
) -> Iterator[tuple[Product, bool, int, int]]:
    """What one entry can do: what is left, whether it found a partner, ways, and power of d."""
    vertices = product.vertices()
    here = next(i for i, vertex in enumerate(vertices) if vertex[place])
    first = _changed(vertices[here], place, -1)
    if alone:
        yield _put(product, {here: _changed(first, ROWS + place, 1)}), False, 1, 0
    if first[place]:
        left = _put(product, {here: _changed(first, place, -1)})
        yield left, True, first[place], 0
        if centred:
            yield left, True, -first[place], -1
    for other, vertex in enumerate(vertices):
        if other != here and vertex[place]:
            second = _changed(vertex, place, -1)
            joined = tuple(a + b for a, b in zip(first, second, strict=True))
            yield _put(product, {other: joined}, without=here), True, vertex[place], 0
            if centred:
                apart = _put(product, {here: first, other: second})
                yield apart, True, -vertex[place], -1


def _changed(vertex: Vertex, place: int, by: int) -> Vertex:
    return (*vertex[:place], vertex[place] + by, *vertex[place + 1 :])


def _put(product: Product, changes: dict[int, Vertex], without: int | None = None) -> Product:
    """Replace vertices by number, the free one being the last, and leave one out."""
    vertices = [changes.get(i, v) for i, v in enumerate(product.vertices())]
    free = None if product.free is None else vertices[-1]
    closed = vertices if free is None else vertices[:-1]
    return Product(tuple(sorted(v for i, v in enumerate(closed) if i != without)), free)


def _without_empty(product: Product) -> Product:
    free = None if product.free in (None, EMPTY) else product.free
    return Product(tuple(v for v in product.closed if v != EMPTY), free)
