"""``varprop precision``."""

from __future__ import annotations

from typing import Any

import click

from varprop.command.commands import _JSON, _show
from varprop.command.options import field_options, read_fields, whole


@click.command(short_help="What half precision does to every stage.")
@field_options
@_JSON
@click.option(
    "--entries",
    metavar="INTEGER",
    help="How many entries the second column speaks of.  [default: those of one tensor]",
)
@click.option(
    "--dtype",
    metavar="TEXT",
    default="float16",
    show_default=True,
    help="float16, bfloat16, float8_e4m3fn or float8_e5m2.",
)
def precision(as_json: bool, dtype: str, entries: str | None, **options: Any) -> None:
    """Print how much of every stage overflows, underflows and is rounded away in a format.

    Columns: the probability that one entry overflows, that any of a tensor's entries does, the
    shares that become subnormal and 0, the mean square of what rounding changes, and that over
    the mean square of the stage.

    \b
    varprop precision
    varprop precision --dtype bfloat16 --d-model 3072
    varprop precision --dtype float8_e4m3fn --query "normal(std=1)" --key "normal(std=1)" --json
    """
    from varprop.precision import precision as rounded

    count = None if entries is None else whole(entries, "entries")
    _show(rounded(dtype=dtype, entries=count, **read_fields(options)), as_json)
