"""Blocks of set partitions: which factors one can hold, and what it makes of their indices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .graphs import Factor
from .polynomials import ONE, Polynomial, scalar
from .registry import node


def selections(available: list[int], most: int) -> Iterator[tuple[int, ...]]:
    """All ways to take at most so many of each kind, and at most ``most`` in all."""
    if not available:
        yield ()
        return
    for taken in range(min(available[0], most) + 1):
        for others in selections(available[1:], most - taken):
            yield (taken, *others)


def identified(indices: list[tuple[int, ...]]) -> dict[int, int] | None:
    """Rename summed indices so that all tuples become equal.

    Returns: the new name of each renamed index; None if two letters would have to coincide.
    """
    names: dict[int, int] = {}

    def resolve(index: int) -> int:
        while index in names:
            index = names[index]
        return index

    for other in indices[1:]:
        for left, right in zip(indices[0], other, strict=True):
            one, two = resolve(left), resolve(right)
            if one != two:
                if one < 0 and two < 0:
                    return None
                names[max(one, two)] = min(one, two)
    return {index: resolve(index) for index in names}


def sizes_of_vanished(
    block: Iterable[Factor], names: dict[int, int], left: Iterable[Factor]
) -> Polynomial:
    """A summed index that none of the factors left shows is a factor of its size."""
    still_there = {index for _, indices in left for index in indices}
    vanished = {}
    for number, indices in block:
        for index, size in zip(indices, node(number).shape, strict=True):
            root = names.get(index, index)
            if root >= 0 and root not in still_there:
                vanished[root] = size
    result = ONE
    for size in vanished.values():
        result = result * scalar(size)
    return result
