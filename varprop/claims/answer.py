"""The prose around the claims: the rule, the contradictions, and the question answered rightly."""

from __future__ import annotations

import math
from collections.abc import Sequence

from varprop.claims.deciding import Decision
from varprop.predict import predict

TABLES = {
    "std 1 (PyTorch's default)": "normal(std=1)",
    "std 1/sqrt(d_model) (the 2017 code)": "normal(std=1/sqrt(d_model))",
    "std 0.02 (BERT, GPT-2, LLaMA)": "normal(std=0.02)",
    "uniform on ±0.01 (document A)": "uniform(-0.01, 0.01)",
    "Xavier on 37000 × 512": "xavier_uniform",
}


def opening(decided: Sequence[Decision]) -> list[str]:
    """What the page is, the rule, the thresholds, and how the verdicts fall."""
    counts: dict[str, int] = {}
    for decision in decided:
        counts[decision.verdict] = counts.get(decision.verdict, 0) + 1
    total = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    return [
        "Two articles explain, as answers for a job interview, why a Transformer multiplies its "
        "token embeddings by sqrt(d_model). Document A tells it as turning up the volume of the "
        "word vectors, from PyTorch's side and from training's; document B is an interview "
        "question with a model answer and follow-up questions. Both are Chinese, and are restated "
        "here, not quoted. Each claim is decided by a prediction and by a measurement, for width "
        "512, 8 heads, 128 positions and 37000 tokens unless it names others.",
        "A claim often leaves open what it is about: one entry or the whole vector, the variance "
        "over draws or over positions too, which initializer, which projections. It *holds* if "
        "it is true under every reading that its text allows, *fails* if under none, and "
        "*holds-if* names the readings or the range in between. *Undecidable* is what no "
        f"calculation at initialisation can settle. Of {len(decided)} claims: {total}.",
        "About means within 5 %, an exponent of growth within 0.05 over three octaves of "
        "d_model, a printed number its printed digits. Words mean: *drowned*, less than a tenth "
        "of the mean square of the sum; *matching*, at least a quarter; *stable* or "
        "*reasonable*, a variance between 0.1 and 10; *all but uniform*, an entropy within 5 % "
        "of log n, and *clearly different* the opposite; *saturated*, an expected largest "
        "weight of at least a half; *vanished*, a tenth of what logits of variance 1 let "
        "through; a *fair* first loss, within 10 % of the logarithm of the vocabulary. A "
        "softmax is that of independent Gaussian logits of the stated variance.",
    ]


def contradictions() -> list[str]:
    """Pairs of claims that cannot both be true."""
    return [
        "- **B18 against A3.** nn.Embedding has variance 1, or entries inside ±0.01 (variance "
        "0.00003). PyTorch draws variance 1; document A's example rests on the other.",
        "- **A10 against A1.** The factor avoids too large a norm, or it raises the variance. A "
        "number above 1 only raises.",
        "- **A9 against A8.** A total energy of 512 over 512 dimensions is 1 for each, not 22.6.",
        "- **A15 against A1.** For unit variance the factor keeps entries in range, or it brings "
        "them to unit variance. It cannot do both for one table.",
        "- **A11 against A12 and A14.** A Xavier table is said to need no factor; with the "
        "factor it is at 0.027 of the wanted variance at 37000 tokens, without it at 0.00005.",
        "- **B1 against B25.** Xavier gives variance 1 to word vectors, and 1/d_model to "
        "projections. The second is right, for square matrices.",
        "- **B4 against B8.** Positions have variance 1, and a few sentences later 0.5.",
        "- **B5 against B10.** Before the factor the ratio is d_model : 1, after it "
        "d_model : 0.5, and that is called smaller. It is twice as large as printed, and d_model "
        "times as large if like is compared with like.",
        "- **B7 against B9.** The scaled vector has variance d_model², or d_model: first the "
        "whole vector, then one entry.",
        "- **B11 against B21.** The factor sqrt(d_model) keeps QKᵀ at O(1), or O(1) would need "
        "1/sqrt(d_model). Both are true of something: of a table of std 1/sqrt(d_model), and of "
        "a std-1 table in front of weights of variance 1.",
        "- **B12 against B13.** Under factor 1 the exponent 2 needs weights of variance 1; under "
        "factor d_model the exponent 4 forbids them. No one model has both.",
        "- **B14 against B7.** Linear in d_model, or quadratic: one entry, or the vector.",
        "- **B17 against B33.** With std 1/sqrt(d_model) no factor is needed, yet unscaled "
        "tokens are said to drown the positions. With that table it is the token that drowns.",
        "- **B31 against B10.** d_model + 0.5 is called matching magnitudes by the text that "
        "calls d_model : 0.5 a gap.",
        "- **B26 against B38.** Rotary models need the factor, and the named one does without "
        "it. With a norm in front of every projection it is right to.",
        "- **B27 against B37.** Rightly no factor makes the norm 1; but neither does LayerNorm, "
        "which makes it sqrt(d_model).",
    ]


