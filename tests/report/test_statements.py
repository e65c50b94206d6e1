"""Every statement in words that can be computed: each quotes its page and computes what it says."""

import math

import numpy as np
import pytest

import varprop

from .conftest import PAGES
from .laws import average, covariance, law, variance
from .markdown import prose
from .truths.definitions import free, independent, moment, scoring, shared, weights
from .truths.points import point, rotation, sinusoidal
from .truths.registry import size

CLAIMS = []


def claim(name, *quotes):
    def register(check):
        CLAIMS.append((f"{name}.md", quotes, check))
        return check

    return register


@pytest.mark.parametrize(
    ("name", "quotes", "check"), CLAIMS, ids=[f"{n}: {q[0][:30]}" for n, q, _ in CLAIMS]
)
def test_claim(name, quotes, check):
    text = prose(PAGES[name])
    for quote in quotes:
        assert quote in text
    check()


def close(value, known, digits=12):
    assert value == pytest.approx(known, rel=10.0**-digits, abs=10.0**-digits), (value, known)


@claim("embedding", "three quarters of its mean square", "$-6/5$ for a uniform one")
def _():
    grid = (np.arange(100_000) + 0.5) / 100_000
    close(grid.mean() ** 2 / (grid**2).mean(), 3 / 4, 9)
    close(((grid - 0.5) ** 4).mean() / grid.var() ** 2 - 3, -6 / 5, 9)


@claim("embedding", "makes the variance 1 exactly when the table's std is `1/sqrt(d_model)`")
def _():
    for std, known in (("1/sqrt(d_model)", 1), ("1", 48)):
        p = varprop.predict(
            d_model=48, embedding=f"normal(std={std})", embedding_scale="sqrt(d_model)"
        )
        close(p.scaled_embedding.variance, known)


@claim(
    "embedding",
    "as long as $\\kappa$ is finite",
    "a chi-square variable with $d$ degrees of freedom",
)
def _():
    """A chi-square variable of d degrees has mean d, variance 2d and third central moment 8d."""
    for d in (1, 2, 3):

        def norm(E):
            return (E**2).sum(1)

        drawn = {"E": ((d,), gauss())}
        close(average(norm, **drawn), d)
        close(variance(norm, **drawn), 2 * d)
        close(average(lambda E, d=d: (norm(E) - d) ** 3, **drawn), 8 * d)


def gauss():
    """Five points with the standard normal distribution's moments up to the ninth."""
    points, chances = np.polynomial.hermite_e.hermegauss(5)
    return law(1.0)._replace(points=points, weights=chances / chances.sum())


@claim("positional-encoding", "below 1 for 47% of the frequencies")
def _():
    frequencies = 10000.0 ** (-2 * np.arange(256) / 512)
    assert round(100 * (frequencies * 128 < 1).mean()) == 47


