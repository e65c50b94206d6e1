"""Predictions and checks as tables.

print(varprop.predict())                   a row per stage
varprop.predict()                          in a notebook: the same with typeset formulas
print(varprop.check())                     a row per stage and attribute
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from varprop.moments import ATTRIBUTES
from varprop.report.text import UNKNOWN, aligned, number, spread, title
from varprop.simulation.estimates import notation, write
from varprop.stages import OUTCOMES

if TYPE_CHECKING:
    from varprop.agreement import Check, Row
    from varprop.predict import Prediction

COLUMNS = ("mean", "std", *(name for name in ATTRIBUTES if name not in ("mean", "std")))
"""All attributes, the standard deviation beside the mean."""

LONGEST_FORMULA = 600
"""Characters of LaTeX beyond which a formula is no help in a table."""


def prediction_table(prediction: Prediction) -> str:
    """Return a title, a row per stage, and how the input is shared out; arrays as their range."""
    rows = [("", *(_first_line(column) for column in COLUMNS))]
    rows.append(("stage", *(column.rpartition("_")[2] for column in COLUMNS)))
    for stage, moments in prediction.items():
        rows.append((stage, *(spread(getattr(moments, column)) for column in COLUMNS)))
    body = aligned(rows, labels=1, headings=2)
    lines = (*body, "", *_further(prediction), _shares(prediction))
    return "\n".join((_prediction_title(prediction), "", *lines))


def _further(prediction: Prediction) -> list[str]:
    """A line for each attribute that only one stage has, and how each such stage was found."""
    rows: list[tuple[str, ...]] = []
    notes = []
    for stage, moments in prediction.items():
        if stage in OUTCOMES:
            rows += [(stage, name, spread(getattr(moments, name))) for name in moments.further]
            notes.append(f"{stage}: {_distinct(moments.method)}")
    return [*aligned(rows, labels=2), "", *notes, ""] if rows else []


def _distinct(words: Any) -> str:
    """A text, or the different ones of an array."""
    return words if isinstance(words, str) else "; ".join(sorted(set(words.ravel().tolist())))


def _first_line(column: str) -> str:
    """All but the last word of a heading: "cross_position_" stands above "moment"."""
    head, joint, _ = column.rpartition("_")
    return head + joint


def _prediction_title(prediction: Prediction) -> str:
    spec = prediction.spec
    ranges = f" (arrays of shape {spec.shape}: smallest .. largest)" if spec.has_arrays else ""
    return title(f"Prediction{ranges}", spec)


def _shares(prediction: Prediction) -> str:
    shares = prediction["input"].shares
    if any(share is None for share in shares.values()):
        return "input: identically 0"
    parts = [f"{spread(100 * share, 4)} % {part}" for part, share in shares.items()]
    return f"second moment of the input: {', '.join(parts)}"


def prediction_html(prediction: Prediction) -> str:
    """Return the table for a notebook, with the formula of each variance to be typeset."""
    from html import escape

    names = (column.replace("_", " ") for column in ("stage", *COLUMNS, "formula"))
    head = "".join(f"<th>{name}</th>" for name in names)
    lines = [f"<table><caption>{escape(_prediction_title(prediction))}</caption>"]
    lines.append(f"<thead><tr>{head}</tr></thead><tbody>")
    for stage, moments in prediction.items():
        cells = [stage, *(spread(getattr(moments, column)) for column in COLUMNS)]
        cells.append(_typeset(prediction, stage))
        lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    lines.append(f"</tbody></table><p>{escape(_shares(prediction))}</p>")
    return "\n".join(lines)


def _typeset(prediction: Prediction, stage: str) -> str:
    try:
        text = latex(prediction.formula(stage, "variance"))
    except ValueError:  # arrays, or nothing exact is known
        return ""
    return rf"$\mathrm{{Var}} = {text}$" if len(text) <= LONGEST_FORMULA else ""


def latex(formula: Any) -> str:
    r"""Return a formula as LaTeX, with upright indices: ``d_{\mathrm{model}}``."""
    import sympy

    upright = {}
    for symbol in formula.free_symbols:
        head, _, index = symbol.name.partition("_")
        upright[symbol] = rf"{head}_{{\mathrm{{{index}}}}}"
    text: str = sympy.latex(formula, symbol_names=upright)
    return text


def check_table(check: Check) -> str:
    """Return a row per stage and attribute, digits matched to the standard error, and a verdict."""
    header = ("stage", "attribute", "predicted", "measured", "stderr", "z", "")
    body = aligned([header, *map(_check_row, check)], labels=2, headings=1)
    return "\n".join((title("Check", check.spec), "", *body, "", _verdict(check)))


def _check_row(row: Row) -> tuple[str, ...]:
    predicted, (value, stderr) = row.predicted, row.measured
    common = notation(stderr, value, value if predicted is None else predicted)
    known = UNKNOWN if predicted is None else write(predicted, common)
    error = write(stderr, common) if common else number(stderr, 2)
    z = UNKNOWN if row.z is None else f"{row.z:z.2f}" if abs(row.z) < 1e4 else number(row.z, 3)
    return row.stage, row.attribute, known, write(value, common), error, z, _remark(row)


def _remark(row: Row) -> str:
    if row.z is None:
        return row.note
    if not row.judged:
        return "not judged"
    return "" if row.agrees else "FAILED"


def _verdict(check: Check) -> str:
    from varprop.agreement import LIMIT

    judged = [row for row in check if row.judged]
    drawn = f"{check.replicates} replicates, seed {check.seed}"
    if check.passed:
        largest = max((abs(row.z or 0.0) for row in judged), default=0.0)
        within = f"{len(judged)} judged rows within {LIMIT:g} stderr, largest |z| {largest:.2f}"
        return f"passed: all {within} ({drawn})"
    failed = [f"{row.stage}.{row.attribute}" for row in judged if not row.agrees]
    return f"failed: {len(failed)} of {len(judged)} judged rows ({drawn}): {', '.join(failed)}"


__all__ = ["check_table", "latex", "prediction_html", "prediction_table"]
