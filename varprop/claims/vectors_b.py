"""Document B on one word vector: variance of an entry and of the whole, norm, and the factor."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from varprop.claims.fronts import element, embedded, energy, length, own
from varprop.claims.inputs import EVERY, Inputs
from varprop.claims.quantities import LARGEST, Quantity, experiment, root, stage, times
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.relations import about, between, unlike
from varprop.claims.torch_record import torch_embedding

UNIT = "normal(std=1)"


def b1(inputs: Inputs) -> Iterator[Reading]:
    for rows in dict.fromkeys((inputs.vocab_size, inputs.d_model)):
        of = Inputs(**{**vars(inputs), "vocab_size": rows})
        for label, table in of.tables("Xavier").items():
            mean = stage("scaled_embedding.mean", **embedded(of, table, 1))
            yield reading(
                label,
                ("variance of one entry", element(of, table, 1), about(1)),
                ("mean of one entry", mean, between(-0.05, 0.05)),
            )


def mean_norm(d: int) -> float:
    """E|x| = sqrt(2) Gamma((d+1)/2) / Gamma(d/2) for standard normal entries."""
    return math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))


def gaussian(inputs: Inputs, what: str) -> Quantity:
    """Mean or variance of the norm, or variance of its square, of a normal vector."""
    d = inputs.d_model
    law = inputs.spec(embedding=own(inputs, UNIT)).distribution("embedding")
    variance = float(law.cumulant(2))
    mean = math.sqrt(variance) * mean_norm(d)
    known = {"mean": mean, "variance": d * variance - mean**2, "square": 2 * d * variance**2}
    count = max(2, min(20_000, LARGEST // d))

    def sample(rng: np.random.Generator) -> NDArray[np.float64]:
        squares = (law.sample(rng, (count, d)) ** 2).sum(1)
        return squares if what == "square" else np.asarray(np.sqrt(squares))

    statistic = "mean" if what == "mean" else "variance"
    return experiment(f"norm {what} {d}", lambda: known[what], sample, statistic)


def b2(inputs: Inputs) -> Iterator[Reading]:
    claimed = about(math.sqrt(inputs.d_model))
    yield reading("expected norm of a normal vector", ("E|x|", gaussian(inputs, "mean"), claimed))
    yield reading("root mean square norm", ("rms", length(inputs, own(inputs, UNIT), 1), claimed))


def b2_condition(inputs: Inputs) -> str:
    least = next(d for d in range(1, 100) if about(math.sqrt(d)).holds(mean_norm(d)))
    return f"the expected norm is within 5 % from width {least}"


def b3(inputs: Inputs) -> Iterator[Reading]:
    d = inputs.d_model
    trace = times(d, element(inputs, own(inputs, UNIT), 1))
    yield reading("trace of the covariance", ("summed variance", trace, about(d)))
    norm, square = gaussian(inputs, "variance"), gaussian(inputs, "square")
    yield reading("for contrast: variance of the norm", ("Var |x|", norm, None))
    yield reading("for contrast: variance of the squared norm", ("Var |x|²", square, None))


def b6(inputs: Inputs) -> Iterator[Reading]:
    after = element(inputs, own(inputs, UNIT))
    yield reading("std 1", ("variance of one scaled entry", after, about(inputs.d_model)))


def b7(inputs: Inputs) -> Iterator[Reading]:
    trace = times(inputs.d_model, element(inputs, own(inputs, UNIT)))
    claimed = about(inputs.d_model**2)
    yield reading("trace of the covariance, std 1", ("summed variance", trace, claimed))


def b18(inputs: Inputs) -> Iterator[Reading]:
    if inputs.chosen:
        drawn = element(inputs, own(inputs, UNIT), 1)
    else:
        drawn = torch_embedding("variance", lambda: element(inputs, UNIT, 1).predict())
    yield reading("variance of the entries", ("variance of one entry", drawn, about(1)))


def b19(inputs: Inputs) -> Iterator[Reading]:
    one = element(inputs, own(inputs, UNIT), "1/d_model")
    claimed = about(1 / inputs.d_model)
    yield reading("one entry, std 1", ("variance of one entry", one, claimed))
    summed = times(inputs.d_model, one)
    yield reading("summed over the vector, std 1", ("summed variance", summed, claimed))


def b20(inputs: Inputs) -> Iterator[Reading]:
    d, table = inputs.d_model, own(inputs, UNIT)
    before = energy(inputs, table, 1)
    for factor, square in {"sqrt(d_model)": d, "1/sqrt(d_model)": 1 / d, "d_model": d**2}.items():
        yield reading(
            f"c = {factor}",
            ("E|cx|²", energy(inputs, table, factor), about(square * d)),
            ("E|x|²", before, about(d)),
        )


def b27(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables(*EVERY).items():
        yield reading(
            label,
            ("rms norm after the factor", length(inputs, table), unlike(1)),
            ("rms norm before", root(energy(inputs, table, 1)), None),
        )


SECTION = "2, the variance of word vectors"
MEANING = "2, what multiplying means"

CLAIMS = (
    Claim(
        "B1",
        SECTION,
        "Xavier gives entries mean 0 and variance 1",
        "An initializer such as Xavier gives each entry of a word vector mean 0 and variance 1.",
        b1,
        "variance of a Xavier entry = 2 / (V + d)",
        "Xavier's variance is 2 over the sum of the fans: the rows and columns of the table. It "
        "is 1/d_model for a square matrix and far less for a vocabulary. Variance 1 is what a "
        "Xavier matrix keeps of the vectors that it multiplies, not what its entries have.",
        "Xavier preserves unit variance of what passes through; it does not have it.",
    ),
    Claim(
        "B2",
        SECTION,
        "the expected norm is sqrt(d_model)",
        "The expected L2 norm of a vector of d_model entries of unit variance is sqrt(d_model).",
        b2,
        "E|x| = s * sqrt(2) * gamma((d + 1) / 2) / gamma(d / 2)",
        "The root of E|x|² is exactly sqrt(d_model). The expected norm is a little less: for "
        "normal entries by a relative 1/(4d), which is 5 % at width 5 and nothing at 512.",
        "In high dimension every word vector is about sqrt(d_model) long.",
        b2_condition,
    ),
    Claim(
        "B3",
        SECTION,
        "the whole vector's variance is d_model",
        "The variance of the vector as a whole is d_model, because variances add over dimensions.",
        b3,
        "trace of the covariance = d * s**2",
        "The trace of the covariance is d_model. It is not the variance of the norm, of which "
        "the text has just spoken: that is near 1/2 at every usual width, and that of the "
        "squared norm 2d.",
        "A variance summed over the vector is a trace; the length itself hardly varies.",
    ),
    Claim(
        "B6",
        MEANING,
        "scaled entries have variance d_model",
        "After multiplication by sqrt(d_model) each entry (of std 1) has variance d_model.",
        b6,
        "variance of an entry = c**2 * s**2",
        "Var(cX) is c² Var(X), with c² = d_model.",
        "A factor enters variances squared.",
    ),
    Claim(
        "B7",
        MEANING,
        "the scaled vector has variance d_model²",
        "After multiplication by sqrt(d_model) the whole vector has variance d_model².",
        b7,
        "trace of the covariance = d * c**2 * s**2",
        "d_model entries of variance d_model each. Two sentences later the text adds positions "
        "to a variance of d_model (B9): there it has gone back to one entry.",
        "d_model per entry, d_model² per vector: a text must say which it means.",
    ),
    Claim(
        "B18",
        "2, pitfalls",
        "nn.Embedding starts with variance 1",
        "PyTorch's nn.Embedding is initialised with variance 1.",
        b18,
        "variance of an entry = 1",
        "PyTorch's documentation says N(0, 1), and a real table has it. Document A says ±0.01 "
        "(A3), wrongly.",
        "PyTorch's default table has unit variance already.",
    ),
    Claim(
        "B19",
        "4, first question",
        "dividing by d_model gives variance 1/d_model",
        "Dividing by d_model makes the variance 1/d_model.",
        b19,
        "variance of an entry = s**2 / d**2",
        "One entry of std 1 gets variance 1/d². Summed over the vector it is 1/d: true only of "
        "the trace, while the same passage uses per-entry numbers for the positions.",
        "Dividing by d_model divides variances by d_model squared.",
    ),
    Claim(
        "B20",
        "4, first question",
        "E|x|² = d and E|cx|² = c²d",
        "For x from N(0, I), E|x|² = d_model and E|cx|² = c² d_model.",
        b20,
        "E|cx|² = c**2 * d * s**2",
        "A sum of d_model second moments, each multiplied by c².",
        "The one derivation in the passage is right.",
    ),
    Claim(
        "B27",
        "5, first wrong answer",
        "it is wrong that the factor makes norms 1",
        "It is a mistake to say that the factor brings the norm of an embedding to 1.",
        b27,
        "norm after the factor = c * s * sqrt(d)",
        "For std 1/sqrt(d_model) the norm is 1 before the factor and sqrt(d_model) after it; no "
        "table of the documents has norm 1 after it.",
        "The factor takes the norm away from 1: it makes the entries 1, not the norm.",
    ),
)
