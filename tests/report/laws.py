"""Exact expectations of small random arrays: every configuration is visited, with its weight."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

LARGEST = 2**20
"""Configurations at most; also the bound on the terms of a sum, from which tolerances follow."""


class Law(NamedTuple):
    """A discrete distribution."""

    points: np.ndarray
    weights: np.ndarray


def law(variance: float, excess_kurtosis: float = -2.0, mean: float = 0.0) -> Law:
    """Return the law on mean - r, mean, mean + r of this variance and excess kurtosis.

    With excess kurtosis -2 it has two points, r apart from the mean with equal chances; with 0 its
    moments are the normal distribution's up to the fifth.
    """
    chance = 1 / (excess_kurtosis + 3)
    points = np.sqrt(variance / chance) * np.array([-1.0, 0.0, 1.0]) + mean
    weights = np.array([chance / 2, 1 - chance, chance / 2])
    return Law(points[weights > 0], weights[weights > 0])


def average(statistic: Callable[..., Any], **tensors: tuple[tuple[int, ...], Law]) -> Any:
    """Average a statistic over all configurations of independent entries, ``name=(shape, law)``.

    The statistic takes arrays by name, with the configurations along the first axis.
    """
    entries = [(name, shape, x) for name, (shape, x) in tensors.items()]
    counts = [len(x.points) for _, shape, x in entries for _ in range(prod(shape))]
    total = prod(counts)
    assert total <= LARGEST, f"{total} configurations"
    chosen = np.unravel_index(np.arange(total), counts) if counts else ()
    arrays, weights, start = {}, np.ones(total), 0
    for name, shape, x in entries:
        index = np.stack(chosen[start : start + prod(shape)], axis=1)
        start += prod(shape)
        arrays[name] = x.points[index].reshape(total, *shape)
        weights *= x.weights[index].prod(axis=1)
    return np.tensordot(weights, statistic(**arrays), axes=1)


def variance(statistic: Callable[..., Any], **tensors: tuple[tuple[int, ...], Law]) -> Any:
    """Variance of a statistic over all configurations."""
    return covariance(statistic, statistic, **tensors)


def covariance(
    one: Callable[..., Any], other: Callable[..., Any], **tensors: tuple[tuple[int, ...], Law]
) -> Any:
    """Covariance of two statistics over all configurations."""

    def all_three(**arrays: np.ndarray) -> np.ndarray:
        first, second = one(**arrays), other(**arrays)
        return np.stack([first * second, first, second], axis=1)

    product, first, second = average(all_three, **tensors)
    return product - first * second
