"""Scores q_i . k_j and logits: between different positions, and of a position with itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .stage import Definition, Stage
from .structure import Structure

if TYPE_CHECKING:
    from varprop.simulation.draws import Array, Draws
    from varprop.spec import TransformerSpec

PAIR = Definition(
    name="scores",
    place=lambda model, t, s: model.score(t, s),
    labels="ts",
    channels=False,
    reads=tuple(name for name in Structure._fields if name != "cross"),
)
SELF = PAIR._replace(
    name="self_scores", place=lambda model, t: model.score(t, t), labels="t", turns=False
)


def _has_pairs(spec: TransformerSpec) -> bool:
    return bool(np.any(spec.seq_len > 1)) if spec.shape else bool(spec.seq_len > 1)


def _scores(draws: Draws) -> Array:
    """All q_i . k_j with i != j: of the n*n entries every (n+1)th, the diagonal, is dropped."""
    products = draws["query"].swapaxes(1, 2) @ draws["key"].transpose(0, 2, 3, 1)
    *outer, length, _ = products.shape
    flat = products.reshape(*outer, length * length)[..., 1:]
    kept = flat.reshape(*outer, length - 1, length + 1)[..., :-1]
    without_diagonal: Array = kept.reshape(*outer, length, length - 1)
    return without_diagonal


def _self_scores(draws: Draws) -> Array:
    diagonal: Array = np.einsum("rihc,rihc->rhi", draws["query"], draws["key"])
    return diagonal


STAGES = (
    Stage("scores", PAIR, _scores, present=_has_pairs),
    Stage(
        "logits",
        PAIR,
        lambda draws: draws.spec.logit_scale * draws["scores"],
        factor="logit_scale",
        present=_has_pairs,
    ),
    Stage("self_scores", SELF, _self_scores),
    Stage(
        "self_logits",
        SELF,
        lambda draws: draws.spec.logit_scale * draws["self_scores"],
        factor="logit_scale",
    ),
)
