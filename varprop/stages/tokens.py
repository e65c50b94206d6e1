"""The table's rows, the factor, the positions, and their sum."""

from __future__ import annotations

from varprop.positions import Learned, Sinusoidal

from .stage import Definition, Stage

ROWS = Definition(
    name="rows",
    place=lambda model, t: model.rows(t),
    labels="t",
    channels=True,
    reads=("own", "position", "mask", "normed"),
)

STAGES = (
    Stage("embedding", ROWS, rows="table"),
    Stage("scaled_embedding", ROWS, rows="scaled"),
    Stage("position", ROWS, rows="position", present=lambda spec: isinstance(spec.position, (Sinusoidal, Learned))),
    Stage("input", ROWS, rows="input"),
    Stage("normed_input", ROWS, rows="normed", present=lambda spec: spec.norm is not None),
)
