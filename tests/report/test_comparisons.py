"""Tables of predictions beside simulations of their own."""

import json

import pytest

from varprop.report.comparisons import Comparison, _run, add_comparison, measured
from varprop.report.numbers import RECORD
from varprop.report.page import Page
from varprop.report.pages import CHAPTERS
from varprop.simulation.estimates import Estimate

from .conftest import DERIVATIONS, PAGES
from .markdown import tables

WHOLE = json.loads((DERIVATIONS / RECORD).read_text())
TABLES = {table.name: table for page in PAGES.values() for table in tables(page)}
COMPARISONS = {one.name: one for chapter in CHAPTERS for one in chapter.comparisons}


@pytest.mark.parametrize("name", COMPARISONS)
def test_prediction_and_measurement_agree(name):
    """Row by row, as printed: within five standard errors, and z is their distance."""
    comparison, (_, header, rows) = COMPARISONS[name], TABLES[name]
    first = len(comparison.labels) + 1
    last = first + len(comparison.predictions)
    assert header == [*comparison.labels, "quantity", *comparison.predictions, "measured", "z"]
    assert len(rows) == len(comparison.cases) * len(comparison.quantities)
    for row in rows:
        z, measurement = float(row[-1]), row[last]
        assert abs(z) <= 5, row
        if "e" not in measurement:
            value, stderr = map(float, measurement.split(" ± "))
            known = float(row[first])
            rounding = 1e-4 * abs(known) + 0.5 * stderr  # five and two figures are printed
            assert abs(value - known) <= abs(z) * 1.1 * stderr + rounding, row


def fair(sides: int, seed: int = 0) -> dict[str, Estimate]:
    return {"mean": Estimate(sides / 2 + 0.51 + seed, 0.02)}


DICE = Comparison(
    "dice.rolled",
    "Dice:",
    ("sides",),
    ((6,), (1000,)),
    ("mean",),
    {"predicted": lambda sides: {"mean": (sides + 1) / 2}, "half": lambda s: {"mean": s / 2}},
    fair,
)


def test_a_comparison_is_measured_and_printed():
    run = measured(DICE)
    assert run == {
        "cases": [[6], [1000]],
        "seed": 0,
        "measured": [{"mean": [3.51, 0.02]}, {"mean": [500.51, 0.02]}],
    }
    page = Page("Dice")
    add_comparison(page, DICE, {"runs": {"dice.rolled": json.loads(json.dumps(run))}})
    (table,) = tables(page.render())
    assert table.header == ["sides", "quantity", "predicted", "half", "measured", "z"]
    assert table.rows == [
        ["6", "mean", "3.5", "3", "3.510 ± 0.020", "+0.5"],
        ["1,000", "mean", "500.5", "500", "500.510 ± 0.020", "+0.5"],
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"cases": [[6]]},
        {"seed": 1},
        {"measured": 3},
        {"measured": [{"mean": [3.5]}, {"mean": [3.5, 1]}]},
        {"measured": [{"mean": ["a", "b"]}, {"mean": [3.5, 1]}]},
        {"measured": [{}, {}]},
        None,
    ],
)
def test_a_record_of_something_else_is_refused(change):
    run = None if change is None else measured(DICE) | change
    with pytest.raises(ValueError, match=r"lacks the run dice\.rolled; 'varprop derive --measure'"):
        _run(DICE, {"runs": {"dice.rolled": run}})


@pytest.mark.parametrize("name", ["softmax.iid", "norm.layernorm"])
def test_other_random_numbers_give_the_recorded_measurements(name):
    comparison = COMPARISONS[name]
    recorded = _run(comparison, WHOLE)
    again = measured(comparison._replace(cases=comparison.cases[:1], seed=7))["measured"]
    for found, old in zip(again, recorded, strict=False):
        for quantity, (value, stderr) in found.items():
            other = old[quantity]
            assert abs(value - other.value) <= 5 * (stderr**2 + other.stderr**2) ** 0.5
