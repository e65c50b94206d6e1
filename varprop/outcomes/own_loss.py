"""The loss where one logit has a law of its own, on one grid for everything.

With G(u) = E exp(-e^{u + a}) of the own logit a, and phi that of each of the V - 1 others,

    E log(1 + e^{-a} sum_others e^l) = int G(u) (1 - phi(u)^{V-1}) du

since log(1 + y) = int exp(-e^u) (1 - exp(-e^u y)) du: every factor lies between 0 and 1, and the
law of a enters by one convolution.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from varprop.fields.numeric import Floats
from varprop.outcomes.directions import NEGLIGIBLE
from varprop.outcomes.stepped_laws import FEW
from varprop.quadrature.gauss import Law, gauss, krylov
from varprop.quadrature.narrow import WIDEST, NarrowTable
from varprop.quadrature.nodes import STEP, log_t_nodes
from varprop.quadrature.on_grid import on_grid
from varprop.quadrature.wide import HIGHEST, WideTable

ORDER = 10
"""Points of the grid that a node is spread over."""

FINE = STEP / 2
"""Step of the narrowest grid: interpolation of exp(-e^x) by ORDER points is off by 3e-11."""

PER_STD = 0.1
"""Step in standard deviations of the own logit: densities are resolved to all digits."""


SMOOTH, FLAT, REACH = 1.92, 14, 24
"""Width, in grid steps, and order of the step that stands for exp(-e^x) on a coarse grid, and
where nothing is left of it."""


def grid_step(vocab_size: int, spread: float, own_std: float) -> float:
    """The step that resolves the own logit's law, and the largest of the other logits."""
    _, step = log_t_nodes(math.sqrt(spread), vocab_size - 1, vocab_size - 1)
    return max(FINE, min(step, PER_STD * own_std))


def own_token_loss(vocab_size: int, spread: float, own: Law, step: float) -> float:
    """E log(1 + e^{-a} sum_others e^l), the others independent N(0, spread).

    Args:
        own: nodes of the law of a, a step or less apart where that is more than STEP, and weights.
        step: of the grid.

    The error is below 1e-11 max(1, sqrt(spread)); smaller results are lost in it.
    """
    others = vocab_size - 1
    first, last, above = _others(math.sqrt(spread), others, step)
    kept = own.weights > NEGLIGIBLE
    start, masses = on_grid(own.points[kept], own.weights[kept], step, ORDER)
    end = max(last, math.ceil(HIGHEST / step) + REACH - start)
    # G at grid point i is the sum over k of masses_k kernel(i + start + k).
    kernel = _kernel(first + start, end + start + len(masses), step)
    g = np.convolve(kernel, masses[::-1], mode="valid")
    inside = last - first + 1
    found = float(g[:inside] @ above) + float(g[inside:].sum())
    return max(step * found, 0.0)


def _others(std: float, others: int, step: float) -> tuple[int, int, Floats]:
    """First and last grid point, and 1 - phi^others between them: 0 before and 1 after."""
    nodes, _ = log_t_nodes(std, others, others)
    first, last = math.floor(nodes[0] / step), math.ceil(nodes[-1] / step)
    log_t = step * np.arange(first, last + 1)
    if std < WIDEST:
        log_phi = NarrowTable(std, log_t, step).log_phi
    else:
        log_phi = WideTable(std, log_t, step, others).log_phi
    return first, last, -np.expm1(np.maximum(others * log_phi, -300.0))


def _kernel(first: int, last: int, step: float) -> Floats:
    """exp(-e^x) on the grid; if that is coarse, what acts alike on masses of a smooth law.

    exp(-e^x) = P(log X > x), X exponential, is then the mean of smooth steps at log X.
    """
    x = step * np.arange(first, last, dtype=np.float64)
    if step <= STEP:
        return np.exp(-np.exp(np.minimum(x, 2 * HIGHEST)))
    nodes, weights = _log_exponential()
    kernel: Floats = (x < 0).astype(np.float64)
    near = (x > nodes[0] - 2 * REACH * step) & (x < nodes[-1] + 2 * REACH * step)
    kernel[near] = _smooth_step((nodes - x[near, None]) / (SMOOTH * step)) @ weights
    return kernel


def _smooth_step(z: Floats) -> Floats:
    """From 0 to 1 around z = 0, with the frequencies of a smooth law only, and no long tails.

        Fourier transform of the slope: e^{-q} sum_{k < FLAT} q^k / k!, q = w^2 / 2

    which is 1 to 1e-12 where SMOOTH = 1.92 grid steps of PER_STD let a law have frequencies, and
    0 to 1e-12 where a grid repeats them. Term by term its integral is -He_{2k-1} density.
    """
    from scipy.special import ndtr

    z = np.clip(z, -30, 30)  # beyond, it is 0 or 1
    coefficients = np.zeros(2 * FLAT - 2)
    for k in range(1, FLAT):
        coefficients[2 * k - 1] = (-0.5) ** k / math.factorial(k)
    density = np.exp(z**2 / -2) / math.sqrt(2 * math.pi)
    bumps = density * np.polynomial.hermite_e.hermeval(z, coefficients)
    smooth: Floats = ndtr(z) - bumps
    return smooth


@lru_cache
def _log_exponential() -> Law:
    """A Gauss rule for the logarithm of an exponential variable: density e^{x - e^x}."""
    x = np.arange(-40.0, HIGHEST, FINE)
    weights = np.exp(x - np.exp(x))
    return gauss(krylov(Law(x, weights / weights.sum()), FEW)).law
