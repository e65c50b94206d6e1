"""The laws of rows before the projections, and of the length of a row."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from varprop.encodings import Encoding
from varprop.fields.numeric import Floats
from varprop.initializers.distributions import GAUSSIAN, POINT, Distribution
from varprop.norms import LayerNorm
from varprop.positions import Learned, Sinusoidal
from varprop.spec import TransformerSpec
from varprop.stages.context import Context
from varprop.stages.rows import Source

from .laws import Entry, shifted, sum_of
from .mixtures import Length, Sphere

PLACES = 10**6
"""Entries of a sinusoidal table up to which every one of them is averaged over."""
LATTICE = 2**17
"""Entries that stand for those of a larger table: channels are at multiples of GOLDEN, modulo 1."""
GOLDEN = (np.sqrt(5) - 1) / 2
NARROW = 1e-5
"""Relative std of |x|^2 below which it is taken at its mean."""
WIDE = 0.1
"""The same beyond which it may not be, where rows are not Gaussian."""
SMALL_EPS = 1e-2
"""Share of a row's variance that an eps may have and be neglected."""
CHANNELS = 16
"""Fewest channels whose variance is never so small that such an eps would matter."""
UNKNOWN_SUM = "not known: a sum of draws that are not all Gaussian"
MASKED = "not known: dropout"
NO_SHIFT = np.zeros(1)


class Law(NamedTuple):
    """The law of a stage's entry and how it is known; no law where it is not."""

    entry: Entry | None
    method: str


def table(spec: TransformerSpec, scaled: bool) -> Law:
    """An entry of the token table, times the factor or not."""
    drawn = _embedding(spec) if scaled else spec.distribution("embedding")
    return _law(drawn, NO_SHIFT, "exact")


def position(spec: TransformerSpec) -> Law:
    """An entry of the positions' table."""
    if isinstance(spec.position, Learned):
        return _law(spec.distribution("position"), NO_SHIFT, "exact")
    fixed, method = sinusoids(spec)
    return _law(Distribution(POINT, 0.0, 0.0, 0.0), fixed, method)


def input_row(spec: TransformerSpec) -> Law:
    """An entry of the sum of embedding, position and segment."""
    if spec.dropout:
        return Law(None, MASKED)
    drawn = sum_of(_parts(spec))
    if drawn is None:
        return Law(None, UNKNOWN_SUM)
    if isinstance(spec.position, Sinusoidal):
        return _law(drawn, *sinusoids(spec))
    return _law(drawn, NO_SHIFT, "exact")


def normed_row(spec: TransformerSpec) -> Law:
    """An entry after the norm: a coordinate of a point on a sphere, for Gaussian rows."""
    drawn = sum_of(_parts(spec))
    if spec.dropout:
        return Law(None, MASKED)
    fixed = isinstance(spec.position, Sinusoidal)
    if drawn is None or drawn.law is not GAUSSIAN or drawn.degenerate or fixed:
        return Law(None, "not known: normed rows that are not independent Gaussian numbers")
    layernorm = isinstance(spec.norm, LayerNorm)
    if (drawn.location and not layernorm) or _common(spec):
        return Law(None, "not known: normed rows with a common part")
    radius = float(np.sqrt(spec.d_model - layernorm))
    method = eps_method(spec)
    if method is None or spec.d_model < 2 + layernorm:
        return Law(None, "not known: normed rows of so few channels, or an eps that matters")
    return Law(Sphere(radius, spec.d_model - layernorm), method)


