"""How the user's own input is shown in an error: complete where short, else its beginning."""

from __future__ import annotations

from typing import Any


def shown(value: Any, limit: int = 50) -> str:
    """The ``repr`` of a value, cut after ``limit`` characters."""
    if isinstance(value, int) and value.bit_length() > 4096:
        return f"an integer of {value.bit_length()} bits"
    return shortened(repr(value), limit)


def shortened(text: str, limit: int = 50) -> str:
    """The text on one line, cut after ``limit`` characters."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
