"""Initializers by name: what PyTorch, JAX and Keras call normal, xavier_uniform and so on.

    normal(std=0.02)
    normal(std="1/sqrt(d_model)")                  expressions in the integer fields
    normal(std=np.array([0.01, 0.02]))             arrays broadcast
    parse_initializer("xavier_uniform(fan_out=3*d_model)", "query")

Fans left out are PyTorch's, from the tensor that is filled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from varprop.expressions import NUMERIC, Expression, Functions
from varprop.fields.calls import Reader
from varprop.fields.named import Named, Signature
from varprop.fields.validation import refusal, shorten
from varprop.initializers.distributions import Distribution
from varprop.initializers.families import FAMILIES, SIGNATURES

Argument = Any
"""A number, an expression as text, or an array of numbers."""


class Initializer(Named):
    """A family of distributions, made definite by the sizes of the tensor that it fills."""

    __slots__ = ()
    signatures: ClassVar[Mapping[str, Signature]] = SIGNATURES

    def __init__(self, name: str, **arguments: Any):
        super().__init__(name, **arguments)
        numbers = [value for value in self.arguments.values() if isinstance(value, Expression)]
        if all(number.names <= {"std"} for number in numbers):
            self.distribution({}, 1, 1)  # what can be refused without sizes is refused at once

    def distribution(
        self,
        sizes: Mapping[str, Any],
        fan_in: Any,
        fan_out: Any = None,
        functions: Functions = NUMERIC,
        bias: bool = False,
    ) -> Distribution:
        """Return the distribution of the entries of a tensor.

        Args:
            sizes: The integer fields that expressions may use.
            fan_in, fan_out: Of the tensor, where the initializer does not give its own; a bias
                has its projection's fan_in and no fan_out.
            functions: NUMERIC, or SYMBOLIC for sizes that are symbols.
            bias: Whether the tensor is a bias.

        Raises:
            ValueError: An argument is out of range here, or the bias has no fan_out.
        """
        given = {key for key, value in self.arguments.items() if value is not None}
        if bias and "gain" in given and not {"fan_in", "fan_out"} <= given:
            raise ValueError(f"{self.name} of a bias needs fan_in= and fan_out=: it has no fan_out")
        values = {"fan_in": fan_in, "fan_out": 1 if fan_out is None else fan_out}
        values |= {
            key: self.number(key, sizes, functions)
            for key in given - {"low", "high", "variance_preserving"}
        }
        values = {key: functions.number(value) for key, value in values.items()}
        if "low" in given:
            values |= self._cuts(sizes, functions, values.get("std"))
        values |= {"bias": bias, "unit": self.arguments.get("variance_preserving")}
        try:
            with functions.guard():
                return FAMILIES[self.name](values, functions)
        except ArithmeticError as error:
            raise ValueError(
                f"{shorten(self.text)}: the variance is not finite ({error})"
            ) from None

    def _cuts(self, sizes: Mapping[str, Any], functions: Functions, std: Any) -> dict[str, Any]:
        """Return `low` and `high`, which may use `std`: in formulas a symbol, replaced later."""
        if functions.symbolic and std is not None:
            from sympy import Symbol

            std = Symbol("std", positive=True)
        low, high = (
            functions.number(self.number(key, {**sizes, "std": std}, functions))
            for key in ("low", "high")
        )
        wrong = np.asarray(not functions.symbolic and np.greater_equal(low, high))
        if wrong.any():
            low, high = (float(np.broadcast_to(cut, wrong.shape)[wrong][0]) for cut in (low, high))
            raise ValueError(refusal(f"{self.name} low", f"less than high={high}", low))
        return {"low": low, "high": high, "std_as_used": std}


INITIALIZERS = Reader("initializer", Initializer, SIGNATURES, lambda n, a: Initializer(n, **a))


def parse_initializer(value: object, field: str) -> Initializer:
    """Return the initializer that text, a mapping with a `name`, or an object describes.

    Raises:
        TypeError: It is none of these.
        ValueError: The name or an argument is refused.
    """
    initializer = INITIALIZERS.read(value, field)
    assert isinstance(initializer, Initializer)  # no words are accepted beside
    return initializer


def normal(mean: Argument = 0, std: Argument = 1) -> Initializer:
    """Return the normal initializer: variance std**2."""
    return Initializer("normal", mean=mean, std=std)


def uniform(low: Argument, high: Argument) -> Initializer:
    """Return the initializer uniform on [low, high]: variance (high - low)**2/12."""
    return Initializer("uniform", low=low, high=high)


def truncated_normal(
    std: Argument = 1,
    low: Argument = "-2*std",
    high: Argument = "2*std",
    variance_preserving: bool = False,
) -> Initializer:
    """Return the initializer N(0, std**2) cut at `low` and `high`, which may use `std`.

    PyTorch's trunc_normal_ cuts at low=-2, high=2; JAX and Keras multiply the cut variable so that
    its standard deviation is `std`, which is `variance_preserving`.
    """
    return Initializer(
        "truncated_normal", std=std, low=low, high=high, variance_preserving=variance_preserving
    )


def xavier_uniform(
    gain: Argument = 1, *, fan_in: Argument | None = None, fan_out: Argument | None = None
) -> Initializer:
    """Return the uniform initializer of variance gain**2 * 2/(fan_in + fan_out)."""
    return Initializer("xavier_uniform", gain=gain, fan_in=fan_in, fan_out=fan_out)


def xavier_normal(
    gain: Argument = 1, *, fan_in: Argument | None = None, fan_out: Argument | None = None
) -> Initializer:
    """Return the normal initializer of variance gain**2 * 2/(fan_in + fan_out)."""
    return Initializer("xavier_normal", gain=gain, fan_in=fan_in, fan_out=fan_out)


def kaiming_uniform(
    a: Argument = "sqrt(5)", *, fan_in: Argument | None = None, fan_out: Argument | None = None
) -> Initializer:
    """Return nn.Linear's initializer: uniform of variance 2/((1 + a**2) fan_in).

    A bias is uniform within 1/sqrt(fan_in) instead, whatever `a` is.
    """
    return Initializer("kaiming_uniform", a=a, fan_in=fan_in, fan_out=fan_out)


def kaiming_normal(
    a: Argument = 0, *, fan_in: Argument | None = None, fan_out: Argument | None = None
) -> Initializer:
    """Return the normal initializer of variance 2/((1 + a**2) fan_in)."""
    return Initializer("kaiming_normal", a=a, fan_in=fan_in, fan_out=fan_out)


def lecun_normal(*, fan_in: Argument | None = None, fan_out: Argument | None = None) -> Initializer:
    """Return the normal initializer of variance 1/fan_in."""
    return Initializer("lecun_normal", fan_in=fan_in, fan_out=fan_out)


def zeros() -> Initializer:
    """Return the initializer of entries that are all 0."""
    return Initializer("zeros")


def constant(value: Argument) -> Initializer:
    """Return the initializer of entries that are all `value`."""
    return Initializer("constant", value=value)
