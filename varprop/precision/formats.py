"""Floating-point formats: their thresholds, and rounding to nearest even from double precision."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from varprop.fields.validation import refusal

FORMATS = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


class Format(NamedTuple):
    """A format, with thresholds on the magnitude of a double that is rounded to it.

    Attributes:
        name: of the data type.
        largest: finite number.
        eps: distance from 1 to the next number.
        smallest_subnormal: number above 0.
        overflow: the least double that does not stay finite.
        nonzero: the least double that does not become 0.
        normal: the least double that does not become 0 or subnormal.
    """

    name: str
    largest: float
    eps: float
    smallest_subnormal: float
    overflow: float
    nonzero: float
    normal: float

    def rounded(self, value: float) -> float:
        """The nearest number, the even one of two; past the largest what the format has there.

        Rounded here, in one step: ml_dtypes goes through single precision, which rounds twice.
        """
        magnitude = abs(value)
        if magnitude >= self.overflow or math.isnan(value):
            beyond = math.nan if self.name.endswith("fn") else math.inf
            return math.copysign(beyond, value)
        exponent = math.frexp(magnitude)[1] - 1
        step = max(math.ldexp(self.eps, exponent), self.smallest_subnormal)
        return math.copysign(round(magnitude / step) * step, value)

    def variance_factor(self, factor: float) -> float:
        """What rounding a factor makes of the variance of products, relative to the exact one."""
        return (self.rounded(factor) / factor) ** 2 if factor else 1.0

    @property
    def stall_length(self) -> int:
        """The first of 1, 2, 3, ... to which adding 1 changes nothing."""
        total = 1.0
        while (after := self.rounded(total + 1)) > total:
            total = after
        return int(total)


def format_named(dtype: object) -> Format:
    """Return the format of a name.

    Raises:
        TypeError: `dtype` is not a string.
        ValueError: `dtype` is none of the formats.
    """
    if not isinstance(dtype, str):
        raise TypeError(refusal("dtype", f"one of {', '.join(FORMATS)}", dtype))
    return _format(dtype)


@lru_cache
def _format(dtype: str) -> Format:
    if dtype not in FORMATS:
        raise ValueError(refusal("dtype", f"one of {', '.join(FORMATS)}", dtype))
    info = _finfo(dtype)
    largest, eps = float(info.max), float(info.eps)
    least, normal = float(info.smallest_subnormal), float(info.smallest_normal)
    step = math.ldexp(eps, math.frexp(largest)[1] - 1)
    overflow = largest + step / 2
    if (largest / step) % 2 == 0:  # the tie goes back to the largest
        overflow = math.nextafter(overflow, math.inf)
    return Format(
        dtype,
        largest,
        eps,
        least,
        overflow,
        math.nextafter(least / 2, math.inf),
        normal - least / 2,
    )


def _finfo(dtype: str) -> Any:
    if dtype == "float16":
        return np.finfo(np.float16)
    import ml_dtypes

    finfo: Any = ml_dtypes.finfo
    return finfo(dtype)
