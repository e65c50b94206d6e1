"""Discrete laws have the cumulants that were asked for, and exist where any law does."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from varprop.algebra.discrete import central_moments, discrete_law

from .enumeration import Points


def central(law, order):
    mean = law.probabilities @ law.points
    return law.probabilities @ (law.points - mean) ** order


def assert_reproduces(law, cumulants):
    assert law is not None
    assert law.probabilities.min() >= 0
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-12)
    scale = np.abs(law.points - float(cumulants[0]))
    assert law.probabilities @ law.points == pytest.approx(
        float(cumulants[0]), abs=1e-9 * law.probabilities @ scale
    )
    for order, moment in enumerate(central_moments(cumulants)):
        size = law.probabilities @ scale**order
        assert central(law, order) == pytest.approx(float(moment), abs=1e-9 * size + 1e-300)


LAWS = st.lists(
    st.tuples(st.integers(-30, 30), st.integers(1, 50)),
    min_size=2,
    max_size=6,
    unique_by=lambda pair: pair[0],
).map(lambda pairs: Points(*zip(*pairs, strict=True)))


@settings(max_examples=150, deadline=None)
@given(LAWS, st.integers(2, 8), st.sampled_from([Fraction(1), Fraction(1, 10**6), Fraction(10**9)]))
def test_cumulants_of_a_law_are_reproduced(points, highest, unit):
    cumulants = [k * unit**j for j, k in enumerate(points.cumulants(highest), start=1)]
    assert_reproduces(discrete_law(cumulants), cumulants)


@settings(max_examples=100, deadline=None)
@given(LAWS, st.integers(2, 7))
def test_rounded_cumulants_of_a_law_are_reproduced(points, highest):
    cumulants = [Fraction(float(k) / 7**j) for j, k in enumerate(points.cumulants(highest), 1)]
    assert_reproduces(discrete_law(cumulants), cumulants)


def fractions(*numbers):
    return [Fraction(number) for number in numbers]


def test_known_laws():
    law = discrete_law(fractions(0, 1, 0, 0))
    assert law.points == pytest.approx([-(3**0.5), 0, 3**0.5])
    assert law.probabilities == pytest.approx([1 / 6, 2 / 3, 1 / 6])
    law = discrete_law(fractions(5, 1, 0, -2))
    assert law.points == pytest.approx([4, 6])
    assert discrete_law(fractions(3, 0, 0, 0)).points.tolist() == [3.0]
    exponential = [Fraction(factorial(j - 1)) for j in range(1, 9)]
    assert_reproduces(discrete_law(exponential), exponential)
    uniform = fractions(0, Fraction(1, 12), 0, Fraction(-1, 120), 0, Fraction(1, 252))
    assert_reproduces(discrete_law(uniform), uniform)


def test_symmetric_laws_are_symmetric():
    law = discrete_law(fractions(0, 2, 0, 5, 0, 300))
    assert law.points == pytest.approx(-law.points[::-1])
    assert law.probabilities == pytest.approx(law.probabilities[::-1])


@pytest.mark.parametrize(
    "cumulants",
    [
        (0, -1),
        (0, 0, 1),
        (0, 1, 0, -3),  # kurtosis below 1
        (0, 1, 2, 1),  # kurtosis below 1 + skewness^2
        (0, 1, 0, -2, 1),  # a fair coin has no fifth cumulant
        (0, 1, 0, 0, 0, -100),
    ],
)
def test_cumulants_of_no_law(cumulants):
    assert discrete_law(fractions(*cumulants)) is None


def test_samples():
    law = discrete_law(fractions(1, 2, 3, 40))
    drawn = law.sample(np.random.default_rng(0), (1000, 200))
    assert set(np.unique(drawn)) <= set(law.points)
    assert drawn.mean() == pytest.approx(1, abs=0.02)
    assert drawn.var() == pytest.approx(2, rel=0.03)
