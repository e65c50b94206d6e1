"""The quadrature against SciPy's densities, closed forms, and its own symmetries."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from varprop.normalisation.chi_square import ratio_mean
from varprop.normalisation.masked import binomial, masked_moment
from varprop.normalisation.record import Record


def brute(degrees, variance, square, constant, power, inverse):
    """The mean against the density, in pieces about its bulk; good to 1e-9 at least."""
    law = stats.chi2(degrees) if square == 0 else stats.ncx2(degrees, square / variance)
    middle, spread = law.mean(), law.std()
    edges = [0.0, *(middle * 10.0**-k for k in range(12, 0, -1)), middle]
    edges += [middle + k * spread for k in (1, 3, 6, 12, 25, 60)]

    def value(x):
        y = variance * x
        return y**power / (y + constant) ** inverse * law.pdf(x)

    pieces = itertools.pairwise(edges)
    return sum(integrate.quad(value, a, b, epsabs=0, epsrel=1e-11, limit=200)[0] for a, b in pieces)


UNSEEN = [
    (1, 0.7, 0.0, 0.31, 1, 1),
    (2, 1.3, 0.0, 4.1, 2, 2),
    (3, 0.2, 1.7, 1e-5, 1, 1),
    (5, 2.2, 9.1, 33.0, 4, 4),
    (17, 0.9, 6.4, 2.5, 1, 2.5),
    (6, 1.1, 3.3, 0.7, 0, 0.5),
    (64, 0.01, 2.0, 0.6, 3, 3),
    (511, 1.0, 120.0, 511.0, 2, 2),
]


@pytest.mark.parametrize("arguments", UNSEEN, ids=str)
def test_against_the_density(arguments):
    assert float(ratio_mean(*arguments)) == pytest.approx(brute(*arguments), rel=1e-9)


@pytest.mark.parametrize("constant", [1e-300, 1e-12, 1e-5, 1.0, 1e5, 1e12, 1e200])
def test_two_degrees_in_closed_form(constant):
    # E[X / (X + c)] = 1 - c E[1 / (X + c)] with X exponential of mean 2; 1 - is lost for large c
    half = constant / 2
    if half < 100:
        share = 1 - half * float(special.exp1(half)) * math.exp(half)
    else:
        share = sum((-1) ** k * math.factorial(k + 1) * half ** -(k + 1) for k in range(12))
    assert float(ratio_mean(2, 1.0, 0.0, constant, 1, 1)) == pytest.approx(share, rel=1e-12)


@pytest.mark.parametrize("constant", [1e-300, 1e-12, 1e-3, 1.0, 40.0])
def test_one_degree_in_closed_form(constant):
    root = math.sqrt(constant / 2)
    share = 1 - math.sqrt(math.pi) * root * float(special.erfcx(root))
    assert float(ratio_mean(1, 1.0, 0.0, constant, 1, 1)) == pytest.approx(share, rel=1e-12)


@pytest.mark.parametrize("degrees", [3, 8, 1001, 2**20])
def test_without_a_constant(degrees):
    assert float(ratio_mean(degrees, 0.3, 0.0, 0.0, 0, 1)) == pytest.approx(
        1 / 0.3 / (degrees - 2), rel=1e-12
    )
    half = math.exp(special.gammaln((degrees - 1) / 2) - special.gammaln(degrees / 2))
    loose = 1e-12 if degrees < 10**4 else 1e-9  # the factorials' logarithms lose digits
    assert float(ratio_mean(degrees, 1.0, 0.0, 0.0, 0, 0.5)) == pytest.approx(
        half / math.sqrt(2), rel=loose
    )


@pytest.mark.parametrize("square", [1e-200, 1.0, 1e30, 1e200])
def test_a_sure_row(square):
    for constant in (square / 1e9, square, square * 1e9):
        found = float(ratio_mean(7, 0.0, square, constant, 2, 2))
        assert found == pytest.approx((square / (square + constant)) ** 2, rel=1e-13)


@pytest.mark.parametrize("noncentral", [1e6, 1e12, 1e20])
def test_a_nearly_sure_row(noncentral):
    """The variance of X is 4 lambda: it adds r'' / 2 times that, and the rest is smaller."""
    found = float(ratio_mean(5, 1.0, noncentral, noncentral, 1, 1))
    first = (noncentral + 5) / (2 * noncentral + 5)
    second = -4 * noncentral * noncentral / (2 * noncentral + 5) ** 3
    assert found == pytest.approx(first + second, abs=60 / noncentral**2 + 1e-14)


def test_units_and_shapes():
    degrees = np.array([[1.0], [4.0], [9.0]])
    squares = np.array([0.0, 1e-3, 2.0, 50.0])
    first = ratio_mean(degrees, 0.8, squares, 0.1, 2, 3)
    assert first.shape == (3, 4)
    scaled = ratio_mean(degrees, 0.8e100, squares * 1e100, 0.1e100, 2, 3)
    np.testing.assert_allclose(scaled * 1e100, first, rtol=1e-13)
    for i, j in np.ndindex(3, 4):
        one = ratio_mean(float(degrees[i, 0]), 0.8, squares[j], 0.1, 2, 3)
        assert float(one) == pytest.approx(first[i, j], rel=1e-13)


def test_nothing_but_a_constant():
    assert float(ratio_mean(3, 0.0, 0.0, 1.0, 1, 1)) == 0
    assert float(ratio_mean(0, 1.0, 0.0, 1.0, 2, 2)) == 0
    assert float(ratio_mean(0, 0.0, 0.0, 0.0, 1, 1)) == 0
    with pytest.raises(ValueError, match="power"):
        ratio_mean(3, 1.0, 0.0, 1.0, 1, 0)


@pytest.mark.parametrize(("count", "chance"), [(1, 0.5), (7, 0.3), (512, 0.9), (4000, 0.999999)])
def test_binomial_weights(count, chance):
    values, weights = binomial(count, chance)
    np.testing.assert_allclose(weights, stats.binom.pmf(values, count, chance), atol=1e-13)


def test_masked_lengths_by_hand():
    record = Record(
        width=2, length=3, layernorm=False, eps=0.3, own=0.0, token=1.5, common=0.0, mean=0.0,
        cumulants=(), symmetric=True, dropout=0.25, base=None, amplitude=1.0,
    )  # fmt: skip
    variance = 1.5 / 0.75**2
    one, two = (float(ratio_mean(k, variance, 0.0, 0.6, 1, 1)) for k in (1, 2))
    expected = 2 * 0.75 * 0.25 * one + 0.75**2 * two
    assert masked_moment(record, 1) == pytest.approx(expected, rel=1e-13)
