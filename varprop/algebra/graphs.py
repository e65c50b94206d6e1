"""Contraction graphs: products of indexed tensors, brought to one canonical form.

A factor is ``(node, indices)``.  A negative index is a free letter (a fixed index value), any other
is summed over.  A component is a set of factors that share summed indices; a graph is a sorted
tuple of components.  Two products are the same polynomial exactly when their canonical graphs are
equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby

Factor = tuple[int, tuple[int, ...]]
Component = tuple[Factor, ...]
Graph = tuple[Component, ...]


def canonical_graph(factors: Iterable[Factor]) -> Graph:
    """Split a product into components and put each, then all of them, in canonical order."""
    return tuple(sorted(canonical_component(component) for component in connected(factors)))


def connected(factors: Iterable[Factor]) -> list[list[Factor]]:
    """Group factors that share a summed index, directly or through others."""
    groups: list[tuple[set[int], list[Factor]]] = []
    for factor in factors:
        indices = {index for index in factor[1] if index >= 0}
        members = [factor]
        apart = []
        for group in groups:
            if indices & group[0]:
                indices |= group[0]
                members = group[1] + members
            else:
                apart.append(group)
        groups = [*apart, (indices, members)]
    return [members for _, members in groups]


def canonical_component(factors: Sequence[Factor]) -> Component:
    """Renumber the summed indices of one component so that equal sums get equal forms."""
    names: dict[int, int] = {}
    for _, indices in factors:
        for index in indices:
            if index >= 0:
                names.setdefault(index, len(names))
    return _canonical(_renamed(factors, names))


def _renamed(factors: Iterable[Factor], names: dict[int, int]) -> Component:
    return tuple(
        sorted(
            (node, tuple(names.get(index, index) for index in indices)) for node, indices in factors
        )
    )


@lru_cache(maxsize=50_000)
def _canonical(factors: Component) -> Component:
    summed = sorted({index for _, indices in factors for index in indices if index >= 0})
    if len(summed) <= 1:  # as the caller has renamed them
        return factors
    return _search(factors, dict.fromkeys(summed, 0))


def _search(factors: Component, colours: dict[int, int]) -> Component:
    """The least form among those where ties between equally coloured indices are broken in any way.

    Branches whose first leaves are equal are images of each other under a symmetry of the product,
    so one of them is enough: a sum of n equal factors costs n^2 refinements, not n factorial.
    """
    colours = _refine(factors, colours)
    branches = _branches(colours)
    if not branches:
        return _leaf(factors, colours)
    different = {_first_leaf(factors, branch): branch for branch in branches}
    return min(_search(factors, branch) for branch in different.values())


def _first_leaf(factors: Component, colours: dict[int, int]) -> Component:
    """The form that results when always the first of the tied indices is taken."""
    while branches := _branches(colours := _refine(factors, colours)):
        colours = branches[0]
    return _leaf(factors, colours)


def _branches(colours: dict[int, int]) -> list[dict[int, int]]:
    """Single out each of the first indices that share a colour; none where all colours differ."""
    ordered = sorted(colours, key=colours.__getitem__)
    ties = (list(cell) for _, cell in groupby(ordered, key=colours.__getitem__))
    tie = next((cell for cell in ties if len(cell) > 1), [])
    return [
        {i: 2 * colour + (i in tie and i != one) for i, colour in colours.items()} for one in tie
    ]


def _leaf(factors: Component, colours: dict[int, int]) -> Component:
    ordered = sorted(colours, key=colours.__getitem__)
    return _renamed(factors, {index: place for place, index in enumerate(ordered)})


def _refine(factors: Component, colours: dict[int, int]) -> dict[int, int]:
    """Colour each index by the places it stands in, until the colouring is stable."""
    while True:
        seen: dict[int, list[tuple[int, tuple[int, ...], int]]] = {index: [] for index in colours}
        for node, indices in factors:
            shades = tuple(colours.get(index, index) for index in indices)
            for place, index in enumerate(indices):
                if index >= 0:
                    seen[index].append((node, shades, place))
        keys = {index: (colours[index], tuple(sorted(seen[index]))) for index in colours}
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys.values())))}
        if len(ranks) == len(set(colours.values())):
            return colours
        colours = {index: ranks[keys[index]] for index in colours}
