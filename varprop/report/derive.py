"""``varprop derive``: the derivation pages and the module of closed forms, written or compared."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import click

from . import comparisons
from .numbers import RECORD, add_numbers, measured, read_record, run_of
from .page import Page


def outputs(directory: Path) -> dict[Path, str]:
    """Every file that ``derive`` writes, with its text.

    Raises:
        ValueError: if the record of measurements is missing or belongs to other experiments.
    """
    from varprop.stages import closed_forms
    from varprop.stages.generation import module_text

    from . import claims_page
    from .pages import CHAPTERS

    record = read_record(directory)
    runs = [run_of(chapter.experiment, chapter.slug, record) for chapter in CHAPTERS]
    files: dict[Path, str] = {Path(closed_forms.__file__): module_text()}
    index = []
    for chapter, run in zip(CHAPTERS, runs, strict=True):
        page = chapter.build()
        add_numbers(page, chapter.slug, chapter.experiment, run)
        for comparison in chapter.comparisons:
            comparisons.add_comparison(page, comparison, record)
        files[directory / f"{chapter.slug}.md"] = page.render()
        index.append(f"[{page.title}]({chapter.slug}.md): {chapter.summary}.")
    files[directory / claims_page.PAGE] = claims_page.page(directory)
    index.append(
        f"[Two documents, claim by claim]({claims_page.PAGE}): what holds of what is said about "
        "the factor, and what the factor does."
    )
    files[directory / "README.md"] = _index(index)
    return files


def _index(lines: list[str]) -> str:
    page = Page("Derivations")
    page.text("""
        How large every quantity at the front of a Transformer is before anything is trained,
        derived exactly at every finite width. Each page states its assumptions, derives the
        closed form with the engine in `varprop.algebra`, shows it under every scaling rule,
        says where it stops holding, and puts numbers beside a simulation. Read in this order:""")
    page.text("\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1)))
    page.text(r"""
        The symbols are the same on all pages: $d$ is `d_model`, $h$ is `d_head`, $n$ is
        `seq_len`; $c$ is `embedding_scale`, $\lambda$ is `logit_scale`; $s$ is the table's std
        and $\kappa$ its excess kurtosis; $a_{q}$ and $a_{k}$ are the variances of one weight of
        the query and of the key projection; $x$ is the input, $p$ the encoding, and the indices
        $t$, $s$ and $r$ are different positions. $\mathbb{E}[\cdot \mid x]$ is an average over
        the weights with the input held fixed. "Variance" without a word is over draws at one
        place; the pooled variance, over positions and channels too, is larger by the variance
        of the mean over places.""")
    return page.render()


def record_measurements(directory: Path) -> None:
    """Simulate what the pages show and replace the record."""
    import numpy

    from . import claims_page
    from .pages import CHAPTERS

    runs = {chapter.slug: measured(chapter.experiment) for chapter in CHAPTERS}
    for comparison in (one for chapter in CHAPTERS for one in chapter.comparisons):
        runs[comparison.name] = comparisons.measured(comparison)
    record: dict[str, Any] = {"versions": {"numpy": numpy.__version__}, "runs": runs}
    replace(directory / RECORD, json.dumps(record, indent=1) + "\n")
    replace(directory / claims_page.RECORD, claims_page.record())


def brought_up_to_date(directory: Path, write: bool) -> dict[str, str]:
    """Compare every file, replace those that differ if ``write``, and say what became of each."""
    report = {}
    for path, text in outputs(directory).items():
        same = path.is_file() and path.read_bytes() == text.encode()
        if not same and write:
            replace(path, text)
        report[str(path)] = "unchanged" if same else "written" if write else "differs"
    return report


def replace(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
        os.chmod(name, path.stat().st_mode if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@click.command("derive")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("derivations"),
    show_default=True,
    help="Where the pages and measurements.json are.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit 1 if a file differs from what would be written.",
)
@click.option(
    "--measure", "again", is_flag=True, help="Simulate again, replace measurements.json first."
)
@click.option("--json", "as_json", is_flag=True, help="Print what became of each file as JSON.")
def command(directory: Path, check: bool, again: bool, as_json: bool) -> None:
    """Write the derivation pages and the module of closed forms.

    \b
    varprop derive              write what has changed
    varprop derive --check      compare only, for continuous integration
    varprop derive --measure    simulate the pages' numbers again
    """
    if check and again:
        raise click.UsageError("--check writes nothing, --measure does: give one of them")
    try:
        if again:
            record_measurements(directory)
        report = brought_up_to_date(directory, write=not check)
    except OSError as error:
        where = error.filename or directory
        raise ValueError(f"directory: cannot use {where} ({error.strerror or error})") from None
    if as_json:
        click.echo(json.dumps(report, indent=1))
    else:
        changed = [f"{what}: {path}" for path, what in report.items() if what != "unchanged"]
        click.echo("\n".join(changed) if changed else f"{len(report)} files are up to date")
    if "differs" in report.values():
        raise SystemExit(1)
