"""The derivation pages: a builder each, and what it measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from varprop.predict import predict
from varprop.report.comparisons import Comparison
from varprop.report.numbers import Experiment
from varprop.report.page import Page

from . import (
    embedding,
    every_stage,
    half_precision,
    half_precision_runs,
    input_sum,
    normalisation,
    normalisation_numbers,
    output_head,
    output_numbers,
    positional_encoding,
    projections,
    rotary,
    scores,
    self_scores,
    softmax,
    softmax_rows,
)


class Chapter(NamedTuple):
    """One page, ``slug``.md."""

    slug: str
    build: Callable[[], Page]
    summary: str
    experiment: Experiment
    comparisons: tuple[Comparison, ...] = ()


_SECOND = ("mean", "variance", "ensemble_variance", "second_moment")


def _rows(stage: str, *more: str) -> tuple[str, ...]:
    return tuple(f"{stage}.{attribute}" for attribute in (*_SECOND, *more))


_AT_A_GLANCE = {"d_model": 64, "n_heads": 4, "seq_len": 16, **every_stage.FIELDS}


CHAPTERS: tuple[Chapter, ...] = (
    Chapter(
        "embedding",
        embedding.build,
        "one entry, the whole vector, and what the factor does to each",
        Experiment(
            {
                "d_model": 64,
                "seq_len": 32,
                "embedding": "uniform(-0.05, 0.05)",
                "token_repeat": "1/50",
                "position": "none",
            },
            _rows("scaled_embedding", "excess_kurtosis", "cross_position_moment"),
        ),
    ),
    Chapter(
        "positional-encoding",
        positional_encoding.build,
        "mean square one half, variance less, and why",
        Experiment(
            {"d_model": 512, "seq_len": 128},
            _rows("position", "cross_position_moment"),
            replicates=200,
        ),
    ),
    Chapter(
        "sum",
        input_sum.build,
        "shares, per place and pooled, segment and dropout",
        Experiment(
            {
                "d_model": 128,
                "n_heads": 4,
                "seq_len": 64,
                "segment": "normal(std=0.5)",
                "dropout": 0.1,
            },
            _rows("input", "excess_kurtosis", "cross_position_moment"),
        ),
    ),
    Chapter(
        "projections",
        projections.build,
        "from norms of rows to variances of queries, for each initializer",
        Experiment(
            {"d_model": 512},
            _rows("query", "excess_kurtosis", "cross_position_moment"),
            replicates=1000,
        ),
    ),
    Chapter(
        "scores-and-logits",
        scores.build,
        "between different positions, under every scaling rule, and what the softmax sees",
        Experiment(
            {"d_model": 512}, _rows("logits", "row_variance", "excess_kurtosis"), replicates=1000
        ),
    ),
    Chapter(
        "self-scores",
        self_scores.build,
        "the diagonal, for independent and for shared projections",
        Experiment(
            {
                "d_model": 64,
                "n_heads": 4,
                "seq_len": 16,
                "shared_qk": True,
                "query": "normal(std=0.125)",
            },
            _rows("self_logits", "excess_kurtosis"),
        ),
    ),
    Chapter(
        "rotary",
        rotary.build,
        "what a rotation changes, and what it cannot",
        Experiment(
            {
                "d_model": 64,
                "n_heads": 4,
                "seq_len": 16,
                "position": "rotary(base=100)",
                "shared_qk": True,
                "query": "normal(std=0.125)",
                "token_repeat": 0.125,
            },
            _rows("logits", "row_variance", "excess_kurtosis"),
        ),
    ),
    Chapter(
        "normalisation",
        normalisation.build,
        "what eps takes, points on a sphere, and a bound for every table",
        Experiment(
            {
                "d_model": 16,
                "n_heads": 2,
                "seq_len": 8,
                "embedding": "normal(std=0.5)",
                "embedding_scale": 1,
                "norm": "layernorm(eps=0.1)",
            },
            (
                "normed_input.second_moment",
                "normed_input.ensemble_variance",
                "normed_input.cross_position_moment",
                "logits.variance",
                "logits.row_variance",
                "self_logits.variance",
            ),
            replicates=4000,
        ),
        normalisation_numbers.COMPARISONS,
    ),
    Chapter(
        "softmax",
        softmax.build,
        "entropy, effective keys, largest weight and Jacobian as integrals, and a row's own law",
        Experiment(
            {
                "d_model": 64,
                "n_heads": 4,
                "seq_len": 16,
                "position": "none",
                "query": "normal(std=0.125)",
                "key": "normal(std=0.125)",
                "logit_scale": 0.5,
            },
            tuple(
                f"attention.{name}"
                for name in ("logsumexp", *softmax_rows.QUANTITIES, "weight_variance")
            ),
        ),
        softmax_rows.COMPARISONS,
    ),
    Chapter(
        "output_head",
        output_head.build,
        "the variance of a logit, the half in the loss and its end, a token's own logit",
        Experiment(
            {
                "d_model": 64,
                "n_heads": 4,
                "seq_len": 8,
                "vocab_size": 1000,
                "embedding": "normal(std=0.1)",
                "embedding_scale": 1,
                "position": "learned(normal(std=0.1))",
            },
            (
                "output_logits.variance",
                "output_logits.own_token_mean",
                "output_logits.own_token_second_moment",
                "loss.mean",
                "loss.own_token",
                "loss.other_token",
            ),
        ),
        output_numbers.COMPARISONS,
    ),
    Chapter(
        "half_precision",
        half_precision.build,
        "overflow, what rounding adds, tails of products, and where to put the logit scale",
        Experiment(
            {
                "d_model": 64,
                "n_heads": 4,
                "seq_len": 16,
                "position": "none",
                "norm": "rmsnorm(eps=0)",
                "query": "normal(std=1)",
                "key": "normal(std=1)",
            },
            _rows("scores", "row_variance", "excess_kurtosis"),
        ),
        half_precision_runs.COMPARISONS,
    ),
    Chapter(
        "stages",
        every_stage.build,
        "every closed form in the names of the fields",
        Experiment(
            _AT_A_GLANCE,
            tuple(f"{name}.second_moment" for name in predict(**_AT_A_GLANCE)),
        ),
    ),
)
