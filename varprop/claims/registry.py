"""All claims by id, in order: A1 to A17, then B1 to B40."""

from __future__ import annotations

from varprop.claims import (
    attention_a,
    attention_b,
    embedding_a,
    growth_b,
    layers_b,
    outcomes_b,
    positions_b,
    precision_b,
    sums_a,
    sums_b,
    vectors_b,
)
from varprop.claims.records import Claim

_MODULES = (
    embedding_a,
    sums_a,
    attention_a,
    vectors_b,
    positions_b,
    sums_b,
    growth_b,
    attention_b,
    layers_b,
    outcomes_b,
    precision_b,
)

CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for claim in sorted(
        (claim for module in _MODULES for claim in module.CLAIMS),
        key=lambda claim: (claim.document, int(claim.id[1:])),
    )
}
