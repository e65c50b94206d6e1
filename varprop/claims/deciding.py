"""From a claim and inputs to a decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from varprop.claims.inputs import Inputs, read_inputs
from varprop.claims.records import (
    DISAGREEMENT,
    FAILS,
    HOLDS,
    HOLDS_IF,
    Claim,
    DecidedReading,
    Finding,
    verdict_of,
)
from varprop.claims.registry import CLAIMS
from varprop.fields.validation import shorten
from varprop.simulation.estimates import Estimate
from varprop.simulation.progress import Reporter

Measured = Callable[[str, int, int], Estimate | None]
"""From claim, reading and assertion to a measured number, in place of a new experiment."""


@dataclass(frozen=True)
class Decision:
    """A claim decided: what came out under each reading, and the verdict by the rule."""

    claim: Claim
    inputs: Inputs
    readings: tuple[DecidedReading, ...]
    verdict: str
    condition: str

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.claim.id

    @property
    def summary(self) -> str:
        """One sentence with the numbers that decide."""
        if self.verdict == DISAGREEMENT:
            worst = max((f for r in self.readings for f in r.findings), key=lambda f: abs(f.z))
            return f"prediction and measurement of {worst.label} disagree, z = {worst.z:.1f}"
        if self.verdict in (HOLDS, FAILS):
            number = self.readings[0].deciding
            text = f"{number.label} is {number.predicted:.5g}; claimed: {number.claimed}"
            return text + (f"; {self.condition}" if self.condition else "")
        return self.condition

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `varprop claims --json` prints it."""
        claim = self.claim
        return {
            "id": claim.id,
            "document": claim.document,
            "section": claim.section,
            "statement": claim.statement,
            "verdict": self.verdict,
            "condition": self.condition or None,
            "summary": self.summary,
            "formula": claim.formula,
            "remember": claim.remember,
            "readings": [each.to_dict() for each in self.readings],
        }

    def __str__(self) -> str:
        from varprop.claims.tables import full

        return full(self)


def decide(id: str, /, **inputs: Any) -> Decision:
    """Decide one claim for the inputs given, the documents' own otherwise.

    >>> decide("A1", std="1/sqrt(d_model)").verdict
    'holds'

    Args:
        id: A1 to A17, B1 to B40, in any case.
        **inputs: the attributes of `varprop.claims.Inputs`: d_model, std, vocab_size ...

    Raises:
        ValueError: there is no such claim, or an input is out of range.
        TypeError: an input has another name or type.
    """
    return decide_claim(find(id), read_inputs(inputs))


def audit(
    ids: Iterable[str] | None = None, progress: bool | None = None, **inputs: Any
) -> list[Decision]:
    """Decide every claim, or those named, for the same inputs.

    Raises:
        ValueError, TypeError: as `decide`, before any work is done.
    """
    claims = [find(id) for id in (CLAIMS if ids is None else ids)]
    resolved = read_inputs(inputs)
    decisions = []
    with Reporter("deciding", len(claims), progress) as reporter:
        for claim in claims:
            decisions.append(decide_claim(claim, resolved))
            reporter.advance(1)
    return decisions


def find(id: str) -> Claim:
    """Return the claim of an id.

    Raises:
        ValueError: there is none.
    """
    name = id.strip().upper() if isinstance(id, str) else id
    if name not in CLAIMS:
        raise ValueError(f"no claim {shorten(id)}; accepted: A1 to A17 and B1 to B40")
    return CLAIMS[name]


def decide_claim(claim: Claim, inputs: Inputs, measured: Measured | None = None) -> Decision:
    """Evaluate every reading of a claim, and apply the rule."""
    decided = []
    for place, each in enumerate(claim.readings(inputs)):
        findings = []
        for part, (label, quantity, relation) in enumerate(each.assertions):
            predicted = float(quantity.predict())
            estimate = measured(claim.id, place, part) if measured else quantity.measure()
            holds = None if relation is None else relation.holds(predicted)
            text = "-" if relation is None else str(relation)
            source = "" if measured else quantity.source()
            findings.append(Finding(label, text, predicted, estimate, holds, source))
        decided.append(DecidedReading(each.text, tuple(findings)))
    verdict = verdict_of(decided)
    condition = _condition(claim, inputs, decided, verdict)
    return Decision(claim, inputs, tuple(decided), verdict, condition)


def _condition(claim: Claim, inputs: Inputs, decided: list[DecidedReading], verdict: str) -> str:
    """What it depends on: the readings that hold, and the claim's own computed condition."""
    if claim.reason:
        return claim.reason
    parts = []
    if verdict == HOLDS_IF:
        true = [each.reading for each in decided if each.holds]
        parts.append(f"true for: {' / '.join(true)}")
    if claim.condition is not None and verdict in (HOLDS_IF, FAILS):
        parts.append(claim.condition(inputs))
    return "; ".join(part for part in parts if part)
