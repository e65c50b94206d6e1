"""Numbers for the engine's results: sums over the entries of fixed tensors, evaluated with arrays.

>>> from varprop import algebra as va
>>> h, d, n = va.dims("h d n")
>>> W, P = va.iid("W", (h, d), variance="w"), va.fixed("P", (n, d))
>>> formula = va.variance(va.einsum("ai,ti->ta", W, P)["t", "a"])
>>> formula
w*Sum(P[t, i]**2, (i, 0, d - 1))
>>> va.evaluate(formula, {n: 2, d: 2}, {"w": 10}, fixed={P: [[3, 4], [0, 1]]}, at={"t": 0})
250.0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .bindings import Bindings
from .inputs import Numbers, by_tensor, finite_array
from .polynomials import scalar
from .tensors import Leaf
from .text import shortened, shown


def evaluate(
    expression: Any,
    sizes: Mapping[Any, int],
    values: Mapping[Any, Any] | None = None,
    fixed: Mapping[Leaf | str, Any] | None = None,
    at: Mapping[str, int] | None = None,
) -> float:
    """The value of an expression that the engine returned, or of one that was rewritten from it.

    Sums must run over products of powers of the fixed tensors' entries.

    Args:
        expression: a SymPy expression or a number.
        sizes: a positive integer for each size, by symbol or name; more are ignored.
        values: a number for each scalar, by symbol or name; more are ignored.
        fixed: an array for each fixed tensor, by tensor or name.
        at: the index value of each letter that the expression shows.

    Raises:
        TypeError: if an argument is not of the kind described.
        ValueError: if a number, an array or a letter is missing or does not fit.
    """
    import sympy

    bindings = Bindings(sizes, values)
    arrays = {}
    for key, (name, value) in zip(fixed or {}, by_tensor("fixed", fixed), strict=True):
        shape = tuple(map(bindings.size, key.shape)) if isinstance(key, Leaf) else None
        arrays[name] = finite_array(f"fixed: {name}", value, shape)
    letters = {sympy.Symbol(letter, integer=True): value for letter, value in (at or {}).items()}
    whole = sympy.sympify(expression)
    parts = {
        part: sympy.Float(_sum(part, arrays, letters, bindings), 30)
        for part in whole.atoms(sympy.Sum) | _outside_sums(whole)
    }
    scalars = {
        symbol: sympy.Float(float(arrays[symbol.name]), 30)
        for symbol in whole.free_symbols
        if symbol.is_Symbol and symbol.name in arrays and not arrays[symbol.name].shape
    }
    return float(bindings.number(scalar(whole.xreplace(parts).xreplace(scalars))))


def _outside_sums(expression: Any) -> set[Any]:
    """Entries that no sum runs over."""
    import sympy

    replaced = expression.xreplace(dict.fromkeys(expression.atoms(sympy.Sum), 0))
    found: set[Any] = sympy.sympify(replaced).atoms(sympy.Indexed)
    return found


def _sum(
    part: Any, arrays: Mapping[str, Numbers], letters: Mapping[Any, int], b: Bindings
) -> float:
    """Contract the arrays over the summed indices."""
    import sympy

    body, limits = (part.function, part.limits) if isinstance(part, sympy.Sum) else (part, ())
    ranges = {
        index: range(int(b.number(scalar(low))), int(b.number(scalar(high))) + 1)
        for index, low, high in limits
    }
    labels = {index: label for label, index in enumerate(ranges)}
    total = 0.0
    for term in sympy.Add.make_args(sympy.expand(body)):
        rest = []
        operands: list[Any] = []
        for index, values in ranges.items():
            operands += [np.ones(len(values)), [labels[index]]]
        for factor in sympy.Mul.make_args(term):
            base, power = factor.as_base_exp()
            if isinstance(base, sympy.Indexed) and power.is_Integer and power > 0:
                array, shown_indices = _entry(base, arrays, letters, ranges)
                operands += [array, [labels[index] for index in shown_indices]] * int(power)
            else:
                rest.append(factor)
        coefficient = float(b.number(scalar(sympy.Mul(*rest))))
        total += coefficient * float(np.einsum(*operands, [], optimize="greedy"))
    return total


def _entry(
    entry: Any,
    arrays: Mapping[str, Numbers],
    letters: Mapping[Any, int],
    ranges: Mapping[Any, range],
) -> tuple[Numbers, list[Any]]:
    """The part of an array that a sum's indices run over, and these indices."""
    name = str(entry.base.label)
    if name not in arrays:
        raise ValueError(f"fixed: no array for {shortened(name)}; accepted: one for each tensor")
    array = arrays[name]
    if array.ndim != len(entry.indices):
        raise ValueError(f"fixed: {name}: got {array.ndim} indices; accepted: {len(entry.indices)}")
    place: list[Any] = []
    for index, size in zip(entry.indices, array.shape, strict=True):
        if index in ranges:
            place.append(slice(ranges[index].start, ranges[index].stop))
            inside = ranges[index].start >= 0 and ranges[index].stop <= size
        elif index.is_Integer or index in letters:
            place.append(int(index) if index.is_Integer else letters[index])
            inside = 0 <= place[-1] < size
        else:
            raise ValueError(f"at: no value for letter {index}; accepted: one for each letter")
        if not inside:
            raise ValueError(
                f"fixed: {name}: index {shown(str(index))} runs beyond its size {size}"
            )
    return array[tuple(place)], [index for index in entry.indices if index in ranges]
