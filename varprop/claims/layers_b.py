"""Document B on the norms, rotations and residual sums behind the embedding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from varprop.claims.fronts import (
    DIVIDED,
    XAVIER,
    attending,
    element,
    embedded,
    logits,
    normed,
    own,
    stds_where,
)
from varprop.claims.inputs import Inputs
from varprop.claims.quantities import Quantity, experiment, ratio, root, stage, times
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.relations import STABLE, about, at_most
from varprop.claims.rows import normed_with_eps

UNIT, SMALL = "normal(std=1)", "normal(std=0.02)"


def b23(inputs: Inputs) -> Iterator[Reading]:
    table, what = own(inputs, SMALL), "mean square after the norm, with factor / without"
    for eps in ("1e-12", "1e-5"):
        norm = f"layernorm(eps={eps})"
        same = ratio(*(normed_with_eps(inputs, table, f, norm) for f in (inputs.factor, 1)))
        yield reading(f"token alone, eps {eps}", (what, same, about(1)))
    sums = {
        "sinusoidal positions in the sum": {},
        "BERT's sum, positions and segment of std 0.02": {
            "position": f"learned({SMALL})",
            "segment": SMALL,
        },
    }
    for label, changed in sums.items():

        def share(factor: object, changed: dict[str, str] = changed) -> Quantity:
            fields = embedded(inputs, table, factor, **changed)
            parts = (f"{name}.second_moment" for name in ("scaled_embedding", "input"))
            return ratio(*(stage(part, **fields) for part in parts))

        change = ratio(share(inputs.factor), share(1))
        yield reading(label, ("token's share, with factor / without", change, about(1)))


def b23_condition(inputs: Inputs) -> str:
    def holds(std: float) -> bool:
        table = f"normal(std={std!r})"
        with_factor, without = (
            normed_with_eps(inputs, table, factor, "layernorm(eps=1e-5)").predict()
            for factor in (inputs.scale, 1)
        )
        return about(1).holds(with_factor / without)

    return f"a token alone under eps 1e-5 at {stds_where(inputs, holds)}"


def b24(inputs: Inputs) -> Iterator[Reading]:
    table = own(inputs, UNIT)
    for label, projection in {"Xavier projections": XAVIER, "q = k = x": "identity"}.items():

        def of(attribute: str, position: str, projection: str = projection) -> Quantity:
            fields = attending(inputs, table, 1, projection, DIVIDED, 64, position=position)
            return stage(attribute, **fields)

        for pairs, stages in {
            "different positions": "logits",
            "one position": "self_logits",
        }.items():
            parts = {
                "what is added to the input": "input.second_moment",
                "norm of a query": "query.second_moment",
                "logit": f"{stages}.second_moment",
            }
            yield reading(
                f"{label}, {pairs}",
                *(
                    (f"{name}: with / without", ratio(of(a, "rotary"), of(a, "none")), about(1))
                    for name, a in parts.items()
                ),
            )


def b26(inputs: Inputs) -> Iterator[Reading]:
    llama = Inputs(**{**vars(inputs), "d_model": 4096, "d_head": None, "n_heads": 32})
    llama = llama if inputs.d_model == Inputs().d_model else inputs
    std = llama.spec(embedding=own(inputs, SMALL)).distribution("embedding").cumulant(2) ** 0.5
    stream = ratio(element(llama, own(inputs, SMALL), 1), element(llama, UNIT, 1))
    claimed = about(float(std) ** 2)
    what = "variance at this std / at std 1"
    yield reading("the residual stream", (what, stream, claimed))
    seen = (
        normed_with_eps(llama, table, 1, "rmsnorm(eps=1e-5)")
        for table in (own(inputs, SMALL), UNIT)
    )
    yield reading("what the projections read, after RMSNorm", (what, ratio(*seen), claimed))


def residual(inputs: Inputs) -> Quantity:
    """Variance of x + W x over that of x, W square with Xavier's variance 1/d_model."""
    d = inputs.d_model

    def known() -> float:
        from varprop import algebra as va

        width, n = va.dims("d n")
        x = va.iid("x", (n, width), variance=1)
        weight = va.iid("W", (width, width), variance=1 / width)
        whole = x + va.einsum("ij,tj->ti", weight, x)
        return va.evaluate(va.variance(whole["t", "i"]), {width: d})

    def sample(rng: np.random.Generator) -> NDArray[np.float64]:
        x = rng.normal(size=(2000, d))
        first = rng.normal(size=(2000, d)) / np.sqrt(d)
        return np.asarray(x[:, 0] + (first * x).sum(1))

    return experiment(f"residual {d}", known, sample, "variance", entries=2000 * d)