def row_length(spec: TransformerSpec) -> tuple[float | Length | None, str]:
    """|x|^2 of a row that a projection reads, as a number or a law; None where neither is known."""
    if spec.dropout:
        return None, MASKED
    if spec.norm is not None:
        method = eps_method(spec)
        none = method is None or spec.d_model == 1
        return (
            (None, "not known: an eps that matters")
            if none
            else (float(spec.d_model), method or "")
        )
    drawn, d = sum_of(_parts(spec)), spec.d_model
    if drawn is None:
        return None, UNKNOWN_SUM
    if _common(spec):
        return None, "not known: a segment common to all rows"
    if drawn.location:
        return None, "not known: rows whose mean is not 0"
    turning = isinstance(spec.position, Sinusoidal)
    if turning and d % 2:
        return None, "not known: sinusoidal positions in an odd number of channels"
    square, fixed = float(drawn.square) * float(drawn.law.cumulant(2)), d / 2 * turning
    if drawn.degenerate:
        return float(fixed), "exact"
    mean = d * square + fixed
    spread = np.sqrt(d * (drawn.excess_kurtosis + 2) * square**2 + 4 * fixed * square) / mean
    if drawn.law is GAUSSIAN and spread > NARROW:
        return Length(square, d, fixed / square), "exact"
    if spread > WIDE:
        return None, "not known: the length of rows that are not Gaussian"
    return mean, f"asymptotic: |x|^2 taken at its mean, its relative std is {spread:.3g}"


def has_direction(spec: TransformerSpec) -> bool:
    """Whether a norm leaves of every row of the sum one of mean square 1, never a row of zeros."""
    layernorm = isinstance(spec.norm, LayerNorm)
    if layernorm and spec.d_model == 1:
        return False
    drawn = sum_of(_parts(spec))
    if drawn is None or not drawn.degenerate:
        return True
    if isinstance(spec.position, Sinusoidal):
        return bool(spec.d_model > 1)
    return bool(drawn.location) and not layernorm


def eps_method(spec: TransformerSpec) -> str | None:
    """How a norm's output is known where eps is neglected; None where it matters."""
    eps = float(spec.number("norm.eps"))
    if eps == 0:
        return "exact"
    drawn = sum_of(_parts(spec))
    if drawn is None or spec.d_model < CHANNELS:
        return None
    variance = float(drawn.cumulant(2)) + (0.5 if isinstance(spec.position, Sinusoidal) else 0)
    if isinstance(spec.norm, LayerNorm) and isinstance(spec.position, Sinusoidal):
        variance = float(drawn.cumulant(2))  # a row's mean takes at most the fixed part away
    if not eps < SMALL_EPS * variance:
        return None
    return f"asymptotic: eps neglected, which lowers variances by up to {eps / variance:.2g}"


def sinusoids(spec: TransformerSpec) -> tuple[Floats, str]:
    """Entries of the table that stand for all, and the method."""
    n, d = spec.seq_len, spec.d_model
    return _sinusoids(n, d, float(spec.number("position.base")))


@lru_cache(maxsize=4)
def _sinusoids(n: int, d: int, base: float) -> tuple[Floats, str]:
    encoding = Encoding("sinusoidal", d, d, base)
    if n * d <= PLACES:
        return encoding.table(np.arange(n)).ravel(), "exact"
    index = np.arange(LATTICE)
    place = np.floor(n * (index + 0.5) / LATTICE)
    channel = np.floor(d * ((index + 0.5) * GOLDEN % 1)).astype(int)
    turns = place * encoding.frequencies()[channel // 2]
    text = f"quadrature: a lattice of {LATTICE} of the {n * d} positions and channels"
    return np.where(channel % 2, np.cos(turns), np.sin(turns)), text


def _embedding(spec: TransformerSpec) -> Distribution:
    return Source(spec.distribution("embedding"), float(spec.embedding_scale)).drawn()


def _parts(spec: TransformerSpec) -> list[Distribution]:
    sources = Context(spec).rows("input").sources
    return [source.drawn() for part in sources for source in part]


def _common(spec: TransformerSpec) -> bool:
    return spec.segment is not None and not spec.distribution("segment").nothing


def _law(drawn: Distribution, fixed: Floats, method: str) -> Law:
    entry = shifted(drawn, fixed)
    return Law(entry, method) if entry else Law(None, "not known: this initializer's law")
