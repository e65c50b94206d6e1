"""What the page on half precision puts beside simulations: numbers that are cast to a format."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from varprop.precision import precision
from varprop.report.comparisons import Comparison
from varprop.report.simulations import estimates
from varprop.simulation.estimates import Estimate

Array = Any
WIDTH, ROWS, BLOCK = 32, 8, 200
SIZES: dict[str, Any] = {"d_model": WIDTH, "n_heads": 1, "seq_len": ROWS}
OVERFLOW = 65520
STAGES = ("input", "query", "scores")


def _weight(d_head: int, stds: float) -> float:
    """The std of weights behind a norm with which 65520 is so many stds of a score."""
    return math.sqrt(OVERFLOW / (stds * WIDTH * math.sqrt(d_head)))


def _overflows(d_head: int, stds: float) -> dict[str, float]:
    drawn = f"normal(std={_weight(d_head, stds)!r})"
    fields: dict[str, Any] = {**SIZES, "d_head": d_head, "query": drawn, "key": drawn}
    found = precision(**fields, position="none", norm="rmsnorm(eps=0)")
    return {"infinite in float16": found["scores"].overflow_probability or 0.0}


def _normal(d_head: int, stds: float) -> dict[str, float]:
    return {"infinite in float16": math.erfc(stds / math.sqrt(2))}


def _cast_scores(
    d_head: int, stds: float, seed: int = 0, replicates: int = 40_000
) -> Mapping[str, Estimate]:
    """Products of rows of length sqrt(WIDTH) and weights, as they are in float16."""
    rng, std, shares = np.random.default_rng(seed), _weight(d_head, stds), []
    for _ in range(replicates // BLOCK):
        rows = rng.standard_normal((BLOCK, ROWS, WIDTH))
        rows *= np.sqrt(WIDTH / np.square(rows).sum(axis=-1, keepdims=True))
        q, k = (rows @ (std * rng.standard_normal((BLOCK, WIDTH, d_head))) for _ in "qk")
        with np.errstate(over="ignore"):
            lost = np.isinf((q @ k.swapaxes(1, 2)).astype(np.float16))
        lost[:, range(ROWS), range(ROWS)] = False
        shares.append(lost.sum(axis=(1, 2)) / (ROWS * (ROWS - 1)))
    return estimates({"infinite in float16": np.concatenate(shares)})


def _noise(dtype: str) -> dict[str, float]:
    drawn = "normal(std=1/sqrt(d_model))"
    fields: dict[str, Any] = {**SIZES, "d_head": 16, "query": drawn, "key": drawn}
    found = precision(**fields, dtype=dtype)
    return {f"rounding variance of {s}": found[s].rounding_variance or 0.0 for s in STAGES}


def _rule(dtype: str) -> dict[str, float]:
    """eps^2 / (32 log 2) of the mean square."""
    eps, squares = 2 / precision(dtype=dtype).stall_length, (1.5, 1.5, 16 * 1.5**2)
    part = eps**2 / (32 * math.log(2))
    return {f"rounding variance of {s}": part * x for s, x in zip(STAGES, squares, strict=True)}


def _cast_stages(dtype: str, seed: int = 0, replicates: int = 20_000) -> Mapping[str, Estimate]:
    """The same rows, queries and scores in double precision and cast to the format."""
    import ml_dtypes

    kind = getattr(ml_dtypes, dtype, np.float16)
    rng, channel = np.random.default_rng(seed), np.arange(WIDTH)
    turns = np.arange(ROWS)[:, None] * 10000.0 ** (-2 * (channel // 2) / WIDTH)
    table = np.where(channel % 2, np.cos(turns), np.sin(turns))
    found: dict[str, list[Array]] = {stage: [] for stage in STAGES}
    for _ in range(replicates // BLOCK):
        rows = rng.standard_normal((BLOCK, ROWS, WIDTH)) + table
        weights = rng.standard_normal((2, BLOCK, WIDTH, 16)) / np.sqrt(WIDTH)
        q, k = rows @ weights[0], rows @ weights[1]
        scores = (q @ k.swapaxes(1, 2))[:, ~np.eye(ROWS, dtype=bool)]
        for stage, x in zip(STAGES, (rows, q, scores), strict=True):
            squares = np.square(x.astype(kind).astype(float) - x)
            found[stage].append(squares.reshape(BLOCK, -1).mean(axis=1))
    return estimates({f"rounding variance of {s}": np.concatenate(x) for s, x in found.items()})


COMPARISONS = (
    Comparison(
        "half.overflows",
        f"""
        The share of raw scores that are infinite after a cast to `float16`, for rows of
        {WIDTH} channels after a norm, with weights so large that 65520 is so many standard
        deviations; beside it what a normal law would say:""",
        ("d_head", "stds"),
        tuple((width, stds) for width in (2, 16, 64) for stds in (3, 4)),
        ("infinite in float16",),
        {"predicted": _overflows, "normal": _normal},
        _cast_scores,
    ),
    Comparison(
        "half.rounded",
        f"""
        What a cast changes, for rows of {WIDTH} channels with sinusoidal positions, no norm and
        a `d_head` of 16; beside it the average over all units, eps²/(32 log 2) of the mean
        square:""",
        ("format",),
        (("float16",), ("bfloat16",), ("float8_e4m3fn",), ("float8_e5m2",)),
        tuple(f"rounding variance of {stage}" for stage in STAGES),
        {"predicted": _noise, "on average": _rule},
        _cast_stages,
    ),
)
