"""The attributes of a stage, computed from closed forms per place when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from typing import Any, NamedTuple

import numpy as np

from varprop.stages.context import Context
from varprop.stages.place_polynomials import PlacePolynomial
from varprop.stages.rows import is_zero
from varprop.stages.stage import Stage

ATTRIBUTES = (
    "mean",
    "variance",
    "ensemble_variance",
    "second_moment",
    "std",
    "excess_kurtosis",
    "cross_position_moment",
    "row_variance",
)


CERTAIN = 1


def attribute(compute: Callable[[Moments], Any]) -> cached_property[Any]:
    """A lazily computed attribute whose overflow is an error with a name, not an infinity.

    Raises (when read):
        ValueError: if a number leaves the range of double precision.
    """

    @wraps(compute)
    def read(moments: Moments) -> Any:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            try:
                return compute(moments)
            except (OverflowError, FloatingPointError, ZeroDivisionError):
                raise ValueError(
                    f"{moments.stage.name}.{compute.__name__}: exceeds double precision with this "
                    "spec; accepted: scales, means and standard deviations nearer to 1"
                ) from None

    return cached_property(read)


class PlaceMoments(NamedTuple):
    """One place of a stage: mean, variance over draws, mean square; None where not known."""

    mean: float | None
    variance: float | None
    second_moment: float | None


class Moments:
    """What is known of one stage; each attribute is computed when it is first read.

    With k_n the cumulants over draws at one place and <.> the average over places:
    mean = <k_1>, ensemble_variance = <k_2>, variance = <k_2> + <k_1^2> - <k_1>^2, and the fourth
    central moment behind excess_kurtosis is <k_4 + 3 k_2^2 + 4 k_3 e + 6 k_2 e^2 + e^4> with e =
    k_1 - <k_1>. Values are floats, arrays where fields are arrays (nan where nothing is known), or
    None.
    """

    method = "exact"

    def __init__(self, stage: Stage, context: Context) -> None:
        self.stage, self._context = stage, context
        self._factor = 1 if stage.factor is None else context.value(stage.factor)
        self._polynomials: dict[tuple[str, str], PlacePolynomial] = {}

    @attribute
    def mean(self) -> Any:
        """Average over draws, positions, channels."""
        if self._normed:
            return self._finished(self._raw(1))
        return self._finished(self._mixed(1).averaged(self._context.average))

    @attribute
    def ensemble_variance(self) -> Any:
        """Variance over draws at one fixed place, averaged over places."""
        if self._normed:
            known = self._context.known(self._polynomial("moment 1", 1))
            variance = self._pooled_variance
            spread = None if known is None else known.variance(self._context.average)
            return self._finished(None if variance is None or spread is None else variance - spread)
        return self._finished(self._ensemble_variance)

    @attribute
    def variance(self) -> Any:
        """Variance over draws, positions and channels together."""
        return self._finished(self._pooled_variance)

    @attribute
    def second_moment(self) -> Any:
        """Mean square: variance + mean^2."""
        if self._normed:
            return self._finished(self._raw(2))
        mean = self._mixed(1).averaged(self._context.average)
        variance = self._pooled_variance
        return self._finished(None if mean is None or variance is None else variance + mean * mean)

    @attribute
    def std(self) -> Any:
        """Square root of the variance."""
        variance = self._pooled_variance
        return self._finished(None if variance is None else self._context.functions.sqrt(variance))

    @attribute
    def excess_kurtosis(self) -> Any:
        """Of the pooled distribution; None where the variance is 0."""
        variance, fourth = self._pooled_variance, self._fourth_central_moment
        if variance is None or fourth is None or is_zero(variance):
            return None
        if isinstance(variance, np.ndarray):
            variance = np.where(variance == 0, np.nan, variance)
        return self._finished(fourth / variance**2 - 3)

    @attribute
    def cross_position_moment(self) -> Any:
        """Mean over positions t != s and channels c of E[x_tc x_sc]; vectors only."""
        if not self.stage.is_vector:
            return None
        return self._finished(self._pair_average("cross"), positions=2)

    @attribute
    def row_variance(self) -> Any:
        """Mean over rows i of E[l_ij^2] - E[l_ij l_ij'] over distinct i, j, j';

        scores and logits only.
        """
        if not self.stage.is_pair:
            return None
        if self._normed:
            second, product = self._raw(2), self._raw_pair
            value = None if second is None or product is None else second - product
        else:
            value = self._row_variance
        return self._finished(value, positions=3)

    @attribute
    def shares(self) -> Any:
        """The input's second moment split over embedding, position and segment;

        cross terms are halved.
        """
        return None if self.stage.name != "input" else input_shares(self._context)

    def at(
        self, place: dict[str, int], channel: int | None, same_token: bool | None
    ) -> PlaceMoments:
        """Mean, variance over draws and mean square at one place."""

        def here(polynomial: PlacePolynomial | None) -> Any:
            if polynomial is None:
                return None
            return polynomial.averaged(lambda parts: self._context.at(parts, place, channel))

        weights = self._patterns(same_token)
        if self._normed:
            first, second = (
                self._context.known(self._polynomial(f"moment {n}", n)) for n in (1, 2)
            )
            mean, square = here(first), here(second)
            variance = None if mean is None or square is None else square - mean**2
            return PlaceMoments(*map(self._finished, (mean, variance, square)))
        means = [here(self._cumulant(1, tokens)) for _, tokens in weights]
        variances = [here(self._cumulant(2, tokens)) for _, tokens in weights]
        mean = sum(weight * m for (weight, _), m in zip(weights, means, strict=True))
        variance = sum(
            weight * (v + (m - mean) ** 2)
            for (weight, _), v, m in zip(weights, variances, means, strict=True)
        )
        return PlaceMoments(*map(self._finished, (mean, variance, variance + mean**2)))

    def to_dict(self) -> dict[str, Any]:
        """The attributes as plain data."""
        data: dict[str, Any] = {name: _plain(getattr(self, name)) for name in ATTRIBUTES}
        if self.shares is not None:
            data["shares"] = {part: _plain(share) for part, share in self.shares.items()}
        return data | {"method": self.method}

    def __repr__(self) -> str:
        return f"<Moments of {self.stage.name}: mean {self.mean}, variance {self.variance}>"

    @property
    def _normed(self) -> bool:
        return self._context.structure(self.stage.rows).normed

    def _patterns(self, same_token: bool | None = None) -> list[tuple[Any, str]]:
        """Which of the stage's positions share a token, with probabilities."""
        if not self.stage.is_pair:
            return [(CERTAIN, "0")]
        return (
            self._two_tokens() if same_token is None else [(CERTAIN, "00" if same_token else "01")]
        )

    def _two_tokens(self) -> list[tuple[Any, str]]:
        repeat = self._context.value("token_repeat")
        return [(CERTAIN, "01")] if is_zero(repeat) else [(1 - repeat, "01"), (repeat, "00")]

    def _three_tokens(self) -> list[tuple[Any, str]]:
        repeat = self._context.value("token_repeat")
        if is_zero(repeat):
            return [(CERTAIN, "012")]
        one_pair = [(repeat * (1 - repeat), tokens) for tokens in ("001", "010", "011")]
        return [((1 - repeat) * (1 - 2 * repeat), "012"), *one_pair, (repeat**2, "000")]

    def _polynomial(self, what: str, power: int, tokens: str | None = None) -> PlacePolynomial:
        tokens = tokens or ("01" if self.stage.is_pair else "0")
        if (what, tokens) not in self._polynomials:
            found = self._context.polynomial(self.stage, what, tokens)
            self._polynomials[what, tokens] = (
                found if self.stage.factor is None else found.scaled(self._factor**power)
            )
        return self._polynomials[what, tokens]

    def _cumulant(self, order: int, tokens: str) -> PlacePolynomial:
        return self._polynomial(f"cumulant {order}", order, tokens)

    def _mixed(self, order: int) -> PlacePolynomial:
        return self._sum(
            (weight, self._cumulant(order, tokens)) for weight, tokens in self._patterns()
        )

    @staticmethod
    def _sum(weighted: Iterable[tuple[Any, PlacePolynomial]]) -> PlacePolynomial:
        total = PlacePolynomial()
        for weight, polynomial in weighted:
            total = total + (polynomial if weight is CERTAIN else polynomial.scaled(weight))
        return total

    @cached_property
    def _ensemble_variance(self) -> Any:
        total, patterns = self._mixed(2), self._patterns()
        if len(patterns) > 1:
            departures = (
                (weight, self._cumulant(1, tokens) - self._mixed(1)) for weight, tokens in patterns
            )
            total = total + self._sum(
                (weight, departure * departure) for weight, departure in departures
            )
        return total.averaged(self._context.average)

    @cached_property
    def _pooled_variance(self) -> Any:
        if self._normed:
            mean, square = self._raw(1), self._raw(2)
            return None if mean is None or square is None else square - mean * mean
        within, between = self._ensemble_variance, self._mixed(1).variance(self._context.average)
        return None if within is None or between is None else within + between

    @cached_property
    def _fourth_central_moment(self) -> Any:
        if self._normed:
            first, second, third, fourth = (self._raw(order) for order in range(1, 5))
            if first is None or second is None or third is None or fourth is None:
                return None
            return fourth - 4 * third * first + 6 * second * first**2 - 3 * first**4
        mean = self._mixed(1)
        moving = mean.moving().averaged(self._context.average)
        if moving is None:
            return None
        total = PlacePolynomial()
        for weight, tokens in self._patterns():
            k1, k2, k3, k4 = (self._cumulant(order, tokens) for order in range(1, 5))
            departure = k1 - mean + mean.moving() + PlacePolynomial({(): -moving})
            square = departure * departure
            total = total + (
                k4
                + (k2 * k2).scaled(3)
                + (k3 * departure).scaled(4)
                + (k2 * square).scaled(6)
                + square * square
            ).scaled(weight)
        return total.averaged(self._context.average)

    def _pair_average(self, what: str) -> Any:
        total = self._sum(
            (weight, self._polynomial(what, 2, tokens)) for weight, tokens in self._two_tokens()
        )
        return total.averaged(self._context.average)

    @cached_property
    def _row_variance(self) -> Any:
        """E[l^2] - E[l l'] = <k_2 - cov(l, l')> + <(k_1 - k_1')^2>/2, over token patterns."""
        total = PlacePolynomial()
        for weight, tokens in self._three_tokens():
            first = self._cumulant(1, _renumbered(tokens[:2]))
            other = self._cumulant(1, _renumbered(tokens[::2])).relabelled({"s": "r"})
            difference = first - other
            total = total + self._polynomial("row", 2, tokens).scaled(weight)
            total = total + (difference * difference).scaled(weight / 2)
        return total.averaged(self._context.average)

    def _raw(self, order: int) -> Any:
        return self._polynomial(f"moment {order}", order).averaged(self._context.average)

    @cached_property
    def _raw_pair(self) -> Any:
        return self._polynomial("shared", 2, "012").averaged(self._context.average)

    def _finished(self, value: Any, positions: int = 1) -> Any:
        """Plain float, or array in the spec's shape; None where nothing is known."""
        spec, functions = self._context.spec, self._context.functions
        needed = max(positions, len(self.stage.definition.labels))
        if functions.symbolic or value is None:
            return value
        if np.isinf(value).any():
            raise OverflowError
        if not spec.shape:
            return None if spec.seq_len < needed else float(value)
        result = np.array(np.broadcast_to(value, spec.shape), dtype=float)
        result[np.broadcast_to(spec.seq_len < needed, spec.shape)] = np.nan
        return result


def input_shares(context: Context) -> dict[str, Any]:
    """What part of E[x^2] each summand of the input holds:

    (E[part^2] + E[part] E[others]) / E[x^2].
    """
    from varprop.stages import STAGES

    parts: dict[str, tuple[Any, Any]] = {}
    for name, stage in (("embedding", "scaled_embedding"), ("position", "position")):
        moments = Moments(STAGES[stage], context)
        present = STAGES[stage].present(context.spec)
        parts[name] = (moments.mean, moments.second_moment) if present else (0.0, 0.0)
    parts["segment"] = (0.0, 0.0)
    if context.spec.segment is not None:
        drawn = context.distribution("segment")
        parts["segment"] = (drawn.cumulant(1), drawn.cumulant(2) + drawn.cumulant(1) ** 2)
    mean = sum(first for first, _ in parts.values())
    held = {name: second + first * (mean - first) for name, (first, second) in parts.items()}
    total = sum(held.values())
    if is_zero(total):
        return dict.fromkeys(held)
    if isinstance(total, np.ndarray):
        total = np.where(total == 0, np.nan, total)
    return {name: value / total for name, value in held.items()}


def _renumbered(tokens: str) -> str:
    return "00" if tokens[0] == tokens[1] else "01"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (
            [None if v != v else v for v in value.ravel().tolist()]
            if value.ndim == 1
            else _nested(value.tolist())
        )
    return value


def _nested(value: Any) -> Any:
    if isinstance(value, list):
        return [_nested(item) for item in value]
    return None if value != value else value
