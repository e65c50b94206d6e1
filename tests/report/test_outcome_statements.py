"""Statements in words on the pages of softmax, output head and norms, each computed."""

import math

import numpy as np
import pytest
from scipy import integrate

import varprop
from varprop.quadrature import softmax_moments

from .conftest import PAGES
from .laws import average, law
from .markdown import prose, tables
from .rows import legendre
from .truths.normalisation import in_plane


def says(name, *quotes):
    text = prose(PAGES[f"{name}.md"])
    for quote in quotes:
        assert quote in text, quote


def test_powers_and_logarithms_are_integrals():
    says(
        "softmax",
        "$\\int_{0}^{\\infty} t^{a} e^{-tZ} dt/t$ is $\\Gamma(a) Z^{-a}$",
        "$\\int_{0}^{\\infty} (e^{-t} - e^{-tZ}) dt/t$ is $\\log Z$",
        "$\\int_{0}^{\\infty} \\log(t) e^{-tZ} dt$, which is $-(\\gamma + \\log Z)/Z$",
    )
    for z in (0.6, 2.5):
        for a in (1, 2, 3.5):
            value, _ = integrate.quad(
                lambda t, a=a, z=z: t ** (a - 1) * math.exp(-t * z), 0, np.inf
            )
            assert value == pytest.approx(math.gamma(a) * z**-a, rel=1e-6)
        parts = [
            integrate.quad(
                lambda u, z=z: math.exp(-math.exp(u)) - math.exp(-z * math.exp(u)), low, low + 6
            )[0]
            for low in (-36, -30, -24, -18, -12, -6, 0)
        ]
        assert sum(parts) == pytest.approx(math.log(z), rel=1e-6)
        value = sum(
            integrate.quad(lambda t, z=z: math.log(t) * math.exp(-t * z), *ends)[0]
            for ends in ((0, 1), (1, 60))
        )
        assert value == pytest.approx(-(np.euler_gamma + math.log(z)) / z, rel=1e-6)


def test_a_uniform_row():
    says("softmax", "A uniform row has the entropy 4.852 and a squared Jacobian of 0.007751")
    p = np.full(128, 1 / 128)
    assert f"{-(p * np.log(p)).sum():.3f}" == "4.852"
    assert f"{((np.diag(p) - np.outer(p, p)) ** 2).sum():.6f}" == "0.007751"


def test_slope_and_concavity():
    says(
        "softmax",
        "by at most one half for each unit",
        "starts as $v/2$ and levels off at $\\log n$",
    )
    v = np.geomspace(1e-3, 1e6, 60)
    found = softmax_moments(128, v)
    assert (np.diff(found.logsumexp) <= np.diff(v) / 2).all()
    slopes = np.diff(found.entropy_deficit) / np.diff(v)
    assert (np.diff(slopes) <= 1e-12).all()  # concave, so Jensen's inequality holds
    assert found.entropy_deficit[0] == pytest.approx(v[0] / 2, rel=0.01)
    assert found.entropy_deficit[-1] == pytest.approx(math.log(128), rel=0.01)


def test_tied_pairs():
    says("softmax", "That integral is 1, and therefore $\\rho$ is $M$")
    delta, w = legendre(np.float64(0), np.float64(60), 400)
    p = 1 / (1 + np.exp(-delta))
    assert (w * 2 * p * (1 - p)).sum() == pytest.approx(1, rel=1e-10)
    wide = softmax_moments(6, 1e8)
    scaled = 1e4 * np.array([1 - wide.sum_squares, 1 - wide.max_weight, wide.jacobian_squared_norm])
    largest = 1.2672063606  # of six standard normal numbers (Tippett's tables: 1.26721)
    assert scaled == pytest.approx(largest * np.array([1, math.log(2), 1 / 3]), rel=1e-3)


def test_many_keys():
    says(
        "softmax",
        "tends to 1 plus half that multiple as long as $v$ is below $2 \\log n$",
        "$F$ is $\\sqrt{2 v \\log n}$ to leading order and $Q$ tends to",
    )
    for multiple, limit, squares in ((1, 1.5, 0), (8, 4, 1 - math.sqrt(2 / 8))):
        far = []
        for n in (10**3, 10**6, 10**12):
            found = softmax_moments(n, multiple * math.log(n))
            far.append(abs(found.logsumexp / math.log(n) - limit))
            if n == 10**12:
                assert found.sum_squares == pytest.approx(squares, abs=0.04)
        assert far == sorted(far, reverse=True)
        assert far[-1] < 0.1 * limit


