"""Tables of the page on the output head: rules, models, the transition, and simulations."""

from __future__ import annotations

import math
from typing import Any

import sympy

from varprop.predict import predict
from varprop.quadrature import softmax_moments
from varprop.report import simulations
from varprop.report.comparisons import Comparison
from varprop.report.notation import STDS, d
from varprop.report.page import Page

SCALES = {"1": sympy.Integer(1), "1/sqrt(d_model)": 1 / sympy.sqrt(d), "1/d_model": 1 / d}
VOCABULARY = 50_257
VARIANCES = (0.3072, 1.0, 4.0, 10.0, 2 * math.log(VOCABULARY), 50.0, 768.0)

MODELS: tuple[tuple[str, int, int, str, str], ...] = (
    ("2017 base", 512, 37_000, "normal(std=1/sqrt(d_model))", "1"),
    ("nn.Embedding, tied", 512, 37_000, "normal(std=1)", "1"),
    ("GPT-2 small", 768, 50_257, "normal(std=0.02)", "1"),
    ("GPT-2 XL", 1600, 50_257, "normal(std=0.02)", "1"),
    ("T5 base", 768, 32_128, "normal(std=1)", "1/sqrt(d_model)"),
    ("T5 base without the factor", 768, 32_128, "normal(std=1)", "1"),
    ("T5 base, std 0.05", 768, 32_128, "normal(std=0.05)", "1"),
    ("PaLM 8B", 4096, 256_000, "normal(std=1)", "1/sqrt(d_model)"),
    ("Granite 2B", 2048, 49_155, "normal(std=0.02)", "1/8"),
    ("MiniCPM 2B", 2304, 122_753, "normal(std=0.1)", "1/9"),
    ("Command R", 8192, 256_000, "normal(std=0.02)", "0.0625"),
    (
        "cut at 3 std",
        4096,
        128_256,
        "truncated_normal(std=1/sqrt(d_model), low=-3*std, high=3*std)",
        "1",
    ),
)
"""Name, d_model, vocab_size, distribution of the head and factor of its logits."""

QUANTITIES = ("loss", "own_token", "other_token")


def fields(width: int, vocabulary: int, table: str, factor: str) -> dict[str, Any]:
    """The specification of a tied head on a row that is a token and nothing else."""
    return {
        "d_model": width,
        "vocab_size": vocabulary,
        "embedding": table,
        "embedding_scale": 1,
        "position": "none",
        "norm": "rmsnorm(eps=0)",
        "output_scale": factor,
    }


def rules(page: Page) -> None:
    """Write the section on the scaling rules."""
    page.section("Under each rule")
    page.text("The variance of a logit, for a factor on the logits and a table's std:")
    rows = [
        [f"`{name}`", *(sympy.simplify(scale**2 * d * std**2) for std in STDS.values())]
        for name, scale in SCALES.items()
    ]
    page.table("output.rules", ["output scale", *(f"std {std}" for std in STDS)], rows)
    page.text(r"""
        A table of std 1 needs the factor `1/sqrt(d_model)`, one of std `1/sqrt(d_model)` needs
        none; the embedding's factor plays no part, since the norm takes it out. What models
        do (the factor is that of the logits or of the hidden state), and what their first loss
        is; the last column is the own logit at depth zero without positions:""")
    table = []
    for name, width, size, drawn, factor in MODELS:
        p = predict(**fields(width, size, drawn, factor))
        v = p["output_logits"].variance
        numbers = [f"{v:.5g}", f"{math.log(size) + v / 2:.3f}", f"{p['loss'].mean:.3f}"]
        own = f"{p['output_logits'].own_token_mean:.2f}"
        cells = [name, str(width), f"{size:,}", f"`{drawn}`", f"`{factor}`"]
        table.append([*cells, *numbers, own])
    header = ["model", "d_model", "vocabulary", "head", "factor", "variance", "log V + v/2"]
    page.table("output.models", [*header, "loss", "own logit"], table)
    page.text(r"""
        GPT-2's table makes the half worth 0.15, so its first loss is 10.98 and not 10.82. A
        table of std 1 without the factor is beyond the transition, and $\log V + v/2$ far too
        much. The own logit is above the loss in most rows: where nothing is added to the token,
        the first guess of a tied model is its own input.""")


def transition(page: Page) -> None:
    """Write the table of losses below and above the transition."""
    rows = []
    for variance in VARIANCES:
        found, size = softmax_moments(VOCABULARY, variance), math.log(VOCABULARY)
        values = (size + variance / 2, math.sqrt(2 * variance * size), found.sum_squares)
        cells = [f"{value:.5g}" for value in (variance, found.logsumexp, *values)]
        rows.append(cells)
    header = ["variance", "loss", "log V + v/2", "sqrt(2 v log V)", "mean of the sum of squares"]
    page.table("output.transition", header, rows)


def _predicted(name: str, *rest: Any) -> dict[str, float]:
    loss = predict(**fields(*rest))["loss"]
    return {"loss": loss.mean, "own_token": loss.own_token, "other_token": loss.other_token}


def _independent(name: str, *rest: Any) -> dict[str, float]:
    p = predict(**fields(*rest))
    simple = math.log(rest[1]) + p["output_logits"].variance / 2
    return dict.fromkeys(QUANTITIES, simple)


SIMULATED = ("nn.Embedding, tied", "GPT-2 small", "T5 base, std 0.05", "cut at 3 std")

COMPARISONS = (
    Comparison(
        "output.simulated",
        """
        Whole heads at the models' own sizes: for 32 hidden states that are independent of the
        head, and for 32 rows of the head as their own hidden states, beside $\\log V + v/2$,
        which would be right for all three if the logits were narrow and independent:""",
        ("model", "d_model", "vocabulary", "head", "factor"),
        tuple(model for model in MODELS if model[0] in SIMULATED),
        QUANTITIES,
        {"predicted": _predicted, "log V + v/2": _independent},
        simulations.output_heads,
    ),
)
