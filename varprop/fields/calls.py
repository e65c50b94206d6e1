"""Text such as `uniform(-1, high=2)`: a name and arguments, read into a named thing.

    split_call("uniform(-1, high=2)")     ("uniform", ["-1"], {"high": "2"})

Arguments stay text here: numbers are read by `varprop.expressions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar

from varprop.expressions import LONGEST
from varprop.fields.named import Named, Signature
from varprop.fields.validation import prefixed, refusal, shorten, suggest

_CALL = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_KEYWORD = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)", re.DOTALL)


def split_call(text: str) -> tuple[str, list[str], dict[str, str]]:
    """Return name, positional and keyword arguments of `name` or `name(argument, key=argument)`.

    Raises:
        ValueError: The text is not of this form.
    """
    match = _CALL.fullmatch(text) if len(text) <= LONGEST else None
    positional: list[str] = []
    keywords: dict[str, str] = {}
    if match is None:
        raise ValueError(refusal("it", "of the form name or name(argument, key=number)", text))
    for argument in _split(match[2] or "", text):
        keyword = _KEYWORD.fullmatch(argument)
        if keyword is None and keywords:
            raise ValueError(f"{shorten(argument.strip())} follows a named argument: name it too")
        if keyword is None:
            positional.append(argument.strip())
        elif keyword[1] in keywords:
            raise ValueError(f"{shorten(keyword[1])} is given twice in {shorten(text)}")
        else:
            keywords[keyword[1]] = keyword[2].strip()
    return match[1], positional, keywords


def _split(inside: str, text: str) -> list[str]:
    """Return the parts of `inside` between the commas that no parentheses enclose."""
    parts, depth = [""], 0
    for character in inside:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    if depth:
        raise ValueError(f"unbalanced parentheses in {shorten(text)}")
    return parts if inside.strip() else []


def bind(
    name: str, signature: Signature, positional: list[str], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments by name.

    Raises:
        ValueError: There are too many, an unknown one, one given twice or one missing.
    """
    if len(positional) > len(signature):
        accepted = ", ".join(signature) or "no arguments"
        raise ValueError(f"{name} takes {accepted}, got {len(positional)} arguments")
    arguments: dict[str, Any] = dict(zip(signature, positional, strict=False))
    for key, value in keywords.items():
        if key not in signature:
            known = suggest(key, signature) if signature else "it takes none"
            raise ValueError(f"{name} has no argument {shorten(key, 30)}: {known}")
        if key in arguments:
            raise ValueError(f"{name} {key} is given twice")
        arguments[key] = value
    missing = [key for key, p in signature.items() if p.required and key not in arguments]
    if missing:
        raise ValueError(f"{name} needs {' and '.join(missing)}")
    return arguments


N = TypeVar("N", bound=Named)


class Reader(Generic[N]):
    """What reads the named things of one noun from text, from a mapping or as they are."""

    def __init__(
        self,
        noun: str,
        kind: type[N],
        signatures: Mapping[str, Signature],
        make: Callable[[str, Mapping[str, Any]], N],
    ):
        self.noun, self.kind, self.signatures, self.make = noun, kind, signatures, make
        self._text = lru_cache(maxsize=4096)(self._read_text)

    def read(self, value: object, field: str, words: tuple[str, ...] = ()) -> N | str:
        """Return the thing described, or the one of `words` that the text is.

        Raises:
            TypeError: `value` is not text, a mapping with a `name` or such an object.
            ValueError: The name or an argument is refused.
        """
        if isinstance(value, self.kind):
            return value
        with prefixed(field):
            if isinstance(value, str):
                return self._text(value, words)
            if isinstance(value, Mapping) and isinstance(value.get("name"), str):
                keywords = {key: item for key, item in value.items() if key != "name"}
                return self._make(value["name"], [], keywords, words)
        names = ", ".join((*words, *self.signatures))
        raise TypeError(refusal(field, f"one of {names}, as text or object", value))

    def read_or_none(self, value: object, field: str) -> N | None:
        """Return the thing described, as `read` does; None for None and for the word `none`."""
        found = None if value is None else self.read(value, field, ("none",))
        return found if isinstance(found, self.kind) else None

    def _read_text(self, text: str, words: tuple[str, ...]) -> N | str:
        word = text.strip() if len(text) <= LONGEST else text
        return word if word in words else self._make(*split_call(text), words)

    def _make(
        self, name: str, positional: list[str], keywords: Mapping[str, Any], words: tuple[str, ...]
    ) -> N:
        if name not in self.signatures:
            accepted = suggest(name, (*self.signatures, *words))
            raise ValueError(f"unknown {self.noun} {shorten(name, 30)}; {accepted}")
        return self.make(name, bind(name, self.signatures[name], positional, keywords))
