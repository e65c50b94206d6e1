"""What a key of a given logit contributes to the integrands, as functions of x = u + a."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats

SERIES = tuple(-((-1) ** k) / (k * math.factorial(k)) for k in range(1, 11))
"""Coefficients of Ein(t) = -sum_k (-t)^k / (k k!), k from 1: the next is 1e-9 t^11."""

SMALL = 0.2
"""Up to where the series is used: the next term is below 2^-53 t."""


class OwnKernels(NamedTuple):
    """With t = e^x, each of the shape of x."""

    t: Floats
    equal: Floats
    """e^{-t}."""
    exponential_integral: Floats
    """E_1(t), of which -e^{-t} is the derivative by x."""
    entropy: Floats
    """(gamma + x) e^{-t} + E_1(t), of which -(gamma + x) t e^{-t} is the derivative by x."""


def own_kernels(x: Floats) -> OwnKernels:
    """Return the kernels, each to full relative accuracy."""
    from scipy.special import exp1

    t = np.exp(np.minimum(x, 6.65))  # there e^{-t} is below the smallest number
    equal, shifted = np.exp(-t), x + np.euler_gamma
    ein = np.zeros_like(t)
    small = np.minimum(t, SMALL)
    for coefficient in reversed(SERIES):
        ein += coefficient
        ein *= small
    # Ein(t) = E_1(t) + gamma + x
    integral = ein - shifted
    entropy = ein + shifted * np.expm1(-small)
    large = t > SMALL
    integral[large] = exp1(t[large])
    entropy[large] = shifted[large] * equal[large] + integral[large]
    return OwnKernels(t, equal, integral, entropy)
