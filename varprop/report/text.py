"""Plain text that lines up: short numbers, columns aligned at the decimal point, one-line titles.

number(0.001953125)                        "0.0019531"
spread(np.array([0.5, np.nan, 2]))         "0.5 .. 2*"
aligned([("a", "144"), ("b", "2.25")], 1)  ["a  144", "b    2.25"]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from varprop.expressions import FIELDS
from varprop.spec import TransformerSpec

UNKNOWN = "-"
"""What stands in a table where there is no number."""

_WHOLE_PART = re.compile(r"\(?-?[0-9]+")


def number(value: float | None, digits: int = 5) -> str:
    """Write a number to `digits` significant figures, a dash where there is none."""
    if value is None or value != value:
        return UNKNOWN
    return f"{value:z.{digits}g}"


def spread(values: Any, digits: int = 5) -> str:
    """Write a number, or the smallest and the largest of an array, starred if some are missing."""
    if not isinstance(values, np.ndarray):
        return values if isinstance(values, str) else number(values, digits)
    if values.dtype.kind == "U":
        return " .. ".join(sorted(set(values.ravel().tolist())))
    known = values[~np.isnan(values)]
    if not known.size:
        return UNKNOWN
    ends = dict.fromkeys(number(float(end), 3) for end in (known.min(), known.max()))
    return " .. ".join(ends) + "*" * (known.size < values.size)


def aligned(rows: Sequence[Sequence[str]], labels: int, headings: int = 0) -> list[str]:
    """Return a line per row.

    The first `labels` columns are flush left; in the others decimal points stand in one column, and
    the first `headings` rows are flush right.
    """
    columns = [
        _flush_left(column) if place < labels else _at_the_point(column, headings)
        for place, column in enumerate(zip(*rows, strict=True))
    ]
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _flush_left(column: Sequence[str]) -> list[str]:
    width = max(map(len, column))
    return [cell.ljust(width) for cell in column]


def _at_the_point(column: Sequence[str], headings: int) -> list[str]:
    cells = column[headings:]
    points = [match.end() if (match := _WHOLE_PART.match(cell)) else len(cell) for cell in cells]
    point = max(points, default=0)
    body = _flush_left([" " * (point - at) + cell for at, cell in zip(points, cells, strict=True)])
    width = max(map(len, (*column[:headings], *body)))
    return [cell.rjust(width) for cell in (*column[:headings], *body)]


def title(what: str, spec: TransformerSpec) -> str:
    """Return one line that names the sizes and every other field that is not at its default."""
    fields = [f"{field}={_shown(spec, field)}" for field in FIELDS]
    default, own = _defaults(), spec.to_dict()
    settled = (*FIELDS, *(("key", "key_bias") if spec.shared_qk else ()))
    changed = [field for field in own if own[field] != default[field] and field not in settled]
    fields += [f"{field}={_shown(spec, field)}" for field in changed]
    return f"{what}: {', '.join(fields)}{'' if changed else ', all else default'}"


def _shown(spec: TransformerSpec, field: str) -> str:
    value = getattr(spec, field)
    if isinstance(value, np.ndarray):
        return f"({spread(value)})"
    text = value if field in FIELDS else spec.to_dict()[field]
    return str(value if isinstance(text, dict) else text)


@lru_cache(maxsize=1)
def _defaults() -> dict[str, Any]:
    return TransformerSpec().to_dict()
