"""What `varprop.precision` returns: a record for each stage, and what is rounded only once."""

from __future__ import annotations

from operator import index
from typing import Any

from varprop.fields.validation import refusal
from varprop.moments import plain
from varprop.predict import Prediction
from varprop.spec import TransformerSpec, resolve
from varprop.stages import OUTCOMES, STAGES
from varprop.stages.mapping import StageMapping

from .formats import Format, format_named
from .record import LAWS, StagePrecision
from .scaling import QueryScaling

__all__ = ["Precision", "StagePrecision", "from_arguments", "tensor_size"]


class Precision(StageMapping[StagePrecision]):
    """An immutable mapping of stage name to :class:`StagePrecision`, and what is rounded once."""

    __slots__ = ("_entries", "_format", "spec")
    spec: TransformerSpec
    _format: Format
    _entries: int | None

    def __init__(self, spec: TransformerSpec, form: Format, entries: int | None) -> None:
        records = {
            name: StagePrecision(name, spec, form, entries or tensor_size(name, spec))
            for name, stage in (STAGES | OUTCOMES).items()
            if name in LAWS and stage.present(spec)
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
        return self._format.variance_factor(float(self.spec.embedding_scale))

    @property
    def eps(self) -> float | None:
        """The norm's eps after rounding; None without a norm."""
        if self.spec.norm is None:
            return None
        return self._format.rounded(float(self.spec.number("norm.eps")))

    @property
    def stall_length(self) -> int:
        """The number at which the running sum 1 + 1 + 1 + ... stalls."""
        return self._format.stall_length

    @property
    def query_scaling(self) -> QueryScaling:
        """Scaling the query before the product, against scaling the logits after it.

        Between different positions, or of a position with itself where there is only one.
        """
        spec, form = self.spec, self._format
        scale, own = float(spec.logit_scale), "" if "scores" in self else "self_"
        entries = self._entries or tensor_size("query", spec)
        return QueryScaling(
            scale,
            form.rounded(scale),
            form.variance_factor(scale),
            self[f"{own}scores"],
            self[f"{own}logits"],
            StagePrecision("scaled_query", spec, form, entries),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "dtype": self.dtype,
            "multiplier": plain(self.multiplier),
            "multiplier_variance_factor": plain(self.multiplier_variance_factor),
            "eps": plain(self.eps),
            "stall_length": self.stall_length,
            "query_scaling": self.query_scaling.to_dict(),
            "stages": {name: record.to_dict() for name, record in self.items()},
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Precision, (self.spec, self._format, self._entries)

    def __str__(self) -> str:
        from varprop.report.precision_table import precision_table

        return precision_table(self)

    def __repr__(self) -> str:
        return f"<Precision of {len(self)} stages in {self.dtype} for {self.spec!r}>"


def tensor_size(name: str, spec: TransformerSpec) -> int:
    """How many entries a stage's tensor has, for one sequence."""
    heads = 1 if spec.identity else spec.n_heads
    if name in ("embedding", "scaled_embedding"):
        return int(spec.vocab_size * spec.d_model)
    if name in ("query", "key"):
        return int(spec.seq_len * heads * spec.d_head)
    if name == "output_logits":
        return int(spec.seq_len * spec.vocab_size)
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