@claim("positional-encoding", "up to $2\\pi\\beta$ positions long")
def _():
    for d in (2, 64, 512, 12288):
        longest = 2 * math.pi / 10000.0 ** (-2 * (d // 2 - 1) / d)
        assert longest < 2 * math.pi * 10000
    assert longest > 0.99 * 2 * math.pi * 10000


@claim(
    "positional-encoding",
    "the row is $0, 1, 0, 1, \\dots$, with mean $1/2$ and pooled variance $1/4$",
)
def _():
    row = sinusoidal(512, 1)
    assert row.tolist() == [[0.0, 1.0] * 256]
    close(row.mean(), 1 / 2)
    close(row.var(), 1 / 4)


@claim(
    "positional-encoding",
    "$p_{t} \\cdot p_{s}$ is $\\sum_{k} \\cos(\\omega_{k}(s - t))$",
    "the $n$ equal pairs are taken away",
)
def _():
    table, omega = sinusoidal(6), 10000.0 ** (-2 * np.arange(3) / 6)
    for t, s in ((0, 0), (3, 17), (39, 1)):
        close(table[t] @ table[s], np.cos(omega * (s - t)).sum())
    t = np.arange(40)
    for w in omega:
        close(np.cos(w * (t[:, None] - t)).sum(), abs(np.exp(1j * w * t).sum()) ** 2, 10)


@claim(
    "positional-encoding",
    "leaves out how the channels' means differ",
    "the pooled variance, $1/2 - \\bar{p}^{2}$",
)
def _():
    table = sinusoidal(8)
    close(table.var(), 1 / 2 - table.mean() ** 2)
    close(table.var() - table.var(0).mean(), table.mean(0).var())


@claim("positional-encoding", "every channel's mean tends to 0 and both variances to $1/2$")
def _():
    table = sinusoidal(4, 2**16, base=100.0)
    assert abs(table.mean(0)).max() < 1e-3
    close(table.var(), 1 / 2, 3)
    close(table.var(0).mean(), 1 / 2, 3)


@claim("sum", "the variance over draws is 1, the mean square 1.5, and the pooled variance 1.38")
def _():
    p = varprop.predict(seq_len=128).input
    close(p.ensemble_variance, 1)
    close(p.second_moment, 1.5)
    assert f"{p.variance:.2f}" == "1.38"


@claim(
    "sum",
    "the embedding holds two thirds",
    "is nearly all position",
    "is nearly all token",
    "neither side drowns",
)
def _():
    def share(std, factor):
        p = varprop.predict(embedding=f"normal(std={std})", embedding_scale=factor)
        return p.input.shares["embedding"]

    close(share("1", "1"), 2 / 3)
    close(share("1/sqrt(d_model)", "sqrt(d_model)"), 2 / 3)
    assert share("1/sqrt(d_model)", "1") < 0.01
    assert share("1", "sqrt(d_model)") > 0.99


@claim("sum", "would add $4 c^{3} \\gamma \\sum_{i} p_{ti}$")
def _():
    """A table on two points of unequal chances, compared with the symmetric one of its kurtosis."""
    o = point("skewed", 0, size(3))
    chances = np.array([0.3, 0.7])
    points = np.array([0.7, -0.3]) * o.s / math.sqrt(0.21)
    skewed = law(1.0)._replace(points=points, weights=chances)
    gamma, kappa = chances @ points**3, chances @ points**4 / o.s**4 - 3
    assert abs(chances @ points) < 1e-12

    def norm(E):
        return ((o.c * E + o.p[0]) ** 2).sum(1)

    symmetric = variance(norm, E=((o.d,), law(o.s**2, kappa)))
    added = 4 * o.c**3 * gamma * o.p[0].sum()
    close(variance(norm, E=((o.d,), skewed)), symmetric + added, 10)


@claim("sum", "what two positions share stays", "a mask $m$ of mean 1 and mean square $1/\\eta$")
def _():
    for dropout in (0.1, 0.5):
        kept, wet = (
            varprop.predict(d_model=8, n_heads=2, dropout=rate).input for rate in (0, dropout)
        )
        close(kept.cross_position_moment, wet.cross_position_moment)
        close(wet.second_moment, kept.second_moment / (1 - dropout))
        assert wet.ensemble_variance > kept.ensemble_variance / (1 - dropout)


@claim("sum", "their variance adds to the embedding's")
def _():
    p = varprop.predict(d_model=8, n_heads=2, position="learned(normal(std=0.3))").input
    close(p.ensemble_variance, 1.09)
    close(p.cross_position_moment, 0)


@claim("sum", "lies between that and the variance over draws", "tends to $c^{2} s^{2} + 1/2$")
def _():
    for length in (1, 16, 10**6):
        p = varprop.predict(seq_len=length).input
        assert p.ensemble_variance <= p.variance <= p.second_moment


@claim(
    "projections",
    "three times the relative fluctuation of $\\lVert x_{t} \\rVert^{2}$",
    "vanishes only for a table",
)
def _():
    """Two-point entries: all rows have one norm, and all even moments of a query are normal."""
    o = point("two-point", 0, size(2, kappa=-2.0))

    def power(n):
        return average(
            lambda W: (W[:, 0] * o.c * o.s + W[:, 1] * o.c * o.s) ** n, W=((2,), gauss())
        )

    close(power(4), 3 * power(2) ** 2)
    close(power(6), 15 * power(2) ** 3)
    for kappa in (-1.5, 0.0, 1.0):
        o = point("fluctuation", 0, size(2, kappa=kappa))
        drawn = {"E": ((1, o.d), law(o.s**2, kappa)), "W": weights(o, o.a_q, 1, normal=True)}
        square = moment(free(o))
        assert average(moment(square), **drawn) > (3 + 1e-3) * average(square, **drawn) ** 2


@claim("projections", "a query keeps the mean $p_{ti}$ of each place")
def _():
    p = varprop.predict(d_model=4, n_heads=1, query="identity")
    for channel in range(4):
        close(p.at("query", position=3, channel=channel).mean, sinusoidal(4)[3, channel])


@claim("scores-and-logits", "At `d_head` 64 it tends to 3/32", "has the excess kurtosis 6")
def _():
    product = average(
        moment(moment(lambda q, k: q[:, 0] * k[:, 0])), q=((1,), gauss()), k=((1,), gauss())
    )
    close(product - 3, 6)
    p = varprop.predict(
        d_model=2**20,
        n_heads=2**14,
        position="none",
        query="normal(std=1/sqrt(d_model))",
        key="normal(std=1/sqrt(d_model))",
    )
    assert p.spec.d_head == 64
    close(p.logits.excess_kurtosis, 3 / 32, 3)


@claim(
    "scores-and-logits",
    "the same in three of the nine cases, which leaves $h^{2}$, and different in six",
)
def _():
    """Channels a, b, c, d that a pairing of four copies makes equal, counted."""
    pairings = [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]
    h, counts = 5, []
    for q in pairings:
        for k in pairings:
            grid = np.indices((h,) * 4).reshape(4, -1)
            agree = np.all([grid[i] == grid[j] for i, j in (*q, *k)], axis=0)
            counts.append(int(agree.sum()))
    assert sorted(counts) == [h] * 6 + [h**2] * 3


@claim(
    "scores-and-logits", "it grows with $d$ where that of square Xavier projections grows with $h$"
)
def _():
    fields = {"position": "none", "logit_scale": 1, "seq_len": 4}
    for d, heads in ((16, 1), (32, 4)):
        one = varprop.predict(d_model=d, n_heads=1, query="identity", key="identity", **fields)
        other = varprop.predict(d_model=d, n_heads=heads, **fields)
        close(one.logits.variance, d)
        close(other.logits.variance, d / heads)


@claim(
    "scores-and-logits", "one with a factor $h^{2}$ and one with $h$", "brings only one factor $d$"
)
def _():
    """The two pairings across query and key, channel by channel."""
    h = 3
    a, b = np.indices((h, h)).reshape(2, -1)
    assert (len(a), int((a == b).sum())) == (h**2, h)
    o = point("inner", 0, size(2))
    inner = average(lambda E: (E[:, 0] * E[:, 1]).sum(1) ** 2, E=((2, o.d), law(o.s**2, o.kappa)))
    close(inner, o.d * o.s**4)


@claim("self-scores", "of relative order $1/d$", "exactly the variance of the other scores")
def _():
    for d in (64, 1024):
        p = varprop.predict(d_model=d)
        assert 1 < d * (p.self_logits.variance / p.logits.variance - 1) < 4
    o = point("constant", 0, size(2, 2, kappa=-2.0))
    own, other = (variance(scoring(o, 0, s, p=False), **independent(o)) for s in (0, 1))
    close(own, other)


@claim(
    "self-scores", "add $h$ times their fourth cumulant times the mean of $\\sum_{i} x_{ti}^{4}$"
)
def _():
    o = point("weights", 0, size(2, 2))

    def squares(kurtosis, statistic, name):
        return variance(statistic, **{name: ((o.h, o.d), law(o.a, kurtosis))})

    own = scoring(o, 0, 0, x=o.x)
    added = o.h * 1.3 * o.a**2 * (o.x[0] ** 4).sum()
    close(squares(1.3, own, "W"), squares(0.0, own, "W") + added, 10)
    normal = variance(own, **independent(o, held=True, normal=True))
    close(variance(own, **independent(o, held=True)), normal, 10)


@claim("self-scores", "by $\\sqrt{h/2}$ of its own standard deviations and $\\sqrt{h}$ of theirs")
def _():
    d, h = 2**20, 16
    p = varprop.predict(
        d_model=d,
        n_heads=2**16,
        position="none",
        shared_qk=True,
        logit_scale=1,
        query="normal(std=1/sqrt(d_model))",
        seq_len=4,
    )
    close(p.self_logits.mean, h)
    close(p.self_logits.mean / p.self_logits.std, math.sqrt(h / 2), 3)
    close(p.self_logits.mean / p.logits.std, math.sqrt(h), 3)


@claim("self-scores", "this pairing leaves $h^{2}$ and the two others $h$ each")
def _():
    o = point("pairings", 0, size(1, 3))
    own = average(moment(scoring(o, 0, 0, x=o.x)), **shared(o, held=True))
    close(own, o.a**2 * o.norm_t**4 * (o.h**2 + 2 * o.h), 10)


@claim("rotary", "the squares of all entries of the rotation add to the number of channels")
def _():
    for h in (1, 2, 5, 8):
        close((rotation(np.linspace(0.2, 2, h // 2), h) ** 2).sum(), h)


@claim("rotary", "turns pair $k$ by $\\theta_{k} := \\omega_{k}(s - t)$")
def _():
    omega, t, s = np.array([1.0, 0.1]), 3, 8
    relative = rotation(omega * t, 5).T @ rotation(omega * s, 5)
    np.testing.assert_allclose(relative, rotation(omega * (s - t), 5), atol=1e-14)


@claim(
    "rotary",
    "mean and variance of queries and keys do not change",
    "every attribute of `self_logits` is unchanged",
)
def _():
    turned, still = (
        varprop.predict(d_model=16, n_heads=2, seq_len=8, position=position)
        for position in ("rotary", "none")
    )
    for stage in ("query", "key"):
        assert turned[stage].mean == still[stage].mean
        close(turned[stage].variance, still[stage].variance)
    for attribute in ("mean", "variance", "second_moment", "excess_kurtosis"):
        close(getattr(turned.self_logits, attribute), getattr(still.self_logits, attribute))


@claim(
    "rotary",
    "is largest where all $\\theta_{k}$ are near 0",
    "$h$ at distance 0, less and oscillating farther away",
)
def _():
    angles = np.linspace(-math.pi, math.pi, 721)
    traces = 2 * np.cos(angles) + 2 * np.cos(angles / 10)
    squares = traces**2 + 2 * np.cos(2 * angles) + 2 * np.cos(angles / 5)
    assert traces.argmax() == squares.argmax() == 360
    assert traces.max() == 4
    distances = np.arange(60)
    falling = 2 * (np.cos(distances) + np.cos(distances / 10))
    assert falling[0] == 4 > falling[1:].max()
    assert (np.diff(falling) > 0).any()
    assert (np.diff(falling) < 0).any()


@claim(
    "rotary",
    "$\\tau^{2}$ averages to $h$ and $\\tau_{2}$ to 0",
    "the shared projection's extra terms vanish beside $d h$",
)
def _():
    far = np.arange(10**6, 10**6 + 200_000)
    angles = far * np.array([[1.0], [0.1]])
    traces, squares = 2 * np.cos(angles).sum(0), 2 * np.cos(2 * angles).sum(0)
    close((traces**2).mean(), 4, 3)
    assert abs(squares.mean()) < 1e-3


@claim(
    "rotary", "weights of mean not 0 correlate the two channels of a pair", "A bias of mean not 0"
)
def _():
    p = varprop.predict(
        d_model=4, n_heads=1, seq_len=4, position="rotary", query="normal(mean=0.5, std=1)"
    )
    near, far = (p.at("query", position=t, channel=0).variance for t in (0, 2))
    assert abs(near - far) > 0.1
    p = varprop.predict(
        d_model=4, n_heads=1, seq_len=4, position="rotary", query_bias="constant(1)"
    )
    near, far = (p.at("query", position=t, channel=0).mean for t in (0, 2))
    assert abs(near - far) > 0.1


@claim("rotary", "a turned entry mixes two rows of weights and is more nearly normal")
def _():
    for angle in (0.3, 1.0, 2.0):
        c, s = math.cos(angle), math.sin(angle)

        def turned(W, c=c, s=s):
            return c * W[:, 0] - s * W[:, 1]

        drawn = {"W": ((2,), law(1.0, 1.5))}
        close(variance(turned, **drawn), 1)
        close(average(moment(moment(turned)), **drawn) - 3, 1.5 * (c**4 + s**4))
        assert c**4 + s**4 < 1
    assert covariance(turned, turned, **drawn) > 0


@claim(
    "scores-and-logits",
    "which the positions keep at 1/4 or more",
    "brings the variance of a score below $h/4$",
)
def _():
    for factor in (0.5, 1e-3, 1e-9):
        p = varprop.predict(d_model=16, n_heads=2, embedding_scale=factor, logit_scale=1)
        assert p.logits.variance >= 8 / 4
    close(p.logits.variance, 8 / 4)


@claim("self-scores", "add $h b$ to its mean")
def _():
    fields = {"d_model": 8, "n_heads": 2, "shared_qk": True, "logit_scale": 1}
    free, biased = (
        varprop.predict(**fields, query_bias=f"normal(std={std})").self_logits for std in (0, 0.7)
    )
    close(biased.mean, free.mean + 4 * 0.7**2)
