"""The record of one stage: what becomes of its entries when they are rounded to a format."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any

from varprop.fields.validation import double_precision
from varprop.spec import TransformerSpec

from . import projections, rows
from .formats import Format
from .rounding import rounding_variance, second_moment
from .rows import Law

LAWS: dict[str, Callable[[TransformerSpec], Law]] = {
    "embedding": lambda spec: rows.table(spec, scaled=False),
    "scaled_embedding": lambda spec: rows.table(spec, scaled=True),
    "position": rows.position,
    "input": rows.input_row,
    "normed_input": rows.normed_row,
    "query": lambda spec: projections.projected(spec, "query"),
    "key": lambda spec: projections.projected(spec, "key"),
    "scores": lambda spec: projections.score(spec, 1.0, own=False),
    "logits": lambda spec: projections.score(spec, float(spec.logit_scale), own=False),
    "self_scores": lambda spec: projections.score(spec, 1.0, own=True),
    "self_logits": lambda spec: projections.score(spec, float(spec.logit_scale), own=True),
    "output_logits": projections.output_logit,
    "scaled_query": lambda spec: projections.projected(spec, "query", float(spec.logit_scale)),
}
"""What gives the law of a stage's entry; a stage without one is not in the mapping."""

NUMBERS = (
    "overflow_probability",
    "any_overflow_probability",
    "subnormal_share",
    "zero_share",
    "rounding_variance",
    "rounding_noise_ratio",
)


def number(compute: Callable[[StagePrecision], Any]) -> cached_property[Any]:
    """A number that is computed when it is first read, and refused beyond double precision."""

    @wraps(compute)
    def read(record: StagePrecision) -> Any:
        with double_precision(f"{record.stage}.{compute.__name__}"):
            return compute(record)

    return cached_property(read)


class StagePrecision:
    """What becomes of a stage's entries in a format; each number is computed when it is read.

    A probability or share is None where the stage's law is not known; `method` says why, or how
    it is known: exact (to quadrature's rounding), quadrature, or asymptotic with what is neglected.
    """

    stage: str
    entries: int
    _format: Format
    _spec: TransformerSpec

    def __init__(self, stage: str, spec: TransformerSpec, form: Format, entries: int) -> None:
        vars(self).update(stage=stage, entries=entries, _format=form, _spec=spec)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a StagePrecision is immutable, {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a StagePrecision is immutable, {name!r} cannot be deleted")

    @cached_property
    def _law(self) -> Law:
        return LAWS[self.stage](self._spec)

    @number
    def method(self) -> Any:
        """How the numbers are known, or why they are not."""
        return self._law.method

    @number
    def log_overflow_probability(self) -> Any:
        """Natural logarithm of the next, -inf where nothing can overflow."""
        entry = self._law.entry
        return None if entry is None else entry.log_tail(self._format.overflow)

    @property
    def overflow_probability(self) -> float | None:
        """That one entry does not stay finite."""
        log = self.log_overflow_probability
        return None if log is None else math.exp(log)

    @property
    def any_overflow_probability(self) -> float | None:
        """That any of `entries` entries does not stay finite, 1 - (1 - p)^entries.

        It takes the entries as independent, which those of a table are; those of one sequence
        share rows and weights, and the true probability is then usually lower.
        """
        p = self.overflow_probability
        if p is None or p >= 1:
            return p
        return -math.expm1(self.entries * math.log1p(-p))

    @number
    def subnormal_share(self) -> Any:
        """Of entries that become subnormal and not 0."""
        return self._between(self._format.nonzero, self._format.normal)

    @number
    def zero_share(self) -> Any:
        """Of entries that become 0."""
        return self._between(0.0, self._format.nonzero)

    def _between(self, low: float, high: float) -> float | None:
        entry = self._law.entry
        return None if entry is None else math.exp(entry.log_between(low, high))

    @number
    def rounding_variance(self) -> Any:
        """E[(rounded x - x)^2] given that the result is finite, to 1e-7 of itself.

        None where hardly any entry stays finite too.
        """
        entry = self._law.entry
        return None if entry is None else rounding_variance(entry, self._format)

    @number
    def rounding_noise_ratio(self) -> Any:
        """The same over E[x^2]; None for a stage that is always 0."""
        entry, added = self._law.entry, self.rounding_variance
        square = None if entry is None else second_moment(entry)
        return None if added is None or not square else added / square

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return numbers | {"entries": self.entries, "method": self.method}

    def __repr__(self) -> str:
        return f"<{self.stage} in {self._format.name}: overflow {self.overflow_probability}>"
