"""Document B on the sum of token and position, and on variants of the factor."""

from __future__ import annotations

from collections.abc import Iterator

from varprop.claims.fronts import (
    element,
    embedded,
    grown,
    own,
    position_share,
    stds_of_share,
    token_share,
)
from varprop.claims.inputs import EVERY, Inputs
from varprop.claims.quantities import Quantity, arithmetic, ratio, stage, times
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.relations import (
    DROWNED,
    HEARD,
    MATCHING,
    Relation,
    about,
    at_least,
    at_most,
    exponent,
)

UNIT, PAPER = "normal(std=1)", "normal(std=1/sqrt(d_model))"


def b9(inputs: Inputs) -> Iterator[Reading]:
    fields = embedded(inputs, own(inputs, UNIT), inputs.factor)
    claimed = about(inputs.d_model + 0.5)
    for label, what in {
        "one entry over draws": "ensemble_variance",
        "one entry, pooled over positions and channels": "variance",
        "mean square of one entry": "second_moment",
    }.items():
        yield reading(f"{label}, std 1", (label, stage(f"input.{what}", **fields), claimed))
    summed = times(inputs.d_model, stage("input.ensemble_variance", **fields))
    yield reading("summed over the vector, std 1", ("summed variance", summed, claimed))


def b10(inputs: Inputs) -> Iterator[Reading]:
    table, d = own(inputs, UNIT), inputs.d_model
    position = stage("position.second_moment", **embedded(inputs, table, 1))
    factors = (inputs.factor, 1)
    gaps = (ratio(element(inputs, table, factor), position) for factor in factors)
    shrinks = Relation("below 1", 0, 1)
    what = "gap after / gap before"
    yield reading("token against position, per entry", (what, ratio(*gaps), shrinks))
    summed = (ratio(times(d, element(inputs, table, f)), times(d, position)) for f in factors)
    yield reading("both summed over the vector", (what, ratio(*summed), shrinks))
    printed = arithmetic(d / 0.5 / d, lambda kind: kind(d) / kind(0.5) / kind(d))
    yield reading("the two ratios as they are printed", (what, printed, shrinks))


def b16(inputs: Inputs) -> Iterator[Reading]:
    net = "sqrt(d_model)/d_model"
    for label, table in inputs.tables("std 1", "std 1/sqrt(d_model)").items():
        yield reading(
            label,
            ("token's share of the sum", token_share(inputs, table, net), HEARD),
            ("variance of one entry", element(inputs, table, net), None),
        )


def b17(inputs: Inputs) -> Iterator[Reading]:
    table = own(inputs, PAPER)
    alone, scaled = element(inputs, table, 1), element(inputs, table)
    yield reading(
        "unit variance wanted",
        ("variance of one entry without the factor", alone, about(1)),
        ("with it", scaled, None),
    )
    yield reading(
        "added to sinusoidal positions",
        ("token's share without the factor", token_share(inputs, table, 1), HEARD),
        ("with it", token_share(inputs, table), None),
    )


def b16_condition(inputs: Inputs) -> str:
    return f"it takes a table of {stds_of_share(inputs, inputs.d_model**-0.5, HEARD)}"


def b17_condition(inputs: Inputs) -> str:
    return f"neither side drowns without the factor at {stds_of_share(inputs, 1, HEARD)}"


def b31_condition(inputs: Inputs) -> str:
    return f"they match at {stds_of_share(inputs, inputs.scale, MATCHING)}"


def b33_condition(inputs: Inputs) -> str:
    return f"tokens drown the positions at {stds_of_share(inputs, 1, at_least(1 - DROWNED))}"


def b31(inputs: Inputs) -> Iterator[Reading]:
    table = own(inputs, UNIT)
    total = stage("input.second_moment", **embedded(inputs, table, inputs.factor))
    yield reading(
        "share of the sum's power, std 1",
        ("position's share", position_share(inputs, table), MATCHING),
        ("mean square of the sum", total, about(inputs.d_model + 0.5)),
    )


