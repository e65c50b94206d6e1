"""A number twice: as a formula predicts it and as an experiment measures it.

>>> q = stage("scaled_embedding.variance", d_model=16, n_heads=1, embedding="normal(std=1)")
>>> q.predict()
16.0
>>> q.measure()  # doctest: +SKIP
Estimate(value=16.02, stderr=0.03)

Both sides of every stage are computed once for each specification, whoever asks.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varprop.predict import Prediction, predict
from varprop.simulation.estimates import Estimate
from varprop.simulation.measurement import Measurement
from varprop.spec import TransformerSpec

SEED = 20260
WORK = 1.5e9
"""Operations that one measurement may cost, roughly; it sets the number of replicates."""
LARGEST = 2**24
"""Weights of one head, or entries of a direct experiment, beyond which nothing is measured."""


class Quantity(NamedTuple):
    """How to predict and how to measure one number; None where measuring would cost too much."""

    predict: Callable[[], float]
    measure: Callable[[], Estimate | None]
    source: Callable[[], str] = str
    """Where the measured number comes from, if not from an experiment made now."""


def stage(attribute: str, **fields: Any) -> Quantity:
    """One attribute, "stage.attribute", of a specification: from predict and from measure."""
    key = tuple(sorted(fields.items()))
    name, what = attribute.split(".")

    def measured() -> Estimate | None:
        found = measurement(key)
        return None if found is None else getattr(found[name], what)

    return Quantity(lambda: float(getattr(prediction(key)[name], what)), measured)


@lru_cache(maxsize=1024)
def prediction(key: tuple[tuple[str, Any], ...]) -> Prediction:
    """The prediction for some fields."""
    return predict(**dict(key))


@lru_cache(maxsize=256)
def measurement(key: tuple[tuple[str, Any], ...]) -> Measurement | None:
    """The measurement for some fields, with as many replicates as it may cost."""
    from varprop.simulate import measure

    fields = dict(key)
    spec = TransformerSpec(**fields)
    d, n, width = spec.d_model, min(spec.seq_len, 128), spec.d_head
    drawn = 0 if spec.identity else 2 * spec.n_heads * width * d
    if drawn > 2 * LARGEST:
        return None
    cost = 40 * drawn + n * (100 * d + 3 * (d * width + n * width) * spec.n_heads)
    replicates = min(max(int(WORK / cost) // 2 * 2, 32), 400)
    return measure(**fields, replicates=replicates, seed=SEED, progress=False)


def combine(function: Callable[..., float], *parts: Quantity) -> Quantity:
    """A function of independent quantities; standard errors by the delta method.

    Where the function has no value (a quotient by 0) both sides are nan.
    """

    def value_of(*values: float) -> float:
        try:
            return function(*values)
        except (ArithmeticError, ValueError):
            return math.nan

    def measured() -> Estimate | None:
        estimates = [part.measure() for part in parts]
        known = [estimate for estimate in estimates if estimate is not None]
        if len(known) < len(parts):
            return None
        values = [estimate.value for estimate in known]
        centre, square = value_of(*values), 0.0
        for place, (value, stderr) in enumerate(known):
            step = stderr or 0.0
            moved = [*values[:place], value + step, *values[place + 1 :]]
            back = [*values[:place], value - step, *values[place + 1 :]]
            square += ((value_of(*moved) - value_of(*back)) / 2) ** 2
        return Estimate(centre, math.sqrt(square))

    return Quantity(lambda: value_of(*(part.predict() for part in parts)), measured)


def growth(widths: Sequence[int], parts: Sequence[Quantity]) -> Quantity:
    """The exponent of d_model: the least-squares slope of logarithms over the widths."""
    x = np.log(np.array(widths, float))
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)

    def slope(*values: float) -> float:
        return round(float(weights @ [math.log(value) for value in values]), 12)

    return combine(slope, *parts)


def arithmetic(predicted: float, single: Callable[[Any], Any]) -> Quantity:
    """A plain calculation, done once more in single precision: `single` gets np.float32."""

    def measured() -> Estimate:
        value = float(single(np.float32))
        return Estimate(value, abs(value) * float(np.finfo(np.float32).eps))

    return Quantity(lambda: predicted, measured)


def experiment(
    name: str,
    predicted: Callable[[], float],
    sample: Callable[[np.random.Generator], NDArray[np.float64]],
    statistic: str = "mean",
    entries: int = 0,
) -> Quantity:
    """A number predicted by a formula and measured on independent draws, their mean or variance.

    `name` seeds it; with more `entries` than LARGEST it is not measured.
    """

    def measured() -> Estimate | None:
        if entries > LARGEST:
            return None
        draws = sample(np.random.default_rng([SEED, zlib.crc32(name.encode())]))
        count = math.sqrt(draws.size)
        if statistic == "mean":
            return Estimate(float(draws.mean()), float(draws.std(ddof=1)) / count)
        squares = (draws - draws.mean()) ** 2
        value = float(squares.sum()) / (draws.size - 1)
        return Estimate(value, float(squares.std(ddof=1)) / count)

    return Quantity(predicted, lru_cache(maxsize=1)(measured))


def times(factor: float, part: Quantity) -> Quantity:
    """A multiple."""
    return combine(lambda value: factor * value, part)


def root(part: Quantity) -> Quantity:
    """A square root."""
    return combine(math.sqrt, part)


def ratio(above: Quantity, below: Quantity) -> Quantity:
    """A quotient."""
    return combine(lambda x, y: x / y, above, below)
