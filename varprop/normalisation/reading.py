"""From contractions of rows to products that are averaged, and which of them are 0 or split."""

from __future__ import annotations

from collections.abc import Sequence

from varprop.encodings.trigonometric import LABELS, Part, is_free

from .pairings import ROWS, Product, Vertex
from .record import Record

Parts = tuple[Part, ...]
SQUARES = tuple(tuple(2 * (i == row) for i in range(2 * ROWS)) for row in range(ROWS))
"""The vertices of |y|^2."""


def read(record: Record, parts: Parts, tokens: str) -> Product:
    """Vertices; rows that are equal are counted as the first of them."""

    def first(row: int) -> int:
        same = (i for i in range(row) if record.identical(tokens[i], tokens[row]))
        return next(same, row)

    free: list[int] | None = None
    closed: list[Vertex] = []
    for part in parts:
        vertex = [0] * (2 * ROWS)
        if is_free(part):
            free = vertex = free or vertex
        for name, _ in part:
            vertex[first(LABELS.index(name[-1]))] += 1
        if not is_free(part):
            closed.append(tuple(vertex))
    return Product(tuple(sorted(closed)), None if free is None else tuple(free))


def split(product: Product) -> tuple[Product, list[int]]:
    """Take out the powers of |y|^2 of each row."""
    powers = [product.closed.count(square) for square in SQUARES]
    return Product(tuple(v for v in product.closed if v not in SQUARES), product.free), powers


def vanishes(record: Record, parts: Parts, tokens: str) -> bool:
    """Whether a row's sum occurs that is 0, or, once beside its length, a row with mean 0.

    The row must be independent of all others that occur.
    """
    if record.layernorm and any(len(part) == 1 and not is_free(part) for part in parts):
        return True
    names = [[name[-1] for name, _ in part if name[0] == "y"] for part in parts]
    lengths = [len(part) == 2 and part[0] == part[1] for part in parts]
    single = [
        label for one, length in zip(names, lengths, strict=True) if not length for label in one
    ]
    shown = {LABELS.index(label) for one in names for label in one}
    return record.centred and any(
        single.count(LABELS[row]) == 1 and not _shares(record, tokens, row, shown - {row})
        for row in shown
    )


def independent(record: Record, product: Product, powers: Sequence[int], tokens: str) -> bool:
    """Whether the rows that occur have nothing in common."""
    active = {i for i in range(ROWS) if powers[i] or product.count(i)}
    return not any(_shares(record, tokens, row, active - {row}) for row in active)


def _shares(record: Record, tokens: str, row: int, others: set[int]) -> bool:
    return any(record.shared(tokens[row], tokens[other]) for other in others)
