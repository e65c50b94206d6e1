"""What every equation must equal: its left side computed by brute force, in plain NumPy.

A truth takes a point: sizes, random values of the symbols, an encoding p (positions t, s, r in rows
0, 1, 2), an input x that is held fixed, and a rotation.  It builds the definition of the left side and
visits every configuration of tables and weights; no formula of the package is used.
"""

from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from .laws import average, covariance, law, variance


class Truth(NamedTuple):
    """The left side as printed, its value at a point, and the points' sizes."""

    left: str
    value: Callable[[Any], float]
    points: list[dict[str, Any]]
    is_formula: bool


EQUATIONS: dict[str, Truth] = {}


def size(d: int = 1, h: int = 1, **values: Any) -> dict[str, Any]:
    return {"d": d, "h": h, **values}


SMALL = [size(), size(2), size(1, 2), size(2, 2), size(3)]
TRACES = [size(theta=angle) for angle in (0.3, 1.1, 2.9)]


def equation(name: str, left: str, points: list[dict[str, Any]] | None = None, is_formula: bool = False):
    def register(value):
        EQUATIONS[name] = Truth(left, value, points or SMALL, is_formula)
        return value

    return register


def point(name: str, index: int, given: dict[str, Any]) -> SimpleNamespace:
    """A random point; the same one for the same name and index."""
    rng = np.random.default_rng([crc32(name.encode()), index])
    o = SimpleNamespace(n=3, kappa=rng.uniform(-1.9, 2), rho=rng.uniform(0.1, 0.9))
    for symbol in ("c", "s", "lam", "a", "a_q", "a_k", "b_q", "b_k", "sigma", "omega"):
        setattr(o, symbol, rng.uniform(0.5, 1.5))
    o.eta, o.mu, o.theta = rng.uniform(0.2, 0.9), rng.uniform(-1, 1), rng.uniform(0.1, 3)
    vars(o).update(given)
    o.p, o.x = rng.normal(size=(3, o.d)), rng.normal(size=(2, o.d))
    if "at" in given:
        o.p = sinusoidal(o.d)[list(o.at)]
    o.f_t, o.f_s = o.p[0, 0], o.p[1, 0]
    o.u_t, o.u_s = (o.p[:2] ** 2).sum(1)
    o.w_ts, o.w_sr, o.p_bar = o.p[0] @ o.p[1], o.p[1] @ o.p[2], o.p.mean()
    o.norm_t, o.norm_s = np.sqrt((o.x**2).sum(1))
    o.inner = o.x[0] @ o.x[1]
    o.R = rotation(rng.uniform(0.1, 3, o.h // 2), o.h)
    o.tau, o.tau_2 = np.trace(o.R), np.trace(o.R @ o.R)
    return o


def sinusoidal(d: int, length: int = 40, base: float = 10000.0) -> np.ndarray:
    """The table of the positional encoding, channel by channel from its definition."""
    t = np.arange(length)
    waves = [(np.cos if i % 2 else np.sin)(base ** (-2 * (i // 2) / d) * t) for i in range(d)]
    return np.stack(waves, axis=1)


def rotation(angles: Any, h: int) -> np.ndarray:
    """Pairs of channels turned by the angles, the rest left."""
    turned = np.eye(h)
    for pair, angle in enumerate(angles):
        block = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        turned[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = block
    return turned


def table(o: Any, rows: int, channels: int | None = None, **changes: float):
    """Shape and law of some rows of the embedding."""
    return (rows, channels or o.d), law(o.s**2, **{"excess_kurtosis": o.kappa, **changes})


def weights(o: Any, value: float, rows: int | None = None, normal: bool = False, **changes: float):
    """Shape and law of a projection; two points where only its variance may matter."""
    return (rows or o.h, o.d), law(value, 0.0 if normal else -2.0, **changes)


def project(W: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("...ai,...ti->...ta", W, x)


def score(q: np.ndarray, k: np.ndarray, t: int = 0, s: int = 1) -> np.ndarray:
    return (q[..., t, :] * k[..., s, :]).sum(-1)


# The embedding

ENTRY = [size(), size(), size(), size()]


@equation("embedding.variance", r"\mathrm{Var}[x_{ti}]", ENTRY)
def _(o):
    return variance(lambda E: o.c * E[:, 0, 0], E=table(o, 1))


@equation("embedding.fourth", r"\mathbb{E}[x_{ti}^{4}]", ENTRY)
def _(o):
    return average(lambda E: (o.c * E[:, 0, 0]) ** 4, E=table(o, 1))


def norms(o):
    return lambda E: ((o.c * E) ** 2).sum((1, 2))


WIDTHS = [size(d) for d in (1, 2, 3, 5, 7)]


@equation("embedding.norm", r"\mathbb{E} \lVert x_{t} \rVert^{2}", WIDTHS)
def _(o):
    return average(norms(o), E=table(o, 1))


@equation("embedding.norm_variance", r"\mathrm{Var} \lVert x_{t} \rVert^{2}", WIDTHS)
def _(o):
    return variance(norms(o), E=table(o, 1))


@equation("embedding.inner", r"\mathrm{Var}[x_{t} \cdot x_{s}]", [size(d) for d in (1, 2, 3, 4)])
def _(o):
    return variance(lambda E: o.c**2 * (E[:, 0] * E[:, 1]).sum(1), E=table(o, 2))


@equation(
    "embedding.fluctuation",
    r"\frac{\mathrm{Var} \lVert x_{t} \rVert^{2}}{\left(\mathbb{E} \lVert x_{t} \rVert^{2}\right)^{2}}",
    WIDTHS,
)
def _(o):
    return variance(norms(o), E=table(o, 1)) / average(norms(o), E=table(o, 1)) ** 2


@equation("embedding.second_moment", r"\mathbb{E}[x_{ti}^{2}]", ENTRY)
def _(o):
    return average(lambda E: (o.c * E[:, 0, 0]) ** 2, E=table(o, 1, mean=o.mu))


@equation("embedding.cross", r"\mathbb{E}[x_{ti} x_{si}]", ENTRY)
def _(o):
    return average(lambda E: o.c**2 * E[:, 0, 0] * E[:, 1, 0], E=table(o, 2, mean=o.mu))


@equation("embedding.repeat", r"\mathbb{E}[x_{ti} x_{si}]", ENTRY)
def _(o):
    def shared(E):
        other = o.rho * E[:, 0, 0] + (1 - o.rho) * E[:, 1, 0]
        return o.c**2 * E[:, 0, 0] * other

    return average(shared, E=table(o, 2))


SEQUENCES = [size(1, n=1), size(1, n=4), size(2, n=3), size(3, n=2)]


@equation("embedding.sample", r"\mathbb{E}[\bar{x}^{2}]", SEQUENCES)
def _(o):
    return average(lambda E: (o.c * E).mean((1, 2)) ** 2, E=table(o, o.n))


@equation("embedding.sample_variance", r"\mathbb{E}\left[(x_{ti} - \bar{x})^{2}\right]", SEQUENCES)
def _(o):
    return average(lambda E: (o.c * E).var((1, 2)), E=table(o, o.n))


# The positional encoding

ANGLES = [size(), size(), size(), size()]
WAVES = [size(n=1), size(n=2), size(n=9), size(n=40)]
EVEN = [size(d, at=(3, 8, 17)) for d in (2, 4, 8)]


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


@equation("position.pairs", r"\frac{1}{n(n-1)}\sum_{t \neq s} \cos(\omega(s - t))", WAVES[1:])
def _(o):
    t = np.arange(o.n)
    return np.cos(o.omega * (t[:, None] - t))[t[:, None] != t].mean()


# The sum


def entry(o, position: int = 0):
    return lambda E: o.c * E[:, position, 0] + o.p[position, 0]


@equation("sum.mean", r"\mathbb{E}[x_{ti}]", ENTRY)
def _(o):
    return average(entry(o), E=table(o, 1))


@equation("sum.variance", r"\mathrm{Var}[x_{ti}]", ENTRY)
def _(o):
    return variance(entry(o), E=table(o, 1))


@equation("sum.second_moment", r"\mathbb{E}[x_{ti}^{2}]", ENTRY)
def _(o):
    return average(lambda E: entry(o)(E) ** 2, E=table(o, 1))


@equation("sum.pooled", r"\mathrm{Var}[x]", EVEN)
def _(o):
    def places(E):
        x = o.c * E[:, 0, 0, None, None] + o.p
        return np.stack([x, x**2], axis=1)

    mean, square = average(places, E=table(o, 1, channels=1)).mean((1, 2))
    return square - mean**2


def row_norm(o):
    return lambda E: ((o.c * E[:, 0] + o.p[0]) ** 2).sum(1)


def row_inner(o):
    return lambda E: ((o.c * E[:, 0] + o.p[0]) * (o.c * E[:, 1] + o.p[1])).sum(1)


@equation("sum.norm", r"\mathbb{E} \lVert x_{t} \rVert^{2}", WIDTHS)
def _(o):
    return average(row_norm(o), E=table(o, 1))


@equation("sum.norm_variance", r"\mathrm{Var} \lVert x_{t} \rVert^{2}", WIDTHS)
def _(o):
    return variance(row_norm(o), E=table(o, 1))


@equation("sum.inner", r"\mathbb{E}[x_{t} \cdot x_{s}]", SMALL)
def _(o):
    return average(row_inner(o), E=table(o, 2))


@equation("sum.inner_variance", r"\mathrm{Var}[x_{t} \cdot x_{s}]", SMALL)
def _(o):
    return variance(row_inner(o), E=table(o, 2))


@equation("sum.cross", r"\mathbb{E}[x_{ti} x_{si}]", ENTRY)
def _(o):
    return average(lambda E: entry(o)(E) * entry(o, 1)(E), E=table(o, 2))


@equation("sum.segment", r"\mathbb{E}[x_{ti} x_{si}]", ENTRY)
def _(o):
    def shared(E, S):
        return (entry(o)(E) + S[:, 0]) * (entry(o, 1)(E) + S[:, 0])

    return average(shared, E=table(o, 2), S=((1,), law(o.sigma**2, 0.0)))


def dropped(o, power: int):
    def statistic(E, S, kept):
        return ((entry(o)(E) + S[:, 0]) * kept[:, 0] / o.eta) ** power

    keep = law(0.25)._replace(points=np.array([0.0, 1.0]), weights=np.array([1 - o.eta, o.eta]))
    return average(statistic, E=table(o, 1), S=((1,), law(o.sigma**2)), kept=((1,), keep))


@equation("sum.dropout", r"\mathbb{E}[(m x)_{ti}^{2}]", ENTRY)
def _(o):
    return dropped(o, 2)


@equation("sum.dropout_variance", r"\mathrm{Var}[(m x)_{ti}]", ENTRY)
def _(o):
    return dropped(o, 2) - dropped(o, 1) ** 2


# Queries and keys


def query(o, channel: int = 0, position: int = 0, x: Any = None, B: bool = False):
    """One entry of a query, of the held input or of the sum."""

    def statistic(W, E=None, B=0.0):
        rows = o.c * E + o.p[: E.shape[1]] if x is None else x
        return project(W, rows)[:, position, channel] + (B[:, channel] if np.ndim(B) else B)

    return statistic


def free(o, channel: int = 0):
    """One entry of a query without positions."""
    return lambda E, W: project(W, o.c * E)[:, 0, channel]


def moment(one, other=None):
    return lambda **arrays: one(**arrays) * (other or one)(**arrays)


@equation("projections.given", r"\mathbb{E}[q_{ta}^{2} \mid x]", WIDTHS)
def _(o):
    return average(moment(query(o, x=o.x)), W=weights(o, o.a_q), B=((1,), law(o.b_q)))


@equation("projections.given_cross", r"\mathbb{E}[q_{ta} q_{sa} \mid x]", WIDTHS)
def _(o):
    both = moment(query(o, x=o.x), query(o, position=1, x=o.x))
    return average(both, W=weights(o, o.a_q), B=((1,), law(o.b_q)))


@equation("projections.variance", r"\mathrm{Var}[q_{ta}]", WIDTHS[:4])
def _(o):
    return variance(query(o), E=table(o, 1), W=weights(o, o.a_q), B=((1,), law(o.b_q)))


@equation("projections.cross", r"\mathbb{E}[q_{ta} q_{sa}]", WIDTHS[:3])
def _(o):
    both = moment(query(o), query(o, position=1))
    return average(both, E=table(o, 2), W=weights(o, o.a_q), B=((1,), law(o.b_q)))


@equation(
    "projections.sinusoidal",
    r"\mathrm{Var}[q_{ta}]",
    [size(2, at=(7, 0, 0)), size(4, at=(5, 0, 0)), size(6, at=(9, 0, 0), kappa=-2.0)],
)
def _(o):
    return variance(query(o), E=table(o, 1), W=weights(o, o.a_q))


FOURTH = WIDTHS[:3] + [size(4)]


@equation("projections.given_fourth", r"\mathbb{E}[q_{ta}^{4} \mid x]", WIDTHS)
def _(o):
    square = moment(query(o, x=o.x))
    return average(moment(square), W=weights(o, o.a_q, normal=True))


@equation("projections.given_squares", r"\mathbb{E}[q_{ta}^{2} q_{tb}^{2} \mid x]", FOURTH)
def _(o):
    squares = moment(moment(query(o, x=o.x)), moment(query(o, 1, x=o.x)))
    return average(squares, W=weights(o, o.a_q, 2, normal=True))


@equation("projections.fourth", r"\mathbb{E}[q_{ta}^{4}] - 3 \mathbb{E}[q_{ta}^{2}]^{2}", FOURTH)
def _(o):
    square, drawn = moment(free(o)), {"E": table(o, 1), "W": weights(o, o.a_q, 1, normal=True)}
    return average(moment(square), **drawn) - 3 * average(square, **drawn) ** 2


@equation("projections.squares", r"\mathrm{Cov}[q_{ta}^{2}, q_{tb}^{2}]", WIDTHS[:3])
def _(o):
    drawn = {"E": table(o, 1), "W": weights(o, o.a_q, 2, normal=True)}
    return covariance(moment(free(o)), moment(free(o, 1)), **drawn)


@equation(
    "projections.kurtosis",
    r"\frac{\mathbb{E}[q_{ta}^{4}]}{\mathbb{E}[q_{ta}^{2}]^{2}} - 3",
    FOURTH,
)
def _(o):
    square, drawn = moment(free(o)), {"E": table(o, 1), "W": weights(o, o.a_q, 1, normal=True)}
    return average(moment(square), **drawn) / average(square, **drawn) ** 2 - 3


@equation("projections.mean_weight", r"\mathrm{Var}[q_{ta}]", WIDTHS[:4])
def _(o):
    return variance(free(o), E=table(o, 1), W=weights(o, o.a_q, mean=o.mu))


@equation("projections.correlated", r"\mathrm{Cov}[q_{ta}, q_{tb}]", WIDTHS[:3])
def _(o):
    drawn = {"E": table(o, 1), "W": weights(o, o.a_q, 2, mean=o.mu)}
    return covariance(free(o), free(o, 1), **drawn)


# Scores


def independent(o, rows: int = 2, normal: bool = False, held: bool = False):
    drawn = {"Q": weights(o, o.a_q, normal=normal), "K": weights(o, o.a_k, normal=normal)}
    return drawn if held else {"E": table(o, rows), **drawn}


def shared(o, rows: int = 2, held: bool = False):
    drawn = {"W": weights(o, o.a, normal=True)}
    return drawn if held else {"E": table(o, rows), **drawn}


def scoring(o, t: int = 0, s: int = 1, x: Any = None, p: bool = True, R: Any = None):
    """A score of positions t and s; of the held input x, of the sum, or without positions."""

    def statistic(E=None, Q=None, K=None, W=None, Bq=0.0, Bk=0.0):
        rows = x
        if rows is None:
            rows = o.c * E + (o.p[: E.shape[1]] if p else 0)
        q = project(W if Q is None else Q, rows) + (Bq[:, None] if np.ndim(Bq) else Bq)
        k = project(W if K is None else K, rows) + (Bk[:, None] if np.ndim(Bk) else Bk)
        return score(q if R is None else q @ R, k, t, s)

    return statistic


VARIANCE = r"\mathrm{Var}[\ell_{ts}]"
SCORE = r"q_{t} \cdot k_{s}"
OWN = r"q_{t} \cdot k_{t}"
EVEN_SCORES = [size(2, at=(3, 8, 0)), size(2, 2, at=(1, 9, 0)), size(4, at=(7, 30, 0), kappa=-2.0)]


@equation("scores.given", r"\mathbb{E}[\ell_{ts}^{2} \mid x]", [*SMALL, size(3, 2)])
def _(o):
    return o.lam**2 * average(moment(scoring(o, x=o.x)), **independent(o, held=True))


@equation("scores.variance", VARIANCE)
def _(o):
    return o.lam**2 * variance(scoring(o), **independent(o))


@equation("scores.sinusoidal", VARIANCE, EVEN_SCORES)
def _(o):
    return o.lam**2 * variance(scoring(o), **independent(o))


@equation("scores.biased", VARIANCE, [size(), size(2), size(1, 2), size(2, 2, kappa=-2.0)])
def _(o):
    biases = {"Bq": ((o.h,), law(o.b_q)), "Bk": ((o.h,), law(o.b_k))}
    return o.lam**2 * variance(scoring(o), **independent(o), **biases)


ROWS = [size(), size(2), size(1, 2), size(2, 2, kappa=-2.0)]


@equation("scores.covariance", r"\mathrm{Cov}[\ell_{ts}, \ell_{tr}]", ROWS)
def _(o):
    return o.lam**2 * covariance(scoring(o), scoring(o, 0, 2), **independent(o, 3))


@equation("scores.row_variance", VARIANCE + r" - \mathrm{Cov}[\ell_{ts}, \ell_{tr}]", ROWS)
def _(o):
    drawn = independent(o, 3)
    apart = variance(scoring(o), **drawn) - covariance(scoring(o), scoring(o, 0, 2), **drawn)
    return o.lam**2 * apart


@equation("scores.given_fourth", rf"\mathbb{{E}}[({SCORE})^{{4}} \mid x]", [*SMALL, size(1, 3)])
def _(o):
    square = moment(scoring(o, x=o.x))
    return average(moment(square), **independent(o, normal=True, held=True))


TAILS = [size(), size(2), size(1, 2), size(1, 3), size(3, kappa=-2.0)]
KURTOSIS = rf"\frac{{\mathbb{{E}}[({SCORE})^{{4}}]}}{{\mathbb{{E}}[({SCORE})^{{2}}]^{{2}}}} - 3"


@equation("scores.fourth", rf"\mathbb{{E}}[({SCORE})^{{4}}]", TAILS)
def _(o):
    return average(moment(moment(scoring(o, p=False))), **independent(o, normal=True))


@equation("scores.kurtosis", KURTOSIS, TAILS)
def _(o):
    square, drawn = moment(scoring(o, p=False)), independent(o, normal=True)
    return average(moment(square), **drawn) / average(square, **drawn) ** 2 - 3


HEADS = [size(1, h) for h in (1, 2, 3, 4)]


@equation("scores.wide", rf"\lim_{{d \to \infty}} {KURTOSIS}", HEADS)
def _(o):
    """At infinite width the entries of queries and keys are independent and normal."""

    def square(q, k):
        return (q * k).sum(1) ** 2

    drawn = {"q": ((o.h,), law(o.a_q, 0.0)), "k": ((o.h,), law(o.a_k, 0.0))}
    return average(moment(square), **drawn) / average(square, **drawn) ** 2 - 3


@equation("scores.plain", VARIANCE)
def _(o):
    return o.lam**2 * variance(scoring(o, p=False), **independent(o))


@equation("scores.shared_given", rf"\mathbb{{E}}[({SCORE})^{{2}} \mid x]", [*SMALL, size(2, 3)])
def _(o):
    return average(moment(scoring(o, x=o.x)), **shared(o, held=True))


MATRICES = [*SMALL, size(2, 3)]


@equation("scores.shared", rf"\mathrm{{Var}}[{SCORE}]", MATRICES)
def _(o):
    return variance(scoring(o, p=False), **shared(o))


@equation("scores.repeated", rf"\mathrm{{Var}}[{SCORE}]")
def _(o):
    apart, same = (moment(scoring(o, 0, s, p=False)) for s in (1, 0))
    drawn = independent(o)
    return (1 - o.rho) * average(apart, **drawn) + o.rho * average(same, **drawn)


# Self-scores


@equation("self.given", rf"\mathbb{{E}}[({OWN})^{{2}} \mid x]", [*SMALL, size(3, 2)])
def _(o):
    return average(moment(scoring(o, 0, 0, x=o.x)), **independent(o, held=True))


@equation("self.variance", rf"\mathrm{{Var}}[{OWN}]", [*SMALL, size(3, 2)])
def _(o):
    return variance(scoring(o, 0, 0), **independent(o, 1))


@equation("self.excess", rf"\mathrm{{Var}}[{OWN}] - \mathrm{{Var}}[{SCORE}]")
def _(o):
    o.p[1] = o.p[0, ::-1]
    own, other = (variance(scoring(o, 0, s), **independent(o)) for s in (0, 1))
    return own - other


@equation("self.shared_given", rf"\mathbb{{E}}[({OWN})^{{2}} \mid x]", MATRICES)
def _(o):
    return average(moment(scoring(o, 0, 0, x=o.x)), **shared(o, held=True))


@equation("self.shared_mean", rf"\mathbb{{E}}[{OWN}]", MATRICES)
def _(o):
    return average(scoring(o, 0, 0), **shared(o, 1))


@equation("self.shared_variance", rf"\mathrm{{Var}}[{OWN}]", [*MATRICES, size(3, 2)])
def _(o):
    return variance(scoring(o, 0, 0, p=False), **shared(o, 1))


@equation("self.plain", rf"\mathrm{{Var}}[{OWN}]", [*SMALL, size(3, 2)])
def _(o):
    return variance(scoring(o, 0, 0, p=False), **independent(o, 1))


@equation("self.shared_wide", rf"\lim_{{d \to \infty}} \mathrm{{Var}}[{OWN}]", HEADS)
def _(o):
    """At infinite width the entries of a query are independent, normal and of variance 1."""
    return variance(lambda q: (q**2).sum(1), q=((o.h,), law(1.0, 0.0)))


# Rotary positions

TURNED = r"q_{t}^{\top} R k_{s}"
TURNS = [size(1, 2), size(2, 2), size(1, 3), size(2, 3, kappa=-2.0), size(1, 4)]


@equation("rotary.block", r"2\cos^{2}\theta + 2\sin^{2}\theta", TRACES, is_formula=True)
def _(o):
    return (rotation([o.theta], 2) ** 2).sum()


@equation("rotary.variance", rf"\mathrm{{Var}}[\lambda {TURNED}]", TURNS)
def _(o):
    return o.lam**2 * variance(scoring(o, p=False, R=o.R), **independent(o))


@equation("rotary.given", rf"\mathbb{{E}}[({TURNED})^{{2}} \mid x]", TURNS)
def _(o):
    return average(moment(scoring(o, x=o.x, R=o.R)), **shared(o, held=True))


@equation("rotary.shared", rf"\mathrm{{Var}}[{TURNED}]", TURNS)
def _(o):
    return variance(scoring(o, p=False, R=o.R), **shared(o))


@equation("rotary.trace", r"\mathrm{tr} R_{\theta}", TRACES)
def _(o):
    return np.trace(rotation([o.theta], 2))


@equation("rotary.trace_square", r"\mathrm{tr} R_{\theta}^{2}", TRACES)
def _(o):
    return np.trace(rotation([o.theta], 2) @ rotation([o.theta], 2))


@equation("rotary.same_token", rf"\mathbb{{E}}[{TURNED}]", TURNS)
def _(o):
    return average(scoring(o, 0, 0, p=False, R=o.R), **shared(o, 1))


@equation("rotary.still", r"\mathrm{Var}[q_{t} \cdot k_{s}]", TURNS)
def _(o):
    return variance(scoring(o, p=False, R=np.eye(o.h)), **shared(o))


@equation("rotary.far", rf"\mathrm{{Var}}[{TURNED}]", [size(1, 2), size(2, 2), size(1, 4)])
def _(o):
    """The average over all angles; polynomials of degree 2 in each need no more than five."""
    angles = 2 * np.pi * np.arange(5) / 5
    turns = [rotation(chosen, o.h) for chosen in product(angles, repeat=o.h // 2)]
    return np.mean([variance(scoring(o, p=False, R=R), **shared(o)) for R in turns])
