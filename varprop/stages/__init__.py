"""The stages, in order; a new one is a definition in a file of its own and a line here."""

from __future__ import annotations

from . import projections, scores, tokens
from .stage import Definition, Stage

STAGES: dict[str, Stage] = {
    stage.name: stage for stage in (*tokens.STAGES, *projections.STAGES, *scores.STAGES)
}

__all__ = ["STAGES", "Definition", "Stage"]
