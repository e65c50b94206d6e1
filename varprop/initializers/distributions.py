"""Laws of single numbers: exact cumulants of any order, and a sampler.

    X = location + scale*Z,    kappa_1(X) = location + scale*kappa_1(Z),
    kappa_n(X) = scale**n * kappa_n(Z) for n >= 2,

where Z follows one of the laws without parameters below, or a truncated one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import comb
from typing import Any, Protocol

import numpy as np

from varprop.fields.functions import NUMERIC, Functions
from varprop.fields.validation import Immutable

Floats = np.ndarray[Any, np.dtype[np.float64]]
Shape = int | tuple[int, ...]


class Law(Protocol):
    """The law of Z: cumulants (int 0 where structurally zero) and draws."""

    def cumulant(self, order: int) -> Any: ...

    def sample(self, rng: np.random.Generator, shape: Shape) -> Floats: ...


class Standard(Immutable):
    """A law without parameters, made of its cumulants (as ints or fractions) and its sampler."""

    __slots__ = ("cumulant", "name", "sample")
    name: str
    cumulant: Callable[[int], Any]
    sample: Callable[[np.random.Generator, Shape], Floats]

    def __init__(
        self,
        name: str,
        cumulant: Callable[[int], Any],
        sample: Callable[[np.random.Generator, Shape], Floats],
    ):
        self._set(name=name, cumulant=cumulant, sample=sample)

    def __repr__(self) -> str:
        return self.name

    __reduce__ = __repr__  # pickled as the global of this name


@lru_cache
def bernoulli(order: int) -> Any:
    """Return the Bernoulli number B_n (B_1 = -1/2) as a Fraction."""
    from fractions import Fraction

    if order == 0:
        return Fraction(1)
    lower = sum(comb(order + 1, k) * bernoulli(k) for k in range(order))
    return Fraction(-lower, order + 1)


@lru_cache
def _uniform_cumulant(order: int) -> Any:
    """Return kappa_n = B_n 2**n / n for even n: Z is uniform on [-1, 1]."""
    return bernoulli(order) * 2**order / order if order % 2 == 0 else 0


GAUSSIAN = Standard(
    "GAUSSIAN", lambda order: int(order == 2), lambda rng, shape: rng.standard_normal(shape)
)
UNIFORM = Standard("UNIFORM", _uniform_cumulant, lambda rng, shape: rng.uniform(-1, 1, shape))
POINT = Standard("POINT", lambda order: 0, lambda rng, shape: np.zeros(shape))


class Distribution(Immutable):
    """The distribution of location + scale*Z, in numbers, arrays or SymPy expressions.

    `square` is scale**2: carried beside `scale`, so that a variance such as 1/d_model never
    passes through a square root.
    """

    __slots__ = ("functions", "law", "location", "scale", "square")
    location: Any
    scale: Any
    square: Any
    law: Law
    functions: Functions

    def __init__(
        self, law: Law, location: Any, scale: Any, square: Any, functions: Functions = NUMERIC
    ):
        self._set(law=law, location=location, scale=scale, square=square, functions=functions)

    def cumulant(self, order: int) -> Any:
        """Return kappa_n: a float, an array or a SymPy expression; int 0 where it is always 0.

        Raises:
            ValueError: `order` is not at least 1.
        """
        if order < 1:
            raise ValueError(f"order must be a positive integer, got {order}")
        standard = self.law.cumulant(order)
        if isinstance(standard, int) and standard == 0:
            return self._plain(self.location) if order == 1 else 0
        standard = self.functions.number(standard)
        if order == 1:
            return self._plain(self.location + self.scale * standard)
        odd = self.scale if order % 2 else 1
        return self._plain(self.square ** (order // 2) * odd * standard)

    def _plain(self, value: Any) -> Any:
        keep = self.functions.symbolic or isinstance(value, int)
        return value if keep else self.functions.result(value)

    @property
    def degenerate(self) -> Any:
        """True where the variance is 0: a bool, or an array of them."""
        if self.law is POINT:
            return True
        zero = self.scale == 0
        return zero if isinstance(zero, np.ndarray) else bool(zero)

    @property
    def gaussian(self) -> bool:
        """Whether draws are normal, or all one number; of single numbers."""
        return self.law is GAUSSIAN or bool(self.degenerate)

    @property
    def nothing(self) -> bool:
        """Whether all draws are 0; of single numbers."""
        return bool(self.degenerate and self.location == 0)

    @property
    def skewness(self) -> float:
        """|kappa_3| / kappa_2^(3/2), 0 where the variance is."""
        return abs(self._standardised(3))

    @property
    def excess_kurtosis(self) -> float:
        """kappa_4 / kappa_2^2, 0 where the variance is."""
        return self._standardised(4)

    @property
    def departure(self) -> float:
        """How far the law is from a Gaussian: |excess kurtosis| + skewness^2."""
        return abs(self.excess_kurtosis) + self.skewness**2

    def _standardised(self, order: int) -> float:
        """A cumulant of Z in units of its std, which no scale makes too small or too large."""
        if self.degenerate:
            return 0.0
        value, variance = float(self.law.cumulant(order)), float(self.law.cumulant(2))
        return float(value / variance ** (order / 2))

    def sample(self, rng: np.random.Generator, shape: Shape) -> Floats:
        """Return independent float64 draws.

        Raises:
            ValueError: A parameter is an array or a symbol.
        """
        if self.functions.symbolic or np.ndim(self.location) or np.ndim(self.scale):
            raise ValueError("only a distribution with single numbers for parameters can be drawn")
        draws = self.law.sample(rng, shape)
        draws *= self.scale
        return draws + self.location if self.location != 0 else draws

    def __repr__(self) -> str:
        return f"Distribution({self.law}, location={self.location}, scale={self.scale})"
