"""How what is known of normed rows was found, and how far it can be off."""

from __future__ import annotations

from .record import Record
from .rows import NormedRows

EXACT, QUADRATURE = "exact", "quadrature"


def method_of(rows: NormedRows, positions: int, repeats: bool) -> tuple[str, float]:
    """How a stage is known that compares this many positions, and its relative error.

    A sentence that starts with "not known" says why most of it is None.

    Args:
        rows: the normed rows that the stage reads.
        positions: 1 for a vector, 2 for scores, 0 for scores of a position with itself.
        repeats: whether two positions can hold the same token.
    """
    record = rows.record
    if record.eps == 0:
        directed = record.gaussian and not (record.exchangeable and record.level == 0)
        return (QUADRATURE if directed or shares(record, repeats) else EXACT), 0.0
    if positions == 2 and shares(record, repeats):
        reason = _reason(record)
        if reason is not None:
            return f"not known: {reason}", 0.0
    if record.gaussian or rows.is_mixture or record.degrees == 0:
        return QUADRATURE, 0.0
    if rows.unknown is not None:
        return rows.unknown, 0.0
    expansion = rows.expansion
    error = expansion.error(1) * max(positions, 1) if positions else expansion.error(2)
    return (
        "asymptotic: Taylor's expansion in the variance of a row to order 4, whose last term is "
        f"{expansion.last:.1e}; second moments are within a share {error:.1e} of it"
    ), error


def shares(record: Record, repeats: bool) -> bool:
    """Whether two rows can have something in common without being equal."""
    by_token = repeats and record.shared("0", "0") > 0 and not record.identical("0", "0")
    return by_token or (record.shared("0", "1") > 0 and not record.identical("0", "1"))


def _reason(record: Record) -> str | None:
    if not record.gaussian:
        return "rows that are not Gaussian share a segment or a token"
    if not record.exchangeable:
        return "rows with sinusoidal positions share a segment or a token"
    return "rows share a segment or a token, and have a mean" if record.level else None
