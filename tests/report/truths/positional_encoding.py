"""The truths of the page on the positional encoding."""

import numpy as np

from .registry import EVEN, equation, size

ANGLES = [size(), size(), size(), size()]
WAVES = [size(n=1), size(n=2), size(n=9), size(n=40)]


@equation("position.pair", r"\sin^{2}\theta + \cos^{2}\theta", ANGLES, is_formula=True)
def _(o):
    return np.sin(o.theta) ** 2 + np.cos(o.theta) ** 2


@equation("position.mean_square", r"\frac{\lVert p_{t} \rVert^{2}}{d}", EVEN)
def _(o):
    return (o.p[0] ** 2).sum() / o.d


ODD = [
    size(d, at=(t, 0, 0), theta=t * 10000.0 ** (-2 * ((d - 1) // 2) / d))
    for d, t in ((1, 2), (3, 5), (5, 39), (9, 13))
]


@equation("position.mean_square_odd", r"\frac{\lVert p_{t} \rVert^{2}}{d}", ODD)
def _(o):
    return (o.p[0] ** 2).sum() / o.d


@equation("position.mean_cosine", r"\frac{1}{n}\sum_{t} \cos(\omega t)", WAVES)
def _(o):
    return np.cos(o.omega * np.arange(o.n)).mean()


@equation("position.mean_sine", r"\frac{1}{n}\sum_{t} \sin(\omega t)", WAVES)
def _(o):
    return np.sin(o.omega * np.arange(o.n)).mean()


@equation(
    "position.product",
    r"\cos\omega \cos(\omega + \theta) + \sin\omega \sin(\omega + \theta)",
    ANGLES,
    is_formula=True,
)
def _(o):
    s = o.omega + o.theta
    return np.cos(o.omega) * np.cos(s) + np.sin(o.omega) * np.sin(s)


@equation(
    "position.pairs",
    r"\frac{1}{n(n-1)}\sum_{t \neq s} \cos(\omega(s - t))",
    [size(n=n) for n in (3, 9, 40)],
)
def _(o):
    t = np.arange(o.n)
    return np.cos(o.omega * (t[:, None] - t))[t[:, None] != t].mean()
