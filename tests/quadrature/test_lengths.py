"""Mixtures over the logits' variance, and many row lengths at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.quadrature.reference import FIELDS, of_weights
from varprop.quadrature import causal_moments, lengths, mixture_moments, softmax_moments

LINEAR = [name for name in FIELDS if name != "effective_keys"]


@pytest.mark.parametrize("std", [1e-6, 0.2, 0.5, 3.0, 200.0])
def test_causal_rows_are_rows(std: float) -> None:
    """Interpolated in log n where a block of lengths is long; the same numbers one by one."""
    many = causal_moments(6000, std**2)
    for n in (1, 2, 3, 31, 32, 33, 100, 511, 512, 777, 5999, 6000):
        alone = softmax_moments(n, std**2)
        for name in FIELDS:
            expected = pytest.approx(getattr(alone, name), rel=1e-11, abs=0)
            assert getattr(many, name)[n - 1] == expected, (n, name)


def test_interpolation_converges(monkeypatch: pytest.MonkeyPatch) -> None:
    standard = causal_moments(5000, 4.0)
    monkeypatch.setattr(lengths, "DEGREE", 60)
    finer = causal_moments(5000, 4.0)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(finer, name), getattr(standard, name), rtol=1e-11)


def test_lengths_in_any_order() -> None:
    n = np.random.default_rng(0).integers(1, 3000, (40, 50))
    values = softmax_moments(n, 2.0).entropy
    np.testing.assert_allclose(values, causal_moments(3000, 2.0).entropy[n - 1], rtol=1e-11)


@pytest.mark.parametrize("n", [1, 2, 50, [1, 2, 3000]])
def test_mixture_is_an_average(n: object) -> None:
    variances, weights = np.array([0.0, 0.01, 1.0, 50.0]), np.array([1, 2, 3, 2])
    mixed = mixture_moments(n, variances, weights)
    parts = [softmax_moments(n, v) for v in variances]
    for name in LINEAR:
        expected = sum(w * getattr(part, name) for w, part in zip(weights / 8, parts, strict=True))
        np.testing.assert_allclose(getattr(mixed, name), expected, rtol=1e-11, err_msg=name)
    np.testing.assert_allclose(mixed.effective_keys, 1 / np.asarray(mixed.sum_squares))
    assert isinstance(mixed.entropy, float) == isinstance(n, int)


def test_mixture_against_simulation() -> None:
    """Logits whose variance is exponential: Gauss-Laguerre nodes."""
    nodes, weights = np.polynomial.laguerre.laggauss(24)
    rng = np.random.default_rng(3)
    stds = np.sqrt(rng.exponential(size=60_000))
    values = of_weights(stds[:, None] * rng.standard_normal((60_000, 12)))
    mixed = mixture_moments(12, nodes, weights)
    for name, each in values.items():
        stderr = each.std() / math.sqrt(len(each))
        assert abs(each.mean() - getattr(mixed, name)) < 5 * stderr, name


def test_causal_mixture() -> None:
    mixed = causal_moments(50, [0.5, 5.0], [1, 1])
    one, two = causal_moments(50, 0.5), causal_moments(50, 5.0)
    np.testing.assert_allclose(mixed.max_weight, (one.max_weight + two.max_weight) / 2, rtol=1e-12)
    assert mixed.entropy.shape == (50,)
