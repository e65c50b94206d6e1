"""Checked inputs of a simulation: arrays for the fixed tensors, values for the letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bindings import Bindings
from .tensors import Leaf
from .text import shortened, shown

Numbers = NDArray[np.float64]


def fixed_arrays(fixed: Any, leaves: Iterable[Leaf], bindings: Bindings) -> dict[str, Numbers]:
    """The array of each fixed tensor, by name.

    Raises:
        TypeError: if ``fixed`` is no mapping, or a key no fixed tensor.
        ValueError: if one is missing, of the wrong shape, or not of finite real numbers.
    """
    given = dict(by_tensor("fixed", fixed))
    arrays = {}
    for leaf in leaves:
        name = leaf.name
        if leaf.law is not None:
            if name in given:
                raise ValueError(f"fixed: {name} is random; accepted: fixed tensors")
            continue
        shape = tuple(map(bindings.size, leaf.shape))
        if name not in given:
            raise ValueError(f"fixed: no array for {name}; accepted: an array of shape {shape}")
        arrays[name] = finite_array(f"fixed: {name}", given[name], shape)
    return arrays


def finite_array(what: str, value: Any, shape: tuple[int, ...] | None = None) -> Numbers:
    """Check an array of finite real numbers, and its shape where one is given.

    Raises:
        ValueError: says what came and what is accepted.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{what}: got {shown(value)}; accepted: an array of real numbers")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{what}: got shape {array.shape}; accepted: {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what}: got nan or inf; accepted: finite numbers")
    return array.astype(np.float64)


def letter_values(at: Any, letters: Mapping[str, Any], bindings: Bindings) -> dict[str, int]:
    """An index value for each letter: that in ``at``, else the least free one of its dimension.

    Args:
        at: index values by letter, or None.
        letters: the dimension of each letter, in order of appearance.
        bindings: numbers of the dimensions.

    Raises:
        TypeError: if ``at`` is no mapping.
        ValueError: if a value is out of range, given twice in a dimension, or none is left.
    """
    if not isinstance(at, Mapping | None):
        raise TypeError(f"at: got {shown(at)}; accepted: a mapping of letters to index values")
    chosen: dict[str, int] = {}
    taken: dict[Any, set[int]] = {}
    for letter, value in (at or {}).items():
        if letter not in letters:
            known = ", ".join(letters) or "no letters"
            raise ValueError(f"at: no letter {shown(letter)}; accepted: {shortened(known)}")
        size = bindings.size(letters[letter])
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not 0 <= value < size:
            raise ValueError(f"at: {letter} is {shown(value)}; accepted: 0 to {size - 1}")
        values = taken.setdefault(letters[letter], set())
        if value in values:
            raise ValueError(
                f"at: {letter} is {value}, as another letter; accepted: different values"
            )
        values.add(int(value))
        chosen[letter] = int(value)
    for letter, dimension in letters.items():
        if letter not in chosen:
            values, size = taken.setdefault(dimension, set()), bindings.size(dimension)
            if len(values) >= size:
                needed = sum(other == dimension for other in letters.values())
                raise ValueError(
                    f"sizes: {dimension} is {size}, too small for {needed} different letters; "
                    f"accepted: at least {needed}"
                )
            chosen[letter] = next(value for value in range(size) if value not in values)
            values.add(chosen[letter])
    return chosen


def by_tensor(argument: str, given: Any) -> Iterator[tuple[str, Any]]:
    """The items of a mapping whose keys are named tensors or their names.

    Raises:
        TypeError: if it is no mapping, or a key neither.
    """
    if not isinstance(given, Mapping | None):
        raise TypeError(f"{argument}: got {shown(given)}; accepted: a mapping of tensors")
    for key, value in (given or {}).items():
        if not isinstance(key, Leaf | str):
            raise TypeError(f"{argument}: key {shown(key)}; accepted: a named tensor, or its name")
        yield (key if isinstance(key, str) else key.name), value
