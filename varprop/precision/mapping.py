"""The records that `varprop.precision` returns, one for each stage."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from operator import index
from typing import Any

from varprop.fields.validation import refusal
from varprop.predict import Prediction
from varprop.spec import TransformerSpec, resolve
from varprop.stages import STAGES
from varprop.stages.mapping import StageMapping

from . import projections, rows
from .formats import Format, format_named
from .rows import Law

_LAWS: dict[str, Callable[[TransformerSpec], Law]] = {
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
}
SHARES = ("overflow_probability", "any_overflow_probability", "subnormal_share", "zero_share")


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

    @cached_property
    def _law(self) -> Law:
        return _LAWS[self.stage](self._spec)

    @property
    def method(self) -> str:
        """How the numbers are known, or why they are not."""
        return self._law.method

    @cached_property
    def log_overflow_probability(self) -> float | None:
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

    @cached_property
    def subnormal_share(self) -> float | None:
        """Of entries that become subnormal and not 0."""
        return self._between(self._format.nonzero, self._format.normal)

    @cached_property
    def zero_share(self) -> float | None:
        """Of entries that become 0."""
        return self._between(0.0, self._format.nonzero)

    def _between(self, low: float, high: float) -> float | None:
        entry = self._law.entry
        return None if entry is None else math.exp(entry.log_between(low, high))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        numbers = {name: getattr(self, name) for name in SHARES}
        return numbers | {"entries": self.entries, "method": self.method}

    def __repr__(self) -> str:
        return f"<{self.stage} in {self._format.name}: overflow {self.overflow_probability}>"


class Precision(StageMapping[StagePrecision]):
    """An immutable mapping of stage name to :class:`StagePrecision`, and what is rounded once."""

    __slots__ = ("_entries", "_format", "spec")
    spec: TransformerSpec
    _format: Format
    _entries: int | None

    def __init__(self, spec: TransformerSpec, form: Format, entries: int | None) -> None:
        records = {
            name: StagePrecision(name, spec, form, entries or tensor_size(name, spec))
            for name, stage in STAGES.items()
            if stage.present(spec)
        }
        self._set(spec=spec, _format=form, _entries=entries, _stages=records)

    @property
    def dtype(self) -> str:
        """The format's name."""
        return self._format.name

    @property
    def multiplier(self) -> float:
        """The embedding's factor after rounding."""
        return self._format.rounded(float(self.spec.embedding_scale))

    @property
    def multiplier_variance_factor(self) -> float:
        """What the rounded factor makes of the variance, relative to the exact one."""
        scale = float(self.spec.embedding_scale)
        return (self.multiplier / scale) ** 2 if scale else 1.0

    @property
    def eps(self) -> float | None:
        """The norm's eps after rounding; None without a norm."""
        if self.spec.norm is None:
            return None
        return self._format.rounded(float(self.spec.value("norm.eps")))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "dtype": self.dtype,
            "multiplier": self.multiplier,
            "multiplier_variance_factor": self.multiplier_variance_factor,
            "eps": self.eps,
            "stages": {name: record.to_dict() for name, record in self.items()},
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Precision, (self.spec, self._format, self._entries)

    def __repr__(self) -> str:
        return f"<Precision of {len(self)} stages in {self.dtype} for {self.spec!r}>"


def tensor_size(name: str, spec: TransformerSpec) -> int:
    """How many entries a stage's tensor has, for one sequence."""
    heads = 1 if spec.identity else spec.n_heads
    if name in ("embedding", "scaled_embedding"):
        return int(spec.vocab_size * spec.d_model)
    if name in ("query", "key"):
        return int(spec.seq_len * heads * spec.d_head)
    if STAGES[name].is_vector:
        return int(spec.seq_len * spec.d_model)
    return int(heads * spec.seq_len * (spec.seq_len - 1 if STAGES[name].is_pair else 1))


def from_arguments(given: Any, dtype: object, entries: Any, fields: dict[str, Any]) -> Precision:
    """Check the arguments and compute."""
    form = format_named(dtype)
    if entries is not None:
        if isinstance(entries, bool) or not hasattr(entries, "__index__"):
            raise TypeError(refusal("entries", "an integer above 0", entries))
        entries = index(entries)
        if entries < 1:
            raise ValueError(refusal("entries", "an integer above 0", entries))
    spec = resolve(given.spec if isinstance(given, Prediction) else given, fields)
    if spec.has_arrays:
        raise ValueError(refusal("spec", "one of single numbers, without arrays", spec))
    return Precision(spec, form, entries)
