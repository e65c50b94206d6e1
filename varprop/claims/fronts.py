"""The numbers that claims share, each in one place: elements, vectors, sums, logits, norms.

A `table` is an initializer as text, a `factor` a number or an expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from varprop.claims.inputs import Fields, Inputs
from varprop.claims.quantities import Quantity, combine, growth, root, stage, times
from varprop.claims.relations import Relation
from varprop.predict import predict

UNIT, XAVIER, IDENTITY = "normal(std=1)", "xavier_uniform", "identity"
PROJECTIONS = {"identity": IDENTITY, "unit-variance weights": UNIT, "Xavier": XAVIER}
RAW, DIVIDED, BY_MODEL = 1, "1/sqrt(d_head)", "1/sqrt(d_model)"


def embedded(inputs: Inputs, table: str, factor: Any, **changed: Any) -> Fields:
    """A front whose q and k are the input itself: only what comes before them matters."""
    sizes = {"d_model": inputs.d_model, "n_heads": 1, "seq_len": inputs.seq_len}
    projections = {"query": IDENTITY, "key": IDENTITY, "vocab_size": inputs.vocab_size}
    return sizes | projections | {"embedding": table, "embedding_scale": factor} | changed


def element(inputs: Inputs, table: str, factor: Any = None, **changed: Any) -> Quantity:
    """Variance of one entry of the scaled embedding."""
    chosen = inputs.factor if factor is None else factor
    return stage("scaled_embedding.variance", **embedded(inputs, table, chosen, **changed))


def energy(inputs: Inputs, table: str, factor: Any = None, **changed: Any) -> Quantity:
    """E|c e|^2, the mean square summed over the vector: the trace of its covariance."""
    chosen = inputs.factor if factor is None else factor
    width = changed.get("d_model", inputs.d_model)
    fields = embedded(inputs, table, chosen, **changed)
    return times(width, stage("scaled_embedding.second_moment", **fields))


def length(inputs: Inputs, table: str, factor: Any = None) -> Quantity:
    """Root mean square norm of the scaled embedding."""
    return root(energy(inputs, table, factor))


def token_share(inputs: Inputs, table: str, factor: Any = None, **changed: Any) -> Quantity:
    """What part of the sum's mean square the token holds; the positional encoding has the rest."""
    fields = embedded(inputs, table, inputs.factor if factor is None else factor, **changed)
    parts = (stage(f"{name}.second_moment", **fields) for name in ("scaled_embedding", "position"))
    return combine(lambda token, position: token / (token + position), *parts)


def position_share(inputs: Inputs, table: str, factor: Any = None) -> Quantity:
    """What part of the sum's mean square the positional encoding holds."""
    return combine(lambda token: 1 - token, token_share(inputs, table, factor))


def attending(
    inputs: Inputs,
    table: str,
    factor: Any,
    projection: str,
    divisor: Any,
    per_head: int | None = None,
    **changed: Any,
) -> Fields:
    """A front with heads of `per_head` channels, d_model where it is None; identity has one."""
    width = changed.get("d_model", inputs.d_model)
    head = width if per_head is None or projection == IDENTITY else per_head
    fields = embedded(inputs, table, factor, position="none", query=projection, key=projection)
    heads = {"d_head": head, "n_heads": max(1, width // head), "logit_scale": divisor}
    return fields | {"seq_len": min(inputs.keys, 32)} | heads | changed


def logits(
    inputs: Inputs,
    table: str,
    factor: Any,
    projection: str,
    divisor: Any,
    per_head: int | None = None,
    **changed: Any,
) -> Quantity:
    """Variance over draws of a score between different positions, raw or divided."""
    scale = DIVIDED if divisor == RAW else divisor
    fields = attending(inputs, table, factor, projection, scale, per_head, **changed)
    name = "scores" if divisor == RAW else "logits"
    return stage(f"{name}.ensemble_variance", **fields)


def grown(inputs: Inputs, of: Callable[[int], Quantity]) -> Quantity:
    """Exponent of growth of a quantity with d_model over three octaves."""
    return growth(inputs.widths(), [of(width) for width in inputs.widths()])


def normed(inputs: Inputs, table: str, factor: Any, **changed: Any) -> Quantity:
    """Mean square of one entry after a LayerNorm without eps."""
    fields = embedded(inputs, table, factor, **{"norm": "layernorm(eps=0)"} | changed)
    return stage("normed_input.second_moment", **fields)


def stds_where(inputs: Inputs, holds: Callable[[float], bool]) -> str:
    """The stds of a normal table between which something is true, in words."""
    return "std " + span(holds, 1e-6, 1e6)


def span(holds: Callable[[float], bool], low: float, high: float, count: int = 121) -> str:
    """The interval of a positive number on which something is true, in words, to four digits."""
    grid = [low * (high / low) ** (i / (count - 1)) for i in range(count)]
    true = [i for i, value in enumerate(grid) if holds(value)]
    if not true:
        return f"at no value from {low:g} to {high:g}"
    first, last = true[0], true[-1]
    least = "" if first == 0 else f"{_edge(holds, grid[first], grid[first - 1]):.4g}"
    most = "" if last == count - 1 else f"{_edge(holds, grid[last], grid[last + 1]):.4g}"
    if least and most:
        return f"from {least} to {most}"
    return f"at least {least}" if least else f"at most {most}" if most else "any"


def _edge(holds: Callable[[float], bool], true: float, false: float) -> float:
    for _ in range(24):
        middle = math.sqrt(true * false)
        true, false = (middle, false) if holds(middle) else (true, middle)
    return true


def own(inputs: Inputs, default: str) -> str:
    """The table that was asked for, else a default of the claim's own."""
    return next(iter(inputs.tables("std 1").values())) if inputs.chosen else default


def stds_of_share(inputs: Inputs, factor: float, relation: Relation) -> str:
    """The stds of a normal table whose token's share of the sum is as wanted, in words."""

    def holds(std: float) -> bool:
        fields = embedded(inputs, f"normal(std={std!r})", factor)
        return relation.holds(predict(**fields)["input"].shares["embedding"])

    return stds_where(inputs, holds)
