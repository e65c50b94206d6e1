"""Document B on half precision: does the factor overflow, and does a learnable scale cure it."""

from __future__ import annotations

from collections.abc import Iterator

from varprop.claims.fronts import DIVIDED, RAW, embedded, stds_where
from varprop.claims.inputs import Inputs
from varprop.claims.overflow import any_of, largest, overflowing, score
from varprop.claims.quantities import combine
from varprop.claims.records import Claim, Reading, reading
from varprop.claims.relations import at_least

TABLES = ("std 1", "std 1/sqrt(d_model)")
POSSIBLE = at_least(0.01)
"""An overflow can happen if one table in a hundred has one."""


def wide(inputs: Inputs) -> Inputs:
    """Width 4096 with heads of 128 channels, where no other width is asked for."""
    if inputs.d_model != Inputs().d_model:
        return inputs
    return Inputs(**{**vars(inputs), "d_model": 4096, "n_heads": 32})


def b15(inputs: Inputs) -> Iterator[Reading]:
    of = wide(inputs)
    size = f"{of.vocab_size}×{of.d_model}"
    for label, table in of.tables(*TABLES).items():
        fields = embedded(of, table, of.factor)
        yield reading(
            f"{label}, any entry of a {size} table",
            ("probability that one overflows", any_of(fields), POSSIBLE),
            ("one entry", overflowing(fields), None),
            ("largest of the table, over 65504", largest(fields), None),
        )
    for label, table in of.tables(*TABLES).items():
        yield reading(
            f"not the embedding but q·k, weights of variance 1, {label}",
            ("probability that a raw score overflows", score(of, table, of.factor, RAW), None),
            ("a logit divided by sqrt(d_head)", score(of, table, of.factor, DIVIDED), None),
        )


def overflow_condition(inputs: Inputs) -> str:
    of = wide(inputs)

    def holds(std: float) -> bool:
        fields = embedded(of, f"normal(std={std!r})", of.scale)
        return POSSIBLE.holds(any_of(fields).predict())

    return f"an embedding overflows with d_model {of.d_model} for a normal table of " + stds_where(
        of, holds
    )


def b35(inputs: Inputs) -> Iterator[Reading]:
    of = wide(inputs)
    for label, table in of.tables(*TABLES).items():
        before = embedded(of, table, of.factor)
        places = {"after the factor": of.factor, "in place of the factor": 1}
        for place, factor in places.items():
            after = embedded(of, table, factor)
            parts = [any_of(fields) for fields in (before, after)]
            yield reading(
                f"{label}, learnable scale {place}",
                ("taken off the overflow's probability", combine(float.__sub__, *parts), POSSIBLE),
                ("one entry without it", overflowing(before), None),
                ("one entry with it, at 1", overflowing(after), None),
            )
    for label, table in of.tables(*TABLES).items():
        yield reading(
            f"not the embedding but raw q·k, weights of variance 1, {label}",
            ("probability without it", score(of, table, of.factor, RAW), None),
            ("in place of the factor, at 1", score(of, table, 1, RAW), None),
        )


PITFALLS = "2, pitfalls"
CLAIMS = (
    Claim(
        "B15",
        PITFALLS,
        "FP16, d_model 4096: the factor overflows",
        "In half precision with d_model = 4096, multiplying by sqrt(d_model) can push embedding "
        "values past 65504.",
        b15,
        "stds from 0 to the overflow = 65520 / (c * s)",
        "Half precision rounds to infinity from 65520. A unit table times 64 has std 64: that is "
        "1023 standard deviations away, and the largest of 10⁸ entries has 6. What does overflow "
        "is a score with weights of variance 1: a raw one behind either table, and behind a unit "
        "table times 64 even a divided one. Where a score is accumulated in half precision some "
        "partial sum overflows more often than the score does, but at most twice as often (Lévy's "
        "inequality for sums of symmetric terms).",
        "Embeddings do not overflow half precision; scores with weights of variance 1 do.",
        overflow_condition,
    ),
    Claim(
        "B35",
        PITFALLS,
        "a learnable scale at 1 cures the overflow",
        "A learnable scale that starts at 1, placed after the embedding, cures the overflow in "
        "half precision.",
        b35,
        "stds from 0 to the overflow = 65520 / (c * s)",
        "At initialisation a scale of 1 behind the factor changes no number. In place of the "
        "factor it takes the factor away, but the embedding did not overflow with it either. "
        "Raw scores with weights of variance 1 overflow less without the factor, and for a unit "
        "table they still do.",
        "Multiplying by 1 changes nothing, and there was no overflow of embeddings to cure.",
        overflow_condition,
    ),
)
