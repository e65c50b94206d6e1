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

import numpy as np

from varprop.positions import Sinusoidal

from .context import Context
from .normed import split_normed
from .place_polynomials import PlacePolynomial, times
from .rows import is_zero
from .stage import Stage

CERTAIN = 1
"""The probability of the only pattern there is; nothing is multiplied by it."""

ROUNDING = 1e-14
"""What is left of a difference of two equal numbers that were averages, relative to them."""

LOST = 1e-8
"""Share of a raw moment that a central one must hold: with less, rounding shows in 7 digits."""


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

    def patterns(self, same_token: bool | None = None) -> list[tuple[Any, str]]:
        """Which of the stage's own positions share a token, with probabilities."""
        if not self.stage.is_pair:
            return [(CERTAIN, "0")]
        if same_token is None:
            return self.two_tokens()
        return [(CERTAIN, "00" if same_token else "01")]

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
    """A stage that reads rows y after a norm.

    Moments given y are polynomials of contractions of y; an attribute is known where only known
    ones occur.
    """

    def given(self, what: str, power: int, patterns: list[tuple[Any, str]]) -> Any:
        """A form averaged over places and over which positions share a token, or None."""
        total: Any = 0
        for weight, tokens in patterns:
            average = self.context.average_after_norm(tokens)
            value = self.polynomial(what, power, tokens).averaged(average)
            if value is None:
                return None
            if weight is CERTAIN:
                return value
            total = total + times(weight, value)
        return total

    def raw(self, order: int) -> Any:
        """The mean of the power over draws and places, or None."""
        return self.given(f"moment {order}", order, self.patterns())

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
        return None if mean is None or square is None else _difference(square, mean * mean)

    @cached_property
    def ensemble_variance(self) -> Any:
        """E[x^2] less the mean square over places of the mean, if that is known at each place."""
        between = self.between()
        if self.variance is None or between is None:
            return None
        return _difference(self.variance, between)

    def between(self) -> Any:
        """The variance over places of the mean over draws."""
        forms = [
            (w, tokens, self.polynomial("moment 1", 1, tokens)) for w, tokens in self.patterns()
        ]
        if not any(form for _, _, form in forms):
            return 0
        if isinstance(self.context.spec.position, Sinusoidal):
            return self.context.normed.spread(self.stage, forms)
        known = [(w, self.context.normed.anywhere(form, tokens)) for w, tokens, form in forms]
        if any(form is None for _, form in known):
            return None
        mean = _sum((w, form) for w, form in known if form is not None)
        return mean.variance(self.context.average)

    def fourth_cumulant(self) -> Any:
        """The fourth central moment less 3 variance^2, from the raw moments.

        None where rounding of these is all that would be left.
        """
        first, second, third, fourth = (self.raw(order) for order in range(1, 5))
        if first is None or second is None or third is None or fourth is None:
            return None
        central = fourth - 4 * third * first + 6 * second * first**2 - 3 * first**4
        result = central - 3 * self.variance**2
        if not isinstance(central, float | np.ndarray):
            return result
        kept = (central >= LOST * fourth) & (self.variance >= LOST * second)
        if isinstance(central, np.ndarray):
            return np.where(kept, result, np.nan)
        return result if kept else None

    def cross_position_moment(self) -> Any:
        """E[x_tc x_sc], averaged over which positions share a token."""
        return self.given("cross", 2, self.two_tokens())

    def row_variance(self) -> Any:
        """E[l^2] - E[l l'] for two scores of one query."""
        square, product = self.raw(2), self.given("shared", 2, self.three_tokens())
        return None if square is None or product is None else _difference(square, product)

    def at(
        self, place: dict[str, int], channel: int | None, same_token: bool | None
    ) -> tuple[Any, Any, Any]:
        """Mean, variance over draws and mean square at one place."""
        mean, square = (self._here(order, place, channel, same_token) for order in (1, 2))
        known = mean is not None and square is not None
        return mean, _difference(square, mean**2) if known else None, square

    def _here(
        self, order: int, place: dict[str, int], channel: int | None, same_token: bool | None
    ) -> Any:
        from varprop.normalisation.rows import Place

        where, total = Place(place, channel), 0.0
        for weight, tokens in self.patterns(same_token):
            for parts, coefficient in self.polynomial(f"moment {order}", order, tokens).items():
                if coefficient == 0:
                    continue
                normed, fixed = split_normed(parts)
                factor = self.context.normed.expectation(normed, tokens, where) if normed else 1
                if factor is None:
                    return None
                total += weight * coefficient * factor * self.context.at(fixed, place, channel)
        return total


def _difference(square: Any, less: Any) -> Any:
    """What is left of a mean square; 0 where that is no more than rounding."""
    left = square - less
    if isinstance(left, float | np.ndarray):
        kept = np.where(np.abs(left) > ROUNDING * np.abs(square), left, 0.0)
        return kept if isinstance(left, np.ndarray) else float(kept)
    return left


def _sum(weighted: Iterable[tuple[Any, PlacePolynomial]]) -> PlacePolynomial:
    total = PlacePolynomial()
    for weight, polynomial in weighted:
        total = total + (polynomial if weight is CERTAIN else polynomial.scaled(weight))
    return total


def _renumbered(tokens: str) -> str:
    """The pattern of two positions, whatever their tokens are called."""
    return "00" if tokens[0] == tokens[1] else "01"
