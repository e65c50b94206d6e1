"""Independent routes to softmax expectations: the softmax itself, averaged over logits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.integrate import quad

FIELDS = (
    "logsumexp",
    "logsumexp_excess",
    "entropy",
    "entropy_deficit",
    "max_weight",
    "sum_squares",
    "effective_keys",
    "weight_variance",
    "jacobian_squared_norm",
    "mean_logit_square",
)


def of_weights(logits: np.ndarray) -> dict[str, np.ndarray]:
    """Each row's own quantities, by their definitions: logits (row, n)."""
    n = logits.shape[1]
    top = logits.max(axis=1, keepdims=True)
    shifted = np.exp(logits - top)
    total = shifted.sum(axis=1, keepdims=True)
    p = shifted / total
    logsumexp = top[:, 0] + np.log(total[:, 0])
    squares = (p**2).sum(axis=1)
    entropy = logsumexp - (p * logits).sum(axis=1)
    return {
        "logsumexp": logsumexp,
        "logsumexp_excess": logsumexp - np.log(n),
        "entropy": entropy,
        "entropy_deficit": np.log(n) - entropy,
        "max_weight": p.max(axis=1),
        "sum_squares": squares,
        "weight_variance": (squares - 1 / n) / n,
        "jacobian_squared_norm": squares - 2 * (p**3).sum(axis=1) + squares**2,
        "mean_logit_square": (p * logits).sum(axis=1) ** 2,
    }


def two_keys(std: float) -> dict[str, float]:
    """One-dimensional integrals over the difference d ~ N(0, 2 std^2) of two logits, by quad."""
    width = std * 2**0.5

    def mean(function: Callable[[float], float]) -> float:
        """E function(|d|), split where |d| is of order 1 and where the density is."""
        ends = [0.0, *sorted({e for e in (1.0, 4.0, 12.0, 45.0) if e < 9 * width}), 9 * width]
        ends = [e for e in ends if e <= 45.0]  # beyond, every function here is below e^-45
        parts = (
            quad(
                lambda d: function(d) * np.exp(-((d / width) ** 2) / 2),
                *pair,
                epsabs=0,
                epsrel=1e-13,
                limit=200,
            )[0]
            for pair in pairwise(ends)
        )
        return 2 * sum(parts) / (width * (2 * np.pi) ** 0.5)

    def less(d: float) -> float:
        """The smaller weight."""
        return np.exp(-d) / (1 + np.exp(-d))

    def entropy(d: float) -> float:
        return np.log1p(np.exp(-d)) + d * less(d)

    def deficit(d: float) -> float:
        return d / 2 * np.tanh(d / 2) - log_cosh(d)

    def log_cosh(d: float) -> float:
        return np.log1p(2 * np.sinh(d / 4) ** 2)

    absolute = width * (2 / np.pi) ** 0.5
    wide = width > 4
    entropies = mean(entropy)
    tail = mean(lambda d: np.log1p(np.exp(-d)))
    excess = absolute / 2 + tail - np.log(2) if wide else mean(log_cosh)
    product = mean(lambda d: less(d) * (1 - less(d)))
    return {
        "logsumexp": excess + np.log(2),
        "logsumexp_excess": excess,
        "entropy": entropies,
        "entropy_deficit": np.log(2) - entropies if wide else mean(deficit),
        "max_weight": 1 - mean(less),
        "sum_squares": 1 - 2 * product,
        "effective_keys": 1 / (1 - 2 * product),
        "weight_variance": 0.25 - product if wide else mean(lambda d: np.tanh(d / 2) ** 2) / 4,
        "jacobian_squared_norm": mean(lambda d: (2 * less(d) * (1 - less(d))) ** 2),
        # The mean of the two and d tanh(d/2)/2, d of variance 2 std^2, are added and independent.
        "mean_logit_square": std**2 - mean(lambda d: d**2 * less(d) * (1 - less(d))),
    }


def several_keys(n: int, std: float, step: float) -> dict[str, float]:
    """The trapezoidal rule over the n - 1 contrasts of n logits; `max_weight` is not smooth."""
    z = np.arange(-np.ceil(8.5 / step), np.ceil(8.5 / step) + 1) * step
    density = np.exp(-(z**2) / 2) * step / (2 * np.pi) ** 0.5
    grids = np.stack(np.meshgrid(*[z] * (n - 1), indexing="ij"), axis=-1).reshape(-1, n - 1)
    weights = np.array(1.0)
    for _ in range(n - 1):
        weights = np.multiply.outer(weights, density)
    contrasts = np.linalg.svd(np.eye(n) - 1 / n)[2][: n - 1]
    values = of_weights(std * grids @ contrasts)
    means = {name: float(value @ weights.ravel()) for name, value in values.items()}
    means["mean_logit_square"] += std**2 / n  # of what all logits share
    return means | {"effective_keys": 1 / means["sum_squares"]}


def largest_of_several(n: int, std: float, nodes: int) -> float:
    """n int 1 / (1 + sum_k e^{-a_k}) da over a_k > 0, how far the others are below the largest."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    end = 9 * 2**0.5 * std
    gaps = np.stack(np.meshgrid(*[end * (x + 1) / 2] * (n - 1), indexing="ij"), axis=-1)
    weights = np.array(1.0)
    for _ in range(n - 1):
        weights = np.multiply.outer(weights, w * end / 2)
    covariance = std**2 * (np.eye(n - 1) + 1)
    exponent = np.einsum("...i,ij,...j->...", gaps, np.linalg.inv(covariance), gaps)
    density = np.exp(-exponent / 2) / np.sqrt(np.linalg.det(2 * np.pi * covariance))
    return float(n * (weights * density / (1 + np.exp(-gaps).sum(axis=-1))).sum())
