"""The output head's logits, and the first loss.

The hidden state is a row of the front's sum without dropout, after a final norm with eps = 0, so
that its mean square is 1 (the norm that the spec names; an RMSNorm if it names none).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from varprop.norms import LayerNorm
from varprop.positions import Learned, Sinusoidal

from .attention import logsumexp
from .stage import Outcome

if TYPE_CHECKING:
    from varprop.simulation.draws import Array, Draws, Layout
    from varprop.spec import TransformerSpec

SHOWN = 32
"""Rows of the output head that a replicate looks at for the moments of its logits."""

LARGEST_HEAD = 2**17
"""Entries of an output head up to which it is drawn whole in every replicate."""


def _hidden(draws: Draws) -> Array:
    """hidden_scale times the rows after the final norm: (replicate, position, channel)."""
    row = draws["scaled_embedding"]
    if isinstance(draws.spec.position, Learned | Sinusoidal):
        row = row + draws["position"]
    if draws.spec.segment is not None:
        row = row + draws["segment_row"]
    if isinstance(draws.spec.norm, LayerNorm):
        row = row - row.mean(axis=-1, keepdims=True)
    square = np.square(row).mean(axis=-1, keepdims=True)
    # Rows of zeros, which have no direction, stay zeros.
    normed: Array = draws.spec.hidden_scale * row / np.sqrt(np.where(square > 0, square, 1))
    return normed


def _head(draws: Draws, rows: int) -> Array:
    """Rows of the output head that belong to no token of the sequence."""
    tied = draws.spec.output_head == "tied"
    return draws.sample("embedding" if tied else "output_head", rows, draws.spec.d_model)


def _logits(draws: Draws) -> Array:
    """(replicate, position, row of the head)."""
    rows = _head(draws, min(SHOWN, draws.spec.vocab_size))
    hidden = draws.once("hidden", _hidden)
    products: Array = draws.spec.output_scale * (hidden @ rows.swapaxes(1, 2))
    return products


def _own_logits(draws: Draws) -> Array:
    """The logit of the token itself in a tied head: (replicate, position)."""
    hidden = draws.once("hidden", _hidden)
    own: Array = draws.spec.output_scale * np.einsum("rpc,rpc->rp", hidden, draws["embedding"])
    return own


def _own_token(draws: Draws) -> dict[str, Array]:
    if draws.spec.output_head != "tied":
        return {}
    own = _own_logits(draws)
    return {
        "own_token_mean": own.mean(axis=1),
        "own_token_second_moment": np.square(own).mean(axis=1),
    }


def _losses(draws: Draws) -> dict[str, Array]:
    """Cross-entropies, (replicate, position) each, head by head to save memory.

    ``mean`` is that of a hidden state which knows nothing of the head, the others those of the
    head's own row for the input token among the rest.
    """
    spec, hidden = draws.spec, draws.once("hidden", _hidden)
    tied = spec.output_head == "tied"
    field = "embedding" if tied else "output_head"
    own = _own_logits(draws) if tied else None
    found: dict[str, Array] = {name: np.empty(hidden.shape[:2]) for name in _LOSSES}
    for replicate, rows in enumerate(hidden):
        head = spec.distribution(field).sample(draws.rng, (spec.vocab_size, spec.d_model))
        logits = spec.output_scale * (rows @ head.T)
        found["mean"][replicate] = logsumexp(logits) - logits[:, -1]
        if own is not None:
            logits[:, 0] = own[replicate]
        total = logsumexp(logits)
        found["own_token"][replicate] = total - logits[:, 0]
        found["other_token"][replicate] = total - logits[:, -1]
    return found


_LOSSES = ("mean", "own_token", "other_token")


def _loss(draws: Draws) -> Array:
    losses: dict[str, Array] = draws.once("losses", _losses)
    return losses["mean"]


def _further_losses(draws: Draws) -> dict[str, Array]:
    losses = draws.once("losses", _losses)
    further = {"excess": losses["mean"] - np.log(draws.spec.vocab_size)}
    further["own_token"] = losses["own_token"]
    if draws.spec.vocab_size > 1:
        further["other_token"] = losses["other_token"]
    return {name: values.mean(axis=1) for name, values in further.items()}


def _has_head(spec: TransformerSpec) -> bool:
    return spec.output_head is not None


def _whole_head_fits(spec: TransformerSpec, layout: Layout) -> bool:
    return bool(spec.vocab_size * max(spec.d_model, layout.positions) <= LARGEST_HEAD)


OUTCOMES = (
    Outcome(
        "output_logits",
        "varprop.outcomes.output_logits:OutputLogits",
        sample=_logits,
        further=_own_token,
        present=_has_head,
        measured=lambda spec, layout: True,
    ),
    Outcome(
        "loss",
        "varprop.outcomes.loss:Loss",
        sample=_loss,
        further=_further_losses,
        present=_has_head,
        measured=_whole_head_fits,
    ),
)
