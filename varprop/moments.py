"""The attributes of a stage, computed from closed forms per place when they are read."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, wraps
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from varprop.fields.validation import double_precision
from varprop.stages.context import Context
from varprop.stages.pooling import Pooled, PooledAfterNorm
from varprop.stages.rows import is_zero
from varprop.stages.stage import Stage

ATTRIBUTES = (
    "mean",
    "variance",
    "ensemble_variance",
    "second_moment",
    "std",
    "excess_kurtosis",
    "cross_position_moment",
    "row_variance",
)


def attribute(compute: Callable[[Moments], Any]) -> cached_property[Any]:
    """A lazily computed attribute whose overflow is an error with a name, not an infinity.

    Raises (when read):
        ValueError: if a number leaves the range of double precision.
    """

    @wraps(compute)
    def read(moments: Moments) -> Any:
        with double_precision(f"{moments.stage.name}.{compute.__name__}"):
            return compute(moments)

    return cached_property(read)


class PlaceMoments(NamedTuple):
    """One place of a stage: mean, variance over draws, mean square; None where not known."""

    mean: float | None
    variance: float | None
    second_moment: float | None


class Moments:
    """What is known of one stage; each attribute is computed when it is first read.

    Values are floats, arrays where fields are arrays (nan where nothing is known), or None; see
    :mod:`varprop.stages.pooling` for how they follow from closed forms per place.
    """

    stage: Stage
    _context: Context

    def __init__(self, stage: Stage, context: Context) -> None:
        vars(self).update(stage=stage, _context=context)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Moments are immutable, {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Moments are immutable, {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        from varprop.predict import Prediction  # a stage holds functions that have no name

        return getitem, (Prediction(self._context.spec), self.stage.name)

    @cached_property
    def _method(self) -> tuple[str, float]:
        if not self._context.structure(self.stage.rows).normed:
            return "exact", 0.0
        return self._context.normed.method(self.stage)

    @attribute
    def method(self) -> Any:
        """How the attributes are known: "exact", "quadrature", "asymptotic: ...", or why not."""
        return self._method[0]

    @attribute
    def error(self) -> Any:
        """The relative error of second moments that an asymptotic method states, else 0."""
        return self._method[1]

    def error_of(self, attribute: str) -> float:
        """The relative error of one attribute."""
        return float(self.error)

    @cached_property
    def _pooled(self) -> Pooled | PooledAfterNorm:
        normed = self._context.structure(self.stage.rows).normed
        return (PooledAfterNorm if normed else Pooled)(self.stage, self._context)

    @attribute
    def mean(self) -> Any:
        """Average over draws, positions, channels."""
        return self._finished(self._pooled.mean())

    @attribute
    def ensemble_variance(self) -> Any:
        """Variance over draws at one fixed place, averaged over places."""
        return self._finished(self._pooled.ensemble_variance)

    @attribute
    def variance(self) -> Any:
        """Variance over draws, positions and channels together."""
        return self._finished(self._pooled.variance)

    @attribute
    def second_moment(self) -> Any:
        """Mean square: variance + mean^2."""
        return self._finished(self._pooled.second_moment())

    @attribute
    def std(self) -> Any:
        """Square root of the variance."""
        variance = self._pooled.variance
        return self._finished(None if variance is None else self._context.functions.sqrt(variance))

    @attribute
    def excess_kurtosis(self) -> Any:
        """Of the pooled distribution; None where the variance is 0."""
        variance = self._pooled.variance
        if variance is None or is_zero(variance):
            return None
        fourth = self._pooled.fourth_cumulant()
        return self._finished(None if fourth is None else fourth / nonzero(variance) / variance)

    @attribute
    def cross_position_moment(self) -> Any:
        """Mean over positions t != s and channels c of E[x_tc x_sc]; vectors only."""
        if not self.stage.is_vector:
            return None
        return self._finished(self._pooled.cross_position_moment(), positions=2)

    @attribute
    def row_variance(self) -> Any:
        """Mean of E[l_ij^2] - E[l_ij l_ij'] over distinct i, j, j'; scores and logits only."""
        if not self.stage.is_pair:
            return None
        return self._finished(self._pooled.row_variance(), positions=3)

    @attribute
    def shares(self) -> Any:
        """The input's second moment split over embedding, position and segment; else None."""
        return input_shares(self._context) if self.stage.name == "input" else None

    def at(
        self, place: dict[str, int], channel: int | None, same_token: bool | None
    ) -> PlaceMoments:
        """Mean, variance over draws and mean square at one place."""
        with double_precision(f"{self.stage.name}.at"):
            return PlaceMoments(*map(self._finished, self._pooled.at(place, channel, same_token)))

    def to_dict(self) -> dict[str, Any]:
        """The attributes as plain data."""
        data: dict[str, Any] = {name: plain(getattr(self, name)) for name in ATTRIBUTES}
        if self.shares is not None:
            data["shares"] = {part: plain(share) for part, share in self.shares.items()}
        return data | {"method": self.method}

    def __repr__(self) -> str:
        return f"<Moments of {self.stage.name}: mean {self.mean}, variance {self.variance}>"

    def _finished(self, value: Any, positions: int = 1) -> Any:
        """Plain float, or array in the spec's shape; None where nothing is known."""
        spec, functions = self._context.spec, self._context.functions
        needed = max(positions, len(self.stage.definition.labels))
        if functions.symbolic or value is None:
            return value
        # Python's floats let infinity minus infinity pass; nan is what an array says for None.
        if np.isinf(value).any() or not (spec.shape or np.isfinite(value)):
            raise OverflowError
        if not spec.shape:
            return None if spec.seq_len < needed else float(value)
        result = np.array(np.broadcast_to(value, spec.shape), dtype=float)
        result[np.broadcast_to(spec.seq_len < needed, spec.shape)] = np.nan
        return result


def input_shares(context: Context) -> dict[str, Any]:
    """What fraction of E[x^2] each summand of the input holds; None for each where that is 0.

    A part holds (E[part^2] + E[part] E[others]) / E[x^2]; the fractions add to 1.
    """
    from varprop.stages import STAGES

    parts: dict[str, tuple[Any, Any]] = {}
    for name, stage in (("embedding", "scaled_embedding"), ("position", "position")):
        moments = Moments(STAGES[stage], context)
        present = STAGES[stage].present(context.spec)
        parts[name] = (moments.mean, moments.second_moment) if present else (0.0, 0.0)
    parts["segment"] = (0.0, 0.0)
    if context.spec.segment is not None:
        drawn = context.distribution("segment")
        parts["segment"] = (drawn.cumulant(1), drawn.cumulant(2) + drawn.cumulant(1) ** 2)
    mean = sum(first for first, _ in parts.values())
    held = {name: second + first * (mean - first) for name, (first, second) in parts.items()}
    total = sum(held.values())
    if is_zero(total):
        return dict.fromkeys(held)
    return {name: value / nonzero(total) for name, value in held.items()}


def nonzero(value: Any) -> Any:
    """Put nan for 0 in an array: nothing is known there."""
    return np.where(value == 0, np.nan, value) if isinstance(value, np.ndarray) else value


def plain(value: Any) -> Any:
    """A value as JSON-ready data, None for what JSON cannot say: nan and infinity."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
