"""Document B on training outcomes and on what papers say, with what can be computed instead."""

from __future__ import annotations

from collections.abc import Iterator

from varprop.claims.fronts import DIVIDED, XAVIER, element, logits, token_share
from varprop.claims.inputs import Inputs
from varprop.claims.quantities import arithmetic
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.softmaxes import first_loss, softmax

TABLES = ("std 1/sqrt(d_model)", "std 1")


def b22(inputs: Inputs) -> Iterator[Reading]:
    wide = inputs if inputs.d_model != Inputs().d_model else Inputs(d_model=12288, seq_len=32)
    for label, table in wide.tables(*TABLES).items():
        yield reading(
            f"{label}, width {wide.d_model}",
            ("entry's variance, learnable scale at 1", element(wide, table, 1), None),
            ("fixed factor", element(wide, table), None),
        )


def b28(inputs: Inputs) -> Iterator[Reading]:
    scale = inputs.scale
    for label, table in inputs.tables(*TABLES).items():
        for name, factor in {"with": inputs.factor, "without": 1}.items():
            variance = logits(inputs, table, factor, XAVIER, DIVIDED, inputs.width)
            value = variance.predict()
            yield reading(
                f"{label}, {name} the factor",
                ("gradient against variance 1", softmax(inputs.keys, value, "gradient"), None),
                ("logit variance", variance, None),
            )
    passed = arithmetic(scale, lambda kind: kind(scale))
    yield reading("the table's gradient", ("is multiplied by", passed, None))


def b29(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables(*TABLES).items():
        yield reading(
            label,
            ("token's share with the factor", token_share(inputs, table), None),
            ("without it", token_share(inputs, table, 1), None),
        )


def b39(inputs: Inputs) -> Iterator[Reading]:
    yield from ()


def b40(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables(*TABLES).items():
        yield reading(
            label,
            ("token's share with the factor", token_share(inputs, table), None),
            ("without it", token_share(inputs, table, 1), None),
            ("first loss of a tied head / log(vocab_size)", first_loss(inputs, table), None),
        )


CLAIMS = (
    Claim(
        "B22",
        "4, second question",
        "a learnable factor is worse at width 12288",
        "A learnable factor can slow training down; the fixed one is better at GPT-3's width of "
        "12288.",
        b22,
        "variance of an entry = c**2 * s**2",
        "A learnable scale that starts at 1 is the model without the factor on the first step, "
        "and one that starts at sqrt(d_model) is the model with it. How each goes on cannot be "
        "computed. (GPT-2's code, from which GPT-3 comes, has no factor.)",
        "At the first step a learnable scale is just its starting value.",
        None,
        "speed of training; at initialisation only the starting value counts",
    ),
    Claim(
        "B28",
        "6",
        "gradient norms of 100+ without, 10 with the factor",
        "In somebody's training run gradient norms were above 100 without the factor and about "
        "10 with it.",
        b28,
        "gradient of the table, with factor / without = c",
        "The chain rule multiplies the gradient that reaches the table by the factor: at equal "
        "gradients behind it, it is 22.6 times larger with it, not ten times smaller. What the "
        "softmax lets through depends on the logits' variance.",
        "Taken alone, the factor enlarges the table's gradient.",
        None,
        "a report of one training run; the gradient norm depends on model, data and loss",
    ),
    Claim(
        "B29",
        "2, basis in papers",
        "Xiong et al. say it matches variances",
        "The paper on layer normalisation in the Transformer (Xiong et al., 2020) says that the "
        "factor is there to match the variances of embedding and positions.",
        b29,
        "token's share = c**2 * s**2 / (c**2 * s**2 + 1/2)",
        "Whether variances match can be computed for each table; what a paper says must be read.",
        "The factor matches variances for the table of 2017, whoever says so.",
        None,
        "a citation: it is decided by reading, not by calculation",
    ),
    Claim(
        "B39",
        "4, third question, and references",
        "what RoFormer and the Annotated Transformer say",
        "The RoFormer paper initialises q and k with Xavier, and the Annotated Transformer "
        "explains the factor in detail.",
        b39,
        "",
        "Nothing to calculate.",
        "A reference has to be looked up.",
        None,
        "citations: decided by reading, not by calculation",
    ),
    Claim(
        "B40",
        "6",
        "training fails or oscillates without the factor",
        "Without the factor training fails, or its loss oscillates.",
        b40,
        "token's share = c**2 * s**2 / (c**2 * s**2 + 1/2)",
        "What can be computed is the start: how much of the input the token holds, and the first "
        "loss, which the factor does not change where a norm precedes the head.",
        "A drowned token is a handicap at the start; what training makes of it is not computed.",
        None,
        "training outcome; at initialisation only where the run starts can be computed",
    ),
)
