"""Formulas: the same closed forms with SymPy symbols for the integer fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy
from sympy.core.symbol import Str

from varprop.encodings import Encoding, place_average
from varprop.expressions import SYMBOLIC
from varprop.positions import Rotary
from varprop.spec import TransformerSpec

from .derivation import Parts

if TYPE_CHECKING:
    from varprop.moments import Moments

    from .context import Context

_PARTS: dict[str, Parts] = {}


class PlaceMean(sympy.Function):  # type: ignore[misc]
    """The average over distinct positions of a product of contractions of a fixed encoding.

    ``PlaceMean(contractions, kind, width, turning, base, seq_len)``; with numbers for its sizes it
    evaluates to the average, see :func:`varprop.encodings.place_average`.
    """

    is_real = True

    @classmethod
    def eval(cls, *args: Any) -> Any:
        """Nothing is simplified; averages are numbers only when sizes are."""
        return None

    def _eval_evalf(self, precision: int) -> Any:
        name, kind, width, turning, base, seq_len = self.args
        sizes = (width, turning, base, seq_len)
        if not all(size.is_number for size in sizes):
            return None
        encoding = Encoding(kind.name, int(width), int(turning), float(base))
        value = place_average(encoding, _PARTS[name.name], int(seq_len))
        return sympy.nan if value is None else sympy.Float(value)

    def _sympystr(self, printer: Any) -> str:
        name, _, width, *_ = self.args
        return f"<{name.name}>({printer.doprint(width)}, {printer.doprint(self.args[-1])})"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        text = rf"\left\langle {_contractions_latex(_PARTS[self.args[0].name])} \right\rangle"
        return text if exp is None else rf"{text}^{{{exp}}}"


def _contractions_latex(parts: Parts) -> str:
    """Contractions as sums over channels, with p for table entries and R for rotations."""
    return r" \, ".join(_part_latex(part) for part in parts)


def _part_latex(part: Any) -> str:
    letters = "abcdefgh"
    factors = []
    for name, indices in part:
        kind, _, labels = name.partition("_")
        channels = "".join("c" if index < 0 else letters[index] for index in indices)
        factors.append(f"{'p' if kind == 'f' else 'R'}_{{{labels}{channels}}}")
    summed = sorted({letters[index] for _, indices in part for index in indices if index >= 0})
    return (rf"\sum_{{{''.join(summed)}}} " if summed else "") + " ".join(factors)


def _name(parts: Parts) -> str:
    text = " ".join("".join(f"{name}{list(indices)}" for name, indices in part) for part in parts)
    _PARTS[text] = parts
    return text


def place_mean(context: Context, parts: Parts) -> Any:
    """The symbolic average of a product of contractions; an exact value where it has a simple one."""
    width, turning = context.sizes["d_model"], context.sizes["d_model"]
    kind = "sinusoidal"
    if isinstance(context.spec.position, Rotary):
        kind, width = "rotary", context.sizes["d_head"]
        turning = context.value("position.fraction") * width
    base = context.value("position.base")
    return PlaceMean(Str(_name(parts)), Str(kind), width, turning, base, context.sizes["seq_len"])


def formula(spec: TransformerSpec, moments: Moments, attribute: str) -> Any:
    """A stage's attribute as a SymPy expression in the integer fields.

    Raises:
        ValueError: if there is no such attribute, the spec holds arrays, or nothing exact is known.
    """
    from varprop.moments import ATTRIBUTES
    from varprop.moments import Moments as Symbolic

    from .context import Context

    if attribute not in ATTRIBUTES:
        raise ValueError(f"attribute: got {str(attribute)[:40]!r}; accepted: {', '.join(ATTRIBUTES)}")
    stage = moments.stage
    if getattr(moments, attribute) is None:
        raise ValueError(f"{stage.name}.{attribute}: does not apply or has no exact form with this spec")
    value = getattr(Symbolic(stage, Context(spec, SYMBOLIC)), attribute)
    return tidy(sympy.sympify(value))


def tidy(expression: Any) -> Any:
    """Bring an expression into the shorter of its expanded and its factored form."""
    candidates = [expression, sympy.expand(expression)]
    candidates.append(sympy.factor_terms(candidates[-1]))
    if candidates[1].is_polynomial(*candidates[1].free_symbols) or sympy.count_ops(candidates[1]) < 60:
        candidates.append(sympy.factor(candidates[1]))
    return min(candidates, key=lambda candidate: sympy.count_ops(candidate))
