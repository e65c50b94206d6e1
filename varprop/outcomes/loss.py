"""Moments of the stage loss."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar

from varprop.outcomes.head import HeadMoments
from varprop.outcomes.moments import quantity
from varprop.outcomes.own_loss import grid_step, own_token_loss
from varprop.outcomes.own_token import OwnToken
from varprop.quadrature import expected_loss, expected_loss_excess


class Loss(HeadMoments):
    """The first cross-entropy, E log sum_v e^{l_v} - E l_target.

    Given the hidden state, the logits of a Gaussian head are independent N(shared, spread) with
    spread = factor^2 d_model Var(e); what they share drops out.

    Attributes, floats (None where not known):
        mean: of a uniform target and a hidden state that is independent of the head.
        excess, ratio: mean - log(vocab_size), without cancellation, and mean / log(vocab_size).
        own_token, other_token: at depth zero, where the target is the input token or another one;
            they differ from the mean in a tied head, whose own row the hidden state contains.
        depth_zero: of a uniform target at depth zero.
    """

    further: ClassVar[tuple[str, ...]] = (
        "excess",
        "ratio",
        "own_token",
        "other_token",
        "depth_zero",
    )

    @cached_property
    def own(self) -> OwnToken | None:
        """The own token's logit, if it is not just like any other's."""
        if not self.tied or not self.hidden.live:
            return None
        own = OwnToken(self.hidden, self.head.factor)
        return None if own.independent else own

    @cached_property
    def vocab_size(self) -> int:
        """V."""
        return int(self.prediction.spec.vocab_size)

    @quantity
    def method(self) -> Any:
        """Quadrature, or asymptotic with what is neglected."""
        if self.hidden.live is None:
            return "quadrature; None, as rows are constant and a LayerNorm leaves only rounding"
        if not self.error:
            return "quadrature"
        what = "logits taken to be Gaussian given the hidden state"
        if not self.tied or self.head.drawn.gaussian:
            what = what if not self.head.drawn.gaussian else "the own token's logit"
        return f"asymptotic: {what}, to a relative error of about {self.error:.1g}"

    @quantity
    def error(self) -> Any:
        """The relative error, from the logits' excess kurtosis and skewness given h."""
        if not self.hidden.live or self.vocab_size == 1:
            return 0.0
        error = 0.0 if self.head.drawn.gaussian else self._tails()
        if self.own is not None and self.own.known:
            error += self.own.error
        return error

    def _tails(self) -> float:
        """|kurtosis| (1 + m) / 12 + |skewness| sqrt(m (1 + m)) / 6, m = min(spread, 2 log V).

        The kurtosis given h is that of an entry times sum y^4 / d^2, about 3 / d.
        """
        d, entry = self.hidden.width, self.head.drawn
        most = min(self.head.spread, 2 * math.log(self.vocab_size))
        fourth = self.hidden.sums.of((4,)) or d * min(3.0, d)
        kurtosis = abs(entry.excess_kurtosis) * fourth / d**2
        skewness = entry.skewness / math.sqrt(d)
        return float(kurtosis * (1 + most) / 12 + skewness * math.sqrt(most * (1 + most)) / 6)

    def _over_rows(self, value: float, still: float) -> float:
        """The mean over all rows of what is `value` at rows with a direction, else `still`."""
        live = self.hidden.live
        assert live is not None
        return value if live == 1 else live * value + (1 - live) * still

    @quantity
    def mean(self) -> Any:
        """E log sum_v e^{l_v} - E l_target for a hidden state that is independent of the head."""
        if self.hidden.live is None:
            return None
        log_size = math.log(self.vocab_size)
        return self._over_rows(expected_loss(self.vocab_size, self.head.spread), log_size)

    @quantity
    def excess(self) -> Any:
        """The mean less log(vocab_size), to full relative accuracy."""
        if self.hidden.live is None:
            return None
        return self._over_rows(expected_loss_excess(self.vocab_size, self.head.spread), 0.0)

    @quantity
    def ratio(self) -> Any:
        """The mean over log(vocab_size); None for a vocabulary of one token."""
        if self.mean is None or self.vocab_size == 1:
            return None
        return self.mean / math.log(self.vocab_size)

    @quantity
    def own_token(self) -> Any:
        """The loss at depth zero where the target is the input token.

        Its error is below 1e-11 of the logits' std or of 1: what is smaller than that is lost.
        """
        return self._at_depth_zero[0]

    @quantity
    def other_token(self) -> Any:
        """The loss at depth zero where the target is another token; None if there is none."""
        return None if self.vocab_size == 1 else self._at_depth_zero[1]

    @quantity
    def depth_zero(self) -> Any:
        """The loss at depth zero for a uniform target."""
        own, other = self._at_depth_zero
        if own is None or other is None:
            return None
        return other + (own - other) / self.vocab_size

    @cached_property
    def _at_depth_zero(self) -> tuple[float | None, float | None]:
        """The losses at the own token and at another one."""
        if self.hidden.live is None:
            return None, None
        if self.vocab_size == 1:
            return 0.0, 0.0
        if self.own is None:
            return self.mean, self.mean
        if not self.own.known:
            return None, None
        spread, own = self.head.spread, self.own
        step = grid_step(self.vocab_size, spread, own.width)
        loss = own_token_loss(self.vocab_size, spread, own.law(step), step)
        return loss, loss + own.centred_mean
