"""The expected first loss: questions, limits, and a route by the softmax itself."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from tests.quadrature.own_reference import own_token_losses
from varprop.quadrature import (
    expected_loss,
    expected_loss_excess,
    softmax_moments,
)


def test_questions() -> None:
    # E17's answer is good to 1e-6; `test_two_tokens` has more digits.
    assert expected_loss(2, 10.0**2) == pytest.approx(5.68803, rel=1e-6)
    assert expected_loss(1, 3.0**2) == 0  # E17
    assert expected_loss(50257, 0) == pytest.approx(10.824905, abs=5e-7)  # E08
    # E13's answer is the series ln V + variance/2 - (e^variance - 1)/(2 V), good to 1/V^2.
    assert expected_loss(128256, 0.9733369246625415) == pytest.approx(12.2484455856803, abs=1e-8)
    # E06's was simulated: one draw of the loss varies by sqrt((e^variance - 1) / V).
    spread = math.sqrt(math.expm1(1.92) / 32128)
    assert abs(expected_loss(32128, 1.92) - 11.337361729704977) < spread / 50


@pytest.mark.parametrize("std", [0.01, 0.3, 3.0, 10.0, 1000.0])
def test_two_tokens(std: float) -> None:
    """E log(1 + e^{std sqrt(2) Z}), the target's logit taken off."""

    def integrand(z: float) -> float:
        return np.logaddexp(0, std * 2**0.5 * z) * math.exp(-z * z / 2)

    ends = [-9, -20 / std, 0, 20 / std, 9] if std > 3 else [-9, 0, 9]
    parts = pairwise(ends)
    expected = sum(quad(integrand, *part, epsabs=0, epsrel=1e-13)[0] for part in parts)
    assert expected_loss(2, std**2) == pytest.approx(expected / (2 * math.pi) ** 0.5, rel=1e-11)


@pytest.mark.parametrize(("vocab_size", "std"), [(3, 1.0), (50, 0.4), (400, 5.0)])
def test_simulated_cross_entropy(vocab_size: int, std: float) -> None:
    rng = np.random.default_rng(vocab_size)
    logits = std * rng.standard_normal((400_000 // vocab_size, vocab_size))
    target = logits[np.arange(len(logits)), rng.integers(0, vocab_size, len(logits))]
    losses = np.logaddexp.reduce(logits, axis=1) - target
    stderr = losses.std() / math.sqrt(len(losses))
    assert abs(losses.mean() - expected_loss(vocab_size, std**2)) < 5 * stderr


@pytest.mark.parametrize("vocab_size", [2, 1000, 50257, 10**6])
def test_series_for_many_tokens(vocab_size: int) -> None:
    """Excess = v/2 - (e^v - 1)/(2 V) + O(e^{3 v} / V^2), from the moments of sum e^l."""
    for v in (1e-16, 1e-4, 0.01, 0.5, 1.0):
        series = v / 2 - math.expm1(v) / (2 * vocab_size)
        error = 4 * math.expm1(v) ** 2 * math.exp(v) / vocab_size**2
        assert expected_loss_excess(vocab_size, v) == pytest.approx(series, abs=error, rel=1e-11)


def test_shapes_and_extremes() -> None:
    sizes, stds = np.array([[1], [2], [1000], [10**6]]), np.array([0, 1e-8, 1.0, 30.0, 1000.0])
    loss, excess = expected_loss(sizes, stds**2), expected_loss_excess(sizes, stds**2)
    assert loss.shape == excess.shape == (4, 5)
    assert np.isfinite(loss).all()
    assert (loss[0] == 0).all()
    assert (np.diff(loss[1:], axis=0) > 0).all()
    assert (np.diff(loss[1:], axis=1) >= 0).all()
    np.testing.assert_allclose(loss, np.log(sizes) + excess, rtol=1e-14)
    assert isinstance(expected_loss(5, 1), float)
    assert expected_loss([5], 1).shape == (1,)
    assert expected_loss(7, 2.5) == softmax_moments(7, 2.5).logsumexp


def test_own_token_alone() -> None:
    assert own_token_losses(1, 2.0, np.array([3.0, -1.0]), np.array([0.5, 0.5])) == (0.0, 1.0)


@pytest.mark.parametrize("size", [2, 1000, 50257])
def test_own_token_far_above(size: int) -> None:
    """E log(1 + e^{-a} Z') = e^{-a} E Z' (1 + O(e^{-a} E Z'^2 / E Z')), however small."""
    for own in (60.0, 200.0, 500.0, 690.0):
        for variance in (0.01, 1.0, 16.0):
            loss, other = own_token_losses(size, variance, np.array([own]), np.ones(1))
            expected = math.exp(math.log(size - 1) + variance / 2 - own)
            error = 1e-12 + math.exp(1.5 * variance - own) + expected
            assert loss == pytest.approx(expected, rel=error, abs=0)
            assert other == own


@pytest.mark.parametrize("size", [3, 1000, 50257])
def test_own_token_far_below(size: int) -> None:
    for own in (-100.0, -1e3, -1e6):
        loss, other = own_token_losses(size, 2.0, np.array([own]), np.ones(1))
        assert other == pytest.approx(expected_loss(size - 1, 2.0), rel=1e-12)
        assert loss == pytest.approx(other - own, rel=1e-14)


@pytest.mark.parametrize(("size", "std", "gap"), [(2, 1.0, 0.0), (300, 0.5, 6.0), (40, 3.0, -4.0)])
def test_own_token_simulated(size: int, std: float, gap: float) -> None:
    rng = np.random.default_rng(size)
    laws, weights = gap + np.array([-1.0, 0.5, 2.0]), np.array([0.2, 0.5, 0.3])
    logits = std * rng.standard_normal((400_000 // size, size))
    own = logits[:, 0] = rng.choice(laws, len(logits), p=weights)
    logsumexp = np.logaddexp.reduce(logits, axis=1)
    expected = own_token_losses(size, std**2, laws, weights)
    for values, value in zip((logsumexp - own, logsumexp), expected, strict=True):
        stderr = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - value) < 5 * stderr


def test_own_token_like_the_others() -> None:
    """An own logit from N(0, variance), by the trapezoidal rule, gives the loss without one."""
    z = 0.125 * np.arange(-76, 77)
    weights = 0.125 * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    for size, std in ((2, 0.01), (2, 1.0), (50257, 0.3), (50257, 1.4), (1000, 6.0)):
        loss, other = own_token_losses(size, std**2, std * z, weights)
        assert loss == pytest.approx(expected_loss(size, std**2), rel=1e-10)
        assert other == pytest.approx(loss, rel=1e-10)
