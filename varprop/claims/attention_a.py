"""Document A on attention: scores, softmax, divisor, and what many layers keep."""

from __future__ import annotations

import math
from collections.abc import Iterator

from varprop.claims.fronts import (
    BY_MODEL,
    DIVIDED,
    IDENTITY,
    RAW,
    XAVIER,
    element,
    logits,
    normed,
    span,
)
from varprop.claims.inputs import Inputs
from varprop.claims.quantities import Quantity, arithmetic, combine, ratio, root, times
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.relations import CLEAR, KEPT, UNIFORM, about, printed
from varprop.claims.softmaxes import predicted, softmax


def a2(inputs: Inputs) -> Iterator[Reading]:
    tables = inputs.tables("std 1/sqrt(d_model)", "std 1", "uniform")
    for label, table in tables.items():
        for name, divisor in {"sqrt(d_head)": DIVIDED, "sqrt(d_model)": BY_MODEL}.items():
            both = _xavier(inputs, table, inputs.factor, divisor)
            yield reading(
                f"{label}, divisor {name}",
                ("logit variance with factor and divisor", both, about(1)),
                ("without the factor", _xavier(inputs, table, 1, divisor), None),
                ("without the divisor", _xavier(inputs, table, inputs.factor, RAW), None),
            )


def a2_condition(inputs: Inputs) -> str:
    return f"divisor sqrt(d_model) leaves a variance n_heads = {inputs.n_heads} times too small"


def _xavier(inputs: Inputs, table: str, factor: object, divisor: object) -> Quantity:
    heads = {"n_heads": inputs.n_heads, "d_head": inputs.width}
    return logits(inputs, table, factor, XAVIER, divisor, inputs.width, **heads)


def _score(inputs: Inputs, factor: object, divisor: object, width: int) -> Quantity:
    """Variance of a score of two rows of `width` entries of document A's table."""
    table = next(iter(inputs.tables("uniform").values()))
    return logits(inputs, table, factor, IDENTITY, divisor, d_model=width, d_head=width)


def _score_readings(inputs: Inputs) -> Iterator[tuple[str, object, int]]:
    for width in dict.fromkeys((inputs.width, inputs.d_model)):
        for name, divisor in {"raw score": RAW, "divided logit": DIVIDED}.items():
            yield f"{name} over {width} channels", divisor, width


def a5(inputs: Inputs) -> Iterator[Reading]:
    for label, divisor, width in _score_readings(inputs):
        typical = root(_score(inputs, 1, divisor, width))
        yield reading(label, ("std of a score", typical, about(1e-4)))


def _softened(inputs: Inputs, factor: object) -> Iterator[tuple[str, Quantity, float]]:
    for label, divisor, width in _score_readings(inputs):
        variance = _score(inputs, factor, divisor, width)
        value = inputs.logit_variance or variance.predict()
        yield label, variance, float(value)


def a6(inputs: Inputs) -> Iterator[Reading]:
    small = inputs.bound**2
    power = arithmetic(math.exp(small), lambda kind: math.exp(kind(small)))
    for label, variance, value in _softened(inputs, 1):
        yield reading(
            label,
            ("entropy / log n", softmax(inputs.keys, value, "entropy"), UNIFORM),
            ("e to the power of one product", power, printed("1.0001")),
            ("largest weight", softmax(inputs.keys, value, "max_weight"), None),
            ("logit variance", variance, None),
        )


def a7(inputs: Inputs) -> Iterator[Reading]:
    scaled = round(inputs.bound * inputs.scale, 3)
    square = arithmetic(scaled**2, lambda kind: kind(scaled) ** 2)
    power = arithmetic(math.exp(0.051), lambda kind: math.exp(kind(0.051)))
    for label, variance, value in _softened(inputs, inputs.scale):
        yield reading(
            label,
            ("entropy / log n", softmax(inputs.keys, value, "entropy"), CLEAR),
            ("square of a scaled entry", square, printed("0.051")),
            ("e to that power", power, printed("1.052")),
            ("largest weight", softmax(inputs.keys, value, "max_weight"), None),
            ("logit variance", variance, None),
        )


def a7_condition(inputs: Inputs) -> str:
    n = inputs.keys

    def holds(variance: float) -> bool:
        return CLEAR.holds(predicted(n, variance, "entropy"))

    return f"over {n} keys it takes a logit variance of {span(holds, 1e-4, 1e4, 25)}"


def a16(inputs: Inputs) -> Iterator[Reading]:
    table = next(iter(inputs.tables("std 1/sqrt(d_model)").values()))
    with_factor, without = (normed(inputs, table, f, position="none") for f in (inputs.factor, 1))
    kept = ratio(with_factor, without)
    what = "variance with factor / without"
    yield reading("post-norm: the stream after the first norm", (what, kept, KEPT))
    yield reading("pre-norm: what every sublayer reads", (what, kept, KEPT))
    block = _through(inputs, table, 12)
    yield reading("pre-norm: the stream itself after 12 sublayers", (what, block, KEPT))
    free = ratio(element(inputs, table), element(inputs, table, 1))
    yield reading("linear layers and residual sums, no norm", (what, free, KEPT))


