"""Averages of exp(-t e^l) and of its kernels over a Gaussian logit, accurate at any t."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.quadrature.narrow import WIDEST, NarrowTable, gaussian_rule
from varprop.quadrature.nodes import STEP, blocks
from varprop.quadrature.own_kernels import own_kernels
from varprop.quadrature.wide import HIGHEST, SMOOTH

LOWEST = -44.0
"""Start of the grid of x = log t + l: what is left out is exp(3/4 LOWEST) of an average."""

REFINED = 0.75
"""Step of that grid in units of STEP.

The transform of a kernel decays like exp(-pi/2 |omega|), that of its product with the Gaussian like
exp(-pi/2 |omega| + (pi/2)^2 / (2 std^2)): 2 pi / (REFINED STEP) makes exp(-41) of it at WIDEST.
"""


class Averages(NamedTuple):
    """With x = u + l, t = e^x, l ~ N(0, std^2): each of the shape of u, or (u, 1) and so on."""

    log_phi: Floats
    """log E e^{-t}."""
    first: Floats
    """E[t e^{-t}]."""
    second: Floats
    """E[t^2 e^{-t}]."""
    entropy: Floats
    """E[(gamma + x) e^{-t} + E_1(t)], of which E[-(gamma + x) t e^{-t}] is the derivative by u."""
    logit: Floats
    """E[l t e^{-t}]."""
    logit_square: Floats
    """E[l^2 t^2 e^{-t}]."""


def averages(std: float, u: Floats) -> Averages:
    """Return the averages at u (u,), each to full relative accuracy, however far to the left."""
    if std < WIDEST:
        return narrow_averages(NarrowTable(std, u, STEP))
    columns = np.empty((len(Averages._fields), u.size))
    kernels = _kernels()
    tail = u < -std * std / 4
    for part, of in ((~tail, _central), (tail, _tail)):
        (where,) = np.nonzero(part)
        for rows in blocks(where.size, kernels.x.size):
            columns[:, where[rows]] = of(std, u[where[rows]], kernels)
    return Averages(*columns)


def narrow_averages(table: NarrowTable) -> Averages:
    """Return the averages at the nodes of a table."""
    z, weights = gaussian_rule()
    x = table.log_t[:, None] + table.std * np.concatenate([-z, z])
    entropy = own_kernels(x).entropy @ np.concatenate([weights, weights])
    moments = (table.moment(k) for k in range(1, 5))
    return Averages(table.log_phi, *_of_moments(table.std, entropy, *moments))


def _of_moments(std: float, entropy: Floats, *m: Floats) -> tuple[Floats, ...]:
    """The averages after log phi, from m_k = E[t^k e^{-t}] by Stein: E[l f(l)] = std^2 E f'(l)."""
    first, second, third, fourth = m
    logit_square = std**2 * second + std**4 * (4 * second - 5 * third + fourth)
    return first, second, entropy, std**2 * (first - second), logit_square


def _central(std: float, u: Floats, kernels: _Kernels) -> Floats:
    """Sums over x, of kernels that decay on both sides."""
    from scipy.special import ndtr

    offset = (kernels.x - u[:, None]) / std
    gaussian = np.exp(offset**2 * -0.5)
    gaussian *= REFINED * STEP / std / math.sqrt(2 * math.pi)
    bump, first, second, entropy = (gaussian @ kernels.central).T
    gaussian *= offset
    logit = gaussian @ kernels.central[:, 1]
    gaussian *= offset
    logit_square = gaussian @ kernels.central[:, 2]
    middle = (u + np.euler_gamma) / math.hypot(std, SMOOTH)
    # Where logits are narrow, phi falls far below its two parts, and rounding is left of it.
    phi = np.maximum(ndtr(-middle) - bump, 2.0**-53 * np.exp(-np.minimum(middle**2, 1200.0) / 2))
    return np.stack(
        [
            np.where(middle < 0, np.log1p(-np.minimum(ndtr(middle) + bump, 0.9)), np.log(phi)),
            first,
            second,
            entropy,
            std * logit,
            std**2 * logit_square,
        ]
    )


def _tail(std: float, u: Floats, kernels: _Kernels) -> Floats:
    """For u < -std^2 / 4, where most of t^k N(l) may be at x near u + k std^2, left of the grid.

    With w = SMOOTH and h^2 = std^2 + w^2,
    E[t^k Phi(-(x + gamma) / w)] = e^{k u + k^2 std^2 / 2} Phi(-(u + k std^2 + gamma) / h);
    what is left of t^k e^{-t}, with k = 1 for 1 - e^{-t} and (gamma + x) e^{-t} + E_1(t), which
    begins with (1 - gamma - x) t, decays faster by a factor t: cut at LOWEST, it misses
    exp(LOWEST) of the average. The derivative by u gives x t Phi by Stein.
    """
    from scipy.special import log_ndtr, ndtr

    offset = (kernels.x - u[:, None]) / std
    gaussian = np.exp(offset**2 * -0.5)
    remainders = gaussian @ kernels.remainders * (REFINED * STEP / std / math.sqrt(2 * math.pi))
    k, wide = np.arange(1, 5), math.hypot(std, SMOOTH)
    shifted = u[:, None] + np.euler_gamma
    exponent = k * u[:, None] + (k * std) ** 2 / 2 + log_ndtr(-(shifted + k * std**2) / wide)
    closed = np.exp(exponent)
    small = ndtr(shifted[:, 0] / wide) + closed[:, 0] + remainders[:, 0]
    edge = u + std**2 / 2 - ((shifted[:, 0] + std**2) / wide) ** 2 / 2
    density = np.exp(edge) / wide / math.sqrt(2 * math.pi)
    logit = std**2 * (closed[:, 0] - density)
    entropy = (1 - shifted[:, 0]) * closed[:, 0] - logit + remainders[:, 1]
    moments = (closed + remainders[:, 2:]).T
    return np.stack([np.log1p(-small), *_of_moments(std, entropy, *moments)])


class _Kernels(NamedTuple):
    """Nodes x (x,), and kernels (x, kernel)."""

    x: Floats
    central: Floats
    remainders: Floats


@lru_cache
def _kernels() -> _Kernels:
    from scipy.special import ndtr

    step = REFINED * STEP
    x = step * np.arange(round(LOWEST / step), round(HIGHEST / step) + 1, dtype=np.float64)
    t = np.exp(x)
    equal, smooth = np.exp(-t), ndtr((x + np.euler_gamma) / SMOOTH)
    bump, entropy = -np.expm1(-t) - smooth, own_kernels(x).entropy
    below = ndtr(-(x + np.euler_gamma) / SMOOTH)
    # e^{-t} - below, without cancellation on the left.
    beyond = np.where(x < 0, np.expm1(-t) + smooth, equal - below)
    linear = (1 - np.euler_gamma - x) * t * below
    remainders = [bump - t * below, entropy - linear, *(t**k * beyond for k in range(1, 5))]
    central = [bump, t * equal, t**2 * equal, entropy]
    return _Kernels(x, np.stack(central, axis=1), np.stack(remainders, axis=1))
