"""The standard normal cut to a window [low, high]: cumulants by quadrature or exactly, and draws.

The density is proportional to exp(-x**2/2) on the window. Everything numeric is computed in the
offset t = x - mode from the highest point of the density in the window, where
log density = -(mode*t + t**2/2) <= 0: nothing overflows, underflows or cancels in a far tail
(low = 30) or a narrow window. Reference: Johnson, Kotz, Balakrishnan (1994), section 13.10.1.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from varprop.fields.functions import Functions
from varprop.fields.validation import Immutable
from varprop.initializers.distributions import Floats, Shape

DEPTH = 120.0
"""The quadrature stops where the density is exp(-120) of its highest value."""
PANELS, NODES = 16, 20
"""Panels of the composite rule, and nodes in each: the density is smooth, 320 nodes resolve it."""
CHUNK = 4096
"""Windows whose nodes are held at once, 10 MB for each array."""


class TruncatedNormal(Immutable):
    """The law of Z | low <= Z <= high for a standard normal Z, or that over its own std.

    `low` and `high` are numbers or arrays; with `functions` SYMBOLIC, SymPy expressions.
    `unit` divides by the truncated standard deviation, so that the variance is 1.
    """

    __slots__ = ("_memory", "functions", "high", "low", "unit")
    low: Any
    high: Any
    unit: bool
    functions: Functions
    _memory: dict[int, Any]

    def __init__(self, low: Any, high: Any, unit: bool, functions: Functions):
        self._set(low=low, high=high, unit=unit, functions=functions, _memory={})

    def cumulant(self, order: int) -> Any:
        """Return the cumulant of this order; int 0 for odd orders of a symmetric window."""
        if order % 2 and np.all(self.low == -self.high):
            return 0
        if order not in self._memory:
            self._memory[order] = self._cumulant(order)
        return self._memory[order]

    def _cumulant(self, order: int) -> Any:
        if self.functions.symbolic:
            raw = exact_cumulant(self.low, self.high, order)
        else:
            low, high = np.broadcast_arrays(self.low, self.high)
            if np.ptp(low) == 0 == np.ptp(high):  # as for the default cut-offs, whatever std is
                raw = float(numeric_cumulant(low.ravel()[:1], high.ravel()[:1], order)[0])
            else:
                raw = numeric_cumulant(low.ravel(), high.ravel(), order).reshape(low.shape)
        if not self.unit:
            return raw
        variance = raw if order == 2 else self._variance()
        root = self.functions.sqrt(variance) if order % 2 else 1
        return raw / (variance ** (order // 2) * root)

    def _variance(self) -> Any:
        return TruncatedNormal(self.low, self.high, False, self.functions).cumulant(2)

    def sample(self, rng: np.random.Generator, shape: Shape) -> Floats:
        """Return exact draws, by rejection."""
        draws = draw(rng, float(self.low), float(self.high), int(np.prod(shape))).reshape(shape)
        if self.unit:
            draws /= np.sqrt(self._variance())
        return draws

    def __repr__(self) -> str:
        return f"TruncatedNormal({self.low}, {self.high}, unit={self.unit})"


@lru_cache
def _rule() -> tuple[Floats, Floats]:
    """Return nodes and weights of composite Gauss-Legendre quadrature on [0, 1]."""
    from numpy.polynomial.legendre import leggauss

    nodes, weights = leggauss(NODES)
    starts = np.arange(PANELS)[:, None]
    return (
        ((nodes + 1) / 2 + starts).ravel() / PANELS,
        np.broadcast_to(weights / (2 * PANELS), (PANELS, NODES)).ravel(),
    )


def numeric_cumulant(low: Floats, high: Floats, order: int) -> Floats:
    """Return kappa_n for vectors of windows, by quadrature of central moments."""
    if low.size > CHUNK:
        chunks = range(0, low.size, CHUNK)
        parts = [numeric_cumulant(low[i : i + CHUNK], high[i : i + CHUNK], order) for i in chunks]
        return np.concatenate(parts)
    mode = np.clip(0.0, low, high)
    # exp(-DEPTH) is reached where mode*t + t**2/2 = DEPTH; this root of it does not cancel.
    reach = 2 * DEPTH / (np.hypot(mode, np.sqrt(2 * DEPTH)) + np.abs(mode))
    start, stop = np.maximum(low - mode, -reach), np.minimum(high - mode, reach)
    nodes, weights = _rule()
    offset = start[:, None] + (stop - start)[:, None] * nodes
    density = weights * np.exp(-(mode[:, None] + offset / 2) * offset)
    density /= density.sum(axis=1, keepdims=True)
    mean = (density * offset).sum(axis=1)
    if order == 1:
        return np.asarray(mode + mean)
    deviation = offset - mean[:, None]
    moments = [np.ones_like(mean), np.zeros_like(mean)]
    moments += [(density * deviation**n).sum(axis=1) for n in range(2, order + 1)]
    return np.asarray(_cumulants(moments)[order])


def exact_cumulant(low: Any, high: Any, order: int) -> Any:
    """Return kappa_n as a closed form in erf, from the recursion of the moments.

    m_n = (n-1) m_{n-2} - (high**(n-1) phi(high) - low**(n-1) phi(low)) / (Phi(high) - Phi(low)).
    """
    import sympy

    low, high = sympy.sympify(low), sympy.sympify(high)
    mass = (sympy.erf(high / sympy.sqrt(2)) - sympy.erf(low / sympy.sqrt(2))) / 2

    def edge(x: Any, power: int) -> Any:
        return x**power * sympy.exp(-(x**2) / 2) / (sympy.sqrt(2 * sympy.pi) * mass)

    moments: list[Any] = [sympy.Integer(1)]
    for n in range(1, order + 1):
        lower = (n - 1) * moments[n - 2] if n > 1 else 0
        moments.append(lower - edge(high, n - 1) + edge(low, n - 1))
    return _cumulants(moments)[order]


def _cumulants(moments: list[Any]) -> list[Any]:
    """Return cumulants from moments: kappa_n = m_n - sum_k C(n-1, k-1) kappa_k m_{n-k}."""
    cumulants: list[Any] = [0]
    for n in range(1, len(moments)):
        lower = sum(comb(n - 1, k - 1) * cumulants[k] * moments[n - k] for k in range(1, n))
        cumulants.append(moments[n] - lower)
    return cumulants


def draw(rng: np.random.Generator, low: float, high: float, count: int) -> Floats:
    """Return `count` draws from the window; each round accepts at least a third on average."""
    found = np.empty(count)
    done = 0
    while done < count:
        size = int((count - done) * 1.1) + 16
        batch = (
            _tail(rng, low, high, size)
            if low >= 0
            else (-_tail(rng, -high, -low, size) if high <= 0 else _centre(rng, low, high, size))
        )
        batch = batch[: count - done]
        found[done : done + batch.size] = batch
        done += batch.size
    return found


def _centre(rng: np.random.Generator, low: float, high: float, size: int) -> Floats:
    """Return accepted proposals for a window around 0: normal if it is wide, uniform if not.

    Of normal ones the window's probability p is accepted, of uniform ones p sqrt(2 pi)/width.
    """
    if high - low > np.sqrt(2 * np.pi):
        proposals = rng.standard_normal(size)
        return proposals[(proposals >= low) & (proposals <= high)]
    proposals = rng.uniform(low, high, size)
    return proposals[rng.random(size) < np.exp(-(proposals**2) / 2)]


def _tail(rng: np.random.Generator, low: float, high: float, size: int) -> Floats:
    """Return accepted proposals for 0 <= low < high: a truncated exponential of Robert's rate.

    Reference: Robert (1995), Simulation of truncated normal variables, section 2.1.
    """
    rate = (low + np.hypot(low, 2)) / 2
    width = high - low
    offset = -np.log1p(rng.random(size) * np.expm1(-rate * width)) / rate
    best = min(rate - low, width)
    excess = (rate - low) * (offset - best) - (offset**2 - best**2) / 2
    return np.asarray(low + offset[rng.random(size) < np.exp(excess)])
