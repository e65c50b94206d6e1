"""What a stage is: a definition for the engine, and where its numbers come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .structure import ABSENT, IDENTITY, Structure

if TYPE_CHECKING:
    from varprop.algebra.tensors import Tensor
    from varprop.spec import TransformerSpec

    from .model import Model


class Definition(NamedTuple):
    """A quantity at one place, in terms of a :class:`Model`; several stages may share one.

    ``labels`` are the positions it depends on, ``channels`` is whether it has a channel, and ``reads``
    names the fields of the structure that its closed form can depend on.
    """

    name: str
    place: Callable[..., Tensor]
    labels: str
    channels: bool
    reads: tuple[str, ...]


class Stage(NamedTuple):
    """One quantity of the front of a Transformer.

    ``rows`` says which rows it reads: "table", "scaled", "position", "input", "normed", or the "stream" that the
    projections read, normed if there is a norm; ``factor`` is
    the spec's field that multiplies it, ``present`` whether a spec has it.
    """

    name: str
    definition: Definition
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


def narrowed(structure: Structure, definition: Definition, cross: str = ABSENT) -> Structure:
    """Keep of a structure only what the definition reads, so that equal closed forms have equal keys."""
    kept = {name: getattr(structure, name) for name in definition.reads}
    if structure.normed:
        kept |= {"normed": True, "own": ABSENT, "mask": False}
        if structure.position == "sinusoidal" and "position" in kept:
            kept["position"] = ABSENT
        cross = ABSENT
    if IDENTITY in (kept.get("query"), kept.get("key")) and definition.name in ("query", "key"):
        kept |= {name: structure._asdict()[name] for name in ("query", "key")}
    return Structure(**kept)._replace(cross=cross)
