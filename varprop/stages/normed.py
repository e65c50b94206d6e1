"""What a norm with eps = 0 tells about its rows y, whatever went in: |y|^2 = d_model."""

from __future__ import annotations

from typing import Any

from .derivation import Parts


def split_normed(parts: Parts) -> tuple[Parts, Parts]:
    """Separate contractions that hold normed rows y from those of fixed encodings only."""
    normed = tuple(part for part in parts if any(name[0] == "y" for name, _ in part))
    return normed, tuple(part for part in parts if part not in normed)


def has_entry(parts: Parts) -> bool:
    """Whether a contraction shows the free index, a channel."""
    return any(index < 0 for part in parts for _, indices in part for index in indices)


def normed_value(
    parts: Parts, d_model: Any, layernorm: bool, exchangeable: bool, averaged: bool
) -> Any:
    """What is known of a product of contractions of normed rows; None if it is not.

    sum y^2 is d_model, and sum y is 0 after LayerNorm.  One entry, turned or not, has mean 0 after
    LayerNorm where the channels are exchangeable, and an entry that is not turned in the average
    over channels in any case.  An entry's square averages to 1 over channels, turned or not, and
    is 1 on average at each channel where they are exchangeable and it is not turned.
    """
    entries = [part for part in parts if has_entry((part,))]
    closed = [[name for name, _ in part] for part in parts if part not in entries]
    if layernorm and any(len(names) == 1 for names in closed):
        return 0
    if any(len(names) != 2 or names[0] != names[1] for names in closed):
        return None
    value = d_model ** len(closed)
    if not entries:
        return value
    turned = len(entries[0]) == 2
    if len(entries) == 1:
        centred = layernorm and (exchangeable or (averaged and not turned))
        return 0 if centred else None
    known = averaged or (exchangeable and not turned)
    return value if len(entries) == 2 and entries[0] == entries[1] and known else None
