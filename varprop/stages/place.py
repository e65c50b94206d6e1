"""Places: which position, channel or pair of positions an entry belongs to."""

from __future__ import annotations

from typing import Any

from varprop.fields.validation import shorten
from varprop.spec import TransformerSpec

from .stage import Stage


def locate(
    spec: TransformerSpec, stage: Stage, given: dict[str, Any], same_token: bool | None
) -> tuple[dict[str, int], int | None]:
    """Positions by label, and the channel, of a place that was given by name.

    Raises:
        ValueError: if a coordinate is missing, superfluous, or out of range.
        TypeError: if a coordinate is not an integer.
    """
    if spec.shape:
        raise ValueError(
            f"at: the spec holds arrays of shape {spec.shape}; accepted: a spec of single numbers"
        )
    names = (
        ("position", "channel") if stage.is_vector else ("i", "j")[: len(stage.definition.labels)]
    )
    for name, value in given.items():
        if name not in names and value is not None:
            raise ValueError(
                f"{name}: {stage.name} has no such coordinate; accepted: {', '.join(names)}"
            )
    if same_token is not None and (not stage.is_pair or not isinstance(same_token, bool)):
        raise ValueError(
            f"same_token: got {shorten(same_token)} for {stage.name}; accepted: True or False, "
            "for scores and logits"
        )
    width = getattr(spec, stage.definition.width)
    for name in names:
        limit = width if name == "channel" else spec.seq_len
        value = given[name]
        if value is None:
            raise ValueError(f"{name}: missing; accepted: {', '.join(names)} for {stage.name}")
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(
                f"{name}: got {str(value)[:40]!r}; accepted: an integer from 0 to {limit - 1}"
            )
        if not 0 <= value < limit:
            raise ValueError(
                f"{name}: got {str(value)[:40]}; accepted: an integer from 0 to {limit - 1}"
            )
    positions = [given[name].__index__() for name in names if name != "channel"]
    if len(set(positions)) < len(positions):
        raise ValueError(
            f"j: got {positions[1]}, which is i; accepted: another position "
            f"(self_{stage.name} is for i = j)"
        )
    channel = given["channel"].__index__() if stage.is_vector else None
    return dict(zip("ts", positions, strict=False)), channel
