"""What a simulation draws, in plain NumPy that never sees a formula.

In the `Draws` of one block of replicates a name stands for a raw draw or for a stage, whose sampler
(the function beside its definition in `stages`) takes these draws and returns an array with the
replicate as its first axis.

Shapes: token stages (replicate, position, channel); query and key (replicate, position, head,
channel); scores (replicate, head, i, j without i); self-scores (replicate, head, i).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varprop.spec import TransformerSpec
from varprop.stages import stage_named

Array = NDArray[Any]
Raw = Callable[["Draws"], Array]


@dataclass(frozen=True)
class Layout:
    """How much of one sequence a replicate looks at, and how many replicates make a block."""

    positions: int
    heads: int
    block: int
    all_places: bool


class Draws:
    """The draws of one block, each made when it is first asked for and then kept."""

    spec: TransformerSpec
    layout: Layout
    replicates: int
    rng: np.random.Generator

    def __init__(
        self, spec: TransformerSpec, layout: Layout, replicates: int, rng: np.random.Generator
    ) -> None:
        self.spec = spec
        self.layout = layout
        self.replicates = replicates
        self.rng = rng
        self._values: dict[str, Array] = {}
        self._steps: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._values:
            make = RAW_DRAWS[name] if name in RAW_DRAWS else stage_named(name).sample
            self._values[name] = make(self)
        return self._values[name]

    def once(self, name: str, make: Callable[["Draws"], Any]) -> Any:
        """What `make` gives, made once: a step that several samplers share, none of them a draw."""
        if name not in self._steps:
            self._steps[name] = make(self)
        return self._steps[name]

    def sample(self, field: str, *shape: int) -> Array:
        """Fresh independent entries of one of the spec's distributions, per replicate."""
        drawn: Array = self.spec.distribution(field).sample(self.rng, (self.replicates, *shape))
        return drawn


def _places(draws: Draws) -> Array:
    """Positions looked at, shape (1 or replicates, positions); both of a pair look at the same."""
    count, length = draws.layout.positions, draws.spec.seq_len
    if draws.layout.all_places:
        return np.arange(length)[np.newaxis]
    pairs = (draws.replicates + 1) // 2
    chosen = [draws.rng.choice(length, count, replace=False, shuffle=False) for _ in range(pairs)]
    return np.repeat(np.stack(chosen), 2, axis=0)[: draws.replicates]


def _rows(draws: Draws) -> Array:
    """Table rows: a fresh one per position, or one per different token id in the sequence."""
    shape = (draws.replicates, draws.layout.positions)
    if not draws.spec.token_repeat:
        return draws.sample("embedding", draws.layout.positions, draws.spec.d_model)
    vocabulary = round(1 / draws.spec.token_repeat)
    ids = draws.rng.integers(vocabulary, size=shape)
    ids += vocabulary * np.arange(draws.replicates)[:, np.newaxis]  # a table per replicate
    distinct, inverse = np.unique(ids.ravel(), return_inverse=True)
    distribution = draws.spec.distribution("embedding")
    table: Array = distribution.sample(draws.rng, (len(distinct), draws.spec.d_model))
    return table[inverse.ravel()].reshape(*shape, -1)


def _mask(draws: Draws) -> Array:
    keep = 1 - draws.spec.dropout
    shape = (draws.replicates, draws.layout.positions, draws.spec.d_model)
    mask: Array = (draws.rng.random(shape) < keep) / keep
    return mask


def _weight(field: str) -> Raw:
    """One matrix (head and channel, d_model) per replicate."""
    return lambda draws: draws.sample(
        field, draws.layout.heads * draws.spec.d_head, draws.spec.d_model
    )


def _bias(field: str) -> Raw:
    return lambda draws: draws.sample(field, 1, draws.layout.heads, draws.spec.d_head)


def _angles(draws: Draws, width: int) -> Array:
    """places * base^(-2k/width), shape (1 or replicates, position, pair)."""
    frequencies = float(draws.spec.number("position.base")) ** (-np.arange(0, width, 2) / width)
    angles: Array = draws["places"][..., np.newaxis] * frequencies
    return angles


def _sinusoids(draws: Draws) -> Array:
    """Sine in channel 2k, cosine in 2k+1, shape (replicate, position, channel)."""
    width = draws.spec.d_model
    angles = _angles(draws, width)
    table = np.empty((*angles.shape[:2], width))
    np.sin(angles, out=table[..., 0::2])
    np.cos(angles[..., : width // 2], out=table[..., 1::2])
    return np.broadcast_to(table, (draws.replicates, *table.shape[1:]))


def _rotation(draws: Draws) -> Array:
    """exp(i angle), shape (1 or replicates, position, 1, pair)."""
    width = round(draws.spec.number("position.fraction") * draws.spec.d_head)
    return np.exp(1j * _angles(draws, width))[:, :, np.newaxis]


RAW_DRAWS: dict[str, Raw] = {
    "places": _places,
    "rows": _rows,
    "learned_rows": lambda d: d.sample("position", d.layout.positions, d.spec.d_model),
    "sinusoids": _sinusoids,
    "segment_row": lambda d: d.sample("segment", 1, d.spec.d_model),
    "mask": _mask,
    "query_weight": _weight("query"),
    "query_bias": _bias("query_bias"),
    "key_weight": _weight("key"),
    "key_bias": _bias("key_bias"),
    "value_weight": _weight("value"),
    "value_bias": _bias("value_bias"),
    "rotation": _rotation,
}
