"""Events so rare that a simulation hardly sees them, whose standard errors therefore say nothing.

An average of N numbers between 0 and about 1 may be carried by rare numbers of size 1. Unless it is
at least ENOUGH / N, fewer than ENOUGH of them have been seen, and the spread between replicates
may be that of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from varprop.norms import LayerNorm
from varprop.simulate import choose_layout
from varprop.stages import OUTCOMES, STAGES
from varprop.stages.stage import Stage

if TYPE_CHECKING:
    from varprop.predict import Prediction

ENOUGH = 25
"""How many rare events a standard error takes: their number is known to a fifth then."""

FEWEST = 5
"""Degrees of freedom from which on the inverse of a chi-square number has a variance."""


def too_rare(prediction: Prediction, replicates: int, stage: str, attribute: str) -> bool:
    """Whether what decides an attribute may be too rare for this many replicates."""
    spec, layout = prediction.spec, choose_layout(prediction.spec)
    rows = replicates * layout.positions
    moments: Any = prediction[stage]
    if attribute == "own_token":
        return bool(moments.own_token is not None and moments.own_token * rows < ENOUGH)
    if stage in ("attention", "attention_output"):
        entropy = prediction["attention"].entropy  # 0 where the largest weight is 1
        one_key = spec.seq_len == 1
        if entropy is not None and not one_key and entropy * rows * layout.heads < ENOUGH:
            return True
    if spec.norm is None or not _reads_norm(stage):
        return False
    nothing_left = float(spec.dropout) ** int(spec.d_model)  # a row of zeros stays one
    # Of so few channels 1/v has no variance: what eps takes, it takes from the smallest rows.
    degrees = spec.d_model - isinstance(spec.norm, LayerNorm)
    square = prediction["normed_input"].second_moment
    taken = 1 - square if square is not None and degrees < FEWEST else 0.0
    return any(1 / ENOUGH < share * rows < ENOUGH for share in (nothing_left, taken))


def _reads_norm(stage: str) -> bool:
    found = STAGES.get(stage)
    if isinstance(found, Stage):
        return found.rows in ("normed", "stream")
    return stage in OUTCOMES and stage.startswith("attention")
