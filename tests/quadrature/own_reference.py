"""Independent routes to rows with an own key: one other key by quad, several by Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.integrate import quad

from varprop.quadrature.own_key import own_key_integrals
from varprop.quadrature.own_largest import own_key_largest


def computed(std: float, length: int, own: float) -> dict[str, float]:
    """Everything at one length and one own logit."""
    n, a = np.array([float(length)]), np.array([own])
    values = {k: float(v[0, 0]) for k, v in own_key_integrals(std, n, a)._asdict().items()}
    return values | {"largest": float(own_key_largest(std, n, a)[0, 0])}


def own_token_losses(
    size: int, variance: float, own: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """The expected loss at the token whose logit has this discrete law, and at another one."""
    found = own_key_integrals(variance**0.5, np.array([float(size)]), own)
    return float(found.loss[0] @ weights), float(found.logsumexp[0] @ weights)


def one_other_key(std: float, own: float) -> dict[str, float]:
    """E f(l), l ~ N(0, std^2), split where the two logits meet and where the density is."""
    meeting = [(own + d) / std for d in (-60, -20, -5, 0, 5, 20, 60)]
    ends = sorted({min(max(z, -13.0), 13.0) for z in (*meeting, *range(-13, 14, 2))})

    def mean(function: Callable[[float], float]) -> float:
        def integrand(z: float) -> float:
            return function(std * z) * np.exp(-z * z / 2)

        options = {"epsabs": 1e-300, "epsrel": 1e-12, "limit": 200, "full_output": 1}
        total = sum(quad(integrand, *part, **options)[0] for part in pairwise(ends))
        return total / (2 * np.pi) ** 0.5

    def weight(l: float) -> float:
        """Of the own key; rounding does not matter to what is averaged of it."""
        return float(np.exp(-np.logaddexp(0, l - own)))

    def rest(l: float) -> float:
        return float(np.exp(-np.logaddexp(0, own - l)))

    def entropy(l: float) -> float:
        gap = abs(l - own)
        return np.log1p(np.exp(-gap)) + gap * np.exp(-gap) / (1 + np.exp(-gap))

    return {
        "logsumexp": mean(lambda l: np.logaddexp(own, l)),
        "logsumexp_excess": mean(lambda l: np.logaddexp(own, l)) - np.log(2),
        "entropy": mean(entropy),
        "deficit": np.log(2) - mean(entropy),
        "squares": mean(lambda l: weight(l) ** 2 + rest(l) ** 2),
        "squares_excess": mean(lambda l: (weight(l) - rest(l)) ** 2 / 2),
        "jacobian": mean(lambda l: 4 * (weight(l) * rest(l)) ** 2),
        "own_weight": mean(weight),
        "own_square": mean(lambda l: weight(l) ** 2),
        "output": mean(lambda l: (weight(l) * own + rest(l) * l) ** 2),
        "other_outputs": mean(lambda l: (rest(l) * l) ** 2),
        "loss": mean(lambda l: np.logaddexp(0, l - own)),
        "largest": mean(lambda l: max(weight(l), rest(l))),
    }


def of_rows(logits: np.ndarray) -> dict[str, np.ndarray]:
    """Each row's own quantities, by their definitions: logits (row, n), the own one first."""
    logsumexp = np.logaddexp.reduce(logits, axis=1)
    p = np.exp(logits - logsumexp[:, None])
    squares = (p**2).sum(axis=1)
    entropy = logsumexp - (p * logits).sum(axis=1)
    log_n = np.log(logits.shape[1])
    return {
        "logsumexp": logsumexp,
        "logsumexp_excess": logsumexp - log_n,
        "entropy": entropy,
        "deficit": log_n - entropy,
        "squares": squares,
        "squares_excess": squares - 1 / logits.shape[1],
        "jacobian": squares - 2 * (p**3).sum(axis=1) + squares**2,
        "own_weight": p[:, 0],
        "own_square": p[:, 0] ** 2,
        "output": (p * logits).sum(axis=1) ** 2,
        "other_outputs": ((p * logits)[:, 1:] ** 2).sum(axis=1),
        "loss": logsumexp - logits[:, 0],
        "largest": p.max(axis=1),
    }


def two_others(std: float, own: float, step: float) -> dict[str, float]:
    """The trapezoidal rule over two other logits; the largest weight is not smooth."""
    z = np.arange(-np.ceil(9 / step), np.ceil(9 / step) + 1) * step
    weights = np.exp(-(z**2) / 2) * step / (2 * np.pi) ** 0.5
    first, second = (grid.ravel() for grid in np.meshgrid(std * z, std * z))
    values = of_rows(np.stack([np.full_like(first, own), first, second], axis=1))
    both = np.multiply.outer(weights, weights).ravel()
    return {name: float(value @ both) for name, value in values.items() if name != "largest"}
