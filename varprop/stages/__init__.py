"""The stages, in order; a new one is a definition in a file of its own and a line here."""

from __future__ import annotations

from . import attention, output, projections, scores, tokens
from .stage import Definition, Outcome, Stage

STAGES: dict[str, Stage] = {
    stage.name: stage for stage in (*tokens.STAGES, *projections.STAGES, *scores.STAGES)
}
"""The front, up to the logits: polynomials of the draws, but for a norm."""

OUTCOMES: dict[str, Outcome] = {
    outcome.name: outcome for outcome in (*attention.OUTCOMES, *output.OUTCOMES)
}
"""What follows the logits, found by quadrature."""


def stage_named(name: str) -> Stage | Outcome:
    """Return a stage of either kind."""
    return STAGES[name] if name in STAGES else OUTCOMES[name]


__all__ = ["OUTCOMES", "STAGES", "Definition", "Outcome", "Stage", "stage_named"]
