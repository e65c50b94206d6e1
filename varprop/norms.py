"""Normalisations by name: layernorm and rmsnorm, at initialisation (gain 1, offset 0)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from varprop.fields.calls import Reader
from varprop.fields.named import Named, Parameter, Signature
from varprop.initializers import Argument


class Norm(Named):
    """A normalisation of each row."""

    __slots__ = ()

    @property
    def eps(self) -> Any:
        """What is added under the root, as a number or an array."""
        return self.number("eps", {})

    def resolved(self, sizes: Mapping[str, Any]) -> Norm:
        """Return the norm with the expression for eps replaced by its value.

        Raises:
            ValueError: eps is negative or not finite.
        """
        return type(self)(eps=self.number("eps", sizes))  # type: ignore[call-arg]


class LayerNorm(Norm):
    """(x - mean(x)) / sqrt(var(x) + eps), mean and biased variance over the channels of a row.

    Reference: Ba, Kiros, Hinton (2016), Layer Normalization.
    """

    __slots__ = ()
    signatures: ClassVar[Mapping[str, Signature]] = {
        "layernorm": {"eps": Parameter("1e-5", ">= 0", shown=True)}
    }

    def __init__(self, eps: Argument = "1e-5"):
        super().__init__("layernorm", eps=eps)


class RMSNorm(Norm):
    """x / sqrt(mean(x**2) + eps), the mean over the channels of a row.

    Reference: Zhang, Sennrich (2019), Root Mean Square Layer Normalization.
    """

    __slots__ = ()
    signatures: ClassVar[Mapping[str, Signature]] = {
        "rmsnorm": {"eps": Parameter("1e-6", ">= 0", shown=True)}
    }

    def __init__(self, eps: Argument = "1e-6"):
        super().__init__("rmsnorm", eps=eps)


_KINDS: Mapping[str, type[Any]] = {"layernorm": LayerNorm, "rmsnorm": RMSNorm}
NORMS: Reader[Norm] = Reader(
    "norm",
    Norm,
    {name: kind.signatures[name] for name, kind in _KINDS.items()},
    lambda name, arguments: _KINDS[name](**arguments),
)


def parse_norm(value: object, field: str = "norm") -> Norm | None:
    """Return the norm that text, a mapping or an object describes; None for `none`.

    Raises:
        TypeError: It is none of these.
        ValueError: The name or an argument is refused.
    """
    return NORMS.read_or_none(value, field)
