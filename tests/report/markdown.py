"""Reading a derivation page: equations, tables, inline mathematics, links and code as printed."""

import re
from typing import NamedTuple


class Equation(NamedTuple):
    """A displayed chain ``left = step = step``."""

    name: str
    left: str
    steps: list[str]


class Table(NamedTuple):
    """A named table; formulas keep their dollar signs, code its backticks."""

    name: str
    header: list[str]
    rows: list[list[str]]


EQUATION = re.compile(r"^<!-- equation: (\S+) -->\n\$\$(.*)\$\$$", re.MULTILINE)
TABLE = re.compile(r"^<!-- table: (\S+) -->\n\n((?:\|.*\|\n?)+)", re.MULTILINE)
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DISPLAY = re.compile(r"^\$\$(.*)\$\$$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


def equations(page: str) -> list[Equation]:
    """Every displayed equation that carries a name."""
    found = []
    for name, chain in EQUATION.findall(page):
        left, *steps = chain.split(" = ")
        found.append(Equation(name, left, steps))
    return found


def tables(page: str) -> list[Table]:
    """Every table, row by row."""
    found = []
    for name, text in TABLE.findall(page):
        header, _, *rows = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()
        ]
        found.append(Table(name, header, rows))
    return found


def prose(page: str) -> str:
    """The page without code, displayed formulas and comments, each paragraph on one line."""
    text = re.sub(r"^```.*?^```$|^<!--.*?-->$", "", page, flags=re.MULTILINE | re.DOTALL)
    text = DISPLAY.sub("", text)
    return "\n\n".join(
        part if part.startswith("|") else " ".join(part.split())
        for part in re.split(r"\n\s*\n", text)
        if part.strip()
    )


def inline(page: str) -> list[str]:
    """Every formula between single dollar signs, code spans left out."""
    return re.findall(r"\$([^$]*)\$", re.sub(r"`[^`]*`", "", prose(page)))
