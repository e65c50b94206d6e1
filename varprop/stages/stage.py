"""What a stage is: a definition for the engine, a sampler in NumPy, and what both read."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .structure import ABSENT, IDENTITY, Structure

if TYPE_CHECKING:
    from varprop.algebra.tensors import Tensor
    from varprop.simulation.draws import Array, Draws, Layout
    from varprop.spec import TransformerSpec


class Definition(NamedTuple):
    """A quantity at one place, in terms of a `Model`; several stages may share one.

    ``place(model, *labels)`` is its tensor at the positions ``labels``, ``channels`` is whether it
    has a channel, ``reads`` names the fields of the structure that its closed form can depend on,
    ``turns`` is whether rotations matter, and ``width`` names the field that counts its channels.
    """

    name: str
    place: Callable[..., Tensor]
    labels: str
    channels: bool
    reads: tuple[str, ...]
    turns: bool = True
    width: str = "d_model"


class Stage(NamedTuple):
    """One quantity of the front of a Transformer.

    ``sample`` simulates it from raw draws and earlier stages and shares nothing with the
    definition. ``rows`` says which rows it reads: "table", "scaled", "position", "input",
    "normed", or the "stream" that projections read, normed if there is a norm.  ``factor`` is the
    spec's field that multiplies it, ``present`` whether a spec has it.
    """

    name: str
    definition: Definition
    sample: Callable[[Draws], Array]
    rows: str = "stream"
    factor: str | None = None
    present: Callable[[TransformerSpec], bool] = lambda spec: True

    @property
    def is_vector(self) -> bool:
        """Whether it has a position and a channel."""
        return self.definition.channels

    @property
    def is_pair(self) -> bool:
        """Whether it belongs to two different positions."""
        return len(self.definition.labels) == 2


class Outcome(NamedTuple):
    """A stage behind the logits, which is no polynomial of the draws.

    ``moments`` says where its class of moments is ("module:Class"), which is imported when it is
    read. ``sample`` simulates it, ``further`` gives the attributes of its own, one number for each
    replicate. ``measured`` is whether a simulation of this layout sees all that it needs: every
    key, or every row of the output head.
    """

    name: str
    moments: str
    sample: Callable[[Draws], Array]
    further: Callable[[Draws], dict[str, Array]]
    present: Callable[[TransformerSpec], bool]
    measured: Callable[[TransformerSpec, Layout], bool]
    is_vector: bool = False
    is_pair: bool = False


@lru_cache(maxsize=4096)
def narrowed(structure: Structure, definition: Definition, cross: str = ABSENT) -> Structure:
    """Keep of a structure only what a definition reads: equal closed forms get equal keys."""
    kept: dict[str, Any] = {name: getattr(structure, name) for name in definition.reads}
    if not definition.turns and structure.position == "rotary":
        kept["position"] = ABSENT
    if structure.normed:
        kept |= {"normed": True, "own": ABSENT, "mask": False}
        if structure.position == "sinusoidal":
            kept["position"] = ABSENT
        cross = ABSENT
    if definition.width == "d_head" and IDENTITY in (structure.query, structure.key):
        # One identity makes the other projection's d_head d_model too.
        kept |= {"query": structure.query, "key": structure.key}
    return Structure(**kept)._replace(cross=cross)
