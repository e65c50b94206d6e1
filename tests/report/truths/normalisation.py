"""The truths of the page on normalisation."""

import numpy as np

from ..laws import average, law
from ..rows import CHANCES, Z, legendre
from .registry import equation, size

ROWS = [
    size(1, C=0.9),
    size(2, C=1.7),
    size(3, C=0.7),
    size(3, C=1.2, layernorm=True),
    size(2, C=0.8, layernorm=True),
]
CENTRAL = [size(2), size(3), size(4), size(5)]
LOG_T = 0.2 * np.arange(-450, 40)


def rows(o):
    """Rows around f with their chances, and v of each; eps follows from C."""
    o.f = o.p[0] * 0.7
    index = np.indices((Z.size,) * o.d).reshape(o.d, -1).T
    x = o.f + o.sigma * Z[index]
    centred = o.f
    if hasattr(o, "layernorm"):
        x, centred = x - x.mean(1, keepdims=True), o.f - o.f.mean()
    o.D = o.d - hasattr(o, "layernorm")
    o.nu = (centred**2).sum() / o.sigma**2
    o.varepsilon = o.C * o.sigma**2 / o.d
    return x, CHANCES[index].prod(1), (x**2).mean(1)


def transform(o):
    """M at nodes in t, coordinate by coordinate from its definition."""
    o.t = np.exp(LOG_T)
    o.w_t = 0.2 * o.t
    centred = o.f - o.f.mean() if hasattr(o, "layernorm") else o.f
    coordinates = np.zeros(o.D)  # only the length of f matters to a normal row
    coordinates[0] = np.sqrt((centred**2).sum()) / o.sigma
    o.M = np.prod(
        [np.exp(-np.multiply.outer(o.t, (Z + g) ** 2)) @ CHANCES for g in coordinates[:1]], axis=0
    ) * (np.exp(-np.multiply.outer(o.t, Z**2)) @ CHANCES) ** (o.D - 1)


@equation("norm.laplace", r"\mathbb{E} e^{-tX}", ROWS)
def _(o):
    _, chances, v = rows(o)
    o.t = 0.37
    return chances @ np.exp(-o.t * o.d * v / o.sigma**2)


def ratio(o, power: int) -> float:
    _, chances, v = rows(o)
    transform(o)
    return chances @ (v / (v + o.varepsilon)) ** power


@equation("norm.mean", r"\mathbb{E} r", ROWS)
def _(o):
    return ratio(o, 1)


@equation("norm.square", r"\mathbb{E} r^{2}", ROWS)
def _(o):
    return ratio(o, 2)


@equation("norm.along", r"\frac{\mathbb{E} y_{i}}{f_{i}}", ROWS)
def _(o):
    x, chances, v = rows(o)
    transform(o)
    f = o.f - o.f.mean() if hasattr(o, "layernorm") else o.f
    return chances @ (x[:, 0] / np.sqrt(v + o.varepsilon)) / f[0]


def sphere(d: int):
    """Points of the unit sphere in d dimensions and their weights, angle by angle."""
    if d == 1:
        return np.array([[1.0], [-1.0]]), np.array([0.5, 0.5])
    angles, w = legendre(np.float64(0), np.float64(np.pi), 24)
    w = w * np.sin(angles) ** (d - 2)
    rest, chances = sphere(d - 1)
    points = [
        np.column_stack([np.full(len(rest), np.cos(angle)), np.sin(angle) * rest])
        for angle in angles
    ]
    return np.concatenate(points), np.multiply.outer(w / w.sum(), chances).ravel()


def in_plane(d: int):
    """The same for the sphere of centred rows."""
    basis = np.linalg.qr(np.column_stack([np.ones(d), np.eye(d)[:, 1:]]))[0][:, 1:]
    points, chances = sphere(d - 1)
    return points @ basis.T, chances


def fourth(o, points, chances):
    """Of sqrt(d r) times a point, r two-valued and independent of it."""
    values, weights = np.array([0.4, 0.9]), np.array([0.3, 0.7])
    o.R, o.S = weights @ values, weights @ values**2
    return sum(
        weight * (chances @ (o.d * r * points[:, 0] ** 2) ** 2)
        for r, weight in zip(values, weights, strict=True)
    )


@equation("norm.sphere", r"\mathbb{E} y_{i}^{4}", CENTRAL)
def _(o):
    return fourth(o, *sphere(o.d))


@equation("norm.plane", r"\mathbb{E} y_{i}^{4}", CENTRAL)
def _(o):
    return fourth(o, *in_plane(o.d))


@equation("norm.kurtosis", r"\frac{\mathbb{E} y_{i}^{4}}{R^{2}} - 3", CENTRAL)
def _(o):
    return fourth(o, *in_plane(o.d)) / o.R**2 - 3


@equation("norm.inner", r"\mathbb{E}[(y_{t} \cdot y_{s})^{2}]", CENTRAL[1:])
def _(o):
    points, chances = in_plane(o.d)
    fixed = np.linalg.qr(np.column_stack([np.ones(o.d), o.p[0] + np.arange(o.d)]))[0][:, 1]
    return chances @ (o.d * points @ fixed) ** 2


@equation("norm.taylor", r"\frac{v}{v + \varepsilon}", [size(v=v) for v in (0.3, 0.9, 2.6)])
def _(o):
    o.m, o.varepsilon = 1.1, 0.45
    o.z = (o.v - o.m) / (o.m + o.varepsilon)
    return o.v / (o.v + o.varepsilon)


@equation("norm.spread", r"\mathbb{E} z^{2}", [size(1), size(2), size(3), size(5)])
def _(o):
    o.varepsilon = 0.35

    def square(E):
        return (((E**2).mean(1) - o.sigma**2) / (o.sigma**2 + o.varepsilon)) ** 2

    return average(square, E=((o.d,), law(o.sigma**2, o.kappa)))


@equation("norm.wide", r"\lim_{d \to \infty} \mathbb{E} r", [size(), size(), size()])
def _(o):
    """For so many degrees that a chi-square is normal."""
    o.varepsilon = 0.4 * o.sigma**3
    v = o.sigma**2 * (1 + np.sqrt(2 / 1e14) * Z)
    return CHANCES @ (v / (v + o.varepsilon))
