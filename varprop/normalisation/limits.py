"""What is refused before any work is done: sequences too long to go through by position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from varprop.norms import RMSNorm
from varprop.positions import Sinusoidal

if TYPE_CHECKING:
    from varprop.spec import TransformerSpec

LONGEST = 2**20
"""Positions beyond which nothing is computed position by position."""


def check_length(spec: TransformerSpec) -> None:
    """Refuse a norm with eps > 0 of rows whose lengths differ at more positions than this.

    Raises:
        ValueError: the sequence is too long; RMSNorm of an even width is not affected, since
            pairs of sine and cosine make all rows equally long.
    """
    if spec.norm is None or not isinstance(spec.position, Sinusoidal):
        return
    alike = isinstance(spec.norm, RMSNorm) & (np.asarray(spec.d_model) % 2 == 0)
    wrong = (np.asarray(spec.seq_len) > LONGEST) & (np.asarray(spec.norm.eps) > 0) & ~alike
    if wrong.any():
        given = int(np.broadcast_to(spec.seq_len, wrong.shape)[wrong][0])
        raise ValueError(
            f"seq_len: got {given} with sinusoidal positions and a norm with eps > 0, which takes "
            f"a quadrature for each position; accepted: at most {LONGEST}, or eps=0"
        )
