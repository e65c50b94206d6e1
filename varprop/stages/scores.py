"""Scores q_i . k_j and logits: between different positions, and of a position with itself."""

from __future__ import annotations

from .stage import Definition, Stage
from .structure import Structure

PAIR = Definition(
    name="scores",
    place=lambda model, t, s: model.score(t, s),
    labels="ts",
    channels=False,
    reads=tuple(name for name in Structure._fields if name != "cross"),
)
SELF = PAIR._replace(name="self_scores", place=lambda model, t: model.score(t, t), labels="t")

STAGES = (
    Stage("scores", PAIR, present=lambda spec: bool((spec.seq_len > 1) if not spec.shape else True)),
    Stage("logits", PAIR, factor="logit_scale", present=lambda spec: STAGES[0].present(spec)),
    Stage("self_scores", SELF),
    Stage("self_logits", SELF, factor="logit_scale"),
)