def test_the_spread_of_a_rows_variance():
    says(
        "softmax",
        "This is a third of the excess kurtosis of a logit",
        "the std of $v$ is $\\sqrt{2/h}$ of its mean: 18% at `d_head` 64, 71% at 4",
    )
    assert [round(100 * math.sqrt(2 / h)) for h in (64, 4)] == [18, 71]
    for d, h in ((8, 2), (64, 16)):
        std = f"normal(std={d**-0.5!r})"
        p = varprop.predict(d_model=d, n_heads=d // h, position="none", query=std, key=std)
        relative = (1 + 2 / d) ** 2 * (1 + 2 / h) - 1
        assert p.logits.excess_kurtosis == pytest.approx(3 * relative, rel=1e-10)


def test_the_half():
    says(
        "output_head",
        "0.00002 for 50,257 tokens and $v$ equal to 1",
        "For 50,257 tokens it lies at 21.65",
        "the half worth 0.15, so its first loss is 10.98 and not 10.82",
    )
    size = 50_257
    missing = math.log(size) + 0.5 - softmax_moments(size, 1.0).logsumexp
    assert missing == pytest.approx((math.e - 1) / (2 * size), rel=0.01)
    assert f"{missing:.5f}" == "0.00002"
    assert f"{2 * math.log(size):.2f}" == "21.65"
    v = 768 * 0.02**2
    assert f"{v / 2:.2f}" == "0.15"
    assert f"{varprop.expected_loss(size, v):.2f}" == "10.98"
    assert f"{math.log(size):.2f}" == "10.82"


def test_the_bounds():
    says(
        "output_head",
        "From below, $F \\ge M \\sqrt{v}$",
        "At $v_{c}$ the first bound is $2 \\log V$",
    )
    assert (
        "$$F \\le \\sqrt{2 v \\log V} \\quad \\text{for} \\quad v \\ge v_{c}$$"
        in PAGES["output_head.md"]
    )
    for size, most in ((6, 1.26720), (1000, 3.24143)):  # means of the largest, Tippett (1925)
        assert most < math.sqrt(2 * math.log(size))
        for v in (0.1, 3.0, 2 * math.log(size), 60.0, 1e4):
            found = varprop.expected_loss(size, v)
            assert found <= math.log(size) + v / 2
            assert found >= most * math.sqrt(v)
            if v >= 2 * math.log(size):
                assert found <= math.sqrt(2 * v * math.log(size))


def test_the_own_logit():
    says(
        "output_head",
        "it is 512 where the others have the std 22.6",
        "about $\\sqrt{r d}$ standard deviations of the others above them",
        "read $\\chi_{d-1}$ for $\\chi_{d}$, and $d - 1$ for $d$ in $r d + 1 - r$",
        "The own logit's mean is therefore $b s d \\sqrt{r}$ to within one part in $4d$",
    )
    fields = {"d_model": 512, "embedding": "normal(std=1)", "embedding_scale": 1}
    found = varprop.predict(**fields, position="none", norm="rmsnorm(eps=0)")["output_logits"]
    assert round(found.own_token_mean) == 512
    assert f"{found.variance**0.5:.1f}" == "22.6"
    for norm, degrees in (("rmsnorm(eps=0)", 32), ("layernorm(eps=0)", 31)):
        p = varprop.predict(
            d_model=32,
            embedding="normal(std=0.3)",
            embedding_scale=2,
            position="learned(normal(std=0.5))",
            norm=norm,
        )
        r, out = p["input"].shares["embedding"], p["output_logits"]
        mean_square = out.variance * (r * degrees + 1 - r)
        assert out.own_token_second_moment == pytest.approx(mean_square, rel=1e-9)
        radius, w = legendre(np.float64(0), np.float64(20), 400)
        w = w * radius ** (degrees - 1) * np.exp(-(radius**2) / 2)
        mean = math.sqrt(r * out.variance) * (w @ radius) / w.sum()
        assert out.own_token_mean == pytest.approx(mean, rel=1e-9)
        if degrees == 32:
            assert out.own_token_mean == pytest.approx(0.3 * 32 * math.sqrt(r), rel=1 / (4 * 32))
        above = out.own_token_mean / out.variance**0.5
        assert above == pytest.approx(math.sqrt(r * degrees), rel=0.02)


def test_the_bound_of_the_expansion():
    says("normalisation", "is above $\\mathbb{E} r$ by at most", "is a bound, not an estimate")
    for kappa in (-1.5, 0.0, 2.0):
        for eps in (0.0, 0.1, 1.0, 30.0):
            drawn = {"E": ((4,), law(1.0, kappa))}

            def moment(power, eps=eps, drawn=drawn):
                return average(lambda E: (((E**2).mean(1) - 1) / (1 + eps)) ** power, **drawn)

            def ratio(E, eps=eps):
                v = (E**2).mean(1)
                return np.where(v > 0, v / np.where(v > 0, v + eps, 1), 1.0 if eps == 0 else 0.0)

            expansion = 1 - eps / (1 + eps) * (1 + moment(2) - moment(3))
            above = expansion - average(ratio, **drawn)
            assert -1e-9 <= above <= moment(4) + 1e-9


def test_points_of_a_plane():
    says(
        "normalisation",
        "at $\\varepsilon$ equal to 0 it is $-6/(d + 1)$",
        "the kurtosis formula then gives $-2$",
        "where RMSNorm has $d$",
    )
    for d in (2, 3, 5):
        points, chances = in_plane(d)
        fourth, square = (chances @ (d * points[:, 0] ** 2) ** k for k in (2, 1))
        assert fourth / square**2 - 3 == pytest.approx(-6 / (d + 1), abs=1e-9)
    p = varprop.predict(
        d_model=8,
        n_heads=1,
        position="none",
        norm="rmsnorm(eps=0)",
        query="identity",
        key="identity",
        logit_scale=1,
    )
    assert p.logits.second_moment == pytest.approx(8, rel=1e-12)


def test_half_precision_of_eps():
    says("normalisation", "Float16** cannot hold `eps` 1e-8 and below: there it is 0")
    assert np.float16(1e-8) == 0
    assert np.float16(1e-7) > 0


def test_gpt2_loses_a_fortieth():
    says("normalisation", "only forty times its `eps`: one fortieth of the mean square is lost")
    assert round(0.02**2 / 1e-5, 9) == 40
    rng = np.random.default_rng(0)
    x = 0.02 * rng.standard_normal((2000, 768))
    v = x.var(axis=1)
    assert 1 - (v / (v + 1e-5)).mean() == pytest.approx(1 / 40, rel=0.03)


def test_a_tied_model_first_guesses_its_input():
    says("output_head", "The own logit is above the loss in most rows")
    (models,) = (t for t in tables(PAGES["output_head.md"]) if t.name == "output.models")
    above = [float(row[-1]) > float(row[-2]) for row in models.rows]
    assert sum(above) > len(above) / 2
