"""Expectations as SymPy expressions: sums over indexed symbols, with polynomial coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from .contractions import Contractions
from .graphs import Component
from .polynomials import to_sympy
from .registry import node
from .tensors import Leaf

_INDEX_NAMES = "ijklmpqruvwxyz"


def as_sympy(contractions: Contractions, letters: Mapping[int, str]) -> Any:
    """Write contractions of fixed tensors as sums over ``IndexedBase`` symbols of their names.

    Args:
        contractions: what is written.
        letters: the letter of each free (negative) index.

    Raises:
        ValueError: if a cumulant is needed that was not given.
    """
    import sympy

    return sympy.Add(
        *(
            sympy.Mul(to_sympy(coefficient), *(_component(part, letters) for part in graph))
            for graph, coefficient in contractions.known().items()
        )
    )


def size_to_sympy(size: Any) -> Any:
    """A size as SymPy sees it: names become symbols."""
    import sympy

    return sympy.Symbol(size) if isinstance(size, str) else sympy.sympify(size)


def _component(component: Component, letters: Mapping[int, str]) -> Any:
    import sympy

    leaves = [node(number) for number, _ in component]
    sizes = {
        index: size_to_sympy(size)
        for leaf, (_, indices) in zip(leaves, component, strict=True)
        for index, size in zip(indices, leaf.shape, strict=True)
    }
    taken = {symbol.name for size in sizes.values() for symbol in size.free_symbols}
    names = _fresh_names(taken | set(letters.values()))
    symbols = {
        index: sympy.Symbol(letters[index] if index < 0 else next(names), integer=True)
        for index in sizes
    }
    factors = []
    for leaf, (_, indices) in zip(leaves, component, strict=True):
        assert isinstance(leaf, Leaf)
        base = sympy.IndexedBase(leaf.name)
        place = tuple(symbols[index] for index in indices)
        factors.append(base[place] if place else sympy.Symbol(leaf.name))
    body = sympy.Mul(*factors)
    limits = [(symbols[index], 0, size - 1) for index, size in sizes.items() if index >= 0]
    return sympy.Sum(body, *limits) if limits else body


def _fresh_names(taken: set[str]) -> Iterator[str]:
    """i, j, k, ..., then i1, j1, ..., without those that mean something else."""
    for turn in count():
        for letter in _INDEX_NAMES:
            if (name := f"{letter}{turn or ''}") not in taken:
                yield name
