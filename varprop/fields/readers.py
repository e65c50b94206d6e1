"""The fields of a TransformerSpec: their defaults and what reads their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from varprop.fields.numeric import as_number, integer
from varprop.fields.validation import refusal
from varprop.initializers import INITIALIZERS, Initializer
from varprop.norms import parse_norm
from varprop.positions import parse_position

Read = Callable[[Any, str], Any]


def _initializer(*words: str) -> Read:
    """Return what reads an initializer or one of `words`, of which "none" becomes None."""

    def read(value: object, field: str) -> Initializer | str | None:
        if value is None and "none" in words:
            return None
        found = INITIALIZERS.read(value, field, words)
        return None if found == "none" else found

    return read


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(refusal(field, "True or False", value))
    return bool(value)


_FIELDS: dict[str, tuple[Any, Read]] = {
    "d_model": (512, integer),
    "n_heads": (8, integer),
    "d_head": (None, integer),
    "seq_len": (128, integer),
    "vocab_size": (37000, integer),
    "embedding": ("normal(std=1/sqrt(d_model))", _initializer()),
    "embedding_scale": ("sqrt(d_model)", as_number),
    "position": ("sinusoidal", parse_position),
    "segment": ("none", _initializer("none")),
    "dropout": (0, as_number),
    "norm": ("none", parse_norm),
    "query": ("xavier_uniform", _initializer("identity")),
    "key": ("xavier_uniform", _initializer("identity")),
    "query_bias": ("zeros", _initializer()),
    "key_bias": ("zeros", _initializer()),
    "shared_qk": (False, _flag),
    "token_repeat": (0, as_number),
    "logit_scale": ("1/sqrt(d_head)", as_number),
    "causal": (False, _flag),
    "attention_dropout": (0, as_number),
    "value": ("xavier_uniform", _initializer()),
    "value_bias": ("zeros", _initializer()),
    "hidden_scale": (1, as_number),
    "output_scale": (1, as_number),
    "output_head": ("tied", _initializer("tied", "none")),
}
READERS: dict[str, Read] = {field: read for field, (_, read) in _FIELDS.items()}
DEFAULTS: dict[str, Any] = {
    field: None if default is None else read(default, field)
    for field, (default, read) in _FIELDS.items()
}
"""The defaults as read; None for d_head, which follows from the others."""

VALUES = (
    "embedding_scale",
    "dropout",
    "token_repeat",
    "logit_scale",
    "attention_dropout",
    "hidden_scale",
    "output_scale",
)
TABLE_ROWS = {"embedding": "vocab_size", "position": "seq_len", "output_head": "vocab_size"}
DRAWN = (
    "embedding",
    "segment",
    "query",
    "query_bias",
    "key",
    "key_bias",
    "value",
    "value_bias",
    "output_head",
)
