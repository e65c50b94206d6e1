"""The sizes, initializers and factors that a claim is decided for.

>>> Inputs(d_model=256).scale
16.0
>>> Inputs(std="1/sqrt(d_model)").tables("std 1", "Xavier")
{'std 1/sqrt(d_model)': 'normal(std=1/sqrt(d_model))'}
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from varprop.expressions import Expression
from varprop.fields.numeric import as_number, integer
from varprop.fields.validation import prefixed, refusal, suggest
from varprop.spec import TransformerSpec

Fields = dict[str, Any]


@dataclass(frozen=True)
class Inputs:
    """What may vary; a claim reads what it needs.

    Attributes:
        d_model, n_heads, d_head, seq_len, vocab_size: sizes; d_head is d_model / n_heads, or 64
            where that is no integer.
        factor: what the embedding is multiplied by, a number or an expression.
        std: a normal table of this std in place of all initializers that the claim speaks of.
        embedding: likewise, any initializer.
        bound: half the width of document A's uniform table.
        logit_variance: in place of the logit variances that a claim about the softmax speaks of.
    """

    d_model: int = 512
    n_heads: int = 8
    d_head: int | None = None
    seq_len: int = 128
    vocab_size: int = 37000
    factor: Any = "sqrt(d_model)"
    std: Any = None
    embedding: Any = None
    bound: float = 0.01
    logit_variance: float | None = None

    def __post_init__(self) -> None:
        for name in ("d_model", "n_heads", "seq_len", "vocab_size", "d_head"):
            if getattr(self, name) is not None or name != "d_head":
                value = integer(getattr(self, name), name)
                if isinstance(value, np.ndarray):
                    raise TypeError(refusal(name, "one integer", value))
                object.__setattr__(self, name, value)
        for name in ("factor", "bound", "std", "logit_variance"):
            if getattr(self, name) is not None and not self._number(name) > 0:
                raise ValueError(refusal(name, "a number above 0", getattr(self, name)))
        object.__setattr__(self, "bound", self._number("bound"))
        if self.logit_variance is not None:
            object.__setattr__(self, "logit_variance", self._number("logit_variance"))
        if self.std is not None and self.embedding is not None:
            raise ValueError("std, embedding: give one of the two")
        if self.embedding is not None:
            spec = self.spec(embedding=self.embedding)
            if not spec.distribution("embedding").cumulant(2) > 0:
                raise ValueError(
                    refusal("embedding", "random, of variance above 0", self.embedding)
                )
            object.__setattr__(self, "embedding", str(spec.embedding))
        self.spec(embedding_scale=self.scale)

    def spec(self, **changed: Any) -> TransformerSpec:
        """A specification of these sizes."""
        return TransformerSpec(
            d_model=self.d_model,
            n_heads=self.n_heads,
            d_head=self.width,
            seq_len=self.seq_len,
            vocab_size=self.vocab_size,
            **changed,
        )

    def _number(self, name: str) -> float:
        value = as_number(getattr(self, name), name)
        if not isinstance(value, Expression):
            raise TypeError(refusal(name, "one number or an expression", getattr(self, name)))
        with prefixed(name):
            return float(value.evaluate(self.sizes))

    @property
    def sizes(self) -> dict[str, int]:
        """The integer fields by name."""
        names = ("d_model", "n_heads", "seq_len", "vocab_size")
        return {name: getattr(self, name) for name in names} | {"d_head": self.width}

    @property
    def width(self) -> int:
        """The width of a head."""
        if self.d_head is not None:
            return self.d_head
        return 64 if self.d_model % self.n_heads else self.d_model // self.n_heads

    @property
    def keys(self) -> int:
        """The length of a row of logits, at least 2."""
        return max(2, self.seq_len)

    @property
    def scale(self) -> float:
        """The factor as a number."""
        return self._number("factor")

    @property
    def chosen(self) -> bool:
        """Whether a table was asked for."""
        return self.std is not None or self.embedding is not None

    def tables(self, *named: str) -> dict[str, str]:
        """Initializers by label: the one given, or those named of the four that are known."""
        if self.std is not None:
            std = self.std if isinstance(self.std, str) else f"{self._number('std'):.17g}"
            return {f"std {std}": f"normal(std={std})"}
        if self.embedding is not None:
            return {self.embedding: self.embedding}
        bound = self.bound
        known = {
            "std 1": "normal(std=1)",
            "std 1/sqrt(d_model)": "normal(std=1/sqrt(d_model))",
            "uniform": f"uniform({-bound:.17g}, {bound:.17g})",
            "Xavier": "xavier_uniform",
        }
        labels = {
            "uniform": f"uniform on ±{bound:g}",
            "Xavier": f"Xavier on {self.vocab_size}×{self.d_model}",
        }
        return {labels.get(name, name): known[name] for name in named}

    def widths(self) -> tuple[int, ...]:
        """Three octaves of d_model for growth claims, the last 512 or d_model, multiples of 64."""
        last = max(512, self.d_model // 512 * 512)
        return (last // 8, last // 4, last // 2, last)


EVERY = ("std 1", "std 1/sqrt(d_model)", "uniform", "Xavier")
"""Every initializer that the documents name."""


def read_inputs(given: Fields) -> Inputs:
    """Return the inputs.

    Raises:
        TypeError: one has an unknown name or the wrong type.
        ValueError: one is out of range.
    """
    names = [field.name for field in fields(Inputs)]
    for name in given:
        if name not in names:
            raise TypeError(f"{str(name)[:40]}: no input of a claim; {suggest(str(name), names)}")
    return Inputs(**given)
