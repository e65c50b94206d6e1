"""What every check of user input shares: short messages and objects that do not change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

QUOTED = 60
"""Longest piece of the user's own input that a message repeats."""


class Immutable:
    """A base for values that are set once, by `_set`, and never again."""

    __slots__ = ()

    def _set(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        self._set(**state[1])  # pickle and copy would use setattr

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name}")


def shorten(value: object, limit: int = QUOTED) -> str:
    """Return `value` as one printable line of at most `limit` characters."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"[:limit]
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    try:
        # Cut before repr as well: a megabyte of text should cost nothing.
        text = (
            repr(value[:limit] + "..." if len(value) > limit else value)
            if isinstance(value, str)
            else repr(value)
        )
    except Exception:  # repr is the user's code
        text = f"a value of type {type(value).__name__}"
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def refusal(field: str, accepted: str, given: object) -> str:
    """Return the message `field must be accepted, got given`."""
    return f"{field} must be {accepted}, got {shorten(given)}"


@contextmanager
def double_precision(name: str) -> Iterator[None]:
    """Refuse, by the name of what is read, a number that leaves the range of double precision.

    Raises:
        ValueError: one inside is too large, or too small to be told from 0.
    """
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        try:
            yield
        except (OverflowError, FloatingPointError, ZeroDivisionError):
            raise ValueError(
                f"{name}: beyond double precision with this spec; "
                "accepted: scales, means and standard deviations nearer to 1"
            ) from None


LISTED = 200
"""Characters of names that a message lists, which has to stay below 300."""


def suggest(word: str, accepted: Iterable[str]) -> str:
    """Return the names accepted instead of `word`, the likely one first; a long list is cut."""
    import difflib
    from textwrap import shorten as cut

    names = list(accepted)
    close = difflib.get_close_matches(word[:QUOTED], names, n=1)
    listed = cut(", ".join(names), LISTED, placeholder=" ...")
    return (f"did you mean {close[0]}? " if close else "") + f"accepted: {listed}"


@contextmanager
def prefixed(field: str) -> Iterator[None]:
    """Put `field: ` before the message of any refusal raised inside."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not field:
            raise
        raise type(error)(f"{field}: {error}") from None
