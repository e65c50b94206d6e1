"""Arithmetic that users and files may write: `sqrt(d_model)`, `1/sqrt(d_head)`, `3*d_model`.

    parse("1/sqrt(d_model)", "embedding_scale").evaluate({"d_model": 4})              0.5
    parse("1/sqrt(d_model)", "embedding_scale").evaluate({"d_model": np.array([1, 4])})
    parse("0.02*d_model", "embedding_scale").evaluate({"d_model": symbol}, SYMBOLIC)  d_model/50

Text becomes a short postfix program over a closed set of operations; nothing is ever executed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from varprop.fields.functions import NUMERIC, SYMBOLIC, Functions
from varprop.fields.validation import Immutable, shorten

__all__ = [
    "FIELDS",
    "NUMERIC",
    "SYMBOLIC",
    "Expression",
    "Functions",
    "constant",
    "parse",
]

FIELDS = ("d_model", "n_heads", "d_head", "seq_len", "vocab_size")
LONGEST, DEEPEST = 500, 50
"""Characters in an expression, and levels of nesting, beyond which it is refused."""

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<operator>\*\*|[-+*/()])|[ \t\r\n]+"
)
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
_UNARY_PRECEDENCE = 3
_CALLS = ("sqrt", "log")


class Expression(Immutable):
    """A parsed expression, equal to another where the canonical text is."""

    __slots__ = ("field", "names", "program", "text")
    text: str
    names: frozenset[str]
    program: tuple[float | str, ...]
    field: str

    def __init__(self, text: str, program: tuple[float | str, ...], field: str, names: str = ""):
        self._set(text=text, program=program, field=field, names=frozenset(names.split()))

    def evaluate(self, values: Mapping[str, Any], functions: Functions = NUMERIC) -> Any:
        """Return the value where the fields are `values`: a float, an array or a SymPy expression.

        Raises:
            ValueError: The result, or anything on the way to it, is not a finite real number; or
                a field that it uses has no value.
        """
        if len(self.program) == 1 and type(self.program[0]) is float:
            return functions.result(functions.number(self.program[0]))
        if not self.names <= values.keys():
            raise ValueError(f"{self.field} depends on {', '.join(sorted(self.names))}")
        try:
            with functions.guard():
                return functions.result(self._run(values, functions))
        except ArithmeticError as error:
            where = ", ".join(f"{name}={shorten(values[name], 25)}" for name in sorted(self.names))
            got = f"{shorten(self.text)}{' at ' if where else ''}{where}"
            raise ValueError(
                f"{self.field} must be a finite real number, got {got} ({error})"
            ) from None

    def _run(self, values: Mapping[str, Any], functions: Functions) -> Any:
        stack: list[Any] = []
        for step in self.program:
            if isinstance(step, float):
                value = functions.number(step)
            elif step in _BINARY:
                right = stack.pop()
                value = _BINARY[step](stack.pop(), right)
            elif step == "**":
                right = stack.pop()
                value = functions.power(stack.pop(), right)
            elif step == "negative":
                value = -stack.pop()
            elif step in _CALLS:
                value = getattr(functions, step)(stack.pop())
            else:
                value = functions.pi if step == "pi" else functions.number(values[step])
            stack.append(functions.checked(value))
        return stack.pop()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def parse(text: str, field: str, names: tuple[str, ...] = FIELDS) -> Expression:
    """Return the expression that `text` spells, with `field` to name in messages.

    Raises:
        ValueError: The text is not an expression in `names`, or is too long or too deep.
    """
    if len(text) > LONGEST:
        raise ValueError(
            f"{field} must be an expression of at most {LONGEST} characters, "
            f"got {len(text)}: {shorten(text)}"
        )
    return _parse(text, field, names)


@lru_cache(maxsize=4096)
def _parse(text: str, field: str, names: tuple[str, ...]) -> Expression:
    return _Parser(text, field, names).expression()


def constant(value: float, field: str) -> Expression:
    """Return a finite number as an expression."""
    value += 0.0  # -0.0 becomes 0.0
    return Expression(_spell(value), (value,), field)


class _Parser:
    """Precedence climbing from tokens to a postfix program."""

    def __init__(self, text: str, field: str, names: tuple[str, ...]):
        self.text, self.field, self.names = text, field, names
        self.program: list[float | str] = []
        self.tokens = self._tokens()
        self.at = 0

    def _tokens(self) -> list[float | str]:
        tokens: list[float | str] = []
        start = 0
        while start < len(self.text):
            match = _TOKEN.match(self.text, start)
            if match is None:
                raise self._error(f"unexpected {shorten(self.text[start])}")
            start = match.end()
            if match["number"]:
                tokens.append(float(match["number"]))
                if tokens[-1] == float("inf"):
                    raise self._error("a number is too large")
            elif token := match["name"] or match["operator"]:
                tokens.append(token)
        return tokens

    def _error(self, reason: str) -> ValueError:
        return ValueError(
            f"{self.field}: cannot read {shorten(self.text)}: {reason}; "
            f"accepted: + - * / **, parentheses, numbers, sqrt, log, pi, {', '.join(self.names)}"
        )

    def expression(self) -> Expression:
        self._climb(0, 0)
        if self.at < len(self.tokens):
            raise self._error(f"unexpected {_spell(self.tokens[self.at])!r}")
        used = " ".join({t for t in self.program if t in self.names})
        text = "".join(map(_spell, self.tokens))
        return Expression(text, tuple(self.program), self.field, used)

    def _next(self) -> float | str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _take(self) -> float | str | None:
        token = self._next()
        self.at += 1
        return token

    def _expect(self, wanted: str) -> None:
        token = self._take()
        if token != wanted:
            found = "the end" if token is None else repr(_spell(token))
            raise self._error(f"expected {wanted!r}, found {found}")

    def _climb(self, lowest: int, depth: int) -> None:
        if depth > DEEPEST:
            raise self._error(f"nested deeper than {DEEPEST} levels")
        self._operand(depth)
        while (token := self._next()) in _PRECEDENCE and _PRECEDENCE[str(token)] >= lowest:
            self.at += 1
            symbol = str(token)
            # ** groups to the right, and its exponent may carry a sign: 2**-1
            self._climb(_UNARY_PRECEDENCE if symbol == "**" else _PRECEDENCE[symbol] + 1, depth + 1)
            self.program.append(symbol)

    def _operand(self, depth: int) -> None:
        token = self._take()
        if token is None:
            raise self._error("unexpected end" if self.tokens else "it is empty")
        if isinstance(token, float) or token == "pi" or token in self.names:
            self.program.append(token)
        elif token in ("+", "-"):
            self._climb(_UNARY_PRECEDENCE, depth + 1)
            self.program += ["negative"] * (token == "-")
        elif token in _CALLS or token == "(":
            if token != "(":
                self._expect("(")
            self._climb(0, depth + 1)
            self._expect(")")
            self.program += [token] * (token != "(")
        elif token[0] in "*/)":
            raise self._error(f"unexpected {token!r}")
        else:
            raise self._error(f"unknown name {shorten(token, 30)}")


def _spell(token: float | str) -> str:
    """Return the shortest text that reads back as `token`, so that 1, 1.0 and 1e0 are one text."""
    return token if isinstance(token, str) else repr(token).removesuffix(".0")
