"""Numbers for the symbols of an expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isfinite
from numbers import Rational
from typing import Any

from .polynomials import Polynomial, named_scalar, scalar
from .tensors import Tensor
from .text import shortened, shown

LARGEST = 10**18


class Bindings:
    """Numbers by the names of symbols: positive integers for sizes, rationals for other scalars."""

    def __init__(self, sizes: Any, values: Any = None) -> None:
        """Check both mappings; keys are SymPy symbols or their names.

        Raises:
            TypeError: if one is no mapping, or a key no symbol.
            ValueError: if a size is no positive integer, a value not finite, or a name bound twice.
        """
        self._numbers = {
            name: Fraction(_whole(name, size)) for name, size in _by_name("sizes", sizes)
        }
        for name, value in _by_name("values", values):
            if isinstance(value, str):
                raise TypeError(f"values: {name} is {shown(value)}; accepted: a number")
            number = self.number(named_scalar(f"values: {name}", value))
            if self._numbers.setdefault(name, number) != number:
                raise ValueError(
                    f"values: {name} is {shown(value)}, but {self._numbers[name]} in sizes"
                )

    def size(self, size: Any) -> int:
        """The number that a size is: its own, or an expression in the sizes given.

        Raises:
            ValueError: if a symbol has no number, or the size is no positive integer.
        """
        return _whole(str(size), self.number(scalar(size), "sizes"))

    def number(self, polynomial: Polynomial, argument: str = "values") -> Fraction:
        """The value of a scalar, exact where no root or function is in it.

        Raises:
            ValueError: if a symbol has no number, or the result is not finite and real.
        """
        try:
            number = polynomial.evaluate(lambda generator: self._value(generator, argument))
        except ZeroDivisionError:
            raise ValueError(
                f"{argument}: division by zero in a scalar of the expression"
            ) from None
        if isinstance(number, complex) or not isfinite(number):
            raise ValueError(f"{argument}: a scalar becomes {number}; accepted: finite and real")
        return Fraction(number)

    def _value(self, generator: Any, argument: str) -> Fraction:
        if isinstance(generator, str):
            return self._named(generator, argument)
        numbers = {s: self._named(str(s), argument) for s in generator.free_symbols}
        if generator in numbers:
            return numbers[generator]
        import sympy

        rationals = {s: sympy.Rational(n.numerator, n.denominator) for s, n in numbers.items()}
        value = generator.xreplace(rationals)
        if not value.is_Rational:
            value = sympy.N(value, 40)
            if not value.is_Float:
                raise ValueError(
                    f"{argument}: {shortened(str(generator))} becomes {shortened(str(value))}; "
                    "accepted: values that make it finite and real"
                )
            value = sympy.Rational(value)
        return Fraction(int(value.p), int(value.q))

    def _named(self, name: str, argument: str) -> Fraction:
        if name not in self._numbers:
            given = shortened(", ".join(self._numbers) or "nothing")
            raise ValueError(f"{argument}: no number for {shortened(name)}; got {given}")
        return self._numbers[name]


def _whole(name: str, value: Any) -> int:
    whole = isinstance(value, Rational) or getattr(value, "is_Integer", False)
    if not whole or isinstance(value, bool) or value != int(value) or not 1 <= value <= LARGEST:
        raise ValueError(
            f"sizes: {shortened(name)} is {shown(value)}; accepted: a positive integer up to 10^18"
        )
    return int(value)


def _by_name(argument: str, given: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(given, Mapping | None):
        raise TypeError(
            f"{argument}: got {shown(given)}; accepted: a mapping of symbols to numbers"
        )
    for key, value in (given or {}).items():
        name = key if isinstance(key, str) else getattr(key, "name", None)
        if isinstance(key, Tensor) or not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f"{argument}: key {shown(key)}; accepted: a symbol or its name")
        yield name, value
