"""From a specification to its prediction.

>>> import varprop
>>> varprop.predict(d_model=512)["logits"].variance
2.25
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from varprop.moments import Moments, PlaceMoments
from varprop.normalisation.limits import check_length
from varprop.spec import TransformerSpec, resolve
from varprop.stages import OUTCOMES, STAGES
from varprop.stages.context import Context
from varprop.stages.mapping import FrontMapping


class Prediction(FrontMapping[Any]):
    """An immutable mapping of stage name to :class:`Moments`; ``p.logits`` is ``p["logits"]``.

    It lists the stages up to the logits, and answers to the later ones too; ``full()`` lists all.
    """

    __slots__ = ("_context",)
    _context: Context

    def __init__(self, spec: TransformerSpec, full: bool = False) -> None:
        context = Context(spec)
        stages: dict[str, Any] = {
            name: Moments(stage, context) for name, stage in STAGES.items() if stage.present(spec)
        }
        later = {name: None for name, outcome in OUTCOMES.items() if outcome.present(spec)}
        self._set(_context=context, _stages=stages | later, _full=full)

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if found is None:  # an outcome, whose class is imported when it is first read
            outcome = OUTCOMES[name]
            module, _, kind = outcome.moments.partition(":")
            found = self._stages[name] = getattr(import_module(module), kind)(outcome, self)
        return found

    def full(self) -> Prediction:
        """The same prediction with every stage listed, those behind the logits included."""
        return Prediction(self.spec, full=True)

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

        moments = self[stage]
        if stage in OUTCOMES:
            raise ValueError(f"stage: {stage} is found by quadrature and has no formula")
        return formula(self.spec, moments, attribute)

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
        if stage in OUTCOMES:
            raise ValueError(f"stage: {stage} is known on average over places only")
        given = {"position": position, "channel": channel, "i": i, "j": j}
        place, held = locate(self.spec, STAGES[stage], given, same_token)
        found: PlaceMoments = moments.at(place, held, same_token)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready data: the spec and every stage's attributes."""
        return {
            "spec": self.spec.to_dict(),
            "stages": {name: m.to_dict() for name, m in self.items()},
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Prediction, (self.spec, self._full)

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
    check_length(resolved)
    return Prediction(resolved)
