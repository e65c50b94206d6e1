"""Document A on the embedding: its variance, its norm, and the factor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from varprop.claims.fronts import element, energy, length, stds_where
from varprop.claims.inputs import EVERY, Inputs
from varprop.claims.quantities import arithmetic, ratio, root, times
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.relations import STABLE, about, at_least, at_most, printed
from varprop.claims.torch_record import torch_embedding

TAIL = 3.8906
"""A standard normal lies within this with probability 99.99 %."""


def a1(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables(*EVERY).items():
        yield reading(label, ("variance of one scaled entry", element(inputs, table), about(1)))


def a1_condition(inputs: Inputs) -> str:
    rows = 2 * inputs.scale**2 - inputs.d_model
    exact = f"a normal table needs std {1 / inputs.scale:.6g}"
    return exact + (f", a Xavier table vocab_size {rows:.0f}" if rows > 0 else "")


def a3(inputs: Inputs) -> Iterator[Reading]:
    for label, table in inputs.tables("std 1").items():
        law = inputs.spec(embedding=table).distribution("embedding")
        std = float(law.cumulant(2)) ** 0.5
        inside = math.erf(inputs.bound / std / math.sqrt(2))
        share = arithmetic(inside, partial(_share, std, inputs.bound))
        if std == 1 and inputs.bound == 0.01:
            share = torch_embedding("share", share.predict)
        yield reading(label, (f"share of entries inside ±{inputs.bound:g}", share, at_least(0.95)))


def a3_condition(inputs: Inputs) -> str:
    def holds(std: float) -> bool:
        return at_least(0.95).holds(math.erf(inputs.bound / std / math.sqrt(2)))

    return f"it takes {stds_where(inputs, holds)}"


def _share(std: float, bound: float, kind: Any) -> float:
    """The same by adding up the density."""
    std = float(kind(std))
    middles = (np.arange(100_000) + 0.5) / 100_000 * bound / std
    return float(2 * np.exp(-(middles**2) / 2).mean() * bound / std / math.sqrt(2 * math.pi))


def a4(inputs: Inputs) -> Iterator[Reading]:
    bound, scale = inputs.bound, inputs.scale
    yield reading(
        "arithmetic",
        ("the factor", arithmetic(scale, lambda kind: kind(scale)), printed("22.6")),
        (
            "the scaled entry",
            arithmetic(bound * scale, lambda kind: kind(bound) * kind(scale)),
            printed("0.226"),
        ),
    )


def _unit(inputs: Inputs) -> str:
    return next(iter(inputs.tables("std 1").values()))


def a8(inputs: Inputs) -> Iterator[Reading]:
    total = energy(inputs, _unit(inputs), 1)
    yield reading("mean squared norm", ("E|x|²", total, about(inputs.d_model)))
    trace = times(inputs.d_model, element(inputs, _unit(inputs), 1))
    yield reading("trace of the covariance", ("summed variance", trace, about(inputs.d_model)))


def a9(inputs: Inputs) -> Iterator[Reading]:
    square = times(1 / inputs.d_model, energy(inputs, _unit(inputs), 1))
    claimed = about(math.sqrt(inputs.d_model))
    yield reading("mean square of one entry", ("E|x|²/d", square, claimed))
    yield reading("root mean square of one entry", ("its root", root(square), claimed))
    whole = length(inputs, _unit(inputs), 1)
    yield reading("for comparison: the norm of the whole vector", ("rms norm", whole, None))


def a10(inputs: Inputs) -> Iterator[Reading]:
    targets = {"sqrt(d_model)": math.sqrt(inputs.d_model), "d_model": float(inputs.d_model)}
    for label, table in inputs.tables(*EVERY).items():
        after, before = length(inputs, table), length(inputs, table, 1)
        for name, target in targets.items():
            yield reading(
                f"{label}, norm to match {name}",
                ("norm after / before", ratio(after, before), at_most(1)),
                ("norm after", after, about(target)),
            )


def a15(inputs: Inputs) -> Iterator[Reading]:
    table, down = _unit(inputs), 1 / inputs.scale
    after = element(inputs, table)
    yield reading("variance of one entry", ("variance after multiplying", after, STABLE))
    reach = times(TAIL, root(after))
    yield reading(
        "range of 99.99 % of entries", ("half width after multiplying", reach, at_most(10))
    )
    divided = element(inputs, table, down)
    yield reading("scaling meant as dividing", ("variance after dividing", divided, STABLE))


def a15_condition(inputs: Inputs) -> str:
    def holds(std: float) -> bool:
        after = inputs.scale * std
        return STABLE.holds(after**2) and at_most(10).holds(TAIL * after)

    return f"in range after multiplying: {stds_where(inputs, holds)}"


CLAIMS = (
    Claim(
        "A1",
        "opening",
        "the factor brings the entries' variance to 1",
        "Multiplying the embedding by sqrt(d_model) brings the variance of its entries to 1.",
        a1,
        "variance of an entry = c**2 * s**2",
        "A factor c multiplies every variance by its square, here by d_model, whatever the table "
        "is. So the result is 1 for the one table whose variance is 1/d_model: the one of the "
        "2017 code. PyTorch's default ends at d_model, a Xavier table at 2d/(V + d).",
        "The factor is half of a pair: it undoes a table drawn with std 1/sqrt(d_model).",
        a1_condition,
    ),
    Claim(
        "A3",
        "1, from PyTorch's side",
        "nn.Embedding draws values inside ±0.01",
        "A fresh nn.Embedding of PyTorch holds values between -0.01 and 0.01.",
        a3,
        "share inside = erf(b / (s * sqrt(2)))",
        "PyTorch documents a standard normal. Its share inside ±0.01 is the density at 0 times "
        "0.02: less than one entry in a hundred. Document B says variance 1 (B18), rightly.",
        "nn.Embedding starts at std 1, a hundred times what document A builds its example on.",
        a3_condition,
    ),
    Claim(
        "A4",
        "1, from PyTorch's side",
        "0.01 × sqrt(512) is about 0.226",
        "An entry 0.01 becomes about 0.226 when it is multiplied by sqrt(512), about 22.6.",
        a4,
        "scaled entry = b * sqrt(d)",
        "sqrt(512) = 22.627, and a hundredth of it rounds to 0.226.",
        "The arithmetic is right; the 0.01 that goes into it is not what PyTorch draws.",
    ),
    Claim(
        "A8",
        "simplified mathematics",
        "512 unit-variance dimensions have energy 512",
        "512 dimensions of mean 0 and standard deviation 1 have a total energy of 512.",
        a8,
        "total energy = d * s**2",
        "The expected squared norm is a sum of d_model equal second moments. With mean 0 it is "
        "also the trace of the covariance.",
        "Energies add over dimensions: E|x|² = d_model for unit variance.",
    ),
    Claim(
        "A9",
        "simplified mathematics",
        "the mean energy of a dimension is sqrt(512)",
        "From a total energy of 512 follows an average energy of sqrt(512), about 22.6, for one "
        "dimension.",
        a9,
        "energy of one dimension = s**2",
        "512 dimensions that share 512 have 1 each. The root of the total is the norm of the "
        "whole vector: the sentence takes the norm for the energy of one dimension.",
        "22.6 is the length of the vector; the energy of one of its dimensions is 1.",
    ),
    Claim(
        "A10",
        "opening",
        "the factor avoids embeddings of too large a norm",
        "The factor matches the norm to the dimension of the model, and by that avoids that "
        "embeddings have too large a norm.",
        a10,
        "norm after the factor = c * s * sqrt(d)",
        "A factor of 22.6 makes every norm 22.6 times larger, for every table. It does bring the "
        "norm to sqrt(d_model), from 1, for a table of std 1/sqrt(d_model), and a std-1 table "
        "from sqrt(d_model) to d_model; neither is an avoided growth.",
        "A factor above 1 cannot cure too large a norm; it cures too small a one.",
    ),
    Claim(
        "A15",
        "simplified mathematics",
        "for unit variance, 22.6 keeps entries in range",
        "For dimensions of unit variance, scaling by 22.6 keeps each in a reasonable range: a "
        "variance between 0.1 and 10, and 99.99 % of entries within ±10.",
        a15,
        "standard deviation of an entry = c * s",
        "Entries of std 1 were in range before. Multiplied, they have std 22.6, and one in ten "
        "thousand is beyond ±88; divided instead, they have std 0.044.",
        "Unit variance needs no factor; the factor takes it out of range.",
        a15_condition,
    ),
)
