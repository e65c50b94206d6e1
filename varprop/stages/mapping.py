"""A mapping of stage names to what is known of each stage, whichever way it was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from varprop.fields.validation import Immutable, shorten

from . import OUTCOMES, STAGES

M = TypeVar("M")


class StageMapping(Immutable, Mapping[str, M]):
    """An immutable mapping of stage names; ``p.logits`` is ``p["logits"]``.

    A class made from it sets ``_stages`` with ``_set`` and says in ``__reduce__`` how it is copied.
    """

    __slots__ = ("_stages",)
    _stages: dict[str, M]

    def __getitem__(self, name: str) -> M:
        if isinstance(name, str) and name in self._stages:
            return self._stages[name]
        known = isinstance(name, str) and (name in STAGES or name in OUTCOMES)
        reason = "absent with this spec" if known else "unknown"
        raise KeyError(f"stage {shorten(name)} is {reason}; accepted: {', '.join(self._stages)}")

    def __getattr__(self, name: str) -> M:
        # Private names must fail at once: copy and pickle ask for them before __init__ has run.
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._stages]


class FrontMapping(StageMapping[M]):
    """A mapping that answers to every stage and lists those up to the logits, or all if `full`.

    What follows the logits takes quadratures, which nobody should pay for without asking.
    """

    __slots__ = ("_full",)
    _full: bool

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._stages if self._full or name not in OUTCOMES)

    def __len__(self) -> int:
        return sum(1 for _ in self)