def answer() -> list[str]:
    """What the factor does, for which table, where, and when it can go."""
    return [
        "## What the factor sqrt(d_model) does",
        "**It multiplies, and nothing else.** Every entry becomes sqrt(d_model) times larger, "
        "every variance d_model times, every norm sqrt(d_model) times, every logit variance "
        "behind it (without a norm and without positions) d_model² times. Whether that is right "
        "depends on what it multiplies. This is the base model of 2017 (width 512, 8 heads, 128 "
        "sinusoidal positions, Xavier projections, logits divided by sqrt(d_head)) with other "
        "tables:",
        _comparison(),
        "**For which table.** The factor belongs to a table of std 1/sqrt(d_model), as the code "
        "of 2017 drew it: only there does it end at unit entries. For std 1 there is nothing to "
        "repair, and the factor does the damage that it is said to prevent: a variance of 512, "
        "positions at a thousandth. For a table of std 0.02 it is right by accident near width "
        "2500, where 0.02 is 1/sqrt(d_model). For Xavier on a table it leaves a variance of "
        "2d/(V + d), which is 1 only where the vocabulary is as small as the width.",
        "**For the sum with the positions.** Sinusoids have a mean square of 1/2 at any width, "
        "and no initializer changes it. So the token needs entries of about 1 to be heard. "
        "That is the effect that cannot be had elsewhere: once added, no norm and no divisor "
        "changes who holds how much of the sum. With learned positions of the tokens' own std "
        "(BERT, GPT-2) the sum is balanced without a factor, and the factor would upset it.",
        "**For the tied head.** The same table is the output layer, without the factor. Hidden "
        "states after a norm have squared norm d_model, so logits have variance d_model s²: 1 "
        "for std 1/sqrt(d_model), with a first loss about 1/2 above the logarithm of the "
        "vocabulary, and 512 for std 1, with a first loss near 94 instead of 10.5. The head "
        "wants s small, the input wants c s near 1, and the factor allows both. (The "
        "paper puts it there, in its section on embeddings and softmax, not with attention.)",
        "**For the logits without a norm.** In the post-norm model of 2017 nothing stands between "
        "the sum and the first attention, so the factor enters logit variance with its fourth "
        "power. Unit entries and Xavier projections give logits of O(1) at every width because "
        "the divisor sqrt(d_head), not the factor, takes out the sum over a head. What the "
        "softmax sees is the variance along a row (in the table), less than the whole, because "
        "sinusoids give all positions something in common.",
        "**For the logits with a norm.** A LayerNorm or RMSNorm in front of q and k returns a "
        "mean square of 1 whatever the factor was (as long as c² s² is large against eps). "
        "Attention then does not know the factor. What remains is the mixture of the sum, and "
        "the size of the residual stream against what the layers add: a factor is outgrown "
        "after a few sublayers, a table of std 0.02 from the first.",
        "**For the gradient.** The table's gradient is multiplied by the factor, the "
        "head's part of a tied table's gradient is not. For an optimiser that normalises "
        "gradients the relative step on the table is what counts, and that is set by s.",
        "**When it can be left out.** When entries have about the positions' size without it: std "
        "1 with sinusoids and an untied head, or positions learned at the tokens' std. When "
        "nothing is added to the embedding and a norm comes first: rotary and relative "
        "positions, pre-norm. Not when the table has std 1/sqrt(d_model) or a Xavier table's and "
        "sinusoids are added, and not when the table is tied and the input has no norm.",
        "**In one sentence.** Draw the table for the head (std 1/sqrt(d_model), so that logits "
        "start at variance 1), and multiply by sqrt(d_model) where the same table is used as "
        "input, so that tokens stand beside sinusoids as equals.",
    ]


def _comparison() -> str:
    from varprop.quadrature import expected_loss

    header = (
        "table",
        "factor",
        "variance of an entry",
        "token's share",
        "logit variance",
        "along a row",
        "after LayerNorm",
        "output logit variance",
        "first loss",
    )
    lines = [header, ("---",) * len(header)]
    for label, table in TABLES.items():
        for factor in ("1", "sqrt(d_model)"):
            p = predict(embedding=table, embedding_scale=factor)
            normed = predict(p.spec, norm="layernorm(eps=0)")
            head = p.spec.d_model * p["embedding"].second_moment
            numbers = (
                p["scaled_embedding"].variance,
                100 * p["input"].shares["embedding"],
                p["logits"].variance,
                p["logits"].row_variance,
                normed["logits"].variance,
                head,
                float(expected_loss(p.spec.vocab_size, head)),
            )
            shown = [f"{value:.3g}" for value in numbers]
            shown[1] += " %"
            shown[-1] = f"{numbers[-1]:.2f}"
            lines.append((label, factor, *shown))
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    least = math.log(predict().spec.vocab_size)
    return (
        f"{text}\n\nThe first loss is for a tied head whose hidden state, after a norm, is "
        f"independent of the target; the logarithm of the vocabulary is {least:.2f}. The logit "
        "variance is pooled over pairs of different positions."
    )
