"""Positional encodings by name: sinusoidal, learned and rotary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from varprop.fields.calls import Reader
from varprop.fields.named import Named, Parameter, Signature
from varprop.initializers import Argument, Initializer, normal, parse_initializer

_BASE = {"base": Parameter("10000", "> 0", shown=True)}


class Position(Named):
    """A positional encoding."""

    __slots__ = ()

    def resolved(self, sizes: Mapping[str, Any]) -> Position:
        """Return the encoding with its expressions replaced by their values.

        Raises:
            ValueError: A value is out of range.
        """
        return type(self)(**{key: self.number(key, sizes) for key in self.arguments})


class Sinusoidal(Position):
    """Channel 2k is sin(t w_k), channel 2k+1 is cos(t w_k), with w_k = base**(-2k/d_model).

    Reference: Vaswani et al. (2017), section 3.5.
    """

    __slots__ = ()
    signatures: ClassVar[Mapping[str, Signature]] = {"sinusoidal": _BASE}

    def __init__(self, base: Argument = 10000):
        super().__init__("sinusoidal", base=base)

    @property
    def base(self) -> Any:
        """The base, as a number (or an array), where it does not depend on the sizes."""
        return self.number("base", {})


class Learned(Position):
    """One independent row per position, drawn by an initializer like the token table."""

    __slots__ = ()
    signatures: ClassVar[Mapping[str, Signature]] = {
        "learned": {"initializer": Parameter(normal(std=0.02), shown=True, kind=Initializer)}
    }

    def __init__(self, initializer: Initializer | str = "normal(std=0.02)"):
        super().__init__("learned", initializer=parse_initializer(initializer, "learned"))

    @property
    def initializer(self) -> Initializer:
        """The initializer of the table of seq_len rows."""
        initializer: Initializer = self.arguments["initializer"]
        return initializer

    def resolved(self, sizes: Mapping[str, Any]) -> Learned:
        """Return itself: an initializer keeps its expressions."""
        return self


class Rotary(Position):
    """The first fraction*d_head channels of query and key turn in pairs, by t*w_k for pair k.

    w_k = base**(-2k/(fraction*d_head)). Reference: Su et al. (2021), RoFormer, section 3.2.
    """

    __slots__ = ()
    signatures: ClassVar[Mapping[str, Signature]] = {
        "rotary": _BASE | {"fraction": Parameter("1", "> 0")}
    }

    def __init__(self, base: Argument = 10000, fraction: Argument = 1):
        super().__init__("rotary", base=base, fraction=fraction)

    @property
    def base(self) -> Any:
        """The base, as a number (or an array), where it does not depend on the sizes."""
        return self.number("base", {})

    @property
    def fraction(self) -> Any:
        """The fraction, as a number (or an array), where it does not depend on the sizes."""
        return self.number("fraction", {})

    def channels(self, d_head: Any) -> Any:
        """Return how many channels turn: an even positive integer, or an array of them.

        Raises:
            ValueError: fraction*d_head is not an even positive integer up to d_head.
        """
        exact = np.asarray(self.fraction * d_head, dtype=np.float64)
        rounded = np.rint(exact)
        wrong = np.abs(exact - rounded) > 1e-9 * exact
        wrong |= (rounded % 2 != 0) | (rounded < 2) | (rounded > d_head)
        if np.any(wrong):
            raise ValueError(
                f"rotary turns fraction*d_head channels, which must be an even positive integer "
                f"up to d_head, got {float(exact[wrong][0]):.12g} at fraction="
                f"{_first(self.fraction, wrong):.12g}, d_head={_first(d_head, wrong):.0f}"
            )
        return rounded.astype(np.int64) if rounded.ndim else int(rounded)


def _first(value: Any, wrong: Any) -> float:
    return float(np.broadcast_to(value, wrong.shape)[wrong][0])


_KINDS: Mapping[str, type[Any]] = {
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "rotary": Rotary,
}
POSITIONS: Reader[Position] = Reader(
    "position",
    Position,
    {name: kind.signatures[name] for name, kind in _KINDS.items()},
    lambda name, arguments: _KINDS[name](**arguments),
)


def parse_position(value: object, field: str = "position") -> Position | None:
    """Return the encoding that text, a mapping or an object describes; None for `none`.

    Raises:
        TypeError: It is none of these.
        ValueError: The name or an argument is refused.
    """
    return POSITIONS.read_or_none(value, field)
