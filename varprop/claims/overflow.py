"""Probabilities of overflow in half precision: predicted, and measured on numbers cast to it."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varprop.claims.fronts import DIVIDED, RAW, UNIT, attending
from varprop.claims.inputs import Fields, Inputs
from varprop.claims.quantities import SEED, Quantity, experiment
from varprop.precision.mapping import StagePrecision, from_arguments
from varprop.simulation.estimates import Estimate
from varprop.spec import TransformerSpec

DRAWS, SAMPLES = 2**18, 16
ROWS, REPLICATES = 32, 32
TABLES, CHUNK, LARGEST_TABLE = 4, 2**18, 2**28
"""How many whole tables are drawn, in what pieces, and up to what size."""


@lru_cache(maxsize=256)
def _predicted(stage: str, key: tuple[tuple[str, Any], ...]) -> StagePrecision:
    return from_arguments(None, "float16", None, dict(key))[stage]


def record(stage: str, fields: Fields) -> StagePrecision:
    """What becomes of a stage in half precision."""
    return _predicted(stage, tuple(sorted(fields.items())))


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def expected_largest(found: StagePrecision) -> float:
    """The integral of the probability that any of a tensor's entries is as large; nan unknown."""
    entry, count = found._law.entry, found.entries
    if entry is None:
        return math.nan

    def exceeded(a: float) -> float:
        p = math.exp(min(entry.log_tail(a), 0.0))
        return 1.0 if p == 1 else -math.expm1(count * math.log1p(-p))

    high = 1e-6
    while exceeded(high) > 1e-15:
        high *= 2
    nodes, weights = np.polynomial.legendre.leggauss(400)
    values = [exceeded(float(a)) for a in high * (nodes + 1) / 2]
    return float(weights @ values) * high / 2


def _table(fields: Fields, rng: np.random.Generator) -> NDArray[np.float16]:
    spec = TransformerSpec(**fields)
    draws = spec.distribution("embedding").sample(rng, (SAMPLES, DRAWS))
    with np.errstate(over="ignore"):
        return np.asarray(draws * spec.embedding_scale, dtype=np.float16)


def overflowing(fields: Fields) -> Quantity:
    """The share of entries of the scaled table that are infinite in half precision."""
    return _resolved(
        experiment(
            f"overflow {sorted(fields.items())}",
            lambda: _number(record("scaled_embedding", fields).overflow_probability),
            lambda rng: np.isinf(_table(fields, rng)).astype(float),
        ),
        DRAWS * SAMPLES,
    )


def _resolved(part: Quantity, draws: int) -> Quantity:
    """No standard error below one in as many as were drawn: none seen is not none ever."""

    def measured() -> Estimate | None:
        found = part.measure()
        return found and Estimate(found.value, max(found.stderr, 1 / draws))

    return Quantity(part.predict, measured)


@lru_cache(maxsize=8)
def _extremes(embedding: str, d_model: int, vocab_size: int) -> NDArray[np.float64] | None:
    """The largest magnitude in each of some tables, drawn entry by entry; None if too large."""
    spec = TransformerSpec(d_model=d_model, n_heads=1, vocab_size=vocab_size, embedding=embedding)
    drawn, count = spec.distribution("embedding"), d_model * vocab_size
    if count > LARGEST_TABLE:
        return None

    def extreme(seed: int) -> float:
        rng, most = np.random.default_rng([SEED, seed]), 0.0
        for start in range(0, count, CHUNK):
            draws = drawn.sample(rng, min(CHUNK, count - start))
            most = max(most, float(draws.max()), -float(draws.min()))
        return most

    with ThreadPoolExecutor(TABLES) as pool:
        return np.array(list(pool.map(extreme, range(TABLES))))


def _rounded_extremes(fields: Fields) -> NDArray[np.float64] | None:
    """The same after the factor and the cast, which keeps the order."""
    spec = TransformerSpec(**fields)
    found = _extremes(fields["embedding"], spec.d_model, spec.vocab_size)
    if found is None:
        return None
    with np.errstate(over="ignore"):
        return np.asarray(found * spec.embedding_scale, dtype=np.float16).astype(float)


def largest(fields: Fields) -> Quantity:
    """The expected largest magnitude in the scaled table, over 65504."""

    def predicted() -> float:
        found = record("scaled_embedding", fields)
        return expected_largest(found) / 65504

    def measured() -> Estimate | None:
        found = _rounded_extremes(fields)
        if found is None:
            return None
        over = found / 65504
        return Estimate(float(over.mean()), float(over.std(ddof=1)) / math.sqrt(TABLES))

    return Quantity(predicted, measured)


def any_of(fields: Fields) -> Quantity:
    """The probability that a scaled table has an entry that overflows."""

    def measured() -> Estimate | None:
        found = _rounded_extremes(fields)
        if found is None:
            return None
        lost = np.isinf(found)
        return Estimate(float(lost.mean()), max(float(lost.std()) / TABLES**0.5, 1 / TABLES))

    record_of = partial(record, "scaled_embedding", fields)
    return Quantity(lambda: _number(record_of().any_overflow_probability), measured)


def score(inputs: Inputs, table: str, factor: Any, divisor: Any) -> Quantity:
    """The share of scores, or of logits after the divisor, that overflow; weights of variance 1."""
    fields = attending(inputs, table, factor, UNIT, DIVIDED, inputs.width)
    spec = TransformerSpec(**fields)
    stage, multiple = ("scores", 1.0) if divisor == RAW else ("logits", float(spec.logit_scale))
    shape = (spec.d_model, spec.d_head)

    def sample(rng: np.random.Generator) -> NDArray[np.float64]:
        shares = []
        for _ in range(REPLICATES):
            rows = spec.distribution("embedding").sample(rng, (ROWS, spec.d_model))
            rows *= spec.embedding_scale
            query, key = (rows @ rng.standard_normal(shape) for _ in "qk")
            with np.errstate(over="ignore"):
                lost = np.isinf((multiple * query @ key.T).astype(np.float16))
            shares.append((lost.sum() - np.trace(lost)) / (ROWS * (ROWS - 1)))
        return np.array(shares)

    made = experiment(
        f"{stage} {sorted(fields.items())}",
        lambda: _number(record(stage, fields).overflow_probability),
        sample,
        entries=2 * spec.d_model * spec.d_head,
    )
    return _resolved(made, REPLICATES * ROWS * (ROWS - 1))
