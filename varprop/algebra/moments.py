"""Mean, variance, covariance and raw moments of tensor entries, exact at every finite size."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from math import comb
from typing import Any

from .expectation import Contractions, entry_product
from .graphs import Component
from .polynomials import scalar, to_sympy
from .tensors import Entry, Leaf, Tensor, node


def mean(*entries: Entry | Tensor) -> Any:
    """The expected value of an entry, or of the product of several.

    ``mean(x)`` is E[x], ``mean(x, y)`` is E[x y].  A tensor without index is passed as it is.

    Returns: a SymPy expression, polynomial in the cumulants, the scalars, the sizes and sums over the fixed
    tensors' entries.

    Raises:
        ValueError: if a cumulant is needed that was not given, or a letter stands for two sizes.
    """
    numbered, letters = number_letters(entries)
    return as_sympy(entry_product(numbered), letters)


def moment(entry: Entry | Tensor, order: int) -> Any:
    """The raw moment E[x^order]; see :func:`mean`."""
    return mean(*[entry] * _order(order))


def variance(entry: Entry | Tensor) -> Any:
    """E[x^2] - E[x]^2, simplified before it is written: equal terms have cancelled; see :func:`mean`."""
    return cumulant(entry, 2)


def covariance(left: Entry | Tensor, right: Entry | Tensor) -> Any:
    """E[x y] - E[x] E[y]; see :func:`mean`."""
    numbered, letters = number_letters((left, right))
    result = entry_product(numbered)
    means = entry_product(numbered[:1]) * entry_product(numbered[1:])
    return as_sympy(result + means.scaled(scalar(-1)), letters)


def cumulant(entry: Entry | Tensor, order: int) -> Any:
    """The cumulant of an entry: 1 is the mean, 2 the variance, 4 the excess kurtosis times variance^2."""
    numbered, letters = number_letters((entry,))
    return as_sympy(place_cumulants(numbered[0], _order(order))[-1], letters)


def place_cumulants(entry: tuple[Tensor, tuple[int, ...]], order: int) -> list[Contractions]:
    """Cumulants 1 ... order, from k_n = m_n - sum_j C(n-1, j-1) k_j m_(n-j)."""
    moments = [entry_product([entry] * power) for power in range(order + 1)]
    cumulants: list[Contractions] = []
    for n in range(1, order + 1):
        result = Contractions()
        result.accumulate(moments[n])
        for j in range(1, n):
            result.accumulate(cumulants[j - 1] * moments[n - j], scalar(-comb(n - 1, j - 1)))
        cumulants.append(result)
    return cumulants


def _order(order: Any) -> int:
    if not isinstance(order, int) or isinstance(order, bool) or order < 1:
        raise ValueError(f"order: got {order!r}; accepted: 1, 2, 3, ...")
    return order


def number_letters(
    entries: Iterable[Entry | Tensor],
) -> tuple[list[tuple[Tensor, tuple[int, ...]]], dict[int, str]]:
    """Give each letter a negative number; letters mean the same value in all entries.

    Raises:
        ValueError: if a tensor has indices that no letter names, or a letter stands for two sizes.
    """
    numbers: dict[str, int] = {}
    sizes: dict[str, Any] = {}
    fresh = count(1)
    numbered = []
    for entry in entries:
        if isinstance(entry, Tensor):
            entry = Entry(entry, ())
        if not isinstance(entry, Entry):
            raise TypeError(f"moment: got {type(entry).__name__}; accepted: an entry such as q['t', 'a']")
        for letter, size in zip(entry.letters, entry.tensor.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"index {letter!r} is used with two sizes, {sizes[letter]} and {size}")
            if letter not in numbers:
                numbers[letter] = -next(fresh)
        numbered.append((entry.tensor, tuple(numbers[letter] for letter in entry.letters)))
    return numbered, {number: letter for letter, number in numbers.items()}


def as_sympy(contractions: Contractions, letters: dict[int, str]) -> Any:
    """Write contractions of fixed tensors as SymPy sums over indexed symbols."""
    import sympy

    return sympy.Add(
        *(
            sympy.Mul(to_sympy(coefficient), *(_component_to_sympy(part, letters) for part in graph))
            for graph, coefficient in contractions.items()
        )
    )


def _component_to_sympy(component: Component, letters: dict[int, str]) -> Any:
    import sympy

    taken = set(letters.values())
    names = (name for name in ("ijklmpqruvwxyz" + "abcdefghost") if name not in taken)
    symbols = {number: sympy.Symbol(letter, integer=True) for number, letter in letters.items()}
    limits = {}
    factors = []
    for number, indices in component:
        tensor = node(number)
        assert isinstance(tensor, Leaf)
        for index, size in zip(indices, tensor.shape, strict=True):
            if index not in symbols:
                symbols[index] = sympy.Symbol(next(names), integer=True)
            if index >= 0:
                limits[symbols[index]] = sympy.sympify(size)
        base = sympy.IndexedBase(tensor.name)
        factors.append(base[tuple(symbols[i] for i in indices)] if indices else sympy.Symbol(tensor.name))
    body = sympy.Mul(*factors)
    return sympy.Sum(body, *((index, 0, size - 1) for index, size in limits.items())) if limits else body
