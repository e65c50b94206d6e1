"""A reference that shares nothing with the engine: all configurations of small tensors, one by one.

A definition is a function of ``einsum`` and of tensors by name.  It is run once on the engine's
tensors and once for each configuration on NumPy arrays of integers, so both sides compute the same
thing and neither sees the other's formulas.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
import sympy

from varprop import algebra as va

SIZES = dict(zip(va.dims("h d n"), (2, 2, 2), strict=True))
H, D, N = SIZES


class Points(NamedTuple):
    """A discrete law: integer points and integer weights."""

    points: tuple[int, ...]
    weights: tuple[int, ...]

    def cumulants(self, highest: int) -> list[Fraction]:
        """k_1 ... k_highest, exactly."""
        total = sum(self.weights)
        pairs = list(zip(self.points, self.weights, strict=True))
        moments = [Fraction(sum(w * x**j for x, w in pairs), total) for j in range(highest + 1)]
        cumulants: list[Fraction] = []
        for n in range(1, highest + 1):
            known = enumerate(cumulants, start=1)
            cumulants.append(
                moments[n] - sum(comb(n - 1, j - 1) * k * moments[n - j] for j, k in known)
            )
        return cumulants


class Case(NamedTuple):
    """A definition, what it is made of, and the highest moment to compare."""

    define: Callable[..., Any]
    random: dict[str, tuple[tuple[Any, ...], Points]]
    letters: tuple[str, ...] = ()
    fixed: dict[str, tuple[Any, ...]] = {}  # noqa: RUF012
    highest: int = 2
    also: tuple[str, ...] | None = None


def tensors(case: Case, orders: int = 12) -> dict[str, Any]:
    """The engine's tensors, with the cumulants as symbols."""
    made: dict[str, Any] = {name: va.fixed(name, shape) for name, shape in case.fixed.items()}
    for name, (shape, _) in case.random.items():
        cumulants = {order: f"{name}_{order}" for order in range(1, orders + 1)}
        made[name] = va.iid(name, shape, cumulants=cumulants)
    return made


def arrays(case: Case) -> dict[str, Any]:
    """Arrays of small integers for the fixed tensors."""
    rng = np.random.default_rng(len(case.fixed))
    return {
        name: rng.integers(-2, 4, [SIZES[size] for size in shape])
        for name, shape in case.fixed.items()
    }


def exact(expression: Any, case: Case, at: dict[str, int]) -> Fraction:
    """The engine's polynomial at the exact cumulants of the laws."""
    known = arrays(case)
    values = {
        sympy.Symbol(f"{name}_{order}"): sympy.Rational(k.numerator, k.denominator)
        for name, (_, law) in case.random.items()
        for order, k in enumerate(law.cumulants(12), start=1)
    }
    letters = {sympy.Symbol(letter, integer=True): value for letter, value in at.items()}
    written_out = expression.subs(SIZES).doit().subs(letters)
    entries = {
        entry: sympy.Integer(int(known[str(entry.base)][tuple(map(int, entry.indices))]))
        for entry in written_out.atoms(sympy.Indexed)
    }
    number = written_out.xreplace(entries).xreplace(values)
    assert number.is_Rational, number
    return Fraction(int(number.p), int(number.q))


def configurations(case: Case) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every configuration of the random tensors, with its integer weight."""
    entries = [
        (name, shape, law, prod(SIZES[size] for size in shape))
        for name, (shape, law) in case.random.items()
    ]
    choices = [range(len(law.points)) for _, _, law, count in entries for _ in range(count)]
    known = arrays(case)
    for chosen in product(*choices):
        weight, start, drawn = 1, 0, dict(known)
        for name, shape, law, count in entries:
            part = chosen[start : start + count]
            start += count
            weight *= prod(law.weights[i] for i in part)
            values = np.array([law.points[i] for i in part])
            drawn[name] = values.reshape([SIZES[size] for size in shape])
        yield weight, drawn


def enumerated(case: Case, places: list[tuple[int, ...]], highest: int) -> list[Fraction]:
    """E[x^j y] for j = 0 ... highest, where x and y are entries at two places (y = 1 at one)."""
    sums, total = [0] * (highest + 1), 0
    for weight, drawn in configurations(case):
        result = np.asarray(case.define(np.einsum, **drawn))
        x, y = int(result[places[0]]), int(result[places[1]]) if len(places) > 1 else 1
        total += weight
        for power in range(highest + 1):
            sums[power] += weight * x**power * y
    return [Fraction(s, total) for s in sums]
