"""What of a specification decides its normed rows, as plain numbers in units of a row's size."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from varprop.norms import LayerNorm
from varprop.positions import Sinusoidal

if TYPE_CHECKING:
    from varprop.stages.context import Context

HIGHEST = 8
"""The order of the highest cumulant of an entry that the fourth moment of v needs."""


class Record(NamedTuple):
    """A row x = mask * (own + token + common + amplitude * f), each part with independent entries.

    ``own``, ``token`` and ``common`` are the variances of what each row draws for itself, of what
    rows of one token share, and of what all rows share; ``mean`` is the mean of their sum, and
    ``cumulants`` are those of the sum from order 1 on, empty where it is Gaussian.  All is divided
    by one unit, so that nothing overflows: the norm's output does not depend on it.
    """

    width: int
    length: int
    layernorm: bool
    eps: float
    own: float
    token: float
    common: float
    mean: float
    cumulants: tuple[float, ...]
    symmetric: bool
    dropout: float
    base: float | None
    amplitude: float

    @property
    def degrees(self) -> int:
        """Dimensions in which a row's direction is random: D."""
        return self.width - self.layernorm

    @property
    def variance(self) -> float:
        """Of one entry, before any mask."""
        return self.own + self.token + self.common

    @property
    def level(self) -> float:
        """The mean that the norm sees: LayerNorm takes it off."""
        return 0.0 if self.layernorm else self.mean

    @property
    def constant(self) -> float:
        """C = d eps, what stands beside the sum of squares."""
        return self.width * self.eps

    @property
    def gaussian(self) -> bool:
        """Whether rows are Gaussian and not masked."""
        return not self.cumulants and not self.dropout

    @property
    def exchangeable(self) -> bool:
        """Whether all channels are alike."""
        return self.base is None

    @property
    def centred(self) -> bool:
        """Whether every entry of a normed row has mean 0, given all other rows."""
        still = self.layernorm or (self.mean == 0 and self.symmetric)
        return self.exchangeable and still

    def shared(self, left: str, right: str) -> float:
        """The covariance of an entry of two rows that hold these tokens."""
        return self.common + (self.token if left == right else 0.0)

    def identical(self, left: str, right: str) -> bool:
        """Whether two rows that hold these tokens are equal."""
        apart = self.own + (0.0 if left == right else self.token)
        return apart == 0 and self.exchangeable and not self.dropout


def record_of(context: Context) -> Record:
    """The record of a specification of single numbers with a norm."""
    spec, rows = context.spec, context.rows("input")
    own, token, common = (
        sum(float(source.cumulant(2)) for source in part) for part in rows.sources
    )
    sources = [source for part in rows.sources for source in part]
    mean = sum(float(source.cumulant(1)) for source in sources)
    gaussian = all(source.vanishing() >= set(range(3, HIGHEST + 1)) for source in sources)
    odd = set(range(3, HIGHEST + 1, 2))
    sinusoidal = isinstance(spec.position, Sinusoidal)
    eps = float(spec.number("norm.eps"))
    unit = own + token + common + mean * mean + eps + (0.5 if sinusoidal else 0.0)
    cumulants: tuple[float, ...] = ()
    if not gaussian:
        orders = range(1, HIGHEST + 1)
        raw = [sum(float(source.cumulant(order)) for source in sources) for order in orders]
        cumulants = tuple(k / unit ** (order / 2) for order, k in zip(orders, raw, strict=True))
    return Record(
        width=spec.d_model,
        length=spec.seq_len,
        layernorm=isinstance(spec.norm, LayerNorm),
        eps=eps / unit,
        own=own / unit,
        token=token / unit,
        common=common / unit,
        mean=mean / unit**0.5,
        cumulants=cumulants,
        symmetric=all(source.vanishing() >= odd for source in sources),
        dropout=float(spec.dropout),
        base=float(spec.number("position.base")) if sinusoidal else None,
        amplitude=unit**-0.5,
    )
