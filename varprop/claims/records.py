"""What a claim is, and the rule that turns numbers into its verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from varprop.agreement import LIMIT
from varprop.claims.inputs import Inputs
from varprop.claims.quantities import Quantity
from varprop.claims.relations import Relation
from varprop.simulation.estimates import Estimate, z_score

HOLDS, HOLDS_IF, FAILS = "holds", "holds-if", "fails"
UNDECIDABLE, DISAGREEMENT = "undecidable", "disagreement"
DOCUMENTS = ("A", "B")


class Assertion(NamedTuple):
    """One number that a reading speaks of, and what the claim says of it; None: nothing."""

    label: str
    quantity: Quantity
    relation: Relation | None


class Reading(NamedTuple):
    """One way to understand a claim; it holds if all its assertions do."""

    text: str
    assertions: tuple[Assertion, ...]


def reading(text: str, *assertions: tuple[str, Quantity, Relation | None]) -> Reading:
    """A reading from triples of label, quantity and relation."""
    return Reading(text, tuple(Assertion(*each) for each in assertions))


@dataclass(frozen=True)
class Claim:
    """A claim in our own words, and how to decide it.

    Attributes:
        id: as in the list of claims; the letter names the document.
        section: of the document.
        short, statement: a line for tables, and what is said.
        readings: from the inputs to the readings, the most natural first.
        formula: "name = expression" in c (factor), s (std), d, h, n, V.
        calculation: how the numbers come about.
        remember: one sentence to take away.
        condition: from the inputs to a computed condition under which it holds, or "".
        reason: why no calculation can decide it; then its readings only illustrate.
    """

    id: str
    section: str
    short: str
    statement: str
    readings: Callable[[Inputs], Iterable[Reading]]
    formula: str
    calculation: str
    remember: str
    condition: Callable[[Inputs], str] | None = None
    reason: str = ""

    @property
    def document(self) -> str:
        """A or B."""
        return self.id[0]


@dataclass(frozen=True)
class Finding:
    """One assertion with its numbers; `holds` is None where nothing is claimed."""

    label: str
    claimed: str
    predicted: float
    measured: Estimate | None
    holds: bool | None
    source: str = ""

    @property
    def z(self) -> float:
        """Standard errors between measurement and prediction; 0 where nothing was measured."""
        return 0.0 if self.measured is None else z_score(self.predicted, self.measured)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        value, stderr = self.measured or (None, None)
        known = stderr is not None and math.isfinite(stderr)
        return {
            "label": self.label,
            "claimed": self.claimed,
            "predicted": self.predicted,
            "measured": value,
            "stderr": stderr if known else None,
            "holds": self.holds,
            "source": self.source or None,
        }


@dataclass(frozen=True)
class DecidedReading:
    """A reading with its findings; its numbers are those of the finding that decides it."""

    reading: str
    findings: tuple[Finding, ...]

    @property
    def deciding(self) -> Finding:
        """The first finding that fails, else the first."""
        return next((f for f in self.findings if f.holds is False), self.findings[0])

    @property
    def holds(self) -> bool | None:
        """Whether everything asserted is true; None if nothing is asserted."""
        judged = [finding.holds for finding in self.findings if finding.holds is not None]
        return all(judged) if judged else None

    def __getattr__(self, name: str) -> Any:
        if name in ("claimed", "predicted", "measured", "label"):
            return getattr(self.deciding, name)
        raise AttributeError(name)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        head = {"reading": self.reading} | self.deciding.to_dict() | {"holds": self.holds}
        return head | {"assertions": [finding.to_dict() for finding in self.findings]}


def verdict_of(readings: Sequence[DecidedReading]) -> str:
    """The rule: disagreement first; then true under every reading, under none, or under some."""
    findings = [finding for each in readings for finding in each.findings]
    if any(abs(finding.z) > LIMIT for finding in findings):
        return DISAGREEMENT
    judged = [each.holds for each in readings if each.holds is not None]
    if not judged:
        return UNDECIDABLE
    return HOLDS if all(judged) else HOLDS_IF if any(judged) else FAILS
