"""Brute force: draw the tensors, contract them, average.  It never sees a formula.

>>> from varprop import algebra as va
>>> h, d, n = va.dims("h d n")
>>> W, E = va.iid("W", (h, d), variance="w"), va.iid("E", (n, d), variance=1)
>>> P = va.fixed("P", (n, d))
>>> q = va.einsum("ai,ti->ta", W, E + P)
>>> result = va.simulate(q["t", "a"], {h: 2, d: 3, n: 1}, {"w": 2}, fixed={P: [[1, 2, 2]]})
>>> abs(result.variance.value - 2 * (3 + 9)) < 5 * result.variance.stderr
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod, sqrt
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from .bindings import Bindings
from .discrete import discrete_law
from .entries import Entry, letter_sizes
from .inputs import Numbers, by_tensor, finite_array, fixed_arrays, letter_values
from .moments import as_entry
from .numeric import Plan
from .polynomials import Polynomial
from .tensors import Leaf, Tensor
from .text import shown

Sampler = Callable[[np.random.Generator, tuple[int, ...]], Numbers]

NUMBERS_AT_ONCE = 2**22
"""How many numbers a chunk of draws may hold (32 MB), unless a single draw holds more."""
NUMBERS_IN_A_DRAW = 2**27
"""How many numbers a single draw may hold (1 GB); more are refused."""


class Estimate(NamedTuple):
    """A measured number and its standard error."""

    value: float
    stderr: float


class Simulation(NamedTuple):
    """What a simulation measures of one entry."""

    mean: Estimate
    variance: Estimate


def simulate(
    entry: Entry | Tensor,
    sizes: Mapping[Any, int],
    values: Mapping[Any, Any] | None = None,
    *,
    fixed: Mapping[Leaf | str, Any] | None = None,
    at: Mapping[str, int] | None = None,
    sampler: Mapping[Leaf | str, Sampler] | None = None,
    draws: int = 100_000,
    seed: int = 0,
) -> Simulation:
    """Estimate the mean and variance of an entry over independent draws of all its random tensors.

    Gaussian tensors are drawn as such, others from the discrete law of their cumulants
    (:func:`varprop.algebra.discrete.discrete_law`) or from their samplers.  The variance is the
    unbiased one; its squared standard error is (m4 - (N-3)/(N-1) variance²) / N, m4 being the
    fourth central moment of N draws.  The same arguments give the same numbers to the last bit.

    Args:
        entry: an entry such as ``q["t", "a"]``, or a tensor without index.
        sizes: a positive integer for each size, by symbol or name; more are ignored.
        values: a number for each scalar, by symbol or name; more are ignored.
        fixed: an array for each fixed tensor, of its shape.
        at: index values of letters; others take 0, 1, ... per dimension in order of appearance.
        sampler: ``{W: function}``, where ``function(rng, shape)`` returns independent entries.
        draws: how many, at least 2.
        seed: of the random numbers.

    Raises:
        TypeError: if an argument is not of the kind described.
        ValueError: if a symbol or array is missing, a number or shape does not fit, no law has a
            tensor's cumulants, or the letters are too many for a size.
    """
    place = as_entry(entry)
    _check_integer("draws", draws, 2)
    _check_integer("seed", seed, 0)
    bindings = Bindings(sizes, values)
    leaves = sorted(place.tensor.leaves.values(), key=lambda leaf: leaf.name)
    known = fixed_arrays(fixed, leaves, bindings)
    samplers = _samplers(sampler, [leaf for leaf in leaves if leaf.law is not None], bindings)
    chosen = letter_values(at, letter_sizes([place]), bindings)
    plan = Plan(place.tensor, tuple(chosen[letter] for letter in place.letters), bindings)
    shapes = {leaf.name: tuple(map(bindings.size, leaf.shape)) for leaf in samplers}
    numbers = plan.numbers + sum(map(prod, shapes.values()))
    if numbers > NUMBERS_IN_A_DRAW:
        raise ValueError(f"sizes: a draw of {numbers} numbers; accepted: up to {NUMBERS_IN_A_DRAW}")
    rng = np.random.default_rng(seed)
    chunk = max(1, min(draws, NUMBERS_AT_ONCE // numbers))
    sums = PowerSums()
    for start in range(0, draws, chunk):
        count = min(chunk, draws - start)
        drawn = {
            leaf.name: finite_array(
                f"sampler of {leaf.name}", draw(rng, shape := (count, *shapes[leaf.name])), shape
            )
            for leaf, draw in samplers.items()
        }
        sums.add(np.broadcast_to(plan.run(known | drawn), count))
    return sums.estimates()


class PowerSums:
    """Sums of powers 0 ... 4 of deviations from the median of the first chunk."""

    def __init__(self) -> None:
        """Begin without draws."""
        self._origin: float | None = None
        self._sums = np.zeros(5)

    def add(self, draws: Numbers) -> None:
        """Add a chunk of draws."""
        if self._origin is None:
            self._origin = float(np.partition(draws, draws.size // 2)[draws.size // 2])
        deviations = draws - self._origin
        self._sums += [np.sum(deviations**power) for power in range(5)]

    def estimates(self) -> Simulation:
        """The mean and the unbiased variance, each with its standard error."""
        n = float(self._sums[0])
        _, a, b, c, d = map(float, self._sums / n)
        second = max(b - a * a, 0.0)
        fourth = d - 4 * a * c + 6 * a * a * b - 3 * a**4
        variance = second * n / (n - 1)
        spread = max(fourth - (n - 3) / (n - 1) * variance**2, 0.0)
        return Simulation(
            Estimate((self._origin or 0.0) + a, sqrt(variance / n)),
            Estimate(variance, sqrt(spread / n)),
        )


def _samplers(given: Any, leaves: Iterable[Leaf], bindings: Bindings) -> dict[Leaf, Sampler]:
    samplers = dict(by_tensor("sampler", given))
    result: dict[Leaf, Sampler] = {}
    for leaf in leaves:
        draw = samplers.pop(leaf.name, leaf.sampler)
        if draw is not None and not callable(draw):
            raise TypeError(
                f"sampler: {leaf.name}: {shown(draw)}; accepted: a function of (rng, shape)"
            )
        result[leaf] = draw or _law_sampler(leaf, bindings)
    if samplers:
        raise ValueError(
            f"sampler: no random tensor {shown(next(iter(samplers)))} in the expression"
        )
    return result


def _law_sampler(leaf: Leaf, bindings: Bindings) -> Sampler:
    if leaf.orders is None:
        raise ValueError(f"{leaf.name}: drawn jointly with others; accepted: tensors of iid()")
    highest = max(leaf.orders)
    cumulants = [
        bindings.number(leaf.orders.get(order, Polynomial())) for order in range(1, highest + 1)
    ]
    if highest == 2 and cumulants[1] >= 0:
        mean, deviation = float(cumulants[0]), sqrt(cumulants[1])
        return lambda rng, shape: mean + deviation * rng.standard_normal(shape)
    law = discrete_law(cumulants)
    if law is None:
        given = ", ".join(f"{order}: {float(k):.6g}" for order, k in enumerate(cumulants, start=1))
        raise ValueError(
            f"{leaf.name}: no law has the cumulants {{{given}}}; accepted: possible ones"
        )
    return law.sample


def _check_integer(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}: got {shown(value)}; accepted: an integer, at least {least}")
