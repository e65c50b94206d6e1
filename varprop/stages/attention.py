"""The softmax over a row of keys, and the sum of values that it weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .stage import Outcome

if TYPE_CHECKING:
    from varprop.simulation.draws import Array, Draws, Layout
    from varprop.spec import TransformerSpec


def _all_logits(draws: Draws) -> Array:
    """Logits of all pairs, i = j included: (replicate, head, i, j); -inf where a mask forbids."""
    own = draws["self_logits"]
    length = own.shape[-1]
    logits = np.empty((*own.shape, length))
    diagonal = np.eye(length, dtype=bool)
    logits[..., diagonal] = own
    if length > 1:
        logits[..., ~diagonal] = draws["logits"].reshape(*own.shape[:2], -1)
    if draws.spec.causal:
        logits[..., ~_visible(length)] = -np.inf
    return logits


def _visible(length: int) -> Array:
    """Pairs i, j with j <= i."""
    return np.tri(length, dtype=bool)


def _softmax(draws: Draws) -> Array:
    """p_ij = e^{l_ij} / sum_k e^{l_ik}."""
    logits = _all_logits(draws)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    normed: Array = weights / weights.sum(axis=-1, keepdims=True)
    return normed


def logsumexp(logits: Array) -> Array:
    """log sum_k e^{l_k} over the last axis."""
    top = logits.max(axis=-1, keepdims=True)
    total: Array = top[..., 0] + np.log(np.exp(logits - top).sum(axis=-1))
    return total


def _dropped(draws: Draws) -> Array:
    """The weights after dropout: kept ones are divided by 1 - attention_dropout."""
    weights: Array = draws.once("softmax", _softmax)
    keep = 1 - draws.spec.attention_dropout
    if keep == 1:
        return weights
    kept: Array = weights * (draws.rng.random(weights.shape) < keep) / keep
    return kept


def _weights(draws: Draws) -> Array:
    """The weights after dropout of all pairs that a query may see: (replicate, head, ...)."""
    weights: Array = draws.once("dropped", _dropped)
    return weights[..., _visible(weights.shape[-1])] if draws.spec.causal else weights


def _rows(draws: Draws) -> dict[str, Array]:
    """What a softmax row is like, averaged over heads and rows, before any dropout."""
    weights, logits = draws.once("softmax", _softmax), _all_logits(draws)
    length = weights.shape[-1]
    lengths = np.arange(1, length + 1) if draws.spec.causal else np.full(length, length)
    positive = np.where(weights > 0, weights, 1.0)
    entropy = -np.sum(positive * np.log(positive), axis=-1)
    squares = np.square(weights).sum(axis=-1)
    rows = {
        "logsumexp": logsumexp(logits),
        "entropy": entropy,
        "entropy_deficit": np.log(lengths) - entropy,
        "max_weight": weights.max(axis=-1),
        "sum_squares": squares,
        "weight_variance": squares / lengths - 1 / lengths**2,
        "jacobian_squared_norm": squares - 2 * (weights**3).sum(axis=-1) + squares**2,
    }
    return {name: values.mean(axis=(1, 2)) for name, values in rows.items()}


def _output(draws: Draws) -> Array:
    """sum_j p_ij v_j, v = W x + b: (replicate, position, head, channel)."""
    spec = draws.spec
    rows = draws["normed_input" if spec.norm is not None else "input"]
    projected = rows @ draws["value_weight"].swapaxes(1, 2)
    values = projected.reshape(*rows.shape[:2], -1, spec.d_head) + draws["value_bias"]
    weights = draws.once("dropped", _dropped)
    summed: Array = (weights @ values.swapaxes(1, 2)).swapaxes(1, 2)
    return summed


def _sees_all_keys(spec: TransformerSpec, layout: Layout) -> bool:
    return layout.all_places


OUTCOMES = (
    Outcome(
        "attention",
        "varprop.outcomes.attention:Attention",
        sample=_weights,
        further=_rows,
        present=lambda spec: True,
        measured=_sees_all_keys,
    ),
    Outcome(
        "attention_output",
        "varprop.outcomes.attention_output:AttentionOutput",
        sample=_output,
        further=lambda draws: {},
        present=lambda spec: True,
        measured=_sees_all_keys,
        is_vector=True,
    ),
)
