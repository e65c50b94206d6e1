"""Brute force in plain NumPy for the comparisons of the pages; no formula is known here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from varprop.simulation.estimates import Estimate

Array = Any
NUMBERS = 2**20
"""Numbers drawn at once."""


def estimates(values: Mapping[str, Array]) -> dict[str, Estimate]:
    """Means and standard errors of independent values, (replicate,) each."""
    return {
        name: Estimate(float(x.mean()), float(x.std(ddof=1) / np.sqrt(x.size)))
        for name, x in values.items()
    }


def repeated(
    draw: Callable[[np.random.Generator, int], Mapping[str, Array]],
    size: int,
    replicates: int,
    seed: int,
) -> dict[str, Estimate]:
    """Estimates from replicates of `size` numbers each, drawn a block at a time."""
    rng = np.random.default_rng(seed)
    block = max(1, min(replicates, NUMBERS // size))
    blocks = [draw(rng, block) for _ in range(-(-replicates // block))]
    return estimates({name: np.concatenate([b[name] for b in blocks]) for name in blocks[0]})


def logsumexp(logits: Array) -> Array:
    """The logarithm of the sum of exponentials along the last axis."""
    top = logits.max(axis=-1, keepdims=True)
    return top[..., 0] + np.log(np.exp(logits - top).sum(axis=-1))


def softmax_rows(
    n: int, variance: float, replicates: int = 200_000, seed: int = 0
) -> dict[str, Estimate]:
    """What the softmax of n independent N(0, variance) logits is like."""

    def draw(rng: np.random.Generator, rows: int) -> dict[str, Array]:
        logits = np.sqrt(variance) * rng.standard_normal((rows, n))
        total = logsumexp(logits)
        p = np.exp(logits - total[:, None])
        squares = (p**2).sum(axis=-1)
        deficit = np.log(n) + (p * (logits - total[:, None])).sum(axis=-1)
        return {
            "logsumexp_excess": total - np.log(n),
            "entropy_deficit": deficit,
            "sum_squares": squares,
            "max_weight": p.max(axis=-1),
            "jacobian_squared_norm": squares - 2 * (p**3).sum(axis=-1) + squares**2,
        }

    return repeated(draw, n, replicates, seed)


HIDDEN = 32
"""Hidden states of each kind that one head is drawn for."""


def output_heads(
    name: str, width: int, vocabulary: int, table: str, factor: str, seed: int = 0
) -> dict[str, Estimate]:
    """Losses of a head with hidden states that it knows, and with its own rows as hidden states.

    A replicate is a whole head, drawn a slice at a time; the loss of independent hidden states
    is averaged over all targets.
    """
    from varprop.spec import TransformerSpec

    spec = TransformerSpec(
        d_model=width, vocab_size=vocabulary, embedding=table, output_scale=factor
    )
    drawn, rng = spec.distribution("embedding"), np.random.default_rng(seed)

    def normed(rows: Array) -> Array:
        return rows / np.sqrt((rows**2).mean(axis=1, keepdims=True))

    def head() -> dict[str, float]:
        first = drawn.sample(rng, (HIDDEN, width))
        hidden = np.concatenate([normed(rng.standard_normal((HIDDEN, width))), normed(first)])
        left = vocabulary - HIDDEN
        logits = [float(spec.output_scale) * (hidden @ first.T)]
        while left:
            rows = drawn.sample(rng, (min(left, NUMBERS // width), width))
            logits.append(float(spec.output_scale) * (hidden @ rows.T))
            left -= len(rows)
        every = np.concatenate(logits, axis=1)
        total, mean = logsumexp(every), every.mean(axis=1)
        own = every[HIDDEN:, :HIDDEN].diagonal()
        others = (vocabulary * mean[HIDDEN:] - own) / (vocabulary - 1)
        return {
            "loss": float((total - mean)[:HIDDEN].mean()),
            "own_token": float((total[HIDDEN:] - own).mean()),
            "other_token": float((total[HIDDEN:] - others).mean()),
        }

    replicates = max(4, min(100, 2**29 // (vocabulary * width)))
    heads = [head() for _ in range(replicates)]
    return estimates({key: np.array([one[key] for one in heads]) for key in heads[0]})


def normed_rows(width: int, std: float, eps: float, seed: int = 0) -> dict[str, Estimate]:
    """What the LayerNorm of normal rows is like."""

    def draw(rng: np.random.Generator, rows: int) -> dict[str, Array]:
        x = std * rng.standard_normal((rows, width))
        x = x - x.mean(axis=1, keepdims=True)
        y = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + eps)
        square = (y**2).mean(axis=1)
        return {
            "mean_square": square,
            "mean_square_product": square**2,
            "fourth_moment": (y**4).mean(axis=1),
        }

    return repeated(draw, width, 200_000, seed)
