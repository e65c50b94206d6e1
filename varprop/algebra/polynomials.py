"""Polynomials with exact coefficients in arbitrary scalar generators.

A scalar is a generator when it is a SymPy expression or a name; numbers are coefficients.  This is the
whole arithmetic of the engine, so that deriving a formula needs no SymPy until somebody prints it.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from math import isfinite
from numbers import Rational, Real
from typing import Any

Monomial = frozenset[tuple[Hashable, int]]
CONSTANT: Monomial = frozenset()


class Polynomial(dict[Monomial, Any]):
    """Maps each monomial, a frozenset of (generator, power), to its non-zero coefficient."""

    def __add__(self, other: Polynomial) -> Polynomial:
        result = Polynomial(self)
        result.accumulate(other)
        return result

    def accumulate(self, other: Polynomial, factor: Any = 1) -> None:
        """Add ``factor * other`` in place."""
        for monomial, coefficient in other.items():
            total = self.get(monomial, 0) + coefficient * factor
            if total:
                self[monomial] = total
            else:
                self.pop(monomial, None)

    def __mul__(self, other: Polynomial) -> Polynomial:
        result = Polynomial()
        for left, left_coefficient in self.items():
            for right, right_coefficient in other.items():
                monomial = multiply_monomials(left, right)
                total = result.get(monomial, 0) + left_coefficient * right_coefficient
                if total:
                    result[monomial] = total
                else:
                    result.pop(monomial, None)
        return result

    def __neg__(self) -> Polynomial:
        return Polynomial({monomial: -coefficient for monomial, coefficient in self.items()})


def multiply_monomials(left: Monomial, right: Monomial) -> Monomial:
    """Add the powers of equal generators."""
    if not left:
        return right
    if not right:
        return left
    powers = dict(left)
    for generator, power in right:
        powers[generator] = powers.get(generator, 0) + power
    return frozenset(powers.items())


ONE = Polynomial({CONSTANT: 1})


def scalar(value: Any) -> Polynomial:
    """Turn a number, a name or a SymPy expression into a polynomial.

    Raises:
        TypeError: if ``value`` is none of these (a tensor, an array, a boolean, None).
    """
    if isinstance(value, Polynomial):
        return value
    if isinstance(value, str):
        return Polynomial({frozenset({(value, 1)}): 1})
    if isinstance(value, Real) and not isinstance(value, bool):
        return _constant(value)
    if hasattr(value, "free_symbols") and getattr(value, "is_commutative", False):
        if value.is_Rational:
            return scalar(Fraction(int(value.p), int(value.q)))
        if value.is_Float:
            return scalar(float(value))
        if value.is_finite is False or value.is_extended_real is False:
            raise ValueError(f"scalar: got {value}; accepted: a finite real expression")
        return Polynomial({frozenset({(value, 1)}): 1})
    raise TypeError(
        f"scalar: got {type(value).__name__}; accepted: a number or a SymPy expression "
        "(only sums, products and contractions of tensors are polynomial)"
    )


def _constant(value: Real) -> Polynomial:
    """Integers stay integers, which are ten times as fast as fractions."""
    number: int | Fraction | float
    if isinstance(value, Rational):
        number = int(value.numerator) if value.denominator == 1 else Fraction(value)
    else:
        number = float(value)
        if not isfinite(number):
            raise ValueError(f"scalar: got {value!r}; accepted: a finite number")
    return Polynomial({CONSTANT: number}) if number else Polynomial()


def to_sympy(polynomial: Polynomial) -> Any:
    """Return the polynomial as a SymPy expression; names become symbols."""
    import sympy

    def generator_to_sympy(generator: Hashable) -> Any:
        return sympy.Symbol(generator) if isinstance(generator, str) else generator

    return sympy.Add(
        *(
            sympy.Mul(
                sympy.sympify(coefficient),
                *(generator_to_sympy(generator) ** power for generator, power in monomial),
            )
            for monomial, coefficient in polynomial.items()
        )
    )
