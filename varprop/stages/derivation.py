"""Closed forms per place, derived by the engine and compiled to plain arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, NamedTuple

from varprop.encodings.trigonometric import Part

from .stage import Definition
from .structure import Structure

Parts = tuple[Part, ...]


class ClosedForm(NamedTuple):
    """A polynomial in named scalars for each product of contractions of the fixed encodings."""

    parameters: tuple[str, ...]
    evaluate: Callable[..., dict[Parts, Any]]

    def __call__(self, value: Callable[[str], Any]) -> dict[Parts, Any]:
        """Evaluate with ``value(name)`` for each scalar: floats, arrays or SymPy expressions."""
        return self.evaluate(*map(value, self.parameters))


@lru_cache(maxsize=4096)
def closed_form(definition: Definition, structure: Structure, what: str) -> ClosedForm:
    """The closed form of a quantity at one place.

    ``what`` is "cumulant 1" ... "cumulant 4", "moment 1" ... "moment 4" (raw), "cross" (E of the
    product of one channel at two positions), "row" (the variance of a score less its covariance
    with another one of the same query) or "shared" (E of the product of these two scores).

    The common ones are read from the generated module; any other is derived when it is first
    needed.
    """
    from . import closed_forms

    known = closed_forms.FORMS.get(form_key(definition, structure, what))
    return ClosedForm(*known) if known else compiled(derive(definition, structure, what))


def form_key(definition: Definition, structure: Structure, what: str) -> str:
    """The name under which the generated module holds a closed form."""
    return f"{definition.name}: {what}: {structure.text()}"


def derive(definition: Definition, structure: Structure, what: str) -> dict[Parts, Any]:
    """Let the engine derive a closed form: a polynomial for each product of contractions."""
    from varprop.algebra.contractions import Contractions
    from varprop.algebra.expectation import entry_product, relabelled
    from varprop.algebra.moments import place_cumulants
    from varprop.algebra.polynomials import scalar

    from .model import Model

    kind, _, order = what.partition(" ")
    labels = {"cross": "ts", "row": "tsr", "shared": "tsr"}.get(kind, definition.labels)
    model = Model(structure, labels)

    def entry(*labels: str) -> Any:
        return definition.place(model, *labels), (-1,) if definition.channels else ()

    first = entry(*definition.labels)
    if kind == "cumulant":
        result = place_cumulants(first, int(order))[-1]
    elif kind == "moment":
        result = entry_product([first] * int(order))
    elif kind == "cross":
        result = entry_product([first, entry("s")])
    elif kind == "shared":
        result = entry_product([first, entry("t", "r")])
    else:
        second = entry("t", "r")
        result = Contractions()
        result.accumulate(place_cumulants(first, 2)[-1])
        result.accumulate(entry_product([first, second]), scalar(-1))
        result.accumulate(entry_product([first]) * entry_product([second]))
    return {
        tuple(sorted(relabelled(component) for component in graph)): coefficient
        for graph, coefficient in result.items()
    }


def compiled(form: dict[Parts, Any]) -> ClosedForm:
    """Turn a derived form into a function of its scalars."""
    parameters, body = source(form)
    namespace: dict[str, Any] = {}
    exec(f"def evaluate({', '.join(parameters)}):\n    return {body}\n", namespace)
    return ClosedForm(parameters, namespace["evaluate"])


def source(form: dict[Parts, Any]) -> tuple[tuple[str, ...], str]:
    """Names of the scalars, and a dictionary display of the polynomials, nested, as text."""
    names = sorted(
        {
            str(name)
            for polynomial in form.values()
            for monomial in polynomial
            for name, _ in monomial
        }
    )
    entries = [
        f"{parts!r}: {_nested([(dict(monomial), number) for monomial, number in terms.items()])}"
        for parts, terms in sorted(form.items(), key=lambda item: item[0])
    ]
    return tuple(names), "{" + ", ".join(entries) + "}"


def _nested(terms: list[tuple[dict[Hashable, int], Any]]) -> str:
    """Factor out the scalar that most terms share, and again in what is left (Horner's scheme)."""
    shared = Counter(name for powers, _ in terms for name in powers)
    if len(terms) == 1 or max(shared.values(), default=0) < 2:
        return " + ".join(sorted(_product(powers, coefficient) for powers, coefficient in terms))
    most = min(shared, key=lambda name: (-shared[name], str(name)))
    inside, outside = [], []
    for powers, coefficient in terms:
        if most in powers:
            inside.append(
                ({n: p - (n == most) for n, p in powers.items() if p > (n == most)}, coefficient)
            )
        else:
            outside.append((powers, coefficient))
    text = f"{most}*({_nested(inside)})"
    return f"{text} + {_nested(outside)}" if outside else text


def _product(powers: dict[Hashable, int], coefficient: Any) -> str:
    factors = [str(name) for name, power in sorted(powers.items(), key=str) for _ in range(power)]
    if coefficient != 1 or not factors:
        factors.insert(0, f"({coefficient})" if coefficient < 0 else str(coefficient))
    return "*".join(factors)
