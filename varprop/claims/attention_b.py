"""Document B on attention: which factor the scores ask for, and what saturates the softmax."""

from __future__ import annotations

from collections.abc import Iterator

from varprop.claims.fronts import (
    PROJECTIONS,
    element,
    energy,
    grown,
    own,
    span,
)
from varprop.claims.growth_b import UNIT, score, ways
from varprop.claims.inputs import Inputs
from varprop.claims.quantities import combine
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.relations import (
    SATURATED,
    VANISHED,
    about,
    exponent,
)
from varprop.claims.softmaxes import predicted, softmax


def b21(inputs: Inputs) -> Iterator[Reading]:
    table, d = own(inputs, UNIT), inputs.d_model
    factor = "1/sqrt(d_model)"
    vectors = {
        "the vector summed": energy(inputs, table, factor),
        "one entry": element(inputs, table, factor),
    }
    for whose, vector in vectors.items():
        for label, way in ways(*PROJECTIONS):
            # Without positions the variance goes with the fourth power of the factor.
            exact = combine(lambda v: v**-0.25, score(inputs, table, factor, way)(d))
            yield reading(
                f"{label}; variance of {whose}",
                ("exact factor for variance 1, times sqrt(d_model)", exact, about(1)),
                ("variance of the word vector", vector, about(1)),
            )


def b25(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables("std 1", "std 1/sqrt(d_model)").items():
        for name, way in ways("Xavier"):
            after, before = (score(inputs, table, f, way) for f in (inputs.factor, 1))
            yield reading(
                f"{label}, {name}",
                ("growth of the score with the factor", grown(inputs, after), exponent(0)),
                ("growth without it", grown(inputs, before), None),
                ("variance with it", after(inputs.d_model), None),
            )


def b30(inputs: Inputs) -> Iterator[Reading]:
    n, d = inputs.keys, inputs.d_model
    known = {f"d_model = {d}": float(d), f"d_model² = {d**2}": float(d**2)}
    if inputs.logit_variance is not None:
        known = {f"{inputs.logit_variance:g}": float(inputs.logit_variance)}
    for label, variance in known.items():
        yield reading(
            f"logit variance {label}",
            ("gradient against variance 1", softmax(n, variance, "gradient"), VANISHED),
            ("largest weight", softmax(n, variance, "max_weight"), SATURATED),
            ("entropy / log n", softmax(n, variance, "entropy"), None),
        )


def b30_condition(inputs: Inputs) -> str:
    n = inputs.keys

    def saturates(variance: float) -> bool:
        return SATURATED.holds(predicted(n, variance, "max_weight"))

    def vanishes(variance: float) -> bool:
        least = predicted(n, variance, "gradient") / predicted(n, 1.0, "gradient")
        return VANISHED.holds(least) and variance > 1

    return (
        f"over {n} keys saturated where the logit variance is {span(saturates, 1e-1, 1e8, 37)}, "
        f"gradient below a tenth where it is {span(vanishes, 1e-1, 1e8, 37)}"
    )


TRADE = "2, trade-offs"
CLAIMS = (
    Claim(
        "B21",
        "4, first question",
        "QKᵀ of O(1) needs 1/sqrt(d_model), vector variance 1",
        "For QKᵀ of variance 1 the factor would have to be 1/sqrt(d_model), which makes the "
        "variance of the word vector 1.",
        b21,
        "exact factor = (h * l**2 * (d * a)**2)**(-1/4) / s",
        "For std 1 and no positions. With Xavier and the divisor the exact factor is 1; raw it is "
        "the fourth root of 1/d_head. Only weights of variance 1 with the divisor give "
        "1/sqrt(d_model); and "
        "only summed over the vector is the variance then 1, an entry has 1/d_model.",
        "With a divisor and Xavier weights, unit entries need no factor at all.",
    ),
    Claim(
        "B25",
        "4, third question",
        "Xavier and sqrt(d_model) give QKᵀ of O(1)",
        "With Xavier projections, whose weights have variance 1/d_model, multiplying by "
        "sqrt(d_model) gives QKᵀ a variance O(1).",
        b25,
        "logit variance = c**4 * s**4 * h * l**2",
        "Xavier keeps the variance of an entry, so the logits have c⁴ s⁴ times what the divisor "
        "leaves of d_head. The factor is right for std 1/sqrt(d_model); for std 1, PyTorch's "
        "default, it is what makes the logits grow like d_model², and without it they are 1.",
        "Unit entries and Xavier give O(1) logits; whether the factor helps is up to the table.",
    ),
    Claim(
        "B30",
        TRADE,
        "large logit variance saturates, the gradient vanishes",
        "A large variance of the logits saturates the softmax (largest weight at least a half), "
        "and its gradient vanishes (expected squared norm of the Jacobian below a tenth of what "
        "logits of variance 1 give).",
        b30,
        "largest weight tends to 1, squared Jacobian falls like = v**(-1/2)",
        "Saturation comes soon. The mean gradient does not follow: it first grows with the "
        "variance, since equal weights have a tiny Jacobian too, and then falls only like one "
        "over the std of the logits, because some rows have two keys that nearly tie. (A typical "
        "row without a tie does lose its gradient.)",
        "Saturated softmaxes are frozen in most rows, but on average they lose gradient slowly.",
        b30_condition,
    ),
)
