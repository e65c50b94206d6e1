"""Softmax rows by brute force: grids over all logits, and the integrands of the pages over t."""

from collections.abc import Callable
from typing import Any

import numpy as np

Z = 0.2 * np.arange(-45, 46)
CHANCES = 0.2 * np.exp(-(Z**2) / 2) / np.sqrt(2 * np.pi)
"""The trapezoidal rule for a normal number: what is averaged is analytic, the error below 1e-16."""

LOG_T = 0.2 * np.arange(-225, 120)


def over_rows(n: int, v: Any, statistic: Callable[[np.ndarray], np.ndarray]) -> Any:
    """The mean of a function of rows of n independent N(0, v) logits, (configuration, n)."""
    index = np.indices((Z.size,) * n).reshape(n, -1).T
    return CHANCES[index].prod(1) @ statistic(np.sqrt(v) * Z[index])


def logsumexp(logits: np.ndarray) -> np.ndarray:
    return np.log(np.exp(logits).sum(1))


def softmax(logits: np.ndarray) -> np.ndarray:
    return np.exp(logits - logsumexp(logits)[:, None])


def entropy(logits: np.ndarray) -> np.ndarray:
    return -(softmax(logits) * (logits - logsumexp(logits)[:, None])).sum(1)


def squares(logits: np.ndarray) -> np.ndarray:
    return (softmax(logits) ** 2).sum(1)


def jacobian(logits: np.ndarray) -> np.ndarray:
    p = softmax(logits)
    whole = np.eye(p.shape[1]) * p[:, None] - p[:, :, None] * p[:, None]
    return (whole**2).sum((1, 2))


def moments(v: Any, t: Any, k: int) -> Any:
    """m_k(t), for one t or an array of them."""
    e = np.exp(np.sqrt(v) * Z)
    return ((np.multiply.outer(t, e)) ** k * np.exp(-np.multiply.outer(t, e))) @ CHANCES


def integrands(o: Any) -> None:
    """Give a point what stands under its integrals, at nodes in t."""
    o.t = np.exp(LOG_T)
    o.w_t = 0.2 * o.t
    for k in range(1, 5):
        setattr(o, f"m_{k}", moments(o.v, o.t, k))
    o.phi = moments(o.v, o.t, 0)
    x = LOG_T[:, None] + np.sqrt(o.v) * Z
    o.g = -((np.euler_gamma + x) * np.exp(np.maximum(x - np.exp(x), -745))) @ CHANCES


def legendre(low: Any, high: Any, count: int) -> tuple[Any, Any]:
    """Nodes and weights from low to high (arrays); the nodes are the last axis."""
    x, w = np.polynomial.legendre.leggauss(count)
    half = np.asarray(high - low)[..., None] / 2
    return np.asarray(low)[..., None] + half * (1 + x), half * w


def density(l: Any, v: float) -> Any:
    return np.exp(-(l**2) / (2 * v)) / np.sqrt(2 * np.pi * v)


def largest_integrands(o: Any) -> None:
    """The same for the double integral over t and the largest logit l."""
    end = 9 * np.sqrt(o.v)
    o.t = np.exp(LOG_T)[:, None]
    o.w_t = 0.2 * o.t
    o.l, o.w_l = legendre(-end, end, 120)
    o.f = density(o.l, o.v)
    below, weights = legendre(-end * np.ones(o.l.size), o.l, 100)
    o.psi = np.stack(
        [(weights * density(below, o.v) * np.exp(-t * np.exp(below))).sum(1) for t in o.t[:, 0]]
    )


def largest(n: int, v: float) -> float:
    """E max p, for two or three keys, key by key below the largest."""
    end = 9 * np.sqrt(v)
    l, w = legendre(-end, end, 100)
    total = 0.0
    for top, weight in zip(l, w * density(l, v), strict=True):
        below, masses = legendre(-end, top, 80)
        chance = masses * density(below, v)
        rest, chances = np.exp(below - top), chance
        for _ in range(n - 2):
            rest = np.add.outer(rest, np.exp(below - top)).ravel()
            chances = np.multiply.outer(chances, chance).ravel()
        total += n * weight * (chances / (1 + rest)).sum()
    return total


def taylor(n: int, statistic: Callable[[np.ndarray], np.ndarray], order: int) -> np.ndarray:
    """Coefficients of v^0 .. v^order of the mean of a function of the row, v small.

    The function of e l is averaged over a law with the normal moments up to the ninth and
    expanded in e by Cauchy's integral; where v^k stands for e^{2k}.
    """
    points, chances = np.polynomial.hermite_e.hermegauss(5)
    index = np.indices((5,) * n).reshape(n, -1).T
    weights = (chances / chances.sum())[index].prod(1)
    circle = 0.2 * np.exp(2j * np.pi * np.arange(64) / 64)
    values = np.array([weights @ statistic(e * points[index].astype(complex)) for e in circle])
    coefficients = np.fft.fft(values).real / 64 / 0.2 ** np.arange(64)
    return coefficients[: 2 * order + 1 : 2]
