"""Stages that read normed rows y: what is known of products of these, put into closed forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from varprop.encodings.trigonometric import is_free

from .derivation import Parts
from .place_polynomials import PlacePolynomial, times

if TYPE_CHECKING:
    from varprop.normalisation.rows import NormedRows, Place

    from .context import Context
    from .stage import Stage


def split_normed(parts: Parts) -> tuple[Parts, Parts]:
    """Separate contractions that hold normed rows y from those of fixed encodings only."""
    normed = tuple(part for part in parts if any(name[0] == "y" for name, _ in part))
    return normed, tuple(part for part in parts if part not in normed)


def has_entry(parts: Parts) -> bool:
    """Whether a contraction shows the free index, a channel."""
    return any(map(is_free, parts))


class Normed:
    """The normed rows of a specification: of each of its points where it holds arrays."""

    def __init__(self, context: Context) -> None:
        self._context, self._spec = context, context.spec

    @cached_property
    def rows(self) -> list[NormedRows]:
        """For each point, in row-major order."""
        from varprop.normalisation.record import record_of
        from varprop.normalisation.rows import NormedRows

        return [NormedRows(record_of(one)) for one in self._context.points]

    def expectation(self, parts: Parts, tokens: str, place: Place | None = None) -> Any:
        """E of a product of contractions of y; None where it is not known, nan in an array."""
        if self._context.functions.symbolic:
            return self.rows[0].symbolic(parts, tokens, self._context.sizes["d_model"])
        return self._each(lambda rows: rows.expectation(parts, tokens, place))

    def average(self, parts: Parts, tokens: str, fixed_average: Callable[[Parts], Any]) -> Any:
        """The mean over places of a product of contractions of y and of rotations."""
        normed, fixed = split_normed(parts)
        factor = self.expectation(normed, tokens) if normed else 1
        if factor is None or not fixed:
            return factor
        if has_entry(normed) and has_entry(fixed):
            return 0 if isinstance(factor, float | int) and factor == 0 else None
        mean = fixed_average(fixed)
        return None if mean is None else factor * mean

    def anywhere(self, polynomial: PlacePolynomial, tokens: str) -> PlacePolynomial | None:
        """Put in what is the same at all places; None if something is not, or is not known."""
        from varprop.normalisation.rows import Place

        result = PlacePolynomial()
        for parts, coefficient in polynomial.items():
            normed, fixed = split_normed(parts)
            factor = self.expectation(normed, tokens, Place({}, 0)) if normed else 1
            if factor is not None:
                result = result + PlacePolynomial({fixed: times(coefficient, factor)})
            elif isinstance(coefficient, np.ndarray) or coefficient != 0:
                return None
        return result

    def spread(self, stage: Stage, weighted: list[tuple[Any, str, PlacePolynomial]]) -> Any:
        """The variance over places of a mean, with sinusoidal positions; None if not known.

        ``weighted`` holds the closed form of the mean for each pattern of tokens.
        """
        shape = self._spec.shape

        def one(rows: NormedRows, index: int) -> float | None:
            terms = [
                (_entry(weight, index, shape) * _entry(value, index, shape), tokens, parts)
                for weight, tokens, polynomial in weighted
                for parts, value in polynomial.items()
            ]
            return rows.spread(terms, stage.is_vector, len(stage.definition.labels))

        return self._collect([one(rows, index) for index, rows in enumerate(self.rows)])

    def method(self, stage: Stage) -> tuple[str, float]:
        """How a stage is known, and its relative error; the worst where there are several."""
        from varprop.normalisation.method import method_of

        positions = 1 if stage.is_vector else 2 if stage.is_pair else 0
        found = [
            method_of(rows, positions, bool(context.spec.token_repeat))
            for rows, context in zip(self.rows, self._context.points, strict=True)
        ]
        ranks = ("exact", "quadrature", "asymptotic", "not known")
        return max(
            found,
            key=lambda one: (ranks.index(one[0].partition(":")[0]), one[1]),
            default=("exact", 0.0),
        )

    def _each(self, evaluate: Callable[[NormedRows], float | None]) -> Any:
        return self._collect([evaluate(rows) for rows in self.rows])

    def _collect(self, values: list[float | None]) -> Any:
        if not self._spec.shape:
            return values[0]
        if all(value is None for value in values):
            return None
        filled = [np.nan if value is None else value for value in values]
        return np.array(filled).reshape(self._spec.shape)


def _entry(value: Any, index: int, shape: tuple[int, ...]) -> Any:
    """One point's entry of a number or an array that broadcasts to the spec's shape."""
    if not isinstance(value, np.ndarray):
        return value
    return float(np.broadcast_to(value, shape).ravel()[index])
