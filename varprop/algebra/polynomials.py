"""Polynomials with exact coefficients in arbitrary scalar generators.

A scalar is a generator when it is a SymPy symbol (or a function of symbols) or a name; numbers are
coefficients.  This is the whole arithmetic of the engine, so that deriving a formula needs no SymPy
until somebody prints it.

>>> from varprop.algebra.polynomials import scalar
>>> product = scalar("a") * (scalar("b") + scalar(2))
>>> product.evaluate({"a": 3, "b": 4}.__getitem__)
18
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from math import isfinite
from numbers import Rational, Real
from typing import Any

from .text import shown

Monomial = frozenset[tuple[Hashable, Any]]
CONSTANT: Monomial = frozenset()
_LARGEST_EXPANDED_POWER = 8


class Polynomial(dict[Monomial, Any]):
    """Maps each monomial, a frozenset of (generator, power), to its non-zero coefficient.

    Powers are integers, or fractions of a symbol's power such as sqrt(d).
    """

    def __add__(self, other: Polynomial) -> Polynomial:
        result = Polynomial(self)
        result.accumulate(other)
        return result

    def accumulate(self, other: Polynomial, factor: Any = 1) -> None:
        """Add ``factor * other`` in place."""
        for monomial, coefficient in other.items():
            self._add_term(monomial, coefficient * factor)

    def __mul__(self, other: Polynomial) -> Polynomial:
        result = Polynomial()
        for left, left_coefficient in self.items():
            for right, right_coefficient in other.items():
                monomial = multiply_monomials(left, right)
                result._add_term(monomial, left_coefficient * right_coefficient)
        return result

    def __neg__(self) -> Polynomial:
        return Polynomial({monomial: -coefficient for monomial, coefficient in self.items()})

    def __pow__(self, power: int) -> Polynomial:
        result = ONE
        for _ in range(power):
            result = result * self
        return result

    def _add_term(self, monomial: Monomial, coefficient: Any) -> None:
        total = self.get(monomial, 0) + coefficient
        if total:
            self[monomial] = total
        else:
            self.pop(monomial, None)

    def evaluate(self, value: Callable[[Any], Any]) -> Any:
        """The number that the polynomial is where each generator has its ``value(generator)``."""
        total = 0
        for monomial, coefficient in self.items():
            for generator, power in monomial:
                coefficient = coefficient * value(generator) ** power
            total = total + coefficient
        return total


def multiply_monomials(left: Monomial, right: Monomial) -> Monomial:
    """Add the powers of equal generators."""
    if not left:
        return right
    if not right:
        return left
    powers = dict(left)
    for generator, power in right:
        total = powers.get(generator, 0) + power
        if total:
            powers[generator] = total
        else:
            del powers[generator]
    return frozenset(powers.items())


ONE = Polynomial({CONSTANT: 1})


def scalar(value: Any) -> Polynomial:
    """Turn a number, a name or a SymPy expression into a polynomial.

    Raises:
        TypeError: if ``value`` is none of these (a tensor, an array, a boolean, None).
        ValueError: if it is not finite or not real, or a name is no identifier.
    """
    if isinstance(value, Polynomial):
        return value
    if isinstance(value, str):
        if not value.isidentifier():
            raise ValueError(f"scalar: got {shown(value)}; accepted: a name such as 'a'")
        return generator(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return _constant(value)
    if getattr(value, "is_commutative", False) and hasattr(value, "as_base_exp"):
        return _expanded(value)
    raise TypeError(
        f"scalar: got {shown(value)} ({type(value).__name__}); accepted: a number or a SymPy "
        "expression (only sums, products and contractions of tensors are polynomial)"
    )


def named_scalar(label: str, value: Any) -> Polynomial:
    """As :func:`scalar`; an error begins with the label."""
    try:
        return scalar(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{label}: {error}") from None


def generator(value: Hashable, power: Any = 1) -> Polynomial:
    """A power of one generator."""
    return Polynomial({frozenset({(value, power)}): 1})


def reciprocal(polynomial: Polynomial) -> Polynomial:
    """One over a polynomial: a monomial's powers change sign, a sum becomes a generator of its own.

    Raises:
        ValueError: if the polynomial is zero.
    """
    if not polynomial:
        raise ValueError("division of a tensor by 0; accepted: a divisor other than 0")
    if len(polynomial) > 1:
        return generator(1 / to_sympy(polynomial))
    [(monomial, coefficient)] = polynomial.items()
    inverse = 1 / coefficient if isinstance(coefficient, float) else 1 / Fraction(coefficient)
    return _constant(inverse) * Polynomial({frozenset((g, -power) for g, power in monomial): 1})


def _constant(value: Any) -> Polynomial:
    """Integers stay integers, which are ten times as fast as fractions."""
    number: int | Fraction | float
    if isinstance(value, Rational):
        number = int(value.numerator) if value.denominator == 1 else Fraction(value)
    else:
        number = float(value)
        if not isfinite(number):
            raise ValueError(f"scalar: got {value!r}; accepted: a finite number")
    return Polynomial({CONSTANT: number}) if number else Polynomial()


def _expanded(value: Any) -> Polynomial:
    """Multiply a SymPy expression out, so that equal terms meet; functions stay whole."""
    if value.is_Rational:
        return _constant(Fraction(int(value.p), int(value.q)))
    if value.is_Float:
        return _constant(float(value))
    if value.is_Add:
        total = Polynomial()
        for term in value.args:
            total.accumulate(_expanded(term))
        return total
    if value.is_Mul:
        result = ONE
        for factor in value.args:
            result = result * _expanded(factor)
        return result
    base, power = value.as_base_exp()
    if power.is_Rational and base.is_Symbol:
        value, power = (
            base,
            int(power) if power.is_Integer else Fraction(int(power.p), int(power.q)),
        )
    elif power.is_Integer and 2 <= power <= _LARGEST_EXPANDED_POWER:
        return _expanded(base) ** int(power)
    else:
        power = 1
    if value.is_extended_real is False or (value.is_number and not value.is_finite):
        raise ValueError(f"scalar: got {shown(value)}; accepted: a finite real expression")
    return generator(value, power)


def to_sympy(polynomial: Polynomial) -> Any:
    """Return the polynomial as a SymPy expression; names become symbols."""
    import sympy

    def factor(generator: Hashable, power: Any) -> Any:
        base = sympy.Symbol(generator) if isinstance(generator, str) else generator
        return base ** sympy.sympify(power)

    return sympy.Add(
        *(
            sympy.Mul(sympy.sympify(coefficient), *(factor(*power) for power in monomial))
            for monomial, coefficient in polynomial.items()
        )
    )
