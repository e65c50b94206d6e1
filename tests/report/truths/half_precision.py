"""The truths of the page on half precision."""

import math

import ml_dtypes
import mpmath
import numpy as np

from ..laws import average
from .definitions import SCORE, independent, moment, scoring
from .registry import HEADS, MATRICES, equation, size

KINDS = {
    10: np.dtype(np.float16),
    7: np.dtype(ml_dtypes.bfloat16),
    2: np.dtype(ml_dtypes.float8_e5m2),
    3: np.dtype(ml_dtypes.float8_e4m3fn),
}
FORMATS = [size(m=10, k=15), size(m=7, k=127), size(m=2, k=15)]
DIGITS = [size(m=m) for m in KINDS]


def all_numbers(digits):
    """Every finite number of a format from 0 up, by its bits."""
    kind = KINDS[digits]
    bits = np.arange(2 ** (8 * kind.itemsize - 1), dtype=f"u{kind.itemsize}").view(kind)
    with np.errstate(invalid="ignore"):
        numbers = bits.astype(np.float64)
    return numbers[np.isfinite(numbers)]


@equation("half.overflow", r"x_{\infty}", FORMATS)
def _(o):
    """Half a step above the largest number, which single precision holds and the cast loses."""
    *_, below, largest = all_numbers(o.m)
    end = largest + (largest - below) / 2
    with np.errstate(over="ignore"):
        assert np.isinf(np.float32(end).astype(KINDS[o.m]))
        assert np.isfinite(np.nextafter(np.float32(end), np.float32(0)).astype(KINDS[o.m]))
    return end


@equation("half.zero", r"x_{0}", FORMATS)
def _(o):
    smallest = all_numbers(o.m)[1]
    assert np.float64(smallest / 2).astype(KINDS[o.m]) == 0
    assert np.float64(smallest * 0.51).astype(KINDS[o.m]) != 0
    return smallest / 2


@equation("half.stall", r"n_{\max}", DIGITS)
def _(o):
    total, one = KINDS[o.m].type(0), KINDS[o.m].type(1)
    while total + one != total:
        total = total + one
    return float(total)


GAUSS = np.polynomial.legendre.leggauss(40)


@equation(
    "half.cell", r"\frac{1}{u} \int_{-u/2}^{u/2} x^{2} dx", [size(u=u) for u in (0.5, 1.0, 3.0)]
)
def _(o):
    nodes, weights = GAUSS
    return weights @ (o.u / 2 * nodes) ** 2 / 2


@equation("half.noise", r"\int_{0}^{1} \frac{u^{2}}{12 x^{2}} dw", DIGITS)
def _(o):
    """The step is the distance of the format's own numbers from 1 to 2."""
    numbers = all_numbers(o.m)
    (step,) = set(np.diff(numbers[(numbers >= 1) & (numbers <= 2)]))
    nodes, weights = GAUSS
    return weights @ (step**2 / 12 / 2 ** (nodes + 1)) / 2


@equation(
    "half.kurtosis",
    rf"\frac{{\mathbb{{E}}[({SCORE})^{{4}} \mid x]}}"
    rf"{{\mathbb{{E}}[({SCORE})^{{2}} \mid x]^{{2}}}} - 3",
    [*HEADS[:3], size(2, 2)],
)
def _(o):
    square, drawn = moment(scoring(o, x=o.x)), independent(o, normal=True, held=True)
    return average(moment(square), **drawn) / average(square, **drawn) ** 2 - 3


@equation(
    "half.laplace",
    r"\mathbb{P}(\lvert q_{t} \cdot k_{s} \rvert \geq z \sigma)",
    [size(z=z) for z in (0.5, 1.5, 3.0)],
)
def _(o):
    """Two channels: the key's length r has the density r exp(-r^2/2), the variance is 2."""

    def beyond(r):
        return r * mpmath.exp(-(r**2) / 2) * mpmath.erfc(o.z * math.sqrt(2) / r / mpmath.sqrt(2))

    return float(mpmath.quad(beyond, [0, 1, 3, 8, 30]))


@equation("half.normed", r"\mathrm{Var}[q_{t} \cdot k_{s}]", MATRICES)
def _(o):
    normed = o.x / np.sqrt((o.x**2).mean(axis=1, keepdims=True))
    return average(moment(scoring(o, x=normed)), **independent(o, held=True))
