"""Two readings of the same arithmetic: float64 numbers and arrays, or exact SymPy.

`NUMERIC` raises on anything that is not finite and real; `SYMBOLIC` loads SymPy when first used
and reads every decimal number as the exact fraction that it spells (0.02 is 1/50).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from numbers import Rational
from typing import Any, Protocol

import numpy as np

EXACT_BITS = 4096
"""Exact powers whose integers would outgrow this are refused: 9**9**9 has 369 million digits."""


class Functions(Protocol):
    """The operations that arithmetic, operators aside, needs of a kind of number."""

    @property
    def symbolic(self) -> bool: ...

    @property
    def pi(self) -> Any: ...

    def __hash__(self) -> int: ...

    def sqrt(self, value: Any) -> Any: ...

    def log(self, value: Any) -> Any: ...

    def power(self, base: Any, exponent: Any) -> Any: ...

    def number(self, value: Any) -> Any:
        """Return a float, integer, fraction, array or symbol as this kind of number."""

    def checked(self, value: Any) -> Any:
        """Return `value`; an ArithmeticError if it is not finite and real."""

    def result(self, value: Any) -> Any:
        """Return `value` in its final form."""

    def guard(self) -> AbstractContextManager[Any]:
        """Return the context in which operations raise an ArithmeticError instead of nan, inf."""


class Numeric:
    """float64 arithmetic; scalars come out as floats."""

    symbolic = False
    pi = np.pi

    def sqrt(self, value: Any) -> Any:
        return np.sqrt(value)

    def log(self, value: Any) -> Any:
        return np.log(value)

    def power(self, base: Any, exponent: Any) -> Any:
        return base**exponent

    def number(self, value: Any) -> Any:
        return np.float64(value)

    def checked(self, value: Any) -> Any:
        return value  # inside `guard` NumPy has raised already

    def result(self, value: Any) -> Any:
        return value if isinstance(value, np.ndarray) else float(value)

    def guard(self) -> AbstractContextManager[Any]:
        return np.errstate(divide="raise", over="raise", invalid="raise", under="ignore")


class Symbolic:
    """Exact SymPy arithmetic."""

    symbolic = True

    @property
    def pi(self) -> Any:
        import sympy

        return sympy.pi

    def number(self, value: Any) -> Any:
        import sympy

        if isinstance(value, Rational):
            return sympy.Rational(int(value.numerator), int(value.denominator))
        if isinstance(value, float):
            return sympy.Rational(repr(float(value)))
        return sympy.sympify(value, strict=True)

    def sqrt(self, value: Any) -> Any:
        import sympy

        return sympy.sqrt(value)

    def log(self, value: Any) -> Any:
        import sympy

        return sympy.log(value)

    def power(self, base: Any, exponent: Any) -> Any:
        import sympy

        sizes = [max(abs(r.p), r.q).bit_length() for r in base.atoms(sympy.Rational) if abs(r) != 1]
        if exponent.is_number and abs(exponent) * max(sizes, default=0) > EXACT_BITS:
            raise OverflowError("too large to hold exactly")
        return base**exponent

    def checked(self, value: Any) -> Any:
        import sympy

        infinite = (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo)
        if value.has(*infinite) or value.is_real is False:
            raise ZeroDivisionError("not finite and real")
        return value

    def result(self, value: Any) -> Any:
        return value

    def guard(self) -> AbstractContextManager[Any]:
        return nullcontext()


NUMERIC: Functions = Numeric()
SYMBOLIC: Functions = Symbolic()