def _through(inputs: Inputs, table: str, sublayers: int) -> Quantity:
    """Stream variance with the factor over that without, each sublayer adding variance 1."""

    def grown(factor: object) -> Quantity:
        norm = normed(inputs, table, factor, position="none")
        return sum_of(element(inputs, table, factor), times(sublayers, norm))

    return ratio(grown(inputs.factor), grown(1))


def sum_of(first: Quantity, second: Quantity) -> Quantity:
    """A sum of independent parts."""
    return combine(lambda x, y: x + y, first, second)


def a17(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables("std 1/sqrt(d_model)", "std 1").items():
        for name, factor in {"with": inputs.factor, "without": 1}.items():
            variance = _xavier(inputs, table, factor, DIVIDED)
            value = variance.predict()
            yield reading(
                f"{label}, {name} the factor",
                ("logit variance", variance, None),
                ("entropy / log n", softmax(inputs.keys, value, "entropy"), None),
            )


CLAIMS = (
    Claim(
        "A2",
        "opening",
        "the factor and attention's divisor serve one end",
        "Multiplying the embedding by sqrt(d_model) and dividing scores by sqrt(d_model) serve "
        "the same end: together they bring the logits to variance 1 (Xavier projections, no "
        "positions).",
        a2,
        "logit variance = c**4 * s**4 * h * l**2",
        "Xavier projections keep the variance of an entry, a score sums d_head products, and the "
        "divisor 1/l takes d_head out again. The factor enters with its fourth power. For std "
        "1/sqrt(d_model) it lifts the logits from 1/d_model² to 1; for std 1 it throws them "
        "from 1 to d_model². And the divisor is sqrt(d_head): with sqrt(d_model) the logits are "
        "smaller by n_heads.",
        "The divisor belongs to a head's width; the factor to the table's std; they meet only "
        "where c times s is 1.",
        a2_condition,
    ),
    Claim(
        "A5",
        "2, from the side of training",
        "entries near 0.01 give scores near 0.0001",
        "With entries near 0.01 (uniform on ±0.01) an attention score is near 0.0001.",
        a5,
        "std of a raw score = sqrt(h) * b**2 / 3",
        "A score is a sum of d_head products, not one product. Each has std b²/3, signs differ, "
        "and the sum has sqrt(d_head) times that; the divisor takes it back to b²/3.",
        "One product is not a score: a head adds up 64 of them.",
    ),
    Claim(
        "A6",
        "2, from the side of training",
        "unscaled, the softmax is all but uniform",
        "e to the 0.0001 is about 1.0001, so without the factor the softmax is all but uniform: "
        "its entropy is within 5 % of log n.",
        a6,
        "entropy / log n, for small variance v = 1 - v / (2 * log(n))",
        "The entropy of n logits of small variance v is below log n by v/2. Here v is below "
        "1e-6 under every reading, the sum over the head included.",
        "Entries of 0.01 do give a uniform softmax, whatever is summed.",
    ),
    Claim(
        "A7",
        "2, from the side of training",
        "scaled, probabilities differ clearly",
        "With 0.226² about 0.051 and e to the 0.051 about 1.052, scaled embeddings give clearly "
        "different probabilities: an entropy more than 5 % below log n.",
        a7,
        "raw score variance = h * (c * b)**4 / 9",
        "The arithmetic is right, the conclusion is not: a logit variance v lowers the entropy "
        "by v/2 only, and even an undivided score over all 512 channels has v = 0.15. The softmax "
        "stays within 2 % of uniform; divided, within 0.01 %.",
        "A factor of 1.05 between two weights is still a uniform softmax.",
        a7_condition,
    ),
    Claim(
        "A16",
        "in one sentence",
        "amplified at the input, the range survives the layers",
        "Amplifying at the input keeps the signal's dynamic range through many layers: the "
        "variance is still at least twice what it is without the factor.",
        a16,
        "variance after a norm = 1",
        "A norm divides by whatever it is given. Post-norm forgets the factor after the first "
        "block; pre-norm sublayers never see it, and the stream keeps it only until a few "
        "sublayers (taken here to add variance 1 each) outweigh the embedding. Only without any "
        "norm does the factor stay, as c².",
        "The first norm ends the career of the factor.",
    ),
    Claim(
        "A17",
        "2, and why this number",
        "training is faster, and experiments favour it",
        "Training is faster with the factor, and many experiments found sqrt(d_model) to be the "
        "best balance.",
        a17,
        "logit variance = c**4 * s**4",
        "What can be computed is where training starts: the logits' variance and how far the "
        "softmax is from uniform, with and without the factor.",
        "Where a run starts can be computed; how fast it goes from there cannot.",
        None,
        "speed of training and the outcome of others' experiments are no matter of calculation "
        "at initialisation",
    ),
)
