"""Softmax and first loss of logits of a given variance, shared by the claims about them.

The experiments draw the logits of a row, or the hidden state and the table, and know no integral.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varprop.claims.inputs import Inputs
from varprop.claims.quantities import LARGEST, Quantity, experiment
from varprop.fields.validation import refusal

ROWS = 4000


def softmax(n: int, variance: float, what: str) -> Quantity:
    """A moment of the softmax of n independent Gaussian logits of one variance.

    `what`: "entropy" (as a part of log n), "max_weight" or "gradient" (the expected squared norm
    of the Jacobian, as a multiple of its value at variance 1).
    """
    name = f"softmax {what} {n} {variance!r}"
    rows = max(2, min(ROWS, LARGEST // n))

    def sample(rng: np.random.Generator) -> NDArray[np.float64]:
        weights = _weights(rng.normal(size=(rows, n)) * math.sqrt(variance))
        if what == "entropy":
            logs = np.log(np.maximum(weights, 1e-300))
            return np.asarray(-(weights * logs).sum(1) / math.log(n))
        if what == "max_weight":
            return np.asarray(weights.max(1))
        squares = (weights**2).sum(1)
        jacobian = squares - 2 * (weights**3).sum(1) + squares**2
        return np.asarray(jacobian / predicted(n, 1.0, what))

    def known() -> float:
        value = predicted(n, variance, what)
        return value / predicted(n, 1.0, what) if what == "gradient" else value

    return experiment(name, known, sample, entries=rows * n)


@lru_cache(maxsize=256)
def predicted(n: int, variance: float, what: str) -> float:
    """The same by quadrature; the gradient as it is."""
    from varprop.quadrature import softmax_moments

    moments = softmax_moments(n, variance)
    if what == "entropy":
        return float(moments.entropy) / math.log(n)
    return float(moments.max_weight if what == "max_weight" else moments.jacobian_squared_norm)


def _weights(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def head_variance(inputs: Inputs, table: str) -> Quantity:
    """Variance of an output logit h . e of a table whose hidden state has norm sqrt(d_model)."""
    d = inputs.d_model
    law = inputs.spec(embedding=table).distribution("embedding")
    count = max(2, min(ROWS, LARGEST // d))

    def sample(rng: np.random.Generator) -> NDArray[np.float64]:
        return np.asarray((_hidden(rng, count, d) * law.sample(rng, (count, d))).sum(1))

    return experiment(f"head {table} {d}", lambda: d * float(law.cumulant(2)), sample, "variance")


def first_loss(inputs: Inputs, table: str) -> Quantity:
    """Expected first loss of a tied head over log(vocab_size), for independent hidden states."""
    d, size = inputs.d_model, inputs.vocab_size
    if size < 2:
        raise ValueError(refusal("vocab_size", "at least 2 for a loss", size))
    law = inputs.spec(embedding=table).distribution("embedding")

    def known() -> float:
        from varprop.quadrature import expected_loss

        return float(expected_loss(size, d * float(law.cumulant(2)))) / math.log(size)

    def sample(rng: np.random.Generator) -> NDArray[np.float64]:
        hidden = _hidden(rng, 32, d)
        block = max(1, 2**22 // d)
        parts = [
            hidden @ law.sample(rng, (min(block, size - start), d)).T
            for start in range(0, size, block)
        ]
        logits = np.concatenate(parts, axis=1)
        largest = logits.max(1)
        total = largest + np.log(np.exp(logits - largest[:, None]).sum(1))
        targets: Any = rng.integers(size, size=32)
        return np.asarray((total - logits[np.arange(32), targets]) / math.log(size))

    return experiment(f"loss {table} {d} {size}", known, sample, entries=size * d // 8)


def _hidden(rng: np.random.Generator, count: int, d: int) -> NDArray[np.float64]:
    """Hidden states after a norm: random directions of length sqrt(d_model)."""
    rows = rng.normal(size=(count, d))
    return np.asarray(rows * np.sqrt(d / (rows**2).sum(1, keepdims=True)))
