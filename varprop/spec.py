"""The specification of a Transformer's front: every field checked, every default resolved.

    spec = TransformerSpec(d_model=256, embedding="normal(std=1)")
    spec.d_head, spec.logit_scale                  32, 0.17677669529663687
    spec.replace(n_heads=4).d_head                 64: defaults left out are resolved again
    spec.distribution("query").cumulant(2)         0.00390625
    spec.number("logit_scale", SYMBOLIC)            1/sqrt(d_head)
    TransformerSpec(d_model=np.array([128, 256])).shape    (2,)

What each field accepts is in the README, under Fields; the defaults are in `fields.readers`.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from varprop.expressions import FIELDS, NUMERIC, Expression, Functions
from varprop.fields.constraints import (
    check_norm,
    check_probability,
    check_repeat,
    common_shape,
    head_width,
)
from varprop.fields.named import Named, entry
from varprop.fields.readers import DEFAULTS, DRAWN, READERS, TABLE_ROWS, VALUES
from varprop.fields.validation import Immutable, prefixed, shorten, suggest
from varprop.initializers import Initializer
from varprop.initializers.distributions import Distribution
from varprop.norms import Norm
from varprop.positions import Learned, Position, Rotary

Number = Any
"""An int or a float, an array of them, or (in formulas) a SymPy expression."""


class TransformerSpec(Immutable):
    """The fields, resolved: numbers, named things, "identity" or "tied", None for `none`.

    Attributes:
        shape: The common shape of all arrays given; () if there are none.

    Raises:
        TypeError: A field is of the wrong type.
        ValueError: A field is unknown, out of range, or does not fit the others.
    """

    __slots__ = ("_definition", "_drawn", "_given", "_sizes", "shape", *READERS)
    d_model: Number
    n_heads: Number
    d_head: Number
    seq_len: Number
    vocab_size: Number
    embedding: Initializer
    embedding_scale: Number
    position: Position | None
    segment: Initializer | None
    dropout: Number
    norm: Norm | None
    query: Initializer | str
    key: Initializer | str
    query_bias: Initializer
    key_bias: Initializer
    shared_qk: bool
    token_repeat: Number
    logit_scale: Number
    causal: bool
    attention_dropout: Number
    value: Initializer
    value_bias: Initializer
    hidden_scale: Number
    output_scale: Number
    output_head: Initializer | str | None
    shape: tuple[int, ...]
    _given: dict[str, Any]
    _definition: dict[str, Any]  # expressions where the attributes are their values
    _drawn: dict[str, Distribution]
    _sizes: dict[str, Any]

    def __init__(self, **fields: Any):
        unknown = fields.keys() - READERS.keys()
        if unknown:
            field = next(field for field in fields if field in unknown)
            raise ValueError(f"unknown field {shorten(field, 30)}; {suggest(field, READERS)}")
        shared = READERS["shared_qk"](fields.get("shared_qk", False), "shared_qk")
        unread = {k: v for k, v in fields.items() if shared and k in ("key", "key_bias")}
        given = {k: READERS[k](v, k) for k, v in fields.items() if k not in unread}
        definition = DEFAULTS | given
        if shared:
            definition |= {"key": definition["query"], "key_bias": definition["query_bias"]}
        shape = common_shape(given)
        definition["d_head"] = head_width(definition)
        self._set(_given=given | unread, _definition=definition, shape=shape, **definition)
        self._resolve()

    def _resolve(self) -> None:
        """Replace expressions by values; refuse what only the fields together show to be wrong."""
        self._set(_sizes=self.sizes())
        sizes = tuple(self._sizes.items())
        evaluate = _evaluate.__wrapped__ if self.shape else _evaluate
        for field in (*VALUES, "position", "norm"):
            definition = self._definition[field]
            if isinstance(definition, (Expression, Position, Norm)):
                self._set(**{field: evaluate(definition, sizes, field)})
        for field in ("dropout", "attention_dropout"):
            check_probability(getattr(self, field), field)
        self._set(token_repeat=check_repeat(self.token_repeat))
        if isinstance(self.position, Rotary):
            with prefixed("position"):
                self.position.channels(self.d_head)
        self._set(_drawn={})
        drawn = {f: self.distribution(f) for f in (*DRAWN, "position") if self._initializer(f)}
        self._set(_drawn=drawn)
        if self.norm is not None:
            check_norm(self, drawn)

    @property
    def identity(self) -> bool:
        """Whether query or key is the identity, so that n_heads plays no part."""
        return isinstance(self.query, str) or isinstance(self.key, str)

    def sizes(self, functions: Functions = NUMERIC) -> dict[str, Any]:
        """Return the five integer fields by name, or SymPy symbols of these names.

        With an identity projection d_head is d_model, in formulas too.
        """
        if not functions.symbolic:
            return {field: getattr(self, field) for field in FIELDS}
        return _symbols() | ({"d_head": _symbols()["d_model"]} if self.identity else {})

    def number(self, field: str, functions: Functions = NUMERIC) -> Number:
        """Return a field that is a number, or `position.base`, `norm.eps` and the like.

        Raises:
            ValueError: The field is not a number, or is an array and a formula is asked for.
        """
        owner, _, key = field.partition(".")
        definition = self._definition.get(owner)
        if key and isinstance(definition, Named) and key in definition.arguments:
            with prefixed(owner):
                return definition.number(key, self.sizes(functions), functions)
        if field not in (*VALUES, *FIELDS):
            raise ValueError(f"{shorten(field)} is not a field with a number")
        if not functions.symbolic:
            return getattr(self, field)
        if field in FIELDS:
            return self.sizes(functions)[field]
        if not isinstance(definition, Expression):
            raise ValueError(f"{field} is an array: a formula needs one number")
        return definition.evaluate(self.sizes(functions), functions)

    def _initializer(self, field: str) -> Initializer | None:
        value = getattr(self, field) if field in (*DRAWN, "position") else None
        value = value.initializer if isinstance(value, Learned) else value
        return value if isinstance(value, Initializer) else None

    def distribution(self, field: str, functions: Functions = NUMERIC) -> Distribution:
        """Return the distribution of the entries that `field` draws, with PyTorch's fans.

        Raises:
            ValueError: The field draws nothing here, or its initializer does not fit it.
        """
        if not functions.symbolic and field in self._drawn:
            return self._drawn[field]
        initializer = self._initializer(field)
        if initializer is None:
            raise ValueError(f"{shorten(field)} draws nothing in {shorten(self, 150)}")
        # While it is resolved a spec asks for every distribution, with the same numbers.
        sizes = self._sizes if not functions.symbolic else self.sizes(functions)
        if field in ("query", "key", "value"):
            fan_out = sizes["d_head"] * (1 if self.identity else sizes["n_heads"])
        else:
            fan_out = sizes[TABLE_ROWS[field]] if field in TABLE_ROWS else 1
        make = _distribution.__wrapped__ if self.shape else _distribution
        return make(initializer, tuple(sizes.items()), fan_out, functions, field)

    @property
    def has_arrays(self) -> bool:
        """Whether any number is an array, so that results are arrays."""
        return self.shape != ()

    def points(self) -> list[TransformerSpec]:
        """Return the specs of single numbers that this one is an array of, in row-major order."""
        return [
            TransformerSpec(**{k: entry(v, self.shape, index) for k, v in self._given.items()})
            for index in np.ndindex(self.shape)
        ]

    def replace(self, **fields: Any) -> TransformerSpec:
        """Return the spec with these fields changed and the defaults left out resolved again."""
        return TransformerSpec(**(self._given | fields))

    def to_dict(self) -> dict[str, Any]:
        """Return every field as JSON-ready data; `TransformerSpec(**data)` is equal."""
        return {field: _plain(self._definition[field]) for field in READERS}

    def __repr__(self) -> str:
        given = (f"{field}={_show(value)}" for field, value in self._given.items())
        return f"TransformerSpec({', '.join(given)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TransformerSpec):
            return NotImplemented
        pairs = [(self._definition[field], other._definition[field]) for field in READERS]
        if self.shape or other.shape:
            return all(type(a) is type(b) and np.all(a == b) for a, b in pairs)
        return all(a == b for a, b in pairs)

    def __hash__(self) -> int:
        if self.shape:
            raise TypeError("a TransformerSpec that holds arrays has no hash")
        return hash(tuple(self._definition[field] for field in READERS))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(TransformerSpec, **self._given), ()


def resolve(spec: TransformerSpec | None, fields: dict[str, Any]) -> TransformerSpec:
    """Return a spec, the defaults if there is none, with these fields changed.

    Raises:
        TypeError: `spec` is not a TransformerSpec, or a field is of the wrong type.
        ValueError: A field is refused; or `spec` is a preset's name, which is not there yet.
    """
    if isinstance(spec, TransformerSpec):
        return spec.replace(**fields) if fields else spec
    if spec is None:
        return TransformerSpec(**fields)
    if isinstance(spec, str):
        raise ValueError(
            f"spec: got the name {shorten(spec)}; presets and configuration files are not there "
            "yet; accepted: a TransformerSpec, or fields such as d_model=768"
        )
    raise TypeError(
        f"spec: got {type(spec).__name__}; accepted: a TransformerSpec, or fields such as "
        "d_model=768"
    )


@lru_cache(maxsize=1)
def _symbols() -> dict[str, Any]:
    from sympy import Symbol

    return {name: Symbol(name, integer=True, positive=True) for name in FIELDS}


@lru_cache(maxsize=4096)
def _evaluate(definition: Expression | Position | Norm, sizes: tuple[Any, ...], field: str) -> Any:
    if isinstance(definition, Expression):
        return definition.evaluate(dict(sizes))
    with prefixed(field):
        return definition.resolved(dict(sizes))


@lru_cache(maxsize=4096)
def _distribution(
    initializer: Initializer, sizes: tuple[Any, ...], fan_out: Any, functions: Any, field: str
) -> Distribution:
    values = dict(sizes)
    with prefixed(field):
        return initializer.distribution(
            values, values["d_model"], fan_out, functions, bias=field.endswith("_bias")
        )


def _plain(value: Any) -> Any:
    if isinstance(value, Named):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Expression):
        return value.program[0] if not value.names and len(value.program) == 1 else value.text
    return "none" if value is None else value


def _show(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return shorten(value)
    return shorten(value.text if isinstance(value, Named) else _plain(value), 500)
