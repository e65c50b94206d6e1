"""What the quadratures accept: checked variances, weights and shapes."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from varprop.fields.numeric import Floats, as_array
from varprop.fields.validation import refusal


def nonnegative(value: Any, name: str) -> Any:
    """Return a finite number >= 0 as a float, or an array of them as a read-only float64 array.

    Raises:
        TypeError: It is no number (booleans and text are none).
        ValueError: It is negative, infinite or nan, or the array is empty or ragged.
    """
    accepted = "finite and >= 0"
    if isinstance(value, (np.ndarray, list, tuple)):
        array = as_array(value, name, "iuf").astype(np.float64)
        wrong = ~((array >= 0) & (array < np.inf))
        if wrong.any():
            raise ValueError(refusal(name, f"{accepted} in every entry", float(array[wrong][0])))
        array.flags.writeable = False
        return array if array.ndim else float(array)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(refusal(name, "a number or an array of numbers", value))
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not 0 <= number < float("inf"):
        raise ValueError(refusal(name, accepted, value))
    return number


def mixture_weights(variances: Any, weights: Any) -> tuple[Floats, Floats]:
    """Return nodes and probabilities of a mixture, (k,) each.

    Raises:
        TypeError: One is no array of numbers.
        ValueError: An entry is negative or not finite, the shapes differ, or all weights are 0.
    """
    nodes, masses = nonnegative(variances, "variances"), nonnegative(weights, "weights")
    if np.ndim(nodes) != 1:
        raise ValueError(refusal("variances", "one-dimensional", variances))
    if np.shape(masses) != np.shape(nodes):
        accepted = f"an array of the shape of variances, {np.shape(nodes)}"
        raise ValueError(refusal("weights", accepted, weights))
    largest = masses.max()
    if largest == 0:
        raise ValueError(refusal("weights", "positive somewhere", weights))
    scaled = masses / largest  # whose sum cannot overflow
    kept = scaled > 0
    return nodes[kept], scaled[kept] / scaled.sum()


def require_broadcast(**arguments: Any) -> None:
    """Refuse arguments whose shapes do not broadcast.

    Raises:
        ValueError: They do not.
    """
    shapes = {name: np.shape(value) for name, value in arguments.items()}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        given = " and ".join(str(shape) for shape in shapes.values())
        raise ValueError(
            f"{' and '.join(shapes)} must broadcast, got the shapes {given}"[:290]
        ) from None
