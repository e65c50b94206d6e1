"""From a specification to its prediction.

>>> import varprop
>>> varprop.predict(d_model=512)["logits"].variance
2.25
"""

from __future__ import annotations

from typing import Any

from varprop.fields.validation import shorten
from varprop.moments import Moments, PlaceMoments
from varprop.spec import TransformerSpec, resolve
from varprop.stages import STAGES
from varprop.stages.context import Context
from varprop.stages.mapping import StageMapping
from varprop.stages.rows import is_zero


class Prediction(StageMapping[Moments]):
    """An immutable mapping of stage name to :class:`Moments`; ``p.logits`` is ``p["logits"]``."""

    __slots__ = ("_context",)
    _context: Context

    def __init__(self, spec: TransformerSpec) -> None:
        context = Context(spec)
        stages = {
            name: Moments(stage, context) for name, stage in STAGES.items() if stage.present(spec)
        }
        self._set(_context=context, _stages=stages)

    @property
    def spec(self) -> TransformerSpec:
        """The resolved specification."""
        return self._context.spec

    def formula(self, stage: str, attribute: str) -> Any:
        """The attribute as a SymPy expression in symbols that are named like the integer fields.

        Raises:
            KeyError: if the prediction has no such stage.
            ValueError: if there is no such attribute, a number of the spec is an array, or nothing
                exact is known.
        """
        from varprop.stages.symbolic import formula

        return formula(self.spec, self[stage], attribute)

    def at(
        self,
        stage: str,
        *,
        position: int | None = None,
        channel: int | None = None,
        i: int | None = None,
        j: int | None = None,
        same_token: bool | None = None,
    ) -> PlaceMoments:
        """Mean, variance over draws and second moment at one place.

        Vector stages take ``position`` and ``channel``; scores and logits ``i``, ``j`` and,
        optionally, ``same_token`` (given that the two tokens are the same, or not); self_scores
        and self_logits ``i``.

        Raises:
            KeyError: if the prediction has no such stage.
            TypeError: if a coordinate is no integer.
            ValueError: if the place does not fit the stage, or lies outside the sequence or the
                channels.
        """
        from varprop.stages.place import locate

        moments = self[stage]
        given = {"position": position, "channel": channel, "i": i, "j": j}
        place, held = locate(self.spec, STAGES[stage], given, same_token)
        return moments.at(place, held, same_token)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready data: the spec and every stage's attributes."""
        return {
            "spec": self.spec.to_dict(),
            "stages": {name: m.to_dict() for name, m in self.items()},
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Prediction, (self.spec,)

    def __str__(self) -> str:
        from varprop.report.tables import prediction_table

        return prediction_table(self)

    def _repr_html_(self) -> str:
        from varprop.report.tables import prediction_html

        return prediction_html(self)

    def __repr__(self) -> str:
        return f"<Prediction of {len(self)} stages for {self.spec!r}>"


def predict(spec: TransformerSpec | None = None, /, **fields: Any) -> Prediction:
    """Predict every stage of a specification, exactly.

    ``predict()`` is the 2017 base model, ``predict(d_model=256)`` changes a field, ``predict(spec,
    seq_len=64)`` a field of a spec; defaults that were left out are resolved again.  Any numeric
    field may be an array.

    Raises:
        ValueError, TypeError: one line that names the field, what came and what is accepted.
    """
    resolved = resolve(spec, fields)
    if resolved.norm is not None and not is_zero(resolved.norm.eps):
        raise ValueError(
            f"norm: eps={shorten(resolved.norm.eps)} cannot be predicted yet, because v/(v+eps) is "
            "not a polynomial of the draws; accepted: eps=0, for example norm='layernorm(eps=0)'"
        )
    return Prediction(resolved)
