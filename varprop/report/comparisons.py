"""Tables of predictions beside simulations of their own, at several cases each.

A page's own experiment is one specification; what a comparison simulates may be any function of a
case and a seed. What it gave is in the same record, under the comparison's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from varprop.report.numbers import RECORD, REMEDY, signed
from varprop.report.page import Page
from varprop.simulation.estimates import Estimate, format_estimate, z_score

TINY = 2.0**-52
"""Of the largest quantity of a case, below which another one is rounding, or as good as 0."""

Case = tuple[Any, ...]
Predict = Callable[..., Mapping[str, float]]


class Comparison(NamedTuple):
    """Cases, what is predicted of each, and how each is simulated.

    Args:
        name: of the table and of its run in the record.
        text: the paragraph before the table.
        labels: the headings of a case's values.
        cases: JSON-ready values, the arguments of all functions here.
        quantities: the names of the quantities, one row of the table each.
        predictions: heading and function; the first is the one that is to agree.
        simulate: from a case and ``seed`` to estimates.
    """

    name: str
    text: str
    labels: tuple[str, ...]
    cases: tuple[Case, ...]
    quantities: tuple[str, ...]
    predictions: Mapping[str, Predict]
    simulate: Callable[..., Mapping[str, Estimate]]
    seed: int = 0


def measured(comparison: Comparison) -> dict[str, Any]:
    """Run the simulations, as plain data for the record."""
    results = []
    for case in comparison.cases:
        found = comparison.simulate(*case, seed=comparison.seed)
        results.append({name: [*found[name]] for name in comparison.quantities})
    cases = [list(case) for case in comparison.cases]
    return {"cases": cases, "seed": comparison.seed, "measured": results}


def add_comparison(page: Page, comparison: Comparison, record: Mapping[str, Any]) -> None:
    """Append the text and the table.

    Raises:
        ValueError: if the record holds other cases than the page asks for, or no numbers.
    """
    page.text(comparison.text)
    header = [*comparison.labels, "quantity", *comparison.predictions, "measured", "z"]
    page.table(comparison.name, header, _rows(comparison, record))


def _rows(comparison: Comparison, record: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for case, measured in zip(comparison.cases, _run(comparison, record), strict=True):
        predicted = [dict(predict(*case)) for predict in comparison.predictions.values()]
        size = max(abs(predicted[0][name]) for name in comparison.quantities)
        for name in comparison.quantities:
            estimate, known = measured[name], [values[name] for values in predicted]
            z = z_score(known[0], estimate, size)
            labels = [_label(value) for value in case]
            numbers = [f"{value if abs(value) > TINY * size else 0:.5g}" for value in known]
            rows.append([*labels, name, *numbers, format_estimate(estimate), signed(z)])
    return rows


def _label(value: Any) -> str:
    if isinstance(value, str):
        return f"`{value}`" if "(" in value else value
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _run(comparison: Comparison, record: Mapping[str, Any]) -> list[dict[str, Estimate]]:
    try:
        run = record["runs"][comparison.name]
        if (run["cases"], run["seed"]) != (list(map(list, comparison.cases)), comparison.seed):
            raise KeyError(comparison.name)
        return [
            {name: Estimate(*map(float, found[name])) for name in comparison.quantities}
            for found in run["measured"]
        ]
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"directory: {RECORD} lacks the run {comparison.name}; {REMEDY}") from None
