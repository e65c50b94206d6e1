"""Numbers as users give them: Python or NumPy scalars, text, arrays; checked and made uniform."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from varprop.expressions import FIELDS, Expression, constant, parse
from varprop.fields.validation import refusal

Floats = np.ndarray[Any, np.dtype[np.float64]]

WIDEST, MOST_ROWS = 2**20, 10**12
"""Limits of widths and numbers of heads, and of lengths and vocabularies."""


def as_number(value: object, field: str, names: tuple[str, ...] = FIELDS) -> Expression | Floats:
    """Return a number, an expression or an array of numbers in the form that specs keep.

    Raises:
        TypeError: `value` is none of these (booleans are no numbers).
        ValueError: It is not finite, or the text is no expression.
    """
    if isinstance(value, str):
        return parse(value, field, names)
    if isinstance(value, Expression):
        if value.names <= set(names):
            return Expression(value.text, value.program, field, " ".join(value.names))
        return parse(value.text, field, names)  # which refuses the name
    if isinstance(value, (np.ndarray, list, tuple)):
        array = as_array(value, field, "iuf").astype(np.float64)
        if not np.isfinite(array).all():
            raise ValueError(refusal(field, "finite in every entry", array[~np.isfinite(array)][0]))
        array.flags.writeable = False
        return array if array.ndim else as_number(float(array), field, names)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(refusal(field, "a number, an expression or an array of numbers", value))
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not -float("inf") < number < float("inf"):
        raise ValueError(refusal(field, "a finite number", value))
    return constant(number, field)


def as_array(value: object, field: str, kinds: str) -> np.ndarray[Any, Any]:
    """Return an array (or list) of numbers of one of the NumPy `kinds`, not empty.

    Raises:
        TypeError: An entry is of another kind (booleans are no numbers).
        ValueError: It is empty or ragged.
    """
    wanted = "an array of integers" if kinds == "iu" else "an array of real numbers"
    if not isinstance(value, np.ndarray):
        entries = np.array(value, dtype=object).ravel()
        if any(isinstance(entry, (bool, np.bool_)) for entry in entries):
            raise TypeError(refusal(field, wanted, value))
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(refusal(field, wanted, value)) from None
    if array.dtype.kind not in kinds:
        raise TypeError(refusal(field, wanted, value))
    if array.size == 0:
        raise ValueError(refusal(field, f"{wanted} with at least one entry", value))
    return array


def integer(value: object, field: str) -> Any:
    """Return a positive integer, or an int64 array of them, within the limit of its field.

    Raises:
        TypeError: It is no integer (booleans, floats and text are none).
        ValueError: It is out of range.
    """
    highest = WIDEST if field in ("d_model", "n_heads", "d_head") else MOST_ROWS
    accepted = f"an integer from 1 to {highest}"
    if isinstance(value, (np.ndarray, list, tuple)):
        array = as_array(value, field, "iu")
        wrong = (array < 1) | (array > highest)
        if wrong.any():
            raise ValueError(refusal(field, accepted, int(array[wrong][0])))
        array = array.astype(np.int64)
        array.flags.writeable = False
        return array if array.ndim else int(array)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(refusal(field, accepted, value))
    if not 1 <= value <= highest:
        raise ValueError(refusal(field, accepted, int(value)))
    return int(value)
