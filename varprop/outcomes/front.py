"""What the softmax of a specification depends on, gathered from its prediction."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from varprop.initializers.distributions import Distribution
from varprop.positions import Learned, Rotary, Sinusoidal
from varprop.stages.context import Context
from varprop.stages.rows import Source

if TYPE_CHECKING:
    from varprop.predict import Prediction


class Front:
    """Sizes and moments of rows and weights of one specification of single numbers."""

    def __init__(self, prediction: Prediction) -> None:
        self.prediction, self.spec = prediction, prediction.spec
        self.width, self.head, self.length = (
            int(self.spec.d_model),
            int(self.spec.d_head),
            int(self.spec.seq_len),
        )
        self.scale = float(self.spec.logit_scale)
        self.query_identity = isinstance(self.spec.query, str)
        self.key_identity = isinstance(self.spec.key, str)
        self.aligned = self.spec.shared_qk or (self.query_identity and self.key_identity)
        """Whether a query is made of its own key, so that its own logit is no zero-mean number."""

    def drawn(self, field: str) -> Distribution:
        """What a field draws."""
        return self.spec.distribution(field)

    def second(self, field: str) -> float:
        """Mean square of what a field draws; 1/d_model for an identity, which keeps norms."""
        if isinstance(getattr(self.spec, field), str):
            return 1 / self.width
        drawn = self.drawn(field)
        return float(drawn.cumulant(2)) + float(drawn.cumulant(1)) ** 2

    @cached_property
    def sources(self) -> list[Source]:
        """What a row draws for itself or its token, and its factor."""
        own, token, _ = Context(self.spec).rows("input").sources
        return [source for source in token + own if source.scale != 0]

    @cached_property
    def row_variance(self) -> float:
        """sigma^2: variance of an entry of a row, of what the row draws for itself."""
        return float(sum(factor**2 * entry.cumulant(2) for entry, factor in self.sources))

    @cached_property
    def square(self) -> float:
        """Mean square of an entry of the rows that projections read, sigma^2 if it is not known."""
        if self.is_exact:
            return self.row_variance
        found = self.rows.second_moment
        return self.row_variance if found is None else float(found)

    @cached_property
    def rows(self) -> Any:
        """Moments of the rows that projections read."""
        return self.prediction["input" if self.spec.norm is None else "normed_input"]

    @property
    def is_exact(self) -> bool:
        """Whether keys are independent Gaussians given the query, with a law of products."""
        spec = self.spec
        plain = (
            spec.norm is None
            and not isinstance(spec.position, (Sinusoidal, Rotary))
            and spec.dropout == 0
            and spec.token_repeat == 0
            and (spec.segment is None or self.drawn("segment").nothing)
        )
        rows = all(_is_centred(entry) for entry, _ in self.sources)
        weights = all(
            isinstance(getattr(spec, field), str) or _is_centred(self.drawn(field))
            for field in ("query", "key")
        )
        bias = self.drawn("query_bias")
        if self.aligned or self.query_identity:
            return plain and rows and weights and bias.nothing
        return plain and rows and weights and _is_centred(bias)

    @property
    def is_equal(self) -> bool:
        """Whether all rows, or all logits of a row, are the same."""
        spec = self.spec
        if self.length == 1 or self.scale == 0:
            return True
        if isinstance(spec.position, (Sinusoidal, Rotary)) or spec.dropout != 0:
            return False
        alike = spec.token_repeat == 1 and not isinstance(spec.position, Learned)
        drawn = [self.second("query"), self.second("query_bias"), self.second("key")]
        still = drawn[2] == 0 or drawn[0] == drawn[1] == 0
        return alike or still or self.row_variance == 0

    @cached_property
    def freedom(self) -> float:
        """Degrees of freedom of a chi-square with the relative variance of a row's squared norm.

            Var |x|^2 / (E |x|^2)^2 = (kappa v^2 + 2 v^2 + 4 v (M - v)) / (d M^2) = 2 / freedom

        v is the variance of an entry at its place, M its mean square; d where all is Gaussian.
        """
        if self.is_exact:
            return float(self.width)
        if self.spec.norm is not None:
            return math.inf
        square, spread = self.rows.second_moment, self.rows.ensemble_variance
        if not square or not spread:
            return math.inf
        share = min(spread / square, 1.0)
        relative = (self.kurtosis + 2) * share**2 + 4 * share * (1 - share)
        return max(2 * self.width / relative, 0.5) if relative > 0 else math.inf

    @cached_property
    def kurtosis(self) -> float:
        """Excess kurtosis of an entry of a row at its place, masks included."""
        variance = self.row_variance
        fourth = sum(factor**4 * float(entry.cumulant(4)) for entry, factor in self.sources)
        kurtosis = fourth / variance**2 if variance > 0 and variance**2 > 0 else 0.0
        keep = 1 - float(self.spec.dropout)
        return (3 + kurtosis) / keep - 3

    @cached_property
    def free_kurtosis(self) -> float:
        """Excess kurtosis of what a row does not share with the others, m z + (m - 1) c.

        z is what it draws, c the rest of mean square C, m a mask: 1/q with probability q, else 0.
        E c^4 is taken as 3 C^2, which is more than that of a constant.
        """
        q, z = 1 - float(self.spec.dropout), self.row_variance
        if q == 1 or self.spec.norm is not None:
            return self.kurtosis
        c = max(self.square * q - z, 0.0)
        variance = z / q + c * (1 - q) / q
        if not variance > 0:
            return 0.0
        z, c, off = z / variance, c / variance, 1 - q
        fourth = (self.kurtosis + 3) * q * z**2 / q**3
        fourth += 6 * z * c * off**2 / q**3 + 3 * c**2 * (off**4 / q**3 + off)
        return fourth - 3

    @cached_property
    def skewness(self) -> float:
        """Of an entry of a row at its place."""
        variance = self.row_variance
        third = sum(factor**3 * float(entry.cumulant(3)) for entry, factor in self.sources)
        return third / variance**1.5 if variance > 0 and variance**1.5 > 0 else 0.0


def _is_centred(drawn: Distribution) -> bool:
    """Whether a law is Gaussian with mean 0."""
    return bool(drawn.gaussian and drawn.location == 0)
