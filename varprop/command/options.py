"""The fields of a specification as options, and text turned into what the specification takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from varprop.expressions import FIELDS
from varprop.fields.readers import DEFAULTS, READERS, VALUES
from varprop.fields.validation import refusal

F = TypeVar("F", bound=Callable[..., Any])

_INITIALIZER = 'an initializer, such as "normal(std=0.02)" or xavier_uniform'

HELP = {
    "d_model": "Width of the model.",
    "n_heads": "Number of heads.",
    "d_head": "Width of a head.",
    "seq_len": "Positions in a sequence.",
    "vocab_size": "Rows of the token table.",
    "embedding": f"Token table: {_INITIALIZER}.",
    "embedding_scale": 'Factor of the embedding: a number, or such as "sqrt(d_model)".',
    "position": "sinusoidal, learned, rotary or none; with arguments: "
    '"rotary(base=10000, fraction=0.5)", "learned(normal(std=0.02))".',
    "segment": "Row added at every position: an initializer, or none.",
    "dropout": "Probability that an entry of the input is dropped.",
    "norm": 'none, layernorm or rmsnorm; with arguments: "layernorm(eps=1e-12)".',
    "query": "Query projection: an initializer, or identity.",
    "key": "Key projection: an initializer, or identity.",
    "query_bias": "Bias of the query: an initializer.",
    "key_bias": "Bias of the key: an initializer.",
    "shared_qk": "The key projection is the query projection.",
    "token_repeat": "Probability that two positions hold the same token: 0, or 1/V.",
    "logit_scale": 'Factor of the scores: a number, or such as "1/sqrt(d_head)".',
    "causal": "A query sees keys up to its own position only.",
    "attention_dropout": "Probability that a weight of the attention is dropped.",
    "value": "Value projection: an initializer.",
    "value_bias": "Bias of the value: an initializer.",
    "hidden_scale": "Factor of the hidden state before the output head.",
    "output_scale": "Factor of the output logits.",
    "output_head": "tied, an initializer, or none.",
}
"""A line of help for each field."""

_WHOLE = re.compile(r"[-+]?[0-9]{1,40}")
_DECIMAL = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def field_options(command: F) -> F:
    """Give a command an option for every field of a specification."""
    for field in reversed(READERS):
        name = f"--{field.replace('_', '-')}"
        if isinstance(DEFAULTS[field], bool):
            add = click.option(name, is_flag=True, default=None, help=HELP[field])
        else:
            metavar = "INTEGER" if field in FIELDS else "NUMBER" if field in VALUES else "TEXT"
            text = f"{HELP[field]}  [default: {_default(field)}]"
            add = click.option(name, metavar=metavar, help=text)
        command = add(command)
    return command


def _default(field: str) -> str:
    if field == "d_head":
        return "d_model / n_heads"
    return "none" if DEFAULTS[field] is None else str(DEFAULTS[field])


def read_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that were given, plain numbers as numbers and the rest as text.

    Raises:
        TypeError: An integer field is not a whole number.
    """
    given = {field: value for field, value in options.items() if value is not None}
    return {field: _read(field, value) for field, value in given.items()}


def _read(field: str, value: Any) -> Any:
    if field in FIELDS:
        return whole(value, field)
    if field in VALUES and len(value) < 40 and _DECIMAL.fullmatch(value):
        return float(value)
    return value


def whole(text: str, name: str) -> int:
    """Return the whole number that text spells, in digits only.

    Raises:
        TypeError: The text is anything else, 1e3 or 512.0 included.
    """
    if not _WHOLE.fullmatch(text):
        raise TypeError(refusal(name, "a whole number in digits, such as 512", text))
    return int(text)
