"""The softmax of a row of equal logits but one, in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from varprop.fields.numeric import Floats


class EqualOthers(NamedTuple):
    """Of n - 1 logits 0 and one logit a, each of the broadcast shape."""

    logsumexp: Floats
    excess: Floats
    """log(1 + (e^a - 1) / n)"""
    deficit: Floats
    """log n - entropy, to an absolute error of rounding |a| / n."""
    squares_excess: Floats
    """sum p^2 - 1/n = (n - 1) (e^a - 1)^2 / (n (e^a + n - 1)^2)"""


def equal_others(n: Floats, own: Floats) -> EqualOthers:
    """Return what does not depend on the others' spread, for n >= 2."""
    logsumexp = np.logaddexp(own, np.log(n - 1))
    near = np.clip(own, -1, 1)
    excess = np.where(near == own, np.log1p(np.expm1(near) / n), logsumexp - np.log(n))
    less = np.exp(-abs(own))
    shares = np.where(own > 0, 1 + (n - 1) * less, less + n - 1)
    return EqualOthers(
        logsumexp=logsumexp,
        excess=excess,
        deficit=own * np.exp(own - logsumexp) - excess,
        squares_excess=(n - 1) / n * (np.expm1(-abs(own)) / shares) ** 2,
    )
