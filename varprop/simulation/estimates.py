"""Estimates: a measured number and its standard error, how they print and how they are judged."""

import math
from typing import NamedTuple

ROUNDING = 1024 * 2.0**-53
"""Relative size of what rounding may do to a statistic, see `z_score`."""


class Estimate(NamedTuple):
    """A measured number and its standard error (inf: too few replicates to tell)."""

    value: float
    stderr: float

    def __str__(self) -> str:
        return format_estimate(self)


def z_score(predicted: float, estimate: Estimate, magnitude: float = 0.0) -> float:
    """How many standard errors `estimate` lies above `predicted`, rounding allowed for.

        z = (value - predicted) / sqrt(stderr^2 + (ROUNDING * size)^2)

    `size` is the largest of |value|, |predicted| and `magnitude`, the size of the terms that
    cancel in the quantity (the second moment, for a covariance). Some quantities do not vary
    between replicates at all, or only by rounding: a table of sines, the mean square of a
    normalised row. Rounding errors repeat in every replicate and are not averaged away, so the
    spread over replicates says nothing about them, and both sides make them.

    ROUNDING = 1024 u, where u = 2^-53 is the unit roundoff, bounds the worst case. A term passes
    fewer than 30 roundings on its way through scaling, sums, norm, projection and powers; a sum
    adds the height of its summation tree, about 20 where it is pairwise, and about the square
    root of its length over 4, up to 256, where BLAS adds 2^20 channels in sequence; squares
    double both: 600 u. The phase of a sinusoid, position times frequency, is rounded by up to
    u * seq_len; at most some 720 positions are all measured, and on average over channels and
    positions half of that remains: 400 u. Errors of random sign mostly stay below 10 u.

    Args:
        predicted: the number that a formula gives.
        estimate: the measured number and its standard error.
        magnitude: `MeasuredMoments.magnitude(attribute)`, or 0 if nothing cancels.
    """
    size = max(abs(predicted), abs(estimate.value), magnitude)
    spread = math.hypot(estimate.stderr, ROUNDING * size)
    return (estimate.value - predicted) / spread if spread else 0.0


def format_estimate(estimate: Estimate) -> str:
    """`value ± stderr`, the standard error to two significant figures, the value to match."""
    value, stderr = estimate
    common = notation(stderr, value)
    if common is None:
        return f"{write(value, None)} ± {stderr:.2g}"
    decimals, power = common
    if not power:
        return f"{write(value, common)} ± {write(stderr, common)}"
    both = (write(number / 10.0**power, (decimals, 0)) for number in estimate)
    return f"({' ± '.join(both)})e{power:+03d}"


def notation(stderr: float, *values: float) -> tuple[int, int] | None:
    """Return decimals and the power of ten that show `stderr` to two figures, `values` to match.

    None if the standard error says nothing about the values: it is 0, infinite or of rounding.
    """
    largest = max(map(abs, values))
    if not max(ROUNDING * largest, 1e-300) < stderr < math.inf:
        return None
    # Exponents after rounding: a standard error of 0.0996 is printed as 0.10.
    last = _exponent(stderr) - 1
    first = max(_exponent(largest), last + 1) if largest else last + 1
    if first < 6 and (last > -7 or first > -3):
        return max(-last, 0), 0
    return first - last, first


def write(number: float, common: tuple[int, int] | None) -> str:
    """Write a number in a `notation`; to ten significant figures if there is none."""
    if common is None:
        return f"{number:z.10g}"
    decimals, power = common
    exponent = f"e{power:+03d}" if power else ""
    return f"{number / 10.0**power:z.{decimals}f}{exponent}"


def _exponent(number: float) -> int:
    return int(f"{number:.1e}".partition("e")[2])
