"""What the numbers of a spec must satisfy, alone and together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from varprop.fields.named import Named
from varprop.fields.numeric import MOST_ROWS
from varprop.fields.validation import refusal
from varprop.initializers.distributions import Distribution
from varprop.norms import LayerNorm
from varprop.positions import Sinusoidal

if TYPE_CHECKING:
    from varprop.spec import TransformerSpec


def common_shape(given: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the common shape of all arrays, () if there are none.

    Raises:
        ValueError: A field, which is named, does not broadcast with those before it.
    """
    shape: tuple[int, ...] = ()
    for field, value in given.items():
        for own in _shapes(value):
            try:
                shape = np.broadcast_shapes(shape, own)
            except ValueError:
                raise ValueError(
                    f"{field} has shape {own}, which does not broadcast with {shape} before it"
                ) from None
    return shape


def _shapes(value: Any) -> Iterator[tuple[int, ...]]:
    if isinstance(value, np.ndarray):
        yield value.shape
    elif isinstance(value, Named):
        yield from value.shapes()


def head_width(fields: Mapping[str, Any]) -> Any:
    """Return d_head: as given, d_model / n_heads, or d_model with an identity projection.

    Raises:
        ValueError: It is given beside an identity, or left out where n_heads does not divide.
    """
    given, d_model = fields["d_head"], fields["d_model"]
    if isinstance(fields["query"], str) or isinstance(fields["key"], str):
        if given is not None and not np.all(np.equal(given, d_model)):
            accepted = "left out with an identity projection, which makes it d_model"
            raise ValueError(refusal("d_head", accepted, given))
        return d_model
    return divide(d_model, fields["n_heads"]) if given is None else given


def divide(d_model: Any, n_heads: Any) -> Any:
    """Return d_model / n_heads.

    Raises:
        ValueError: It is no integer; the message says which numbers of heads are near.
    """
    wrong = np.asarray(d_model % n_heads != 0)
    if not wrong.any():
        return d_model // n_heads
    width, heads = (int(np.broadcast_to(x, wrong.shape)[wrong][0]) for x in (d_model, n_heads))
    below = next(h for h in range(min(heads, width), 0, -1) if width % h == 0)
    above = next((h for h in range(heads, width + 1) if width % h == 0), below)
    near = f"{below} or {above}" if above != below else f"{below}"
    raise ValueError(
        f"n_heads={heads} does not divide d_model={width}: choose n_heads={near}, or give d_head"
    )


def check_probability(dropout: Any, field: str) -> None:
    """Refuse a probability of dropping outside [0, 1).

    Raises:
        ValueError: It is.
    """
    if isinstance(dropout, float) and 0 <= dropout < 1:
        return
    wrong = np.asarray((dropout < 0) | (dropout >= 1))
    if wrong.any():
        given = float(np.asarray(dropout)[wrong][0])
        raise ValueError(refusal(field, "a probability, at least 0 and below 1", given))


def check_repeat(token_repeat: Any) -> Any:
    """Return the probability that two tokens coincide: 0, or exactly 1/V.

    Raises:
        ValueError: It is not 0 and not 1/V, to 1e-9, for an integer V from 1 to 10**12.
    """
    if isinstance(token_repeat, float) and token_repeat == 0:
        return 0.0
    repeat = np.asarray(token_repeat, dtype=np.float64)
    some = repeat != 0
    tiny = some & (np.abs(repeat) < 0.1 / MOST_ROWS)  # the inverse is too large, or overflows
    inverse = 1 / np.where(some & ~tiny, repeat, 1)
    rows = np.rint(inverse)
    wrong = (np.abs(inverse - rows) > 1e-9 * np.abs(rows)) | (rows < 1) | (rows > MOST_ROWS)
    wrong |= tiny
    if wrong.any():
        accepted = "0, or 1/V for a positive integer V such as vocab_size"
        raise ValueError(refusal("token_repeat", accepted, float(repeat[wrong][0])))
    exact = np.where(some, 1 / rows, 0.0)
    return exact if exact.ndim else float(exact)


def check_norm(spec: TransformerSpec, drawn: Mapping[str, Distribution]) -> None:
    """Refuse eps = 0 where a row can be constant (LayerNorm) or zero (RMSNorm): 0/0.

    Raises:
        ValueError: It can, with positive probability; the message says how.
    """
    assert spec.norm is not None
    exact = np.asarray(spec.norm.eps) == 0
    if not exact.any():
        return
    centred = isinstance(spec.norm, LayerNorm)
    wrong = {"with dropout all of a row can be dropped": spec.dropout > 0}
    if centred:
        wrong["with d_model=1 a row has no spread"] = spec.d_model == 1
    parts = {
        field: drawn[field] for field in ("embedding", "position", "segment") if field in drawn
    }
    still: Any = True
    level: Any = 0.0
    for field, part in parts.items():
        scale = spec.embedding_scale if field == "embedding" else 1.0
        still = still & (np.asarray(part.degenerate) | (np.asarray(scale) == 0))
        level = level + np.asarray(scale) * part.cumulant(1)
    if isinstance(spec.position, Sinusoidal):
        # Row 0 is 0, 1, 0, 1, ...; sin(t) = cos(t) at no integer t, so no row is constant.
        still = still & (spec.d_model == 1)
    if not centred:
        still = still & (level == 0)
    kept = "constant" if centred else "0"
    wrong[f"nothing that is drawn keeps a row from being {kept}"] = still
    for reason, mask in wrong.items():
        if np.any(exact & mask):
            raise ValueError(f"norm: {spec.norm.name} eps must be > 0 here, got 0: {reason}")
