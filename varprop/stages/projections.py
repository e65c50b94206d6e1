"""Query and key: q = W x + b, rotated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from varprop.positions import Rotary

from .stage import Definition, Stage

if TYPE_CHECKING:
    from varprop.simulation.draws import Array, Draws

_READS = ("own", "position", "mask", "normed")

QUERY = Definition(
    name="query",
    place=lambda model, t: model.rotated(model.query(t), t),
    labels="t",
    channels=True,
    reads=(*_READS, "query", "query_bias"),
    width="d_head",
)
KEY = Definition(
    name="key",
    place=lambda model, t: model.rotated(model.key(t), t),
    labels="t",
    channels=True,
    reads=(*_READS, "key", "key_bias"),
    width="d_head",
)


def _project(draws: Draws, field: str) -> Array:
    """q = W x + b, split into heads and rotated."""
    spec = draws.spec
    rows = draws["normed_input" if spec.norm is not None else "input"]
    if getattr(spec, field) != "identity":
        rows = rows @ draws[f"{field}_weight"].swapaxes(1, 2)
    heads: Array = rows.reshape(*rows.shape[:2], draws.layout.heads, spec.d_head)
    biased = heads + draws[f"{field}_bias"]
    return _rotated(biased, draws) if isinstance(spec.position, Rotary) else biased


def _rotated(heads: Array, draws: Draws) -> Array:
    """Channels 2k and 2k+1 are the real and imaginary part of a number that is turned."""
    rotation = draws["rotation"]
    width = 2 * rotation.shape[-1]
    pairs = np.ascontiguousarray(heads[..., :width]).view(np.complex128)
    return np.concatenate([(pairs * rotation).view(np.float64), heads[..., width:]], axis=-1)


STAGES = (
    Stage("query", QUERY, lambda draws: _project(draws, "query")),
    Stage("key", KEY, lambda d: d["query"] if d.spec.shared_qk else _project(d, "key")),
)
