"""The truths of the page on the output head."""

import mpmath
import numpy as np

from ..laws import average, law
from ..rows import (
    CHANCES,
    LOG_T,
    Z,
    integrands,
    legendre,
    logsumexp,
    over_rows,
    squares,
)
from .registry import equation, size

HEADS = [size(1, b=0.7), size(2, b=1.3), size(3, b=0.4), size(5, b=2.1)]
LOGIT = r"\mathbb{E}[\ell_{j}^{2} \mid y]"


def logit(o):
    """One logit for a normed row."""
    y = o.x[0] if o.d > 1 else np.ones(1)
    y = y * np.sqrt(o.d / (y**2).sum())
    o.y_4 = (y**4).sum()
    return lambda w: o.b * w @ y


@equation("output.variance", LOGIT, HEADS)
def _(o):
    one = logit(o)
    return average(lambda w: one(w) ** 2, w=((o.d,), law(o.s**2, o.kappa)))


@equation(
    "output.kurtosis",
    rf"\frac{{\mathbb{{E}}[\ell_{{j}}^{{4}} \mid y]}}{{{LOGIT}^{{2}}}} - 3",
    HEADS,
)
def _(o):
    one, drawn = logit(o), {"w": ((o.d,), law(o.s**2, o.kappa))}
    return (
        average(lambda w: one(w) ** 4, **drawn) / average(lambda w: one(w) ** 2, **drawn) ** 2 - 3
    )


ROWS = [size(n=n, V=n, v=v) for n, v in ((2, 0.8), (3, 1.2), (2, 1.9), (3, 0.5))]


@equation("output.loss", r"\mathbb{E}[\log Z - \ell_{j}]", ROWS)
def _(o):
    integrands(o)
    return over_rows(o.n, o.v, lambda l: logsumexp(l) - l[:, 0])


@equation("output.deficit", r"\log V + \frac{v}{2} - F", ROWS)
def _(o):
    o.u, o.w_u = legendre(np.float64(0), np.float64(o.v), 20)
    o.Q = np.array([over_rows(o.n, u, squares) for u in o.u])
    return np.log(o.n) + o.v / 2 - over_rows(o.n, o.v, logsumexp)


@equation(
    "output.with_own", r"\mathbb{E} \log\left(e^{a} + \sum_{j \ge 2} e^{\ell_{j}}\right)", ROWS
)
def _(o):
    """The own logit normal with mean 0.8 and std 0.6."""
    integrands(o)
    own = 0.8 + 0.6 * Z
    o.A = np.exp(-np.exp(LOG_T[:, None] + own)) @ CHANCES

    def total(logits):
        return CHANCES @ np.log(np.exp(own)[:, None] + np.exp(logits).sum(1))

    return over_rows(o.n - 1, o.v, total)


def chi(d: int):
    """Nodes of a chi variable and their probabilities, from the density's shape alone."""
    radius, w = legendre(np.float64(0), np.float64(12), 200)
    w = w * radius ** (d - 1) * np.exp(-(radius**2) / 2)
    return radius, w / w.sum()


WIDTHS = [size(1), size(2), size(3), size(7), size(20)]


@equation("output.chi", r"\mathbb{E} \chi_{d}", WIDTHS)
def _(o):
    radius, chances = chi(o.d)
    return chances @ radius


def own(o, power: int) -> float:
    """The mean power of b sqrt(d) e.x/|x|: by isotropy x = (|x|, 0, ..), and e_1 given x_1.

    The conditional law of e_1 is read off the joint density of the two.
    """
    table, rows = o.s**2, (o.c * o.s) ** 2 + o.sigma**2
    o.r = (o.c * o.s) ** 2 / rows
    radius, chances = chi(o.d)
    o.C = chances @ radius
    x = np.sqrt(rows) * radius[:, None]
    center, spread = o.c * table / rows * x, o.s
    e = center + spread * 1.2 * Z
    precision = np.linalg.inv([[table, o.c * table], [o.c * table, rows]])
    form = precision[0, 0] * e**2 + 2 * precision[0, 1] * e * x + precision[1, 1] * x**2
    density = np.exp((form.min(1, keepdims=True) - form) / 2)
    given = (density * (o.b * np.sqrt(o.d) * e) ** power).sum(1) / density.sum(1)
    return chances @ given


OWN = [size(d, b=b) for d, b in ((1, 0.7), (2, 1.4), (3, 0.6), (6, 1.1), (11, 0.9))]


@equation("output.own_mean", r"\mathbb{E}[b y \cdot e]", OWN)
def _(o):
    return own(o, 1)


@equation("output.own_square", r"\mathbb{E}[(b y \cdot e)^{2}]", OWN)
def _(o):
    return own(o, 2)


@equation("output.own_variance", r"\mathrm{Var}[b y \cdot e]", OWN)
def _(o):
    return own(o, 2) - own(o, 1) ** 2


def chi_variance(d: int):
    with mpmath.workdps(80):
        ratio = mpmath.gammaprod([mpmath.mpf(d + 1) / 2], [mpmath.mpf(d) / 2])
        return d - 2 * ratio**2


WIDE = [size(), size(), size()]


@equation("output.chi_wide", r"\lim_{d \to \infty} \mathrm{Var}[\chi_{d}]", WIDE)
def _(o):
    return chi_variance(10**13)


@equation(
    "output.chi_next",
    r"\lim_{d \to \infty} d \left(\mathrm{Var}[\chi_{d}] - \frac{1}{2}\right)",
    WIDE,
)
def _(o):
    with mpmath.workdps(80):
        return 10**12 * (chi_variance(10**12) - mpmath.mpf(1) / 2)
