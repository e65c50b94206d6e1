"""Laws of entries against SciPy's closed forms and mpmath, from the centre to 1e-300."""

import math
import sys

import mpmath
import numpy as np
import pytest
from scipy import special, stats

import varprop
from varprop.precision.laws import log_normal_interval
from varprop.precision.mixtures import NARROW, Length, Product, Sphere, _nodes, log_0f1


@pytest.mark.parametrize(
    ("a", "b"),
    [(-1, 2), (3, 3.1), (37, 38), (-38, -37), (5, math.inf), (-1e-9, 1e-9), (20, 20 + 1e-9)],
)
def test_normal_interval(a, b):
    with mpmath.workdps(60):
        low, high = (mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2 for x in (a, b))
        if a > 0:
            low, high = (mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2 for x in (b, a))
        exact = float(mpmath.log(high - low))
    found = float(log_normal_interval(np.array(a), np.array(b)))
    assert found == pytest.approx(exact, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("a", [1e-6, 0.3, 4, 60, 650])
def test_two_channels_make_a_laplace_law(a):
    law = Product(1.0, (Length(1.0, 2),))
    assert law.log_tail(a) == pytest.approx(-a, rel=1e-11, abs=1e-12)
    assert law.log_between(0, a) == pytest.approx(math.log(-math.expm1(-a)), rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("h", [1, 3, 64])
@pytest.mark.parametrize("z", [0.5, 3, 12])
def test_variance_gamma_tail(h, z):
    """|a|^((h-1)/2) K_((h-1)/2)(|a|) / (sqrt(pi) Gamma(h/2) 2^((h-1)/2)) is the density."""
    v, a = (h - 1) / 2, z * math.sqrt(h)

    def density(x):
        return (x / 2) ** v * mpmath.besselk(v, x) / mpmath.sqrt(mpmath.pi) / mpmath.gamma(h / 2)

    exact = 2 * mpmath.quad(density, [a, a + 5, a + 20, a + 80, mpmath.inf])
    found = Product(1.0, (Length(1.0, h),)).log_tail(a)
    assert found == pytest.approx(float(mpmath.log(exact)), rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("a", [0.01, 1, 35, 600])
def test_a_query_of_gaussian_rows_is_a_variance_gamma_law_too(a):
    """Six channels of N(0, 2^2) N(0, 0.5^2): density e^-|a| (a^2 + 3|a| + 3) / 16."""
    fields = {"d_model": 6, "n_heads": 1, "position": "none", "query": "normal(std=0.5)"}
    law = varprop.precision(embedding="normal(std=2)", embedding_scale=1, **fields)["query"]._law
    assert law.method == "exact"
    exact = math.log((a * a + 5 * a + 8) / 8) - a
    assert law.entry.log_tail(a) == pytest.approx(exact, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("b", "z"), [(256, 8.0), (256, 1e5), (2048, 5.0), (2048, 1e6), (1, 3.0), (33, 1e-2)]
)
def test_hypergeometric_function_where_bessel_functions_underflow(b, z):
    with mpmath.workdps(40):
        exact = float(mpmath.log(mpmath.hyp0f1(b, z)))
    assert float(log_0f1(b, np.array([z]))[0]) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize(
    "lengths",
    [
        (Length(1, 1),),
        (Length(3, 8, 4.0), Length(3, 8, 4.0), Length(1, 4)),
        (Length(1, 4096, 2048.0), Length(1, 4096, 2048.0), Length(1, 128)),
        (Length(1, 512, power=2), Length(1, 64)),
    ],
)
def test_the_nodes_have_mass_1_and_the_mean_of_the_product(lengths):
    logs, weights = _nodes(lengths)
    assert np.exp(weights).sum() == pytest.approx(1, rel=1e-10)
    mean = 1.0
    for scale, n, shift, power in lengths:
        first, spread = n + shift, 2 * (n + 2 * shift)
        mean *= scale**power * (first if power == 1 else first**2 + spread)
    assert np.exp(weights + logs).sum() == pytest.approx(mean, rel=1e-10)


@pytest.mark.parametrize("z", [1e-3, 1, 6, 30])
def test_narrow_lengths_have_a_grid_of_their_own(z, monkeypatch):
    lengths = (Length(1, 512, 1e7), Length(1, 512, 1e7), Length(1, 4))
    law = Product(1.0 / (512 + 1e7) ** 2 / 4, lengths)
    assert lengths[0].step < NARROW < lengths[2].step
    found = law.log_tail(z)
    assert found == pytest.approx(Product(0.25, lengths[2:]).log_tail(z), rel=1e-3)
    monkeypatch.setattr(sys.modules[Product.__module__], "NARROW", 0.0)
    _nodes.cache_clear()
    assert found == pytest.approx(law.log_tail(z), rel=1e-11)
    _nodes.cache_clear()


def test_a_point_on_a_sphere():
    law = Sphere(4.0, 16)
    t = stats.t(15)
    a = 2.5  # u sqrt(n-1)/sqrt(1-u^2) has a t law of n - 1 degrees
    u = a / 4
    exact = 2 * t.sf(u * math.sqrt(15 / (1 - u * u)))
    assert math.exp(law.log_tail(a)) == pytest.approx(exact, rel=1e-12)
    assert math.exp(law.log_between(0, a)) == pytest.approx(1 - exact, rel=1e-12)
    assert law.log_tail(4.1) == -math.inf


LAWS = {
    "normal(std=3000)": stats.norm(0, 3000),
    "normal(mean=500, std=9000)": stats.norm(500, 9000),
    "uniform(-70000, 90000)": stats.uniform(-70000, 160000),
}


@pytest.mark.parametrize("text", LAWS)
def test_tables_of_known_laws(text):
    record = varprop.precision(embedding=text, embedding_scale=2)["embedding"]
    law = LAWS[text]
    exact = law.sf(65520) + law.cdf(-65520)
    assert record.overflow_probability == pytest.approx(exact, rel=1e-12)
    any_of = -math.expm1(512 * 37000 * math.log1p(-exact))
    assert record.any_overflow_probability == pytest.approx(any_of, rel=1e-12)
    zero = law.cdf(2.0**-25) - law.cdf(-(2.0**-25))
    assert record.zero_share == pytest.approx(zero, rel=1e-3)
    assert record.method == "exact"


def test_deep_tails_keep_their_digits():
    record = varprop.precision(embedding="normal(std=1800)")["embedding"]
    assert record.log_overflow_probability == pytest.approx(
        math.log(2) + special.log_ndtr(-65520 / 1800), rel=1e-13
    )
    assert record.overflow_probability == pytest.approx(2 * stats.norm.sf(36.4), rel=1e-12)
    assert varprop.precision(embedding="normal(std=1)")["embedding"].overflow_probability == 0


def test_subnormals_that_are_flushed():
    """Entries of U(-1e-4, 1e-4) below the smallest normal number, those that round up not."""
    record = varprop.precision(embedding="uniform(-1e-4, 1e-4)")["embedding"]
    share = record.subnormal_share + record.zero_share
    assert share == pytest.approx((2.0**-14 - 2.0**-25) / 1e-4, rel=1e-12)


def test_a_narrow_interval_far_from_the_centre_is_not_lost():
    record = varprop.precision(embedding="normal(mean=1, std=1)", dtype="bfloat16")["embedding"]
    exact = 2 * 2.0**-134 * stats.norm.pdf(1)
    assert record.zero_share == pytest.approx(exact, rel=1e-8)


def test_constants_are_rounded_as_they_are():
    at = {"constant(464)": 0.0, "constant(465)": 1.0, "constant(-464)": 0.0, "constant(-465)": 1.0}
    for text, p in at.items():
        record = varprop.precision(embedding=text, dtype="float8_e4m3fn")["embedding"]
        assert record.overflow_probability == p
        assert record.any_overflow_probability == p
    assert varprop.precision(embedding="zeros")["embedding"].zero_share == 1
