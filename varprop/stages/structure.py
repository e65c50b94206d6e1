"""What of a specification decides a closed form: which tensors exist, which cumulants vanish."""

from __future__ import annotations

from typing import NamedTuple

ABSENT, SYMMETRIC, GENERAL, IDENTITY = "absent", "symmetric", "general", "identity"

HIGHEST_ORDER = 8
"""The order of the highest cumulant that any quantity needs: the fourth of a product of two."""


class Structure(NamedTuple):
    """The hashable key of a closed form; numbers (scales, variances, sizes) are its arguments.

    A distribution is ``absent`` (identically 0), ``symmetric`` (all odd cumulants are 0) or
    ``general``. ``own`` is the random part of one row of the input, ``cross`` what two rows have
    in common (a segment, a repeated token); ``position`` is "absent", "sinusoidal" (fixed numbers
    f) or "rotary" (rotations R); ``mask`` is whether dropout masks multiply the fixed numbers;
    ``normed`` is whether a norm stands before the projections.
    """

    own: str = SYMMETRIC
    cross: str = ABSENT
    position: str = ABSENT
    mask: bool = False
    normed: bool = False
    query: str = SYMMETRIC
    key: str = SYMMETRIC
    query_bias: str = ABSENT
    key_bias: str = ABSENT
    shared: bool = False

    def text(self) -> str:
        """A short name, unique to this structure."""
        words = [
            f"{name}={value}"
            for name, value in self._asdict().items()
            if value != self._field_defaults[name]
        ]
        return " ".join(words) or "plain"
