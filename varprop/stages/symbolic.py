"""Formulas: the same closed forms with SymPy symbols for the integer fields."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.core.symbol import Str

from varprop.encodings import Encoding, place_average
from varprop.encodings.averages import merge_free
from varprop.encodings.trigonometric import STILL, Part, block_waves, is_free
from varprop.expressions import SYMBOLIC
from varprop.moments import ATTRIBUTES, Moments
from varprop.positions import Rotary
from varprop.spec import TransformerSpec

from .context import Context
from .derivation import Parts

_PARTS: dict[str, Parts] = {}
"""The contractions that a :class:`PlaceMean` averages, by the name that it shows them under."""


class PlaceMean(sympy.Function):  # type: ignore[misc]
    """The average over distinct positions of a product of contractions of a fixed encoding.

    ``PlaceMean(contractions, kind, width, turning, base, seq_len)``; with numbers for its sizes
    ``evalf`` and ``lambdify`` give the average, see :func:`varprop.encodings.place_average`.
    """

    is_real = True

    @staticmethod
    def _imp_(
        name: str, kind: str, width: float, turning: float, base: float, seq_len: float
    ) -> float | None:
        encoding = Encoding(str(kind), int(width), int(turning), float(base))
        return place_average(encoding, _PARTS[str(name)], int(seq_len))

    def _eval_evalf(self, precision: int) -> Any:
        name, kind, *sizes = self.args
        if not all(size.is_number for size in sizes):
            return None
        value = self._imp_(name.name, kind.name, *map(float, sizes))
        return sympy.nan if value is None else sympy.Float(value)

    def _lambdacode(self, printer: Any) -> str:
        name, kind, *sizes = self.args
        return f"PlaceMean({name.name!r}, {kind.name!r}, {', '.join(map(printer.doprint, sizes))})"

    _numpycode = _pythoncode = _mpmathcode = _lambdacode  # what ``lambdify`` may print with

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _with_parts, (_PARTS[self.args[0].name], *self.args[1:])

    def _sympystr(self, printer: Any) -> str:
        name, _, width, _, _, seq_len = self.args
        return f"mean[{name.name}]({printer.doprint(width)}, {printer.doprint(seq_len)})"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        text = (
            rf"\left\langle {' '.join(map(_part_latex, _PARTS[self.args[0].name]))} \right\rangle"
        )
        return text if exp is None else rf"{text}^{{{exp}}}"


def _with_parts(parts: Parts, *others: Any) -> PlaceMean:
    return PlaceMean(Str(_name(parts)), *others)


def place_mean(context: Context, parts: Parts) -> Any:
    """The average of a product of contractions: exact if it is the same whatever the sizes are."""
    width = turning = context.sizes["d_model"]
    kind = "sinusoidal"
    if isinstance(context.spec.position, Rotary):
        kind, width = "rotary", context.sizes["d_head"]
        turning = context.value("position.fraction") * width
        values = [_still(part, width, turning) for part in merge_free(parts)]
        if None not in values:
            return sympy.Mul(*values)
    base = context.value("position.base")
    return _with_parts(parts, Str(kind), width, turning, base, context.sizes["seq_len"])


def _still(part: Part, width: Any, turning: Any) -> Any:
    """The value of a contraction of rotations that is the same at all places, else None."""
    waves = block_waves(part, (0, 1))
    if any(wave != STILL for wave, _ in waves):
        return None
    pair = sympy.nsimplify(sum(c.real for _, c in waves))
    total = turning * (pair / 2 - 1) + width
    return total / width if is_free(part) else total


def _name(parts: Parts) -> str:
    text = " * ".join(map(_part_text, parts))
    _PARTS[text] = parts
    return text


def _factors(part: Part) -> tuple[list[str], list[tuple[str, str]]]:
    """Summed letters, and each factor as its tensor's letter (p for tables) and its indices."""
    letters = "abcdefgh"
    summed = sorted({letters[index] for _, indices in part for index in indices if index >= 0})
    factors = []
    for name, indices in part:
        kind, _, labels = name.partition("_")
        channels = "".join("i" if index < 0 else letters[index] for index in indices)
        factors.append(("p" if kind == "f" else kind, labels + channels))
    return summed, factors


def _part_text(part: Part) -> str:
    summed, factors = _factors(part)
    body = " ".join(f"{tensor}_{indices}" for tensor, indices in factors)
    return f"sum_{''.join(summed)} {body}" if summed else body


def _part_latex(part: Part) -> str:
    summed, factors = _factors(part)
    body = " ".join(f"{tensor}_{{{indices}}}" for tensor, indices in factors)
    return rf"\sum_{{{''.join(summed)}}} {body}" if summed else body


def formula(spec: TransformerSpec, moments: Moments, attribute: str) -> Any:
    """A stage's attribute as a SymPy expression in the integer fields.

    Raises:
        ValueError: if there is no such attribute, the spec holds arrays, or nothing exact is known.
    """
    if attribute not in ATTRIBUTES:
        raise ValueError(
            f"attribute: got {str(attribute)[:40]!r}; accepted: {', '.join(ATTRIBUTES)}"
        )
    if spec.has_arrays:
        raise ValueError("formula: the spec holds arrays; accepted: a spec of single numbers")
    stage = moments.stage
    if getattr(moments, attribute) is None:
        raise ValueError(
            f"{stage.name}.{attribute}: does not apply or has no exact form with this spec"
        )
    found = getattr(Moments(stage, Context(spec, SYMBOLIC)), attribute)
    if found is None:
        raise ValueError(
            f"{stage.name}.{attribute}: has no formula, since the norm makes it a quadrature or an "
            "expansion"
        )
    return tidy(sympy.sympify(found))


def tidy(expression: Any) -> Any:
    """The shortest of a few equal forms; what is long or not algebraic is left as it comes."""
    functions = expression.atoms(sympy.Function)
    if sympy.count_ops(expression) > 400 or any(not isinstance(f, PlaceMean) for f in functions):
        return expression
    forms = [expression, sympy.expand(expression), sympy.factor(expression)]
    return min(forms, key=sympy.count_ops)
