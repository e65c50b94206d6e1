"""What the moments of all stages behind the logits share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property, lru_cache, wraps
from operator import getitem
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from varprop.fields.validation import double_precision
from varprop.moments import ATTRIBUTES, plain
from varprop.stages.stage import Outcome

if TYPE_CHECKING:
    from varprop.predict import Prediction


@lru_cache(maxsize=1)
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[Any]:
    """Keep NumPy to one thread: on tables of some thousand numbers more of them only wait."""
    limits: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limits


def quantity(compute: Callable[[Any], Any]) -> cached_property[Any]:
    """An attribute that is computed for one spec of single numbers, and point by point for arrays.

    Raises (when read):
        ValueError: a number leaves the range of double precision.
    """
    name = compute.__name__

    @wraps(compute)
    def read(moments: OutcomeMoments) -> Any:
        if moments.prediction.spec.shape:
            return moments._broadcast(name)
        with double_precision(f"{moments.outcome.name}.{name}"), _one_thread():
            return compute(moments)

    return cached_property(read)


class OutcomeMoments:
    """Moments of one stage behind the logits; each attribute is computed when it is first read.

    `further` names the attributes of its own, `exact` those that the stated error leaves alone.  A
    value is a float, None where nothing is known, and
    an array (nan where nothing is known) where fields are arrays.
    """

    further: ClassVar[tuple[str, ...]] = ()
    exact: ClassVar[frozenset[str]] = frozenset()
    outcome: Outcome
    prediction: Prediction

    mean: Any = None
    variance: Any = None
    ensemble_variance: Any = None
    second_moment: Any = None
    excess_kurtosis: Any = None
    cross_position_moment: Any = None
    row_variance: Any = None
    shares: Any = None

    def __init__(self, outcome: Outcome, prediction: Prediction) -> None:
        vars(self).update(outcome=outcome, prediction=prediction)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Moments are immutable, {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Moments are immutable, {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return getitem, (self.prediction, self.outcome.name)

    @quantity
    def std(self) -> Any:
        """Square root of the variance."""
        return None if self.variance is None else float(np.sqrt(self.variance))

    @quantity
    def method(self) -> Any:
        """How the numbers were obtained: quadrature, or asymptotic with what is neglected."""
        return "quadrature"

    @quantity
    def error(self) -> Any:
        """The relative error that the method states; 0 for a quadrature."""
        return 0.0

    def error_of(self, attribute: str) -> Any:
        """The relative error of one attribute."""
        return 0.0 if attribute in self.exact else self.error

    @cached_property
    def _points(self) -> list[OutcomeMoments]:
        make, name = type(self.prediction), self.outcome.name
        points: list[Any] = [make(spec)[name] for spec in self.prediction.spec.points()]
        return points

    def _broadcast(self, name: str) -> Any:
        values = [getattr(point, name) for point in self._points]
        shape = self.prediction.spec.shape
        if any(isinstance(value, str) for value in values):
            return np.array(values).reshape(shape)
        known = [np.nan if value is None else value for value in values]
        return np.array(known, dtype=float).reshape(shape)

    def to_dict(self) -> dict[str, Any]:
        """The attributes as plain data."""
        names = (*ATTRIBUTES, *self.further, "method")
        return {name: plain(getattr(self, name)) for name in names}

    def __repr__(self) -> str:
        return f"<Moments of {self.outcome.name}: mean {self.mean}, variance {self.variance}>"
