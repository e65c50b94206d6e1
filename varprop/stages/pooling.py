"""Averages over places of the closed forms of one stage, and over which positions share a token.

With k_n the cumulants over draws at one place, <.> the average over places and e = k_1 - <k_1>:

    mean = <k_1>,  ensemble variance = <k_2>,  variance = <k_2> + <e^2>,
    fourth central moment = <k_4 + 3 k_2^2 + 4 k_3 e + 6 k_2 e^2 + e^4>.

What is the same at every place is taken out before it is squared, so nothing large cancels.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from .context import Context
from .place_polynomials import PlacePolynomial
from .rows import is_zero
from .stage import Stage

CERTAIN = 1
"""The probability of the only pattern there is; nothing is multiplied by it."""


class Forms:
    """The closed forms of one stage with their scalars put in, each evaluated once."""

    def __init__(self, stage: Stage, context: Context) -> None:
        self.stage, self.context = stage, context
        self._known: dict[tuple[str, str], PlacePolynomial] = {}

    def polynomial(self, what: str, power: int, tokens: str = "") -> PlacePolynomial:
        """The form ``what``, of degree ``power`` in the stage, where ``tokens`` share tokens."""
        tokens = tokens or ("01" if self.stage.is_pair else "0")
        if (what, tokens) not in self._known:
            found = self.context.polynomial(self.stage, what, tokens)
            if self.stage.factor is not None:
                found = found.scaled(self.context.value(self.stage.factor) ** power)
            self._known[what, tokens] = found
        return self._known[what, tokens]

    def averaged(self, polynomial: PlacePolynomial) -> Any:
        """Its mean over places."""
        return polynomial.averaged(self.context.average)

    def two_tokens(self) -> list[tuple[Any, str]]:
        """Whether two positions share a token, with probabilities."""
        repeat = self.context.value("token_repeat")
        return [(CERTAIN, "01")] if is_zero(repeat) else [(1 - repeat, "01"), (repeat, "00")]

    def three_tokens(self) -> list[tuple[Any, str]]:
        """Which of three positions share a token, with probabilities."""
        repeat = self.context.value("token_repeat")
        if is_zero(repeat):
            return [(CERTAIN, "012")]
        one_pair = [(repeat * (1 - repeat), tokens) for tokens in ("001", "010", "011")]
        return [((1 - repeat) * (1 - 2 * repeat), "012"), *one_pair, (repeat**2, "000")]


class Pooled(Forms):
    """A stage whose cumulants at a place are polynomials of the draws' cumulants."""

    def cumulant(self, order: int, tokens: str) -> PlacePolynomial:
        """The cumulant over draws at a place, given which positions share a token."""
        return self.polynomial(f"cumulant {order}", order, tokens)

    def patterns(self, same_token: bool | None = None) -> list[tuple[Any, str]]:
        """Which of the stage's own positions share a token, with probabilities."""
        if not self.stage.is_pair:
            return [(CERTAIN, "0")]
        if same_token is None:
            return self.two_tokens()
        return [(CERTAIN, "00" if same_token else "01")]

    def mixed(self, order: int) -> PlacePolynomial:
        """The cumulant averaged over which positions share a token."""
        return _sum((weight, self.cumulant(order, tokens)) for weight, tokens in self.patterns())

    def mean(self) -> Any:
        """<k_1>."""
        return self.averaged(self.mixed(1))

    def second_moment(self) -> Any:
        """<k_2 + k_1^2>."""
        mean, variance = self.mean(), self.variance
        return None if mean is None or variance is None else variance + mean * mean

    @cached_property
    def ensemble_variance(self) -> Any:
        """<k_2>, with the variance of k_1 over which positions share a token."""
        total, patterns = self.mixed(2), self.patterns()
        if len(patterns) > 1:
            departures = ((w, self.cumulant(1, tokens) - self.mixed(1)) for w, tokens in patterns)
            total = total + _sum((w, departure * departure) for w, departure in departures)
        return self.averaged(total)

    @cached_property
    def variance(self) -> Any:
        """<k_2> + <e^2>."""
        within, between = self.ensemble_variance, self.mixed(1).variance(self.context.average)
        return None if within is None or between is None else within + between

    def fourth_cumulant(self) -> Any:
        """The fourth central moment less 3 variance^2, taken off before averages are added up."""
        mean, variance = self.mixed(1), self.variance
        moving = self.averaged(mean.moving())
        if self.context.is_too_long(self.stage) or moving is None or variance is None:
            return None
        total, patterns = PlacePolynomial({(): -3 * (variance * variance)}), self.patterns()
        for weight, tokens in patterns:
            k2, k4 = self.cumulant(2, tokens), self.cumulant(4, tokens)
            fourth = k4 + (k2 * k2).scaled(3)
            if len(patterns) > 1 or mean.moving():
                e = self.cumulant(1, tokens) - mean + mean.moving() + PlacePolynomial({(): -moving})
                square = e * e
                fourth = fourth + (self.cumulant(3, tokens) * e).scaled(4)
                fourth = fourth + (k2 * square).scaled(6) + square * square
            total = total + (fourth if weight is CERTAIN else fourth.scaled(weight))
        return self.averaged(total)

    def cross_position_moment(self) -> Any:
        """E[x_tc x_sc], averaged over which positions share a token."""
        terms = (
            (weight, self.polynomial("cross", 2, tokens)) for weight, tokens in self.two_tokens()
        )
        return self.averaged(_sum(terms))

    def row_variance(self) -> Any:
        """<k_2 - cov(l, l')> + <(k_1 - k_1')^2>/2 for two scores l, l' of one query."""
        total = PlacePolynomial()
        for weight, tokens in self.three_tokens():
            other = self.cumulant(1, _renumbered(tokens[::2])).relabelled({"s": "r"})
            difference = self.cumulant(1, _renumbered(tokens[:2])) - other
            total = total + self.polynomial("row", 2, tokens).scaled(weight)
            total = total + (difference * difference).scaled(weight / 2)
        return self.averaged(total)

    def at(
        self, place: dict[str, int], channel: int | None, same_token: bool | None
    ) -> tuple[Any, Any, Any]:
        """Mean, variance over draws and mean square at one place."""

        def here(order: int, tokens: str) -> Any:
            polynomial = self.cumulant(order, tokens)
            return polynomial.averaged(lambda parts: self.context.at(parts, place, channel))

        found = [(w, here(1, tokens), here(2, tokens)) for w, tokens in self.patterns(same_token)]
        mean = sum(weight * first for weight, first, _ in found)
        variance = sum(weight * (second + (first - mean) ** 2) for weight, first, second in found)
        return mean, variance, variance + mean**2


