"""What every equation must equal: its left side computed by brute force, in plain NumPy.

A truth takes a point: sizes, random values of the symbols, an encoding p (positions t, s, r in rows
0, 1, 2), an input x that is held fixed, and a rotation.  It builds the definition of the left side
and visits every configuration of tables and weights; no formula of the package is used.
"""

from . import (
    embedding,
    half_precision,
    input_sum,
    normalisation,
    output_head,
    positional_encoding,
    projections,
    rotary,
    scores,
    self_scores,
    softmax,
)
from .registry import EQUATIONS

__all__ = [
    "EQUATIONS",
    "embedding",
    "half_precision",
    "input_sum",
    "normalisation",
    "output_head",
    "positional_encoding",
    "projections",
    "rotary",
    "scores",
    "self_scores",
    "softmax",
]
