"""The table's rows, the factor, the positions, their sum, and its norm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from varprop.norms import LayerNorm
from varprop.positions import Learned, Sinusoidal

from .stage import Definition, Stage

if TYPE_CHECKING:
    from varprop.simulation.draws import Array, Draws
    from varprop.spec import TransformerSpec

ROWS = Definition(
    name="rows",
    place=lambda model, t: model.rows(t),
    labels="t",
    channels=True,
    reads=("own", "position", "mask", "normed"),
    turns=False,
)


def _has_added_position(spec: TransformerSpec) -> bool:
    return isinstance(spec.position, Learned | Sinusoidal)


def _input(draws: Draws) -> Array:
    total = draws["scaled_embedding"]
    if _has_added_position(draws.spec):
        total = total + draws["position"]
    if draws.spec.segment is not None:
        total = total + draws["segment_row"]
    return total * draws["mask"] if draws.spec.dropout else total


def _normed_input(draws: Draws) -> Array:
    row = draws["input"]
    if isinstance(draws.spec.norm, LayerNorm):
        row = row - row.mean(axis=-1, keepdims=True)
    square = np.square(row).mean(axis=-1, keepdims=True)
    normed: Array = row / np.sqrt(square + draws.spec.number("norm.eps"))
    return normed


STAGES = (
    Stage("embedding", ROWS, lambda draws: draws["rows"], rows="table"),
    Stage(
        "scaled_embedding",
        ROWS,
        lambda draws: draws.spec.embedding_scale * draws["embedding"],
        rows="scaled",
    ),
    Stage(
        "position",
        ROWS,
        lambda d: d["learned_rows" if isinstance(d.spec.position, Learned) else "sinusoids"],
        rows="position",
        present=_has_added_position,
    ),
    Stage("input", ROWS, _input, rows="input"),
    Stage(
        "normed_input",
        ROWS,
        _normed_input,
        rows="normed",
        present=lambda spec: spec.norm is not None,
    ),
)
