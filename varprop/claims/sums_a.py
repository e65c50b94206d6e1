"""Document A on the sum with the positions, the tied head, and the balance between them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from varprop.claims.fronts import element, stds_of_share, stds_where, token_share
from varprop.claims.inputs import EVERY, Inputs
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.relations import DROWNED, FAIR_LOSS, HEARD, STABLE, about, at_least, at_most
from varprop.claims.softmaxes import first_loss, head_variance


def a11(inputs: Inputs) -> Iterator[Reading]:
    sizes = dict.fromkeys((inputs.vocab_size, 5000, 128256))
    for size in sizes if inputs.vocab_size == Inputs().vocab_size else [inputs.vocab_size]:
        of = Inputs(**{**vars(inputs), "vocab_size": size})
        for label, table in of.tables("Xavier").items():
            yield reading(
                f"{label}, unit variance wanted",
                ("variance of one entry without the factor", element(of, table, 1), about(1)),
            )
            yield reading(
                f"{label}, added to sinusoidal positions",
                ("token's share without the factor", token_share(of, table, 1), HEARD),
                ("token's share with it", token_share(of, table), None),
            )


def _heard(inputs: Inputs, factor: float) -> str:
    stds = stds_of_share(inputs, factor, HEARD)
    return f"neither side below {DROWNED:.0%}: a normal table of {stds}"


def a11_condition(inputs: Inputs) -> str:
    return "without the factor " + _heard(inputs, 1)


def a12(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables(*EVERY).items():
        yield reading(
            label,
            ("variance of one input entry", element(inputs, table), STABLE),
            ("variance of an output logit", head_variance(inputs, table), STABLE),
            ("first loss / log(vocab_size)", first_loss(inputs, table), FAIR_LOSS),
        )


def a12_condition(inputs: Inputs) -> str:
    from varprop.quadrature import expected_loss

    d, size = inputs.d_model, inputs.vocab_size
    ratio = math.log(size)

    def holds(std: float) -> bool:
        ends = STABLE.holds((inputs.scale * std) ** 2) and STABLE.holds(d * std**2)
        return ends and FAIR_LOSS.holds(float(expected_loss(size, d * std**2)) / ratio)

    return f"for a normal table of {stds_where(inputs, holds)}"


def a13(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables(*EVERY).items():
        yield reading(
            label,
            ("token's share at the factor", token_share(inputs, table), HEARD),
            ("variance of one entry at 1000", element(inputs, table, 1000), at_least(10)),
            ("token's share at 1", token_share(inputs, table, 1), at_most(DROWNED)),
        )


def a14(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables(*EVERY).items():
        yield reading(
            label,
            ("token's share of the sum", token_share(inputs, table), HEARD),
            ("its share without the factor", token_share(inputs, table, 1), None),
        )


def a14_condition(inputs: Inputs) -> str:
    return _heard(inputs, inputs.scale)


CLAIMS = (
    Claim(
        "A11",
        "opening",
        "with an init such as Xavier the factor can go",
        "Where the initializer already controls the scale, as Xavier does, the factor may be "
        "left out: entries then have variance about 1 without it, or at least hold between a "
        "tenth and nine tenths of the power of the sum with the positions.",
        a11,
        "variance of a Xavier entry = 2 / (V + d)",
        "Xavier takes its fans from the shape of the table: V rows and d_model columns, so a "
        "variance of 2/(V + d). For a real vocabulary that is thousands of times below the 1/2 "
        "of the positions. The factor is then needed most, and is still too small for large V.",
        "Xavier's rule is made for matrices that sum over their inputs; a lookup sums nothing.",
        a11_condition,
    ),
    Claim(
        "A12",
        "opening",
        "with a tied head the factor keeps both ends stable",
        "Where input and output share the table, the factor keeps both ends numerically stable: "
        "variances between 0.1 and 10, and a first loss within 10 % of log(vocab_size).",
        a12,
        "variance of an output logit = d * s**2",
        "The head multiplies a normalised hidden state, of squared norm d_model, by the table "
        "without the factor: logits of variance d s². The input has c² s². One s serves both "
        "with c = sqrt(d_model), then both variances are the same number, d s²; it is 1 for std "
        "1/sqrt(d_model). A std-1 table has logits of std 22.6 and a first loss near 94.",
        "The factor lets one tied table have unit variance at the input and at the logits.",
        a12_condition,
    ),
    Claim(
        "A13",
        "why this number",
        "sqrt(d_model) is the balance; 1000 too much, 1 too little",
        "sqrt(d_model) strikes the balance: there neither token nor position holds less than a "
        "tenth of the sum, with 1000 the entries explode (variance above 10), and without a "
        "factor the token is drowned.",
        a13,
        "token's share = c**2 * s**2 / (c**2 * s**2 + 1/2)",
        "The share depends on the product c s only. So what is balanced is c s of about 1, and "
        "which c that is depends on the table.",
        "No factor is a golden ratio: the product of factor and std is what counts.",
        a14_condition,
    ),
    Claim(
        "A14",
        "opening",
        "scaled, neither token nor position drowns",
        "Scaled embeddings neither drown the sinusoidal encoding nor are drowned: each holds at "
        "least a tenth of the mean square of the sum.",
        a14,
        "token's share = c**2 * s**2 / (c**2 * s**2 + 1/2)",
        "The positions hold 1/2 per entry whatever is done to the embedding. With std "
        "1/sqrt(d_model) the token has 1 against it, two thirds; with std 1 it has 512 and the "
        "positions a thousandth; on ±0.01 it has 0.017, a thirtieth.",
        "Which side drowns is decided by std times factor against 0.7, the rms of a sinusoid.",
        a14_condition,
    ),
)
