"""``varprop claims``."""

from __future__ import annotations

import json
from typing import Any

import click

from varprop.claims.deciding import audit, find
from varprop.claims.records import DISAGREEMENT, DOCUMENTS
from varprop.claims.registry import CLAIMS
from varprop.claims.tables import full, overview
from varprop.command.commands import _strict
from varprop.command.options import whole

SIZES = ("d_model", "n_heads", "d_head", "seq_len", "vocab_size")
OTHERS = {
    "factor": 'Factor of the embedding, such as 1 or "sqrt(d_model)".',
    "std": 'Std of a normal table, in place of the initializers that a claim names: "0.02".',
    "embedding": "Any initializer, likewise.",
    "bound": "Half the width of document A's uniform table.",
    "logit_variance": "In place of the logit variances that a claim names.",
}


def _options(command: Any) -> Any:
    for name, line in reversed(OTHERS.items()):
        command = click.option(f"--{name.replace('_', '-')}", metavar="NUMBER", help=line)(command)
    for name in reversed(SIZES):
        command = click.option(f"--{name.replace('_', '-')}", metavar="INTEGER")(command)
    return command


@click.command(short_help="Decide the claims of two documents about sqrt(d_model).")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--document", metavar="A|B", help="Only the claims of this document.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@_options
def command(ids: tuple[str, ...], document: str | None, as_json: bool, **options: Any) -> None:
    """Decide claims about the embedding factor: predicted, measured, and judged.

    Without an ID all of them, about a minute; with one ID that claim in full. Exits with 1 if a
    prediction and its measurement disagree.

    \b
    varprop claims
    varprop claims A9
    varprop claims A1 --std "1/sqrt(d_model)"
    varprop claims --document B --json
    """
    chosen = [find(id).id for id in dict.fromkeys(ids)] or list(CLAIMS)
    if document is not None:
        if document.upper() not in DOCUMENTS:
            raise click.UsageError(f"--document must be A or B, got {document[:40]!r}")
        chosen = [id for id in chosen if id.startswith(document.upper())]
    decisions = audit(chosen, **_read(options))
    if as_json:
        data = [_strict(decision.to_dict()) for decision in decisions]
        click.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
    elif ids and len(decisions) == 1:
        click.echo(full(decisions[0]))
    else:
        click.echo(overview(decisions))
    if any(decision.verdict == DISAGREEMENT for decision in decisions):
        click.get_current_context().exit(1)


def _read(options: dict[str, Any]) -> dict[str, Any]:
    given = {name: text for name, text in options.items() if text is not None}
    return {name: whole(text, name) if name in SIZES else text for name, text in given.items()}
