"""From a specification to its prediction.

>>> import varprop
>>> varprop.predict(d_model=512)["logits"].variance
2.25
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from varprop.fields.validation import shorten
from varprop.moments import ATTRIBUTES, Moments, PlaceMoments
from varprop.spec import TransformerSpec
from varprop.stages import STAGES
from varprop.stages.context import Context


class Prediction(Mapping[str, Moments]):
    """An immutable mapping of stage name to :class:`Moments`; ``p.logits`` is ``p["logits"]``."""

    __slots__ = ("_context", "_stages")
    _context: Context
    _stages: dict[str, Moments]

    def __init__(self, spec: TransformerSpec) -> None:
        context = Context(spec)
        stages = {
            name: Moments(stage, context) for name, stage in STAGES.items() if stage.present(spec)
        }
        object.__setattr__(self, "_context", context)
        object.__setattr__(self, "_stages", stages)

    @property
    def spec(self) -> TransformerSpec:
        """The resolved specification."""
        return self._context.spec

    def formula(self, stage: str, attribute: str) -> Any:
        """The attribute as a SymPy expression in the integer fields, which are symbols of their
        names.

        Raises:
            KeyError: if the prediction has no such stage.
            ValueError: if there is no such attribute, a number of the spec is an array, or nothing
            exact
                is known.
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
            ValueError: if the place does not fit the stage or lies outside the sequence or the
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

    def __getitem__(self, name: str) -> Moments:
        if isinstance(name, str) and name in self._stages:
            return self._stages[name]
        known = isinstance(name, str) and name in STAGES
        reason = "absent with this spec" if known else "unknown"
        raise KeyError(f"stage {shorten(name)} is {reason}; accepted: {', '.join(self._stages)}")

    def __getattr__(self, name: str) -> Moments:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Prediction is immutable, {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Prediction is immutable, {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return Prediction, (self.spec,)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._stages]

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
    if resolved.norm is not None and _any_nonzero(resolved.norm.eps):
        raise ValueError(
            f"norm: eps={shorten(resolved.norm.eps)} cannot be predicted yet, because v/(v+eps) is "
            "not a polynomial of the draws; accepted: eps=0, for example norm='layernorm(eps=0)'"
        )
    return Prediction(resolved)


def resolve(spec: TransformerSpec | None, fields: dict[str, Any]) -> TransformerSpec:
    """Apply fields to a spec.

    Raises:
        TypeError: if ``spec`` is not a TransformerSpec; a preset's name is refused with the reason.
    """
    if isinstance(spec, TransformerSpec):
        return spec.replace(**fields) if fields else spec
    if spec is None:
        return TransformerSpec(**fields)
    if isinstance(spec, str):
        raise ValueError(
            f"spec: got the name {shorten(spec)}; presets and configuration files are not there "
            "yet; accepted: a TransformerSpec, or fields such as d_model=768"
        )
    raise TypeError(
        f"spec: got {type(spec).__name__}; accepted: a TransformerSpec, or fields such as "
        "d_model=768"
    )


def _any_nonzero(value: Any) -> bool:
    nonzero = value != 0
    return bool(nonzero.any()) if hasattr(nonzero, "any") else bool(nonzero)


__all__ = ["ATTRIBUTES", "Prediction", "predict", "resolve"]
