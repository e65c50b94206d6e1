"""What half precision does to the stages, as a table: a row per stage, and what is rounded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from varprop.precision.record import NUMBERS
from varprop.report.text import aligned, number, title

if TYPE_CHECKING:
    from varprop.precision.mapping import Precision


def precision_table(precision: Precision) -> str:
    """Return a title, a row per stage, a line for each constant, and how laws are known."""
    words = [name.rpartition("_") for name in NUMBERS]
    rows = [("", *(head + joint for head, joint, _ in words), "")]
    rows.append(("stage", *(last for *_, last in words), "entries"))
    for stage, record in precision.items():
        numbers = (number(getattr(record, name), 4) for name in NUMBERS)
        rows.append((stage, *numbers, f"{record.entries:,}"))
    body = aligned(rows, labels=1, headings=2)
    lines = (*body, "", *_constants(precision), *_methods(precision))
    return "\n".join((title(f"Rounded to {precision.dtype}", precision.spec), "", *lines))


def _constants(precision: Precision) -> list[str]:
    scaling = precision.query_scaling
    rows = [
        ("embedding factor", _rounded(precision.multiplier, precision.multiplier_variance_factor)),
        ("logit scale", _rounded(scaling.multiplier, scaling.variance_factor)),
        ("scaling the query", _cost(precision)),
        ("a running sum of ones", f"stalls at {precision.stall_length}"),
    ]
    if precision.eps is not None:
        rows.insert(2, ("eps of the norm", number(precision.eps)))
    return aligned(rows, labels=2)


def _rounded(multiplier: float, factor: float) -> str:
    return f"{number(multiplier, 8)}, which multiplies the variance by {number(factor, 6)}"


def _cost(precision: Precision) -> str:
    scaling = precision.query_scaling
    if scaling.exact:
        return "exact short of subnormals, the scale being a power of two"
    ratio = number(scaling.added_noise_ratio, 4)
    return f"adds rounding noise of {ratio} of its mean square"


def _methods(precision: Precision) -> list[str]:
    """The stages that are not known exactly, together where the reason is the same."""
    stages: dict[str, list[str]] = {}
    for stage, record in precision.items():
        stages.setdefault(record.method, []).append(stage)
    stages.pop("exact", None)
    notes = [f"{', '.join(names)}: {method}" for method, names in stages.items()]
    return ["", *notes] if notes else []
