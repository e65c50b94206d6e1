"""What the softmax of a specification is off by where its law of keys is not exact.

Each effect is derived as a relative change of log n - entropy and of E sum p^2 - 1/n, which are
s^2/2 and (e^{s^2} - 1)/n for a row variance s^2 that is not large, and saturate at s^2 = 2 log n.
With x = min(s^2, 2 log n):

    a relative variance D more of s^2                      x (1 + x) D / 2
    an excess kurtosis k of keys given the query           7/12 k x (1 + x)
    covariances of pairs of keys of variance C s^4         5/2 C x (1 + x)

The second follows from E e^{2l} / (E e^l)^2 = exp(s^2 + 14 k s^4 / 24), the third from the terms
e^{C_jk} of E[mean e^{2l} (6 - 8 mean e^l + 3 (mean e^l)^2)] in second order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats
from varprop.norms import LayerNorm
from varprop.outcomes.front import Front
from varprop.positions import Rotary, Sinusoidal

SAMPLED = 128
"""Distances between positions, and frequencies, that a sum over sinusoids is taken from."""


class Effect(NamedTuple):
    """Something neglected, in words, and the relative error that it makes."""

    words: str
    size: float


def neglected(
    front: Front, variance: float, own: tuple[float, float], common: float
) -> list[Effect]:
    """Return all effects that a specification has.

    Args:
        front: the specification.
        variance: s^2, the mean variance along a row.
        own: mean and mean square of the own logit beside what the row shares.
        common: mean square of what the row shares.
    """
    x = min(variance, 2 * math.log(front.length))
    bent = x * (1 + x)
    d, head, n = front.width, front.head, front.length
    # A tie of the largest keys leaves log 2, where the entropy is of the order of 1/s.
    repeats = float(front.spec.token_repeat) * n
    effects = [
        Effect("weights that are not Gaussian", _weights(front) * bent / 2),
        Effect("weights with a mean", _means(front) * (1 + bent)),
        Effect("keys that are not Gaussian given the query", 7 / 12 * _kurtosis(front) * bent),
        Effect("a bias of the query", _bias(front) * (1 + bent) / head),
        Effect("rows that repeat a token", repeats * (1 + x + math.sqrt(variance))),
        Effect("positions that keys share", _positions(front, bent)),
        Effect(
            "what the own key shares with its row",
            (math.sqrt(own[1] * common) / variance + 2 * (1 + x) / d) / n,
        ),
        Effect("the tails of the own logit", _dominance(front, *own)),
    ]
    return [effect for effect in effects if effect.size > 0]


def _dominance(front: Front, mean: float, square: float) -> float:
    """Where the own key has most of the weight, the rest is E e^{-a}: exp(Var(a) / 2) or more."""
    if not mean > 0:
        return 0.0
    weight = 1 / (1 + front.length * math.exp(-min(mean, 700.0)))
    return weight * max(square - mean**2, 0.0) / 2


def _weights(front: Front) -> float:
    """Relative variance of |W_q x|^2 and |W_k^T q|^2 that is due to the weights' kurtosis.

    Var |W x|^2 / (E |W x|^2)^2 = 2/rows + kappa sum x^4 / (sum x^2)^2 / rows
    """
    total = 0.0
    for field, rows, columns in (
        ("query", front.head, front.width),
        ("key", front.width, front.head),
    ):
        if not isinstance(getattr(front.spec, field), str):
            total += 3 * front.drawn(field).departure / ((columns + 2) * rows)
    return total


def _means(front: Front) -> float:
    """Share of a projection that the mean of its weights makes: one direction for all channels."""
    total = 0.0
    square, mean = front.rows.second_moment, front.rows.mean
    for field in ("query", "key"):
        if not isinstance(getattr(front.spec, field), str):
            drawn, first = front.drawn(field), float(front.drawn(field).cumulant(1))
            aligned = 1.0
            if square and mean is not None:
                aligned = 1 + (front.width - 1) * min(mean**2 / square, 1.0)
            along = first**2 * aligned
            variance = float(drawn.cumulant(2))
            if along > 0:
                total += along / (along + variance) * (1 + aligned)
    return total


def _kurtosis(front: Front) -> float:
    """Excess kurtosis of a key given the query, at most."""
    spec, d = front.spec, front.width
    entries = 3 * (abs(front.free_kurtosis) + 5 * front.skewness**2) / (d + 2)
    if front.key_identity and front.query_identity:
        entries *= 1 + abs(front.kurtosis) / 3
    if spec.norm is not None:
        entries += 6 / (d + (1 if isinstance(spec.norm, LayerNorm) else 2))
    if isinstance(spec.position, Rotary):
        entries += 6 / d
    return entries


def _bias(front: Front) -> float:
    """Share of the query's mean square that its bias holds."""
    square = front.second("query_bias")
    query = front.prediction["query"].second_moment
    return min(square / query, 1.0) if query else 0.0


def _positions(front: Front, bent: float) -> float:
    """Covariances of pairs of keys that positions make, beyond their mean."""
    spec = front.spec
    if isinstance(spec.position, Sinusoidal):
        spread, share = position_spread(front), position_share(front)
    elif isinstance(spec.position, Rotary):
        # What rows have in common, and the key's bias, turn with the position.
        key = front.prediction["key"]
        bias = front.second("key_bias") / key.second_moment if key.second_moment else 0.0
        square, cross = front.rows.second_moment, front.rows.cross_position_moment
        fixed = 1.0 if not square or cross is None else min(max(cross / square, 0.0), 1.0)
        spread, share = 1.0, min(fixed + bias, 1.0)
    else:
        return 0.0
    shorter = share if spec.causal else 0.0
    return 2.5 * share**2 * spread * bent + shorter / 2


def position_share(front: Front) -> float:
    """Share of the variance along a row that sinusoidal positions make."""
    position, rows = front.prediction["position"], front.prediction["input"]
    cross = position.cross_position_moment
    fixed = position.second_moment - (0.0 if cross is None else cross)
    free = rows.ensemble_variance
    return float(fixed / (fixed + free)) if fixed + free > 0 else 0.0


def position_spread(front: Front) -> float:
    """Var (f_j . f_k) over pairs j != k, over (|f|^2 - mean of f_j . f_k)^2."""
    n, d = front.length, front.width
    distances: Floats = np.unique(np.geomspace(1, n - 1, SAMPLED).round()) if n > 2 else np.ones(1)
    # Each distance stands for those up to the next one, of which there are n - distance pairs.
    edges = np.concatenate([[0.5], (distances[1:] + distances[:-1]) / 2, [n - 0.5]])
    weights = np.diff(edges * n - edges**2 / 2)
    pairs = d // 2 or 1
    chosen = np.linspace(0, pairs - 1, min(pairs, SAMPLED))
    base = float(front.spec.number("position.base"))
    products = np.cos(np.multiply.outer(distances, base ** (-2 * chosen / d))).mean(axis=1)
    weights = np.maximum(weights, 0) / np.maximum(weights, 0).sum()
    mean = float(weights @ products)
    variance = float(weights @ (products - mean) ** 2)
    return variance / (1 - mean) ** 2 if mean < 1 else 1.0
