"""Decisions as text: a table of all, and one in full."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from varprop.claims.deciding import Decision
from varprop.claims.records import DecidedReading, Finding
from varprop.report.text import UNKNOWN, aligned, number
from varprop.simulation.estimates import format_estimate, notation, write

WIDTH = 100
FINEST = 1e-6
"""Relative standard error below which six figures are printed and no error."""
HEADING = ("reading", "quantity", "claimed", "predicted", "measured ± error", "holds")
COLUMNS = ("id", "claim", "verdict", "claimed", "predicted", "measured ± error")


def overview(decisions: Sequence[Decision]) -> str:
    """One line for each claim, with the numbers of its most natural reading, and a count."""
    rows = [COLUMNS]
    for decision in decisions:
        numbers = (UNKNOWN, UNKNOWN, UNKNOWN)
        if decision.readings:
            numbers = cells(decision.readings[0].deciding)
        rows.append((decision.id, decision.claim.short, decision.verdict, *numbers))
    counts: dict[str, int] = {}
    for decision in decisions:
        counts[decision.verdict] = counts.get(decision.verdict, 0) + 1
    total = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    return "\n".join((*aligned(rows, labels=6), "", f"{len(decisions)} claims: {total}"))


def cells(finding: Finding) -> tuple[str, str, str]:
    """Claimed, predicted and measured; the prediction with the digits of the measurement."""
    predicted, measured = finding.predicted, finding.measured
    if measured is None:
        return finding.claimed, number(predicted), "not measured at this size"
    common = notation(measured.stderr, measured.value, predicted)
    if common is None or measured.stderr < FINEST * abs(measured.value):
        return finding.claimed, number(predicted, 6), number(measured.value, 6)
    return finding.claimed, write(predicted, common), format_estimate(measured)


def full(decision: Decision) -> str:
    """Everything about one decision: statement, formula, readings, verdict, lesson."""
    claim = decision.claim
    where = f"{claim.id}, document {claim.document}, section: {claim.section}"
    lines = [where, *_wrapped(f'claim: "{claim.statement}"'), ""]
    if claim.formula:
        lines += [f"formula: {claim.formula}", ""]
    if decision.readings:
        rows: list[tuple[str, ...]] = [HEADING]
        rows += [row for each in decision.readings for row in _rows(each)]
        lines += [*aligned(rows, labels=6), ""]
    sources = {f.source: None for each in decision.readings for f in each.findings if f.source}
    lines += [f"measured: {source}" for source in sources]
    verdict = f"verdict: {decision.verdict}"
    lines += _wrapped(f"{verdict}, {decision.summary}" if decision.summary else verdict)
    lines += ["", *_wrapped(claim.calculation), "", *_wrapped(f"Remember: {claim.remember}")]
    return "\n".join(lines)


def _rows(each: DecidedReading) -> Iterator[tuple[str, ...]]:
    for place, finding in enumerate(each.findings):
        held = {True: "yes", False: "no", None: UNKNOWN}[finding.holds]
        yield (each.reading if place == 0 else "", finding.label, *cells(finding), held)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH)
