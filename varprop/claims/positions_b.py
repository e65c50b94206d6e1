"""Document B on the positional encoding alone and against the embedding."""

from __future__ import annotations

from collections.abc import Iterator

from varprop.claims.fronts import (
    element,
    embedded,
    own,
    span,
)
from varprop.claims.inputs import Inputs
from varprop.claims.quantities import ratio, stage, times
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.relations import about
from varprop.claims.sinusoids import sinusoids

UNIT = "normal(std=1)"


def b4(inputs: Inputs) -> Iterator[Reading]:
    if not inputs.chosen:
        fields = embedded(inputs, UNIT, 1)
        square, pooled = (stage(f"position.{w}", **fields) for w in ("second_moment", "variance"))
        yield reading("sinusoidal, mean square", ("mean square of one entry", square, about(1)))
        yield reading("sinusoidal, pooled variance", ("pooled variance", pooled, about(1)))
    stds = {"BERT, GPT-2 in PyTorch": "0.02", "GPT-2 of 2019": "0.01", "fairseq": "1/sqrt(d_model)"}
    tables = {f"learned, std {std} ({who})": f"normal(std={std})" for who, std in stds.items()}
    for label, table in (inputs.tables("std 1") if inputs.chosen else tables).items():
        fields = embedded(inputs, UNIT, 1, position=f"learned({table})")
        variance = stage("position.ensemble_variance", **fields)
        yield reading(label, ("variance of one entry", variance, about(1)))
    if not inputs.chosen:
        fields = embedded(inputs, UNIT, 1, position=f"learned({UNIT})")
        variance = stage("position.ensemble_variance", **fields)
        label = "for contrast: learned, left at PyTorch's default"
        yield reading(label, ("variance of one entry", variance, None))


def b5(inputs: Inputs) -> Iterator[Reading]:
    table = own(inputs, UNIT)
    token = element(inputs, table, 1)
    position = stage("position.second_moment", **embedded(inputs, table, 1))
    claimed, d = about(inputs.d_model), inputs.d_model
    yield reading("per entry", ("token / position", ratio(token, position), claimed))
    summed = ratio(times(d, token), times(d, position))
    yield reading("both summed over the vector", ("token / position", summed, claimed))


def b8(inputs: Inputs) -> Iterator[Reading]:
    d, other = inputs.d_model, inputs.d_model - 1 if inputs.d_model > 1 else 2
    lengths = (128, 1, 100_000) if inputs.seq_len == 128 else (inputs.seq_len,)
    for width in (d, other):
        yield reading(
            f"mean square, width {width}",
            *(("mean square", sinusoids(width, n, "square"), about(0.5)) for n in lengths),
        )
    for n in lengths:
        yield reading(
            f"pooled over positions and channels, length {n:,}",
            ("pooled variance", sinusoids(d, n, "pooled"), about(0.5)),
        )
    for n in lengths:
        yield reading(
            f"over positions within a channel, length {n:,}",
            ("variance within a channel", sinusoids(d, n, "within"), about(0.5)),
        )


def b8_condition(inputs: Inputs) -> str:
    def enough(what: str) -> str:
        def holds(n: float) -> bool:
            return about(0.5).holds(sinusoids(inputs.d_model, round(n), what).predict())

        return span(holds, 1, 1e7)

    return (
        f"width {inputs.d_model}: pooled at a length of {enough('pooled')}, within a channel "
        f"{enough('within')}"
    )


FIRST = "2, the variance of word vectors"
MEANING = "2, what multiplying means"
CLAIMS = (
    Claim(
        "B4",
        FIRST,
        "positional encodings start with variance 1",
        "Positional encodings usually start with variance 1.",
        b4,
        "mean square of a sinusoid = 1/2",
        "Sinusoids have mean square 1/2 and a smaller variance. Learned tables of real models "
        "have std 0.02 or 0.01, in fairseq 1/sqrt(d_model). The same text says 0.5 further down "
        "(B8).",
        "Positions start at 1/2 or far below; 1 is only what PyTorch draws if nobody asks.",
    ),
    Claim(
        "B5",
        FIRST,
        "unscaled, embedding : position is d_model : 1",
        "Without the factor the variances of embedding and positional encoding are as d_model "
        "to 1.",
        b5,
        "token / position = 2 * s**2",
        "Per entry a std-1 table has 1 against 1/2; summed over the vector d against d/2. The "
        "ratio d_model : 1 comes from setting the whole embedding against one entry of the "
        "positions.",
        "Compare entry with entry or vector with vector: the ratio is 2 : 1 both times.",
    ),
    Claim(
        "B8",
        MEANING,
        "a sinusoidal entry has variance about 0.5",
        "Each entry of a sinusoidal positional encoding has variance about 0.5.",
        b8,
        "mean square of a sinusoid = 1/2",
        "A sine and a cosine of one frequency have squares that add up to 1, so the mean square "
        "is 1/2 at every length for even widths, within 1/(2d) of it for odd ones. A variance "
        "subtracts the squared mean, and that is large: slow channels hardly move over ordinary "
        "lengths, the cosines among them staying near 1.",
        "1/2 is the mean square of a sinusoid; its variance is less until sequences are very long.",
        b8_condition,
    ),
)