def b32(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables("std 1", "std 1/sqrt(d_model)").items():
        for name, power in {"summed over the vector": 1, "one entry": 0}.items():

            def at(factor: object, table: str = table, power: int = power) -> Quantity:
                def of(width: int) -> Quantity:
                    fields = embedded(inputs, table, factor, d_model=width, seq_len=32)
                    return times(float(width) ** power, stage("input.second_moment", **fields))

                return grown(inputs, of)

            other = exponent(1)._replace(text="an exponent other than 1", outside=True)
            yield reading(
                f"{label}, {name}",
                ("growth with factor 1", at(1), exponent(1)),
                ("growth with factor sqrt(d_model)", at("sqrt(d_model)"), other),
            )


def b33(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables(*EVERY).items():
        share = position_share(inputs, table, 1)
        yield reading(label, ("position's share without the factor", share, at_most(DROWNED)))


def b34(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables(*EVERY).items():
        share = token_share(inputs, table, "1/d_model")
        yield reading(label, ("token's share divided by d_model", share, at_most(DROWNED)))


FIRST = "2, the variance of word vectors"
MEANING = "2, what multiplying means"
QUESTION = "4, first question"
CLAIMS = (
    Claim(
        "B9",
        MEANING,
        "the scaled sum has variance d_model + 0.5",
        "The sum of scaled embedding and sinusoidal encoding has variance about d_model + 0.5.",
        b9,
        "mean square of the sum = c**2 * s**2 + 1/2",
        "For one entry of a std-1 table: exactly d over draws, d + 1/2 as a mean square, in "
        "between pooled. Summed over the vector it is d², which is what B7 calls the variance "
        "of the vector.",
        "d_model + 0.5 is about one entry, in a text that has just spoken of whole vectors.",
    ),
    Claim(
        "B10",
        MEANING,
        "the gap shrinks from d_model : 1 to d_model : 0.5",
        "By the factor the gap between token and position shrinks from d_model : 1 to "
        "d_model : 0.5.",
        b10,
        "gap after / gap before = c**2",
        "Like against like the gap grows by d_model: from 2 : 1 to 2 d_model : 1. Even as the "
        "two ratios are printed it doubles, for d_model : 0.5 is 2 d_model : 1.",
        "A larger factor on one summand cannot narrow its lead.",
    ),
    Claim(
        "B16",
        "2, pitfalls",
        "divide by d_model, multiply by sqrt(d_model)",
        "Dividing by d_model first and then multiplying by sqrt(d_model) is a usable variant: "
        "the token keeps at least a tenth of the sum.",
        b16,
        "token's share = (s**2 / d) / (s**2 / d + 1/2)",
        "The net factor is 1/sqrt(d_model), the opposite of the factor in question. A std-1 table "
        "is left with variance 1/d_model, and 0.4 % of the sum.",
        "The two steps together divide where the paper multiplies.",
        b16_condition,
    ),
    Claim(
        "B17",
        "2, pitfalls",
        "std 1/sqrt(d_model) makes the factor unnecessary",
        "An initializer of std 1/sqrt(d_model) makes the explicit factor unnecessary: entries "
        "then have variance 1, or the token is not drowned by the positions.",
        b17,
        "token's share without the factor = s**2 / (s**2 + 1/2)",
        "It is the table that the factor was made for. Without the factor its entries have "
        "variance 1/d_model and hold 0.4 % of the sum with sinusoids; with it, two thirds.",
        "std 1/sqrt(d_model) is what makes the factor necessary; std 1 does without.",
        b17_condition,
    ),
    Claim(
        "B31",
        "5, third wrong answer",
        "d_model + 0.5 means that the magnitudes match",
        "A variance of d_model + 0.5 of the sum means that embedding and positions are of "
        "matching magnitude: the smaller holds at least a quarter of the power.",
        b31,
        "position's share = (1/2) / (c**2 * s**2 + 1/2)",
        "d_model : 0.5 is a share of one thousandth for the positions at width 512. Magnitudes "
        "match where c s is near 0.7, with a sum of mean square near 1.",
        "Two summands match if their shares do; the size of the sum says nothing.",
        b31_condition,
    ),
    Claim(
        "B32",
        QUESTION,
        "a sum of O(d_model) needs c of about 1",
        "For the sum with the positions to have variance O(d_model), c² d_model must be about "
        "d_model, so c about 1.",
        b32,
        "mean square of the whole sum = d * (c**2 * s**2 + 1/2)",
        "Summed over the vector and for std 1 that is so: factor 1 grows like d_model, "
        "sqrt(d_model) like its square. Per entry, factor 1 does not grow at all. And for std "
        "1/sqrt(d_model) the positions alone are O(d_model), so every factor up to "
        "sqrt(d_model) does.",
        "c of about 1 follows only for std 1 and for the whole vector.",
    ),
    Claim(
        "B33",
        FIRST,
        "unscaled, tokens drown the positions",
        "Without the factor the tokens dominate the sum and drown the positions (less than a "
        "tenth of the mean square).",
        b33,
        "position's share = (1/2) / (s**2 + 1/2)",
        "At std 1 the positions hold a third. For every smaller table it is the token that is "
        "drowned: at std 1/sqrt(d_model) it holds 0.4 %.",
        "Without the factor the positions drown the token, not the other way round.",
        b33_condition,
    ),
    Claim(
        "B34",
        QUESTION,
        "divided by d_model, positions dominate",
        "Dividing the embedding by d_model lets the positions dominate and loses the token (less "
        "than a tenth of the mean square).",
        b34,
        "token's share = s**2 / (s**2 + d**2 / 2)",
        "Even a std-1 table is left with 4e-6 per entry against 1/2.",
        "Divided by d_model, a token is a millionth of its position.",
    ),
)
