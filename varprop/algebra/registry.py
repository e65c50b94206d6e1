"""The living tensors: structurally equal ones are one object, and each has a number.

The registry holds them weakly: whoever computes a hundred thousand variances in a loop, each with
another scalar, leaves nothing behind but the bounded caches.  Numbers are never used again, so what
the caches still say about a dead tensor is never asked.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from .tensors import Tensor

NUMBERS = count()
_LIVING: WeakValueDictionary[Hashable, Tensor] = WeakValueDictionary()
_NUMBERED: WeakValueDictionary[int, Tensor] = WeakValueDictionary()


class Interned(type):
    """Returns the living tensor of the same key instead of a new one."""

    def __call__(cls, *arguments: Any) -> Any:
        tensor: Tensor = super().__call__(*arguments)
        living = _LIVING.setdefault(tensor.key, tensor)
        return _NUMBERED.setdefault(living.number, living)


def node(number: int) -> Tensor:
    """Return the living tensor with this number."""
    return _NUMBERED[number]