class PooledAfterNorm(Forms):
    """A stage that reads rows y after a norm with eps = 0: |y|^2 is d_model, whatever went in.

    Moments given y are polynomials of y's power sums; an attribute is known where only known ones
    occur.
    """

    def raw(self, order: int) -> Any:
        """The mean of the power over draws and places, or None."""
        return self.averaged(self.polynomial(f"moment {order}", order))

    def mean(self) -> Any:
        """E[x]."""
        return self.raw(1)

    def second_moment(self) -> Any:
        """E[x^2]."""
        return self.raw(2)

    @cached_property
    def variance(self) -> Any:
        """E[x^2] - E[x]^2."""
        mean, square = self.raw(1), self.raw(2)
        return None if mean is None or square is None else square - mean * mean

    @cached_property
    def ensemble_variance(self) -> Any:
        """The variance less that of the mean over places, if the mean is known at each place."""
        known = self.context.known(self.polynomial("moment 1", 1))
        spread = None if known is None else known.variance(self.context.average)
        return None if self.variance is None or spread is None else self.variance - spread

    def fourth_cumulant(self) -> Any:
        """The fourth central moment less 3 variance^2, from the raw moments."""
        first, second, third, fourth = (self.raw(order) for order in range(1, 5))
        if first is None or second is None or third is None or fourth is None:
            return None
        central = fourth - 4 * third * first + 6 * second * first**2 - 3 * first**4
        return central - 3 * (second - first * first) ** 2

    def cross_position_moment(self) -> Any:
        """E[x_tc x_sc]."""
        return self.averaged(self.polynomial("cross", 2, "01"))

    def row_variance(self) -> Any:
        """E[l^2] - E[l l'] for two scores of one query."""
        square, product = self.raw(2), self.averaged(self.polynomial("shared", 2, "012"))
        return None if square is None or product is None else square - product

    def at(
        self, place: dict[str, int], channel: int | None, same_token: bool | None
    ) -> tuple[Any, Any, Any]:
        """Mean, variance over draws and mean square at one place."""

        def here(order: int) -> Any:
            known = self.context.known(self.polynomial(f"moment {order}", order))
            if known is None:
                return None
            return known.averaged(lambda parts: self.context.at(parts, place, channel))

        mean, square = here(1), here(2)
        variance = None if mean is None or square is None else square - mean**2
        return mean, variance, square


def _sum(weighted: Iterable[tuple[Any, PlacePolynomial]]) -> PlacePolynomial:
    total = PlacePolynomial()
    for weight, polynomial in weighted:
        total = total + (polynomial if weight is CERTAIN else polynomial.scaled(weight))
    return total


def _renumbered(tokens: str) -> str:
    """The pattern of two positions, whatever their tokens are called."""
    return "00" if tokens[0] == tokens[1] else "01"
