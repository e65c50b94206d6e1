"""``varprop predict``, ``measure`` and ``check``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from varprop.command.options import field_options, read_fields, whole

F = TypeVar("F", bound=Callable[..., Any])

_STAGES = click.option(
    "--stages",
    type=click.Choice(["front", "all"]),
    default="front",
    show_default=True,
    help="Up to the logits, or all: attention, its output, output head and loss too.",
)

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.command(short_help="Predict every moment, exactly.")
@field_options
@_JSON
@_STAGES
@click.option("--formula", metavar="STAGE.ATTRIBUTE", help="Print this closed form.")
@click.option("--latex", is_flag=True, help="Print the formula as LaTeX.")
def predict(as_json: bool, stages: str, formula: str | None, latex: bool, **options: Any) -> None:
    """Predict mean, variance and more of every stage, exactly.

    \b
    varprop predict
    varprop predict --embedding "normal(std=1)" --embedding-scale "sqrt(d_model)"
    varprop predict --position "rotary(base=500000)" --norm rmsnorm --stages all
    varprop predict --formula logits.variance --latex
    """
    from varprop.predict import predict as predicted

    if formula is not None and as_json:
        raise click.UsageError("--formula and --json exclude each other")
    if latex and formula is None:
        raise click.UsageError("--latex needs --formula STAGE.ATTRIBUTE")
    prediction = predicted(**read_fields(options))
    if formula is None:
        _show(prediction.full() if stages == "all" else prediction, as_json)
        return
    stage, _, attribute = formula.partition(".")
    if stage not in prediction or not attribute:
        accepted = f"STAGE.ATTRIBUTE, the stage one of {', '.join(prediction)}"
        raise click.UsageError(f"--formula must be {accepted}, got {formula[:60]!r}")
    expression = prediction.formula(stage, attribute)
    if latex:
        from varprop.report.tables import latex as typeset

        expression = typeset(expression)
    click.echo(str(expression))


def _simulation(command: F) -> F:
    """Add what measure and check take beside the fields."""
    command = _JSON(command)
    for name, default, line in (
        ("--workers", None, "Threads, by default one for each processor; the result is the same."),
        ("--seed", "0", "The same seed gives the same numbers."),
        ("--replicates", "2000", "Independent draws, at least 2."),
    ):
        add = click.option(name, metavar="INTEGER", default=default, show_default=True, help=line)
        command = add(command)
    return field_options(command)


@click.command(short_help="Simulate the same moments, with standard errors.")
@_simulation
@_STAGES
def measure(
    as_json: bool, stages: str, replicates: str, seed: str, workers: str, **options: Any
) -> None:
    """Simulate every stage many times over, and print what came out with its standard error.

    \b
    varprop measure --replicates 500
    varprop measure --d-model 64 --n-heads 4 --seed 7 --json
    """
    from varprop.simulate import measure as measured

    counts = _counts(replicates=replicates, seed=seed, workers=workers)
    _show(measured(full=stages == "all", **counts, **read_fields(options)), as_json)


@click.command(short_help="Compare prediction and simulation.")
@_simulation
def check(as_json: bool, replicates: str, seed: str, workers: str, **options: Any) -> None:
    """Put the prediction beside a simulation, and exit with 1 if they disagree.

    They agree if every mean and second-order attribute lies within 5 standard errors.

    \b
    varprop check --replicates 300
    varprop check --d-model 64 --n-heads 4 --dropout 0.1 --segment "normal(std=0.02)"
    """
    from varprop.agreement import check as checked

    counts = _counts(replicates=replicates, seed=seed, workers=workers)
    result = checked(**counts, **read_fields(options))
    _show(result, as_json)
    if not result.passed:
        click.get_current_context().exit(1)


def _counts(**options: str | None) -> dict[str, Any]:
    return {name: whole(text, name) for name, text in options.items() if text is not None}


def _show(result: Any, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_strict(result.to_dict()), indent=2, allow_nan=False))
    else:
        click.echo(str(result))


def _strict(data: Any) -> Any:
    """Replace what JSON cannot say, infinity and nan, by null."""
    if isinstance(data, dict):
        return {key: _strict(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_strict(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
