"""The text of the generated module of closed forms."""

from __future__ import annotations

from itertools import product

from .derivation import derive, form_key, source
from .projections import KEY, QUERY
from .scores import PAIR, SELF
from .stage import Definition, narrowed
from .structure import ABSENT, IDENTITY, SYMMETRIC, Structure
from .tokens import ROWS

_HEADER = '''"""Closed forms per place, written by `varprop derive`; do not edit.

Each key names a quantity, an order and a structure (the defaults of `Structure` left out).  Each
value is the names of the scalars, and a function of them that returns one number for each product
of contractions of the fixed encodings: f_t is a row of the table, R_ts a rotation, y_t a normed
row.
"""

from typing import Any

'''


def structures() -> list[Structure]:
    """The usual structures: symmetric tables and weights and no biases, the rest in every way."""
    found = []
    for position, mask, cross, normed in product(
        (ABSENT, "sinusoidal", "rotary"), (False, True), (ABSENT, SYMMETRIC), (False, True)
    ):
        if (mask and position != "sinusoidal") or (normed and cross != ABSENT):
            continue
        for query, shared in ((SYMMETRIC, False), (SYMMETRIC, True), (IDENTITY, False)):
            found.append(
                Structure(SYMMETRIC, cross, position, mask, normed, query, query, shared=shared)
            )
    return found


def quantities(definition: Definition, structure: Structure) -> list[str]:
    """What a prediction asks of a definition: cumulants up to the second, or the fourth if short.

    Of any but plain structures the third and fourth are long, and derived when they are needed.
    """
    plain = structure.cross == ABSENT and not (
        structure.mask or structure.normed or structure.shared
    )
    highest = 4 if plain and structure.query != IDENTITY else 2
    orders = [
        f"{'moment' if structure.normed else 'cumulant'} {order}" for order in range(1, highest + 1)
    ]
    if definition.channels:
        return [*orders, "cross"]
    return orders if definition is SELF else [*orders, "shared" if structure.normed else "row"]


def module_text() -> str:
    """Derive every usual closed form afresh and write it as a line of Python."""
    wanted: dict[str, tuple[Definition, Structure, str]] = {}
    plain = Structure(own=ABSENT)
    for structure in [plain, plain._replace(position="sinusoidal"), *structures()]:
        for definition in (ROWS, QUERY, KEY, PAIR, SELF):
            for what in quantities(definition, structure):
                joint = what in ("cross", "row", "shared") or len(definition.labels) > 1
                key = narrowed(structure, definition, structure.cross if joint else ABSENT)
                wanted[form_key(definition, key, what)] = (definition, key, what)
    lines = []
    for name in sorted(wanted):
        parameters, body = source(derive(*wanted[name]))
        lines.append(f"    {name!r}: ({parameters!r}, lambda {', '.join(parameters)}: {body}),\n")
    return f"{_HEADER}FORMS: dict[str, Any] = {{\n{''.join(lines)}}}\n"
