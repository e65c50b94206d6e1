"""Document B on how scores grow with d_model, under each projection and divisor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from varprop.claims.fronts import (
    DIVIDED,
    IDENTITY,
    PROJECTIONS,
    RAW,
    attending,
    element,
    embedded,
    energy,
    grown,
    logits,
    own,
)
from varprop.claims.inputs import Inputs
from varprop.claims.quantities import Quantity, stage
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.relations import (
    UNSATURATED,
    at_least,
    exponent,
)
from varprop.claims.softmaxes import softmax

UNIT = "normal(std=1)"
HEAD = 64
"""Width of a head that does not grow with the model; None is one head of d_model channels."""
DIVISORS = {"divided": DIVIDED, "raw": RAW}
OfWidth = Callable[[int], Quantity]


def score(
    inputs: Inputs, table: str, factor: Any, way: tuple[str, Any, int | None], **changed: Any
) -> OfWidth:
    """The variance of a score as a function of d_model; way is projection, divisor, head."""

    def of(width: int) -> Quantity:
        return logits(inputs, table, factor, *way, d_model=width, **changed)

    return of


def ways(*names: str) -> Iterator[tuple[str, tuple[str, Any, int | None]]]:
    """Projections by divisors by widths of a head, with a label."""
    for name in names:
        projection = PROJECTIONS[name]
        for head in (None,) if projection == IDENTITY else (HEAD, None):
            for how, divisor in DIVISORS.items():
                width = "d_head = d_model" if head is None else f"d_head {head}"
                yield f"{name}, {width}, {how}", (projection, divisor, head)


def b11(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables("std 1", "std 1/sqrt(d_model)").items():
        for name in ("identity", "Xavier"):
            for how, divisor in DIVISORS.items():
                raw, after = (
                    score(inputs, table, inputs.factor, (PROJECTIONS[name], by, None))
                    for by in (RAW, divisor)
                )
                before = score(inputs, table, 1, (PROJECTIONS[name], divisor, None))
                variance = after(inputs.d_model).predict()
                weight = softmax(inputs.keys, variance, "max_weight")
                yield reading(
                    f"{label}, {name}, {how}",
                    ("growth of the score with the factor", grown(inputs, after), exponent(0)),
                    ("growth of the raw score with it", grown(inputs, raw), at_least(0.05)),
                    ("largest weight", weight, UNSATURATED),
                    ("growth of the score without it", grown(inputs, before), None),
                )


def b12(inputs: Inputs) -> Iterator[Reading]:
    table = own(inputs, UNIT)
    for label, way in ways(*PROJECTIONS):
        of = score(inputs, table, 1, way, position="sinusoidal")
        yield reading(label, ("growth of the score's variance", grown(inputs, of), exponent(2)))

    def pooled(width: int) -> Quantity:
        fields = attending(inputs, table, 1, IDENTITY, DIVIDED, d_model=width)
        return stage("scores.variance", **fields | {"position": "sinusoidal"})

    yield reading(
        "identity, raw, pooled over pairs of positions",
        ("growth of the score's variance", grown(inputs, pooled), exponent(2)),
    )


def b13(inputs: Inputs) -> Iterator[Reading]:
    table = own(inputs, UNIT)

    def total(width: int) -> Quantity:
        fields = embedded(inputs, table, "d_model", d_model=width, seq_len=32)
        return stage("input.ensemble_variance", **fields)

    for label, way in ways(*PROJECTIONS):
        of = score(inputs, table, "d_model", way, position="sinusoidal")
        yield reading(
            label,
            ("growth of the score's variance", grown(inputs, of), exponent(4)),
            ("growth of the sum's variance", grown(inputs, total), exponent(2)),
        )


def b14(inputs: Inputs) -> Iterator[Reading]:
    table = own(inputs, UNIT)

    def one(width: int) -> Quantity:
        return element(inputs, table, d_model=width)

    def whole(width: int) -> Quantity:
        return energy(inputs, table, d_model=width)

    yield reading("one entry, std 1", ("growth", grown(inputs, one), exponent(1)))
    yield reading("summed over the vector, std 1", ("growth", grown(inputs, whole), exponent(1)))


TRADE = "2, trade-offs"
CLAIMS = (
    Claim(
        "B11",
        "2, what multiplying means",
        "dot products grow; the factor keeps them O(1)",
        "The variance of a dot product grows with d_model; with the factor it stays O(1) after "
        "scaling, so that the softmax does not saturate (largest weight at most a half).",
        b11,
        "logit variance, one head of d channels = c**4 * s**4 * d * l**2",
        "The factor enters with its fourth power: sqrt(d_model) adds 2 to the exponent of "
        "growth. For std 1 that makes 3 raw and 2 divided, and a softmax that is one key. For "
        "std 1/sqrt(d_model) it makes 1 raw, and 0 once the divisor is there, which without "
        "the factor would be -2. It is the divisor that takes out the growth.",
        "The factor multiplies logit variance by d_model²: the divisor keeps logits O(1).",
    ),
    Claim(
        "B12",
        TRADE,
        "factor 1: QKᵀ variance grows like d_model²",
        "With factor 1 the variance of QKᵀ grows like d_model squared.",
        b12,
        "raw score variance = h * (d * a * (s**2 + 1/2))**2",
        "For std 1, positions added, over draws at one place. Identity: the first power raw, "
        "none divided (pooled a little more, because the inner products of the positions differ "
        "from pair to pair). Xavier likewise. Weights of variance 1 (a = 1) multiply each entry by "
        "d_model: the square with a fixed head or the divisor, the cube for one raw head of "
        "d_model channels.",
        "d_model² needs weights of variance 1, which nobody draws.",
    ),
    Claim(
        "B13",
        TRADE,
        "factor d_model: sum like d_model², QKᵀ like d_model⁴",
        "With factor d_model the variance of the sum grows like d_model squared and that of QKᵀ "
        "like its fourth power.",
        b13,
        "raw score variance = h * (d * a * (d**2 * s**2 + 1/2))**2",
        "The factor's fourth power alone is d_model⁴. That is all with Xavier or identity "
        "projections once the divisor (or a fixed head) takes out the sum over channels; weights "
        "of variance 1 add 2. So B12 and B13 are never true together: one needs unit-variance "
        "weights, the other must not have them.",
        "d_model⁴ and B12's d_model² belong to different models.",
    ),
    Claim(
        "B14",
        TRADE,
        "factor sqrt(d_model): linear in d_model",
        "With factor sqrt(d_model) the variance of the embedding is linear in d_model.",
        b14,
        "variance of an entry = d * s**2",
        "Per entry, for std 1. Summed over the vector it is quadratic (B7), and for std "
        "1/sqrt(d_model) the entry does not grow at all.",
        "Linear per entry, quadratic per vector, constant in the model of 2017.",
    ),
)
