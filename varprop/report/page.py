"""A derivation page: prose, equations that carry names, tables and a snippet, rendered as markdown.

Only LaTeX that survives markdown is used: no backslash before punctuation, no line breaks inside
formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import dedent
from typing import Any

GENERATED = (
    "*Written by `varprop derive`; "
    "a test parses every equation on this page back and evaluates it.*"
)


class Page:
    """Collects the parts of one page; equations and tables carry names by which tests find them."""

    def __init__(self, title: str) -> None:
        """Start a page with its title."""
        self.title = title
        self._parts: list[str] = [f"# {title}"]

    def section(self, heading: str) -> None:
        """Start a section."""
        self._parts.append(f"## {heading}")

    def text(self, paragraph: str) -> None:
        """Add prose; the indentation of the source does not show."""
        self._parts.append(dedent(paragraph).strip())

    def equation(self, name: str, left: str, *steps: Any) -> None:
        """Add a displayed chain ``left = step = step``; every step is a SymPy expression."""
        chain = " = ".join([left, *map(latex, steps)])
        self._parts.append(f"<!-- equation: {name} -->\n$${chain}$$")

    def table(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add a table; SymPy cells are typeset."""
        lines = [_row(header), _row(["---"] * len(header))]
        for row in rows:
            lines.append(
                _row(cell if isinstance(cell, str) else f"${latex(cell)}$" for cell in row)
            )
        self._parts.append(f"<!-- table: {name} -->\n\n" + "\n".join(lines))

    def snippet(self, code: str) -> None:
        """Add Python code that reproduces numbers of the page; a test runs it."""
        self._parts.append(f"```python\n{dedent(code).strip()}\n```")

    def render(self) -> str:
        """The page as GitHub-flavoured markdown."""
        return "\n\n".join([*self._parts, GENERATED]) + "\n"


def latex(expression: Any) -> str:
    """Typeset an expression on one line."""
    import sympy

    from .notation import TYPESET

    text: str = sympy.latex(sympy.sympify(expression), symbol_names=TYPESET)
    return text.replace(r"\, d", " d")  # of an integral: markdown eats the backslash


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
