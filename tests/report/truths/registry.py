"""The registry of truths, and the sizes at which they are asked."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Truth(NamedTuple):
    """The left side as printed, its value at a point, and the points' sizes."""

    left: str
    value: Callable[[Any], float]
    points: list[dict[str, Any]]
    is_formula: bool


EQUATIONS: dict[str, Truth] = {}


def size(d: int = 1, h: int = 1, **values: Any) -> dict[str, Any]:
    return {"d": d, "h": h, **values}


SMALL = [size(), size(2), size(1, 2), size(2, 2), size(3)]


def equation(
    name: str, left: str, points: list[dict[str, Any]] | None = None, is_formula: bool = False
):
    def register(value):
        EQUATIONS[name] = Truth(left, value, points or SMALL, is_formula)
        return value

    return register


ENTRY = [size(), size(), size(), size()]
WIDTHS = [size(d) for d in (1, 2, 3, 5, 7)]
EVEN = [size(d, at=(3, 8, 17)) for d in (2, 4, 8)]
MATRICES = [*SMALL, size(2, 3)]
HEADS = [size(1, h) for h in (1, 2, 3, 4)]