def b36(inputs: Inputs) -> Iterator[Reading]:
    table, what = own(inputs, UNIT), "variance afterwards"
    after = normed(inputs, table, inputs.factor)
    yield reading("post-norm: residual sum, then norm", (what, after, about(1)))
    yield reading(
        "each by itself",
        ("residual addition: variance after / before", residual(inputs), at_most(1)),
        ("norm: variance after", after, about(1)),
    )
    stream = stage("input.variance", **embedded(inputs, table, inputs.factor))
    yield reading(
        "pre-norm: the stream before the last norm",
        ("variance of the stream, at least", stream, about(1)),
    )


def b37(inputs: Inputs) -> Iterator[Reading]:
    square = normed(inputs, own(inputs, UNIT), inputs.factor)
    norm = root(times(inputs.d_model, square))
    yield reading("norm of a normalised row", ("|LayerNorm(x)|", norm, about(1)))
    yield reading("for comparison", ("mean square of one entry", square, None))


def b38(inputs: Inputs) -> Iterator[Reading]:
    unstable = STABLE._replace(text="outside 0.1 to 10", outside=True)
    for label, table in inputs.tables("std 1/sqrt(d_model)", "std 1").items():
        for name, norm in {"no norm": "none", "RMSNorm before q and k": "rmsnorm(eps=0)"}.items():
            alone, scaled = (
                logits(inputs, table, factor, XAVIER, DIVIDED, 64, position="rotary", norm=norm)
                for factor in (1, inputs.factor)
            )
            yield reading(
                f"{label}, {name}",
                ("logit variance without the factor", alone, unstable),
                ("logit variance with it", scaled, STABLE),
            )


def b38_condition(inputs: Inputs) -> str:
    def holds(std: float) -> bool:
        return STABLE.holds((inputs.scale * std) ** 4) and not STABLE.holds(std**4)

    return f"without a norm a table of {stds_where(inputs, holds)} needs it"


LAST = "4, third question"
CLAIMS = (
    Claim(
        "B23",
        "4, second question",
        "a LayerNorm absorbs the factor, as in BERT",
        "A LayerNorm right after the embeddings absorbs the factor, as in BERT.",
        b23,
        "mean square after the norm = v / (v + eps)",
        "A norm divides out what all of its input shares. A token alone is the same with any "
        "factor as long as eps is small against c² s². But the factor multiplies the token only: "
        "in a sum it changes who holds how much, and no norm behind the sum can undo that. "
        "BERT's norm stands behind the sum.",
        "A norm absorbs a common factor; the mixture of the sum it leaves as it is.",
        b23_condition,
    ),
    Claim(
        "B24",
        LAST,
        "rotary positions add nothing; they turn q and k",
        "Rotary encoding adds nothing to the embedding: it turns queries and keys, whose norms "
        "and logit variances stay.",
        b24,
        "logit variance with rotation / without = 1",
        "A rotation keeps norms. The score of two independent vectors has the same second moment "
        "whether or not one of them is turned.",
        "Rotation moves no variance: neither in the stream nor, over draws, in the logits.",
    ),
    Claim(
        "B26",
        LAST,
        "LLaMA controls scale by init, without a factor",
        "Models such as LLaMA do not multiply the embedding, and control its scale by their "
        "initializer (std 0.02).",
        b26,
        "mean square after the norm = v / (v + eps)",
        "The factor is indeed 1, and the residual stream starts with the table's variance. But "
        "each projection reads an RMSNorm, which returns a mean square of 1 whatever the table's "
        "std is, up to eps. What the init controls is how fast the layers outgrow the embedding.",
        "In LLaMA the norm sets the scale that attention sees; the init sets the stream's.",
    ),
    Claim(
        "B36",
        "2, trade-offs, and 5",
        "norms and residual sums normalise further",
        "The LayerNorm and the residual connections that follow normalise the sum further.",
        b36,
        "residual sum, variance after / before = 1 + d * w",
        "A LayerNorm sets the mean square to 1. A residual connection adds variance: with a "
        "Xavier layer on its branch it doubles. In a post-norm block the norm comes last and "
        "wins; in a pre-norm model the stream is never normalised before the end.",
        "Norms normalise; residual sums grow.",
    ),
    Claim(
        "B37",
        "5, first wrong answer",
        "bringing the norm to 1 is LayerNorm's job",
        "Bringing the norm to 1 is what LayerNorm is there for.",
        b37,
        "norm of a normalised row = sqrt(d)",
        "LayerNorm brings the mean square of an entry to 1, and so the norm to sqrt(d_model).",
        "LayerNorm makes vectors sqrt(d_model) long, not 1.",
    ),
    Claim(
        "B38",
        LAST,
        "rotary models still need the factor",
        "Models with rotary encoding still need the factor: without it the logits are outside "
        "0.1 to 10 in variance, with it inside.",
        b38,
        "logit variance without a norm = c**4 * s**4",
        "Nothing is added, so the factor has no sum to balance. Before a norm it is divided out. "
        "Without a norm a table of std 1/sqrt(d_model) has logits of variance 1/d_model² and "
        "needs it, and a std-1 table is ruined by it.",
        "With a norm in front of q and k a rotary model needs no factor.",
        b38_condition,
    ),
)
