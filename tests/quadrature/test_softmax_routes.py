"""The softmax integrals against routes that never see them: definitions, quad, Monte Carlo."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr

from tests.quadrature.reference import (
    FIELDS,
    largest_of_several,
    of_weights,
    several_keys,
    two_keys,
)
from varprop.quadrature import softmax_moments

QUESTIONS = [
    # question, n, variance, entropy: integrals, to the digits that their quadrature had
    ("B10, vision", 50, 16 / 3, 2.178315911062781, 1e-6),
    ("B10, text", 77, 8.0, 2.0281633959155076, 1e-6),
    ("C10", 16, 0.0, 2.772588722239781, 1e-15),
]


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize(
    "std", [1e-8, 1e-5, 1e-2, 0.2, 0.333, 0.334, 1.0, 2.5, 7.0, 30.0, 1e3, 1e4]
)
def test_two_keys(std: float, name: str) -> None:
    assert getattr(softmax_moments(2, std**2), name) == pytest.approx(
        two_keys(std)[name], rel=1e-10, abs=0
    )


@pytest.mark.parametrize(("n", "std", "step"), [(3, 0.3, 0.5), (3, 1.2, 0.2), (4, 0.34, 0.4)])
def test_three_and_four_keys_by_a_grid_over_logits(n: int, std: float, step: float) -> None:
    expected, coarser = several_keys(n, std, step), several_keys(n, std, step * 1.25)
    moments = softmax_moments(n, std**2)
    for name in FIELDS:
        if name == "max_weight":  # has a kink where two logits meet
            continue
        error = 1e-10 + abs(expected[name] / coarser[name] - 1)
        assert error < 1e-7
        assert getattr(moments, name) == pytest.approx(expected[name], rel=error, abs=0), name


@pytest.mark.parametrize(("n", "std"), [(3, 0.1), (3, 0.35), (3, 2.0), (3, 5.0), (4, 1.0)])
def test_largest_of_three_and_four(n: int, std: float) -> None:
    expected, coarser = (largest_of_several(n, std, nodes) for nodes in (64, 48))
    error = 1e-11 + abs(expected / coarser - 1)
    assert error < 1e-8
    assert softmax_moments(n, std**2).max_weight == pytest.approx(expected, rel=error)


@pytest.mark.parametrize("n", [2, 30, 10**4, 10**9])
def test_largest_weight_of_narrow_logits(n: int) -> None:
    """n E max p = 1 + std E max z + O(std^2), z standard Gaussians."""

    def integrand(z: float) -> float:
        return n * z * math.exp((n - 1) * log_ndtr(z) - z * z / 2) / math.sqrt(2 * math.pi)

    parts = pairwise([-9, -2, 0, 2, 4, 6, 8, 12])
    highest = sum(quad(integrand, *part, epsabs=0, epsrel=1e-12)[0] for part in parts)
    for std in (1e-8, 1e-6, 1e-4):
        growth = n * softmax_moments(n, std**2).max_weight - 1
        assert growth == pytest.approx(std * highest, abs=1e-13 + (1 + highest**2) * std**2)


@pytest.mark.parametrize(("n", "std"), [(3, 0.5), (5, 2.0), (10, 1.0), (40, 4.0), (300, 0.3)])
def test_monte_carlo(n: int, std: float) -> None:
    draws = std * np.random.default_rng(n).standard_normal((600_000 // n, n))
    moments = softmax_moments(n, std**2)
    for name, values in of_weights(draws).items():
        stderr = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - getattr(moments, name)) < 5 * stderr, name


@pytest.mark.parametrize("std", [0.05, 0.33, 0.36, 1.0, 4.0, 50.0])
@pytest.mark.parametrize("n", [2, 17, 10**4, 10**9])
def test_sum_squares_is_a_derivative_and_the_entropy_agrees(n: int, std: float) -> None:
    """E sum p^2 = 1 - 2 dF/dvariance, and entropy = F - variance (1 - E sum p^2)."""
    variance, h = std**2, std**2 * 1e-2
    offsets = np.arange(-3, 4)
    values = softmax_moments(n, variance + h * offsets).logsumexp_excess
    slope = values @ np.array([-1, 9, -45, 0, 45, -9, 1]) / (60 * h)
    moments = softmax_moments(n, variance)
    # The stencil's error is h^6 F^(7) / 140; rounding of F is divided by h.
    error = 1e-11 + 1e-14 * abs(values[3] / h)
    assert moments.sum_squares == pytest.approx(1 - 2 * slope, rel=1e-10, abs=error)
    by_parts = moments.logsumexp - variance * (1 - moments.sum_squares)
    assert moments.entropy == pytest.approx(by_parts, rel=1e-11, abs=1e-14 * variance)


@pytest.mark.parametrize(("n", "std"), [(5, 0.7), (77, 8**0.5), (10**6, 3.0), (10**9, 9.0)])
def test_logsumexp_by_nested_quad(n: int, std: float) -> None:
    """F = int (e^-t - phi^n) dlog t, both integrals by an adaptive rule."""

    def complement(u: float) -> float:
        def integrand(z: float) -> float:
            return -math.expm1(-math.exp(min(u + std * z, 50))) * math.exp(-z * z / 2)

        edge = min(max(-u / std, -11.0), 11.0)
        parts = [(-12, edge), (edge, min(edge + 6 / std, 12)), (min(edge + 6 / std, 12), 12)]
        value = sum(quad(integrand, *part, epsabs=0, epsrel=1e-11, limit=200)[0] for part in parts)
        return value / math.sqrt(2 * math.pi)

    def difference(u: float) -> float:
        return math.exp(-math.exp(u)) - math.exp(n * math.log1p(-min(complement(u), 1 - 1e-16)))

    guess = softmax_moments(n, std**2).logsumexp  # where to split, and nothing else
    ends = [-guess - 30 - 4 * std, -guess - 2, -guess + 2 + std, 0, 4 + 3 * std]
    ends = sorted(ends)
    total = sum(
        quad(difference, *part, epsabs=1e-9, epsrel=1e-9, limit=60)[0] for part in pairwise(ends)
    )
    assert guess == pytest.approx(total, rel=3e-9)


@pytest.mark.parametrize("n", [2, 10, 1000, 10**6])
def test_wide_logits_depend_on_the_two_largest(n: int) -> None:
    """With g = E of the density of the gap between the two largest of n standard Gaussians at 0,

    1 - E max p = g log 2 / std, 1 - E sum p^2 = g / std, entropy = g pi^2 / (6 std), the squared
    norm of the Jacobian is g / (3 std), all up to O(1 / std^2), and F = std E max z + O(1 / std).
    """

    def over_maximum(function: object, power: int) -> float:
        def integrand(z: float) -> float:
            return function(z) * math.exp(power * log_ndtr(z) - z * z / 2)

        parts = [(-6.0, 0.0), (0.0, 3.0), (3.0, 6.0), (6.0, 12.0)]
        total = sum(quad(integrand, *part, epsabs=0, epsrel=1e-12)[0] for part in parts)
        return total / math.sqrt(2 * math.pi)

    gap = n * (n - 1) * over_maximum(lambda z: math.exp(-z * z / 2), n - 2) / math.sqrt(2 * math.pi)
    highest = n * over_maximum(lambda z: z, n - 1)
    std = 1e6
    moments = softmax_moments(n, std**2)
    close = {"rel": 20 / std}
    assert moments.entropy == pytest.approx(gap * math.pi**2 / 6 / std, **close)
    assert 1 - moments.sum_squares == pytest.approx(gap / std, **close)
    assert 1 - moments.max_weight == pytest.approx(gap * math.log(2) / std, **close)
    assert moments.jacobian_squared_norm == pytest.approx(gap / 3 / std, **close)
    assert moments.logsumexp == pytest.approx(std * highest, rel=1e-11)


@pytest.mark.parametrize(("question", "n", "variance", "entropy", "digits"), QUESTIONS)
def test_questions(question: str, n: int, variance: float, entropy: float, digits: float) -> None:
    assert softmax_moments(n, variance).entropy == pytest.approx(entropy, rel=digits), question


@pytest.mark.parametrize(
    ("question", "n", "variance", "name", "simulated", "draws"),
    [
        ("B07, right", 256, 1 / 9, "entropy", 5.489888231563237, 20_000),
        ("B07, wrong", 256, 1 / 54, "entropy", 5.535953029023201, 20_000),
        ("C13", 1024, 64.0, "entropy", 0.8987938799298618, 20_000),
        ("C13", 1024, 64.0, "max_weight", 0.7087140651773888, 20_000),
        ("C13", 1024, 512.0, "entropy", 0.2612745683980364, 20_000),
        ("C13", 30, 256.25**2, "entropy", 0.012267167377957688, 20_000),
        ("C13", 30, 256.25**2, "max_weight", 0.9948661584776651, 20_000),
    ],
)
def test_simulated_questions(
    question: str, n: int, variance: float, name: str, simulated: float, draws: int
) -> None:
    """Answers that were simulated; they say not by how many rows, 20,000 at the least suppose."""
    rows = math.sqrt(variance) * np.random.default_rng(1).standard_normal((2000, n))
    stderr = of_weights(rows)[name].std() / math.sqrt(draws)
    assert abs(getattr(softmax_moments(n, variance), name) - simulated) < 4 * stderr, question


@pytest.mark.parametrize("std", [1e-3, 0.05, 0.33, 0.36, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("n", [2, 3, 17, 10**4, 10**9])
def test_mean_logit_square_by_stein(n: int, std: float) -> None:
    """E (sum p l)^2 = v E S + v^2 [1 - E S + 6 E S^2 - 6 E sum p^3], S = sum p^2, v = std^2.

    With J = E[S - 2 sum p^3 + S^2] and dE S/dv = E[S - 4 sum p^3 + 3 S^2], which is half of the
    Laplacian, the bracket is 1 - E S - 3 J + 3 dE S/dv.
    """
    variance, h = std**2, std**2 * 1e-2
    offsets = np.arange(-3, 4)
    values = softmax_moments(n, variance + h * offsets).weight_variance * n
    slope = values @ np.array([-1, 9, -45, 0, 45, -9, 1]) / (60 * h)
    m = softmax_moments(n, variance)
    bracket = 1 - m.sum_squares - 3 * m.jacobian_squared_norm + 3 * slope
    expected = variance * m.sum_squares + variance**2 * bracket
    # The stencil's error is h^6 S^(7) / 140, rounding of S is divided by h; the bracket cancels.
    error = variance**2 * (1e-12 + 1e-14 * values[3] / h)
    assert m.mean_logit_square == pytest.approx(expected, rel=1e-10, abs=error)
