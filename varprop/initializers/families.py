"""What each named initializer is: its arguments, and its distribution as a formula in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from varprop.expressions import FIELDS, Functions
from varprop.fields.named import Parameter, Signature
from varprop.initializers.distributions import GAUSSIAN, POINT, UNIFORM, Distribution, Law
from varprop.initializers.truncation import TruncatedNormal

_NUMBER = Parameter(required=True)
_FANS = {"fan_in": Parameter(condition="> 0"), "fan_out": Parameter(condition="> 0")}
_GAIN = {"gain": Parameter("1", ">= 0")} | _FANS
_CUT = (*FIELDS, "std")

SIGNATURES: dict[str, Signature] = {
    "normal": {"mean": Parameter("0"), "std": Parameter("1", ">= 0", shown=True)},
    "uniform": {"low": _NUMBER, "high": _NUMBER},
    "truncated_normal": {
        "std": Parameter("1", "> 0", shown=True),
        "low": Parameter("-2*std", names=_CUT),
        "high": Parameter("2*std", names=_CUT),
        "variance_preserving": Parameter(False, kind=bool),
    },
    "xavier_uniform": _GAIN,
    "xavier_normal": _GAIN,
    "kaiming_uniform": {"a": Parameter("sqrt(5)")} | _FANS,
    "kaiming_normal": {"a": Parameter("0")} | _FANS,
    "lecun_normal": _FANS,
    "zeros": {},
    "constant": {"value": _NUMBER},
}

Values = Mapping[str, Any]
Family = Callable[[Values, Functions], Distribution]


def _of_variance(law: Law, variance: Callable[[Values], Any]) -> Family:
    """Return the family of mean 0 whose variance is a formula in arguments and fans.

    The uniform law on [-1, 1] has variance 1/3, hence three times the variance as squared scale.
    """
    factor = 3 if law is UNIFORM else 1

    def family(v: Values, functions: Functions) -> Distribution:
        square = factor * variance(v)
        return Distribution(law, 0, functions.sqrt(square), square, functions)

    return family


def _normal(v: Values, functions: Functions) -> Distribution:
    return Distribution(GAUSSIAN, _tidy(v["mean"]), v["std"], v["std"] ** 2, functions)


def _uniform(v: Values, functions: Functions) -> Distribution:
    half = v["high"] / 2 - v["low"] / 2  # high - low could overflow
    return Distribution(UNIFORM, _tidy(v["low"] / 2 + v["high"] / 2), half, half**2, functions)


def _truncated(v: Values, functions: Functions) -> Distribution:
    # Divided by the std that they were written with: -2*std over std is -2 whatever std is.
    low, high = (v[key] / v["std_as_used"] for key in ("low", "high"))
    if functions.symbolic:
        low, high = (cut.subs(v["std_as_used"], v["std"]) for cut in (low, high))
    law = TruncatedNormal(low, high, v["unit"], functions)
    return Distribution(law, 0, v["std"], v["std"] ** 2, functions)


def _constant(v: Values, functions: Functions) -> Distribution:
    return Distribution(POINT, _tidy(v.get("value", 0)), 0, 0, functions)


def _tidy(mean: Any) -> Any:
    """Return `mean`, or the int 0 where it is one number and that is 0."""
    return mean if isinstance(mean, np.ndarray) or mean != 0 else 0


def _xavier(v: Values) -> Any:
    return 2 * v["gain"] ** 2 / (v["fan_in"] + v["fan_out"])


def _kaiming(v: Values) -> Any:
    return 2 / ((1 + v["a"] ** 2) * v["fan_in"])


FAMILIES: dict[str, Family] = {
    "normal": _normal,
    "uniform": _uniform,
    "truncated_normal": _truncated,
    "xavier_uniform": _of_variance(UNIFORM, _xavier),
    "xavier_normal": _of_variance(GAUSSIAN, _xavier),
    # nn.Linear draws its bias uniformly within 1/sqrt(fan_in), whatever `a` is.
    "kaiming_uniform": _of_variance(
        UNIFORM, lambda v: 1 / (3 * v["fan_in"]) if v["bias"] else _kaiming(v)
    ),
    "kaiming_normal": _of_variance(GAUSSIAN, _kaiming),
    "lecun_normal": _of_variance(GAUSSIAN, lambda v: 1 / v["fan_in"]),
    "zeros": _constant,
    "constant": _constant,
}
