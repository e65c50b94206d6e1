"""Numbers beside a simulation: what each page measures, the committed record, and its section."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from varprop.predict import predict
from varprop.simulation.estimates import Estimate, format_estimate, z_score

from .page import Page

RECORD = "measurements.json"
REMEDY = "'varprop derive --measure' writes it"


class Experiment(NamedTuple):
    """A specification, and the attributes ("stage.attribute") that a page shows for it."""

    fields: dict[str, Any]
    rows: tuple[str, ...]
    replicates: int = 2000
    seed: int = 0


class Run(NamedTuple):
    """What one page's simulation gave: for each row the estimate and the size of its terms."""

    replicates: int
    seed: int
    numpy: str
    measured: dict[str, tuple[Estimate, float]]


def measured(experiment: Experiment, progress: bool | None = None) -> dict[str, Any]:
    """Run the simulation of one page, as plain data for the record."""
    from varprop.simulate import measure

    fields, rows, replicates, seed = experiment
    result = measure(**fields, replicates=replicates, seed=seed, progress=progress)
    values = {}
    for row in rows:
        stage, attribute = row.split(".")
        values[row] = [*getattr(result[stage], attribute), result[stage].magnitude(attribute)]
    return {"fields": fields, "replicates": replicates, "seed": seed, "measured": values}


def read_record(directory: Path) -> dict[str, Any]:
    """Read the committed measurements.

    Raises:
        ValueError: if the file is missing or does not hold a record.
    """
    path = directory / RECORD
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(record["versions"]["numpy"], str) or not isinstance(record["runs"], dict):
            raise TypeError(RECORD)
    except OSError as error:
        raise ValueError(f"directory: cannot read {path} ({error.strerror}); {REMEDY}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(f"directory: {path} is not a record of measurements; {REMEDY}") from None
    return record


def run_of(experiment: Experiment, slug: str, record: Mapping[str, Any]) -> Run:
    """Take one page's run out of the record.

    Raises:
        ValueError: if the record holds another experiment than the page asks for, or no numbers.
    """
    fields, rows, replicates, seed = experiment
    try:
        run = record["runs"][slug]
        if (run["fields"], run["replicates"], run["seed"]) != (fields, replicates, seed):
            raise KeyError(slug)
        values = {row: tuple(map(float, run["measured"][row])) for row in rows}
        found = {
            row: (Estimate(value, stderr), size) for row, (value, stderr, size) in values.items()
        }
        return Run(replicates, seed, record["versions"]["numpy"], found)
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"directory: {RECORD} lacks the run of page {slug}; {REMEDY}") from None


def add_numbers(page: Page, slug: str, experiment: Experiment, run: Run) -> None:
    """Append the table of predictions beside measurements, and the snippet that reproduces it."""
    prediction = predict(**experiment.fields)
    rows = []
    for row, (estimate, size) in run.measured.items():
        stage, attribute = row.split(".")
        known = getattr(prediction[stage], attribute)
        z = z_score(known, estimate, size)
        rows.append([f"`{row}`", f"{known:.6g}", format_estimate(estimate), signed(z)])
    page.section("Beside a simulation")
    page.text("Prediction against measurement, with few replicates so as to be quick:")
    check = _call("check", {**experiment.fields, "replicates": 100, "seed": 1})
    page.snippet(f"import varprop\n\nreport = {check}\nprint(report)\nassert report.passed")
    page.text(f"""
        The same specification with {run.replicates:,} replicates and seed {run.seed} (NumPy
        {run.numpy}); z is the difference in standard errors:""")
    page.table(f"{slug}.numbers", ["attribute", "predicted", "measured", "z"], rows)


def _call(name: str, fields: Mapping[str, Any]) -> str:
    given = [
        f"{field}={json.dumps(value) if isinstance(value, str) else value}"
        for field, value in fields.items()
    ]
    line = f"varprop.{name}({', '.join(given)})"
    return line if len(line) <= 80 else f"varprop.{name}(\n    " + ",\n    ".join(given) + ",\n)"


def signed(z: float) -> str:
    """One decimal; rounding noise has no sign that another machine would share."""
    return f"{z:+.1f}" if abs(z) >= 0.05 else "0.0"
