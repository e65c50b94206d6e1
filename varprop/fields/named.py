"""Named things with arguments, such as the initializer `normal(std=0.02)`.

    str(normal(0, 0.02))                                "normal(std=0.02)"
    normal(0, 0.02) == normal(std="0.02")               True
    normal(std="1/sqrt(d_model)").number("std", {"d_model": 4})     0.5

Two of them are equal where name and arguments are, whichever way they were written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from varprop.expressions import FIELDS, NUMERIC, Expression, Functions
from varprop.fields.numeric import as_number
from varprop.fields.validation import Immutable, refusal, shorten


class Parameter(NamedTuple):
    """One argument: its default as text (None: none), what it must satisfy, names it may use."""

    default: Any = None
    condition: str = ""  # "", "> 0" or ">= 0"
    required: bool = False
    shown: bool = False  # in the canonical text even where it is the default
    names: tuple[str, ...] = FIELDS
    kind: type = float  # or bool; or a class of named things


Signature = Mapping[str, Parameter]


class Named(Immutable):
    """A name with arguments; numbers among them are expressions or arrays until evaluated."""

    __slots__ = ("_hash", "arguments", "name", "text")
    signatures: ClassVar[Mapping[str, Signature]]
    name: str
    arguments: Mapping[str, Any]
    text: str
    _hash: int | None

    def __init__(self, name: str, **arguments: Any):
        signature = self.signatures[name]
        kept = {
            key: _argument(arguments.get(key, parameter.default), parameter, f"{name} {key}")
            for key, parameter in signature.items()
        }
        self._set(name=name, arguments=MappingProxyType(kept))
        shown = [
            f"{key}={_show(kept[key])}" if parameter.kind in (float, bool) else str(kept[key])
            for key, parameter in signature.items()
            if parameter.shown or not _equal(kept[key], _default(parameter, f"{name} {key}"))
        ]
        text = f"{name}({', '.join(shown)})" if shown else name
        self._set(text=text, _hash=None if any(self.shapes()) else hash(text))
        try:
            np.broadcast_shapes(*self.shapes())
        except ValueError:
            raise ValueError(f"the arrays in {shorten(text, 200)} do not broadcast") from None

    def shapes(self) -> Iterator[tuple[int, ...]]:
        """Yield the shapes of the arguments that are arrays."""
        for value in self.arguments.values():
            if isinstance(value, np.ndarray):
                yield value.shape
            elif isinstance(value, Named):
                yield from value.shapes()

    def number(self, key: str, sizes: Mapping[str, Any], functions: Functions = NUMERIC) -> Any:
        """Return the argument `key` where the fields are `sizes`.

        Raises:
            ValueError: It is not finite, or out of its range; or an array, for a formula.
        """
        value = self.arguments[key]
        if isinstance(value, Expression):
            value = value.evaluate(sizes, functions)
        if functions.symbolic:
            if isinstance(value, np.ndarray):
                raise ValueError(f"{self.name} {key} is an array: a formula needs one number")
            return value
        condition = self.signatures[self.name][key].condition
        bad = condition and (value <= 0 if condition == "> 0" else value < 0)
        if np.any(bad):
            given = float(np.asarray(value)[bad][0])
            raise ValueError(refusal(f"{self.name} {key}", f"a finite number {condition}", given))
        return value

    def to_dict(self) -> Any:
        """Return JSON-ready data that parses back: the text, or a mapping if there are arrays."""
        if self._hash is not None:
            return self.text
        given = {key: _data(value) for key, value in self.arguments.items() if value is not None}
        return {"name": self.name} | given

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Named):
            return NotImplemented
        if self._hash is not None or other._hash is not None:
            return type(self) is type(other) and self.text == other.text
        return self.name == other.name and all(
            _equal(value, other.arguments[key]) for key, value in self.arguments.items()
        )

    def __hash__(self) -> int:
        if self._hash is None:
            raise TypeError(f"{self.name} holds arrays and has no hash")
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.name, dict(self.arguments))


def entry(value: Any, shape: tuple[int, ...], index: tuple[int, ...]) -> Any:
    """Return what stands at `index` of a field's value whose arrays broadcast to `shape`."""
    if isinstance(value, np.ndarray):
        return np.broadcast_to(value, shape)[index].item()
    if isinstance(value, Named) and value._hash is None:
        given = {key: entry(argument, shape, index) for key, argument in value.arguments.items()}
        return _rebuild(type(value), value.name, given)
    return value


def _rebuild(kind: type[Named], name: str, arguments: Mapping[str, Any]) -> Named:
    made = kind.__new__(kind)
    Named.__init__(made, name, **arguments)
    return made


def _argument(value: Any, parameter: Parameter, label: str) -> Any:
    if parameter.kind is bool:
        flag = {"True": True, "False": False}.get(value, value) if isinstance(value, str) else value
        if not isinstance(flag, (bool, np.bool_)):
            raise TypeError(refusal(label, "True or False", value))
        return bool(flag)
    if value is None and parameter.default is None and not parameter.required:
        return None
    if parameter.kind is not float:
        return value
    return as_number(value, label, parameter.names)


def _default(parameter: Parameter, label: str) -> Any:
    return None if parameter.required else _argument(parameter.default, parameter, label)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and np.array_equal(one, other)
    return bool(one == other)


def _data(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Named):
        return value.to_dict()
    return value if isinstance(value, bool) else str(value)


def _show(value: Any) -> str:
    return shorten(value) if isinstance(value, np.ndarray) else str(value)
