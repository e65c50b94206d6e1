"""Polynomials in contractions of the fixed encodings with numbers for coefficients, averaged."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .derivation import Parts

Average = Callable[[Parts], Any]


class PlacePolynomial(dict[Parts, Any]):
    """What a closed form becomes when its scalars have values: a function of the place."""

    def __add__(self, other: PlacePolynomial) -> PlacePolynomial:
        result = PlacePolynomial(self)
        for parts, coefficient in other.items():
            result._accumulate(parts, coefficient)
        return result

    def __mul__(self, other: PlacePolynomial) -> PlacePolynomial:
        result = PlacePolynomial()
        for (left, a), (right, b) in product(self.items(), other.items()):
            both = tuple(sorted(left + right)) if left and right else left or right
            result._accumulate(both, a * b)
        return result

    def _accumulate(self, parts: Parts, coefficient: Any) -> None:
        self[parts] = self[parts] + coefficient if parts in self else coefficient

    def scaled(self, factor: Any) -> PlacePolynomial:
        """Multiply every coefficient."""
        return PlacePolynomial({parts: factor * coefficient for parts, coefficient in self.items()})

    def __sub__(self, other: PlacePolynomial) -> PlacePolynomial:
        return self + other.scaled(-1)

    def constant(self) -> Any:
        """The part that is the same at every place."""
        return self.get((), 0)

    def moving(self) -> PlacePolynomial:
        """The part that depends on the place."""
        return PlacePolynomial({parts: coefficient for parts, coefficient in self.items() if parts})

    def averaged(self, average: Average) -> Any:
        """The mean over places, or None where an average that is needed is not known."""
        total: Any = self.constant()
        for parts, coefficient in self.moving().items():
            if _is_structural_zero(coefficient):
                continue
            mean = average(parts)
            if mean is None and not isinstance(coefficient, np.ndarray):
                return None
            total = total + (unknown(coefficient) if mean is None else times(coefficient, mean))
        return total

    def variance(self, average: Average) -> Any:
        """The variance over places, or None where an average that is needed is not known.

        What is the same everywhere is left out before anything is squared, so nothing cancels.
        """
        moving = self.moving()
        square = (moving * moving).averaged(average)
        mean = moving.averaged(average)
        return None if square is None or mean is None else square - mean * mean

    def relabelled(self, names: dict[str, str]) -> PlacePolynomial:
        """The same function of other positions: replace labels such as s by r."""
        return PlacePolynomial(
            {rename(parts, names): coefficient for parts, coefficient in self.items()}
        )


def times(coefficient: Any, mean: Any) -> Any:
    """Their product; where an array of coefficients is 0, what is unknown does not matter."""
    if isinstance(coefficient, np.ndarray) and isinstance(mean, np.ndarray):
        return np.where(coefficient == 0, 0.0, coefficient * mean)
    return coefficient * mean


def unknown(coefficients: NDArray[Any]) -> NDArray[Any]:
    """What is left of coefficients times an unknown number: 0 where they are 0, else nan."""
    return np.where(coefficients == 0, 0.0, np.nan)


def rename(parts: Parts, names: dict[str, str]) -> Parts:
    """Replace the labels of positions in a product of contractions."""
    table = str.maketrans(names)

    def renamed(name: str) -> str:
        kind, _, labels = name.partition("_")
        return f"{kind}_{labels.translate(table)}"

    return tuple(
        sorted(tuple(sorted((renamed(n), indices) for n, indices in part)) for part in parts)
    )


@lru_cache(maxsize=8192)
def exchanged(parts: Parts) -> Parts:
    """One representative of all products that average alike, differing only in labels."""
    labels = sorted(
        {label for part in parts for name, _ in part for label in name.partition("_")[2]}
    )
    first = "tsr"[: len(labels)]
    return max(
        rename(parts, dict(zip(labels, order, strict=True))) for order in permutations(first)
    )


def _is_structural_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value == 0
