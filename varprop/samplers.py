"""What each stage is, in plain NumPy: one short function per stage, which never sees a formula.

Every function takes the `Draws` of one block of replicates, in which a name stands for a raw draw
or for an earlier stage, and returns an array whose first axis is the replicate. A new stage is a
new entry of `SAMPLERS`.

Shapes: token stages (replicate, position, channel); query and key (replicate, position, head,
channel); scores (replicate, head, i, j without i); self-scores (replicate, head, i).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varprop.norms import LayerNorm
from varprop.positions import Learned, Rotary, Sinusoidal
from varprop.spec import TransformerSpec

Array = NDArray[Any]
Sampler = Callable[["Draws"], Array]


@dataclass(frozen=True)
class Layout:
    """How much of one sequence a replicate looks at, and how many replicates make a block."""

    positions: int
    heads: int
    block: int
    all_places: bool


class Draws:
    """The draws of one block, each made when it is first asked for and then kept."""

    def __init__(
        self, spec: TransformerSpec, layout: Layout, replicates: int, rng: np.random.Generator
    ) -> None:
        self.spec = spec
        self.layout = layout
        self.replicates = replicates
        self.rng = rng
        self._values: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._values:
            self._values[name] = (RAW_DRAWS.get(name) or SAMPLERS[name])(self)
        return self._values[name]

    def sample(self, field: str, *shape: int) -> Array:
        """Fresh independent entries of one of the spec's distributions, per replicate."""
        drawn: Array = self.spec.distribution(field).sample(self.rng, (self.replicates, *shape))
        return drawn


def stage_names(spec: TransformerSpec) -> tuple[str, ...]:
    """The stages that this spec has, in order."""
    absent = {
        "position": not isinstance(spec.position, Sinusoidal | Learned),
        "normed_input": spec.norm is None,
        "scores": spec.seq_len == 1,
        "logits": spec.seq_len == 1,
    }
    return tuple(name for name in SAMPLERS if not absent.get(name, False))


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


def _weight(field: str) -> Sampler:
    """One matrix (head and channel, d_model) per replicate."""
    return lambda draws: draws.sample(
        field, draws.layout.heads * draws.spec.d_head, draws.spec.d_model
    )


def _bias(field: str) -> Sampler:
    return lambda draws: draws.sample(field, 1, draws.layout.heads, draws.spec.d_head)


def _angles(places: Array, base: float, width: int) -> Array:
    """places * base^(-2k/width), shape (..., position, pair)."""
    exponents = -np.arange(0, width, 2) / width
    angles: Array = places[..., np.newaxis] * float(base) ** exponents
    return angles


def _position(draws: Draws) -> Array:
    spec, places = draws.spec, draws["places"]
    if isinstance(spec.position, Learned):
        return draws.sample("position", draws.layout.positions, spec.d_model)
    angles = _angles(places, spec.value("position.base"), spec.d_model)
    table = np.empty((*places.shape, spec.d_model))
    np.sin(angles, out=table[..., 0::2])
    np.cos(angles[..., : spec.d_model // 2], out=table[..., 1::2])
    return np.broadcast_to(table, (draws.replicates, *table.shape[1:]))


def _input(draws: Draws) -> Array:
    total = draws["scaled_embedding"]
    if isinstance(draws.spec.position, Sinusoidal | Learned):
        total = total + draws["position"]
    if draws.spec.segment is not None:
        total = total + draws["segment_row"]
    return total * draws["mask"] if draws.spec.dropout else total


def _normed_input(draws: Draws) -> Array:
    row = draws["input"]
    if isinstance(draws.spec.norm, LayerNorm):
        row = row - row.mean(axis=-1, keepdims=True)
    square = np.square(row).mean(axis=-1, keepdims=True)
    normed: Array = row / np.sqrt(square + draws.spec.value("norm.eps"))
    return normed


def _projection(field: str) -> Sampler:
    """q = W x + b, split into heads and rotated."""

    def project(draws: Draws) -> Array:
        spec = draws.spec
        rows = draws["normed_input" if spec.norm is not None else "input"]
        if getattr(spec, field) != "identity":
            rows = rows @ draws[f"{field}_weight"].swapaxes(1, 2)
        heads = rows.reshape(*rows.shape[:2], draws.layout.heads, spec.d_head)
        biased = heads + draws[f"{field}_bias"]
        return _rotated(biased, draws) if isinstance(spec.position, Rotary) else biased

    return project


def _rotation(draws: Draws) -> Array:
    """exp(i angle), shape (1 or replicates, position, 1, pair)."""
    spec = draws.spec
    width = round(spec.value("position.fraction") * spec.d_head)
    angles = _angles(draws["places"], spec.value("position.base"), width)
    return np.exp(1j * angles)[:, :, np.newaxis]


def _rotated(heads: Array, draws: Draws) -> Array:
    """Channels 2k and 2k+1 are the real and imaginary part of a number that is turned."""
    rotation = draws["rotation"]
    width = 2 * rotation.shape[-1]
    pairs = np.ascontiguousarray(heads[..., :width]).view(np.complex128)
    return np.concatenate([(pairs * rotation).view(np.float64), heads[..., width:]], axis=-1)


def _products(draws: Draws) -> Array:
    """q_i . k_j for every i and j, shape (replicate, head, i, j)."""
    query, key = draws["query"].swapaxes(1, 2), draws["key"].swapaxes(1, 2)
    products: Array = query @ key.swapaxes(2, 3)
    return products


def _scores(draws: Draws) -> Array:
    """Row after row without its diagonal entry: of n*n entries, every (n+1)th is dropped."""
    products = draws["products"]
    *outer, length, _ = products.shape
    flat = products.reshape(*outer, length * length)[..., 1:]
    kept = flat.reshape(*outer, length - 1, length + 1)[..., :-1]
    return kept.reshape(*outer, length, length - 1)


RAW_DRAWS: dict[str, Sampler] = {
    "places": _places,
    "rows": _rows,
    "segment_row": lambda draws: draws.sample("segment", 1, draws.spec.d_model),
    "mask": _mask,
    "query_weight": _weight("query"),
    "query_bias": _bias("query_bias"),
    "key_weight": _weight("key"),
    "key_bias": _bias("key_bias"),
    "rotation": _rotation,
    "products": _products,
}

SAMPLERS: dict[str, Sampler] = {
    "embedding": lambda draws: draws["rows"],
    "scaled_embedding": lambda draws: draws.spec.embedding_scale * draws["embedding"],
    "position": _position,
    "input": _input,
    "normed_input": _normed_input,
    "query": _projection("query"),
    "key": lambda draws: draws["query"] if draws.spec.shared_qk else _projection("key")(draws),
    "scores": _scores,
    "logits": lambda draws: draws.spec.logit_scale * draws["scores"],
    "self_scores": lambda draws: np.einsum("rhii->rhi", draws["products"]),
    "self_logits": lambda draws: draws.spec.logit_scale * draws["self_scores"],
}
