"""Query and key: q = W x + b, rotated."""

from __future__ import annotations

from .stage import Definition, Stage

_READS = ("own", "position", "mask", "normed")

QUERY = Definition(
    name="query",
    place=lambda model, t: model.rotated(model.query(t), t),
    labels="t",
    channels=True,
    reads=(*_READS, "query", "query_bias"),
)
KEY = Definition(
    name="key",
    place=lambda model, t: model.rotated(model.key(t), t),
    labels="t",
    channels=True,
    reads=(*_READS, "key", "key_bias"),
)

STAGES = (Stage("query", QUERY), Stage("key", KEY))
