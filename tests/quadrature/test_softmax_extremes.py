"""Limits, monotonicity, resolution, and extremes; pytest turns warnings into errors."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quadrature.reference import FIELDS
from varprop.quadrature import largest, narrow, nodes, rows, softmax_moments, wide

MODULES = (nodes, narrow, wide, largest, rows)
STDS = np.concatenate([10.0 ** np.linspace(-8, 4, 25), [0.333, 0.334, 0.5, 2, 5, 6.5, 7.5, 9, 20]])
LENGTHS = (2, 3, 5, 30, 10**4, 10**9, 10**12)


def close_to(value: float, error: float = 1e-10) -> object:
    return pytest.approx(value, rel=error, abs=0)


@pytest.fixture(scope="module")
def standard() -> dict[tuple[int, str], np.ndarray]:
    return {
        (n, name): getattr(moments, name)
        for n in LENGTHS
        for moments in [softmax_moments(n, STDS**2)]
        for name in FIELDS
    }


@pytest.fixture(
    params=[
        {"STEP": 0.125, "GAUSSIAN_STEP": 0.35, "PANEL": 1.5},
        {"NEGLECTED": 50.0, "HIGHEST": 6.0, "SMOOTH": 0.6, "STEP": 0.2, "ORDER": 20},
        {"WIDEST": 0.25, "STEP": 0.17},
    ],
    ids=["twice as fine", "wider", "other branch"],
)
def resolution(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever the quadrature has chosen, chosen otherwise."""
    for name, value in request.param.items():
        for module in MODULES:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    forget()
    yield
    forget()


def forget() -> None:
    for cached in (narrow.gaussian_rule, wide._kernels, largest.legendre):
        cached.cache_clear()


def test_resolution(standard: dict[tuple[int, str], np.ndarray], resolution: None) -> None:
    for n in LENGTHS:
        other = softmax_moments(n, STDS**2)
        for name in FIELDS:
            np.testing.assert_allclose(
                getattr(other, name), standard[n, name], rtol=2e-11, err_msg=f"{name}, n = {n}"
            )


@pytest.mark.parametrize("n", [2, 3, 10, 10**3, 10**9, 10**12])
def test_narrow_logits(n: int) -> None:
    """To O(s^4) relative, from dF/dv = (1 - S)/2 and dS/dv = (n - 1)/n^2 at v = 0, S = E sum p^2:

    F - log n = v (1 - 1/n) / 2 - v^2 (n - 1) / (4 n^2),
    log n - entropy = v (1 - 1/n) / 2 - 3 v^2 (n - 1) / (4 n^2).
    """
    share, curvature = (n - 1) / n, (n - 1) / n**2
    for std in (1e-8, 1e-6, 1e-3, 3e-3):
        v, moments = std**2, softmax_moments(n, std**2)
        error = 1e-13 + 10 * v**2
        excess = v * share / 2 - v**2 * curvature / 4
        assert moments.logsumexp_excess == close_to(excess, error)
        deficit = v * share / 2 - 3 * v**2 * curvature / 4
        assert moments.entropy_deficit == close_to(deficit, error)
        assert moments.weight_variance == close_to(v * curvature / n, 1e-11 + 10 * v)
        assert moments.jacobian_squared_norm == close_to(curvature, 1e-12 + 10 * v)
        assert moments.effective_keys == close_to(n, 1e-12 + 10 * v)
        # v times 1/n + v (1 - 1/n)^2 + ..., the square of the mean weight of what grows with l.
        assert moments.mean_logit_square == close_to(v / n, 1e-12 + 10 * v * n)
        assert 0 <= n * moments.max_weight - 1 < 10 * std
        assert moments.entropy == close_to(math.log(n), 1e-15 + v)


def test_equal_logits_and_one_key() -> None:
    for n in (1, 2, 7, 10**6, 10**12):
        moments = softmax_moments(n, 0)
        assert moments.logsumexp == moments.entropy == math.log(n)
        assert moments.entropy_deficit == moments.weight_variance == moments.logsumexp_excess == 0
        assert moments.sum_squares == 1 / n
        assert moments.max_weight == close_to(1 / n, 1e-12)
        assert moments.jacobian_squared_norm == close_to((n - 1) / n**2, 1e-12)
    for variance in (0, 1e-16, 1.0, 1e8, 1e300):
        moments = softmax_moments(1, variance)
        values = {name: getattr(moments, name) for name in FIELDS}
        ones = {"max_weight", "sum_squares", "effective_keys"}
        expected = {name: float(name in ones) for name in FIELDS}
        assert values == expected | {"mean_logit_square": variance}


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9, 10**12])
def test_random_energy_model(n: int) -> None:
    """With c = sqrt(2 log n): F <= log n + s^2/2 and F / s falls with s, so F <= s c for s >= c.

    Below c/2 the annealed forms hold up to powers of 1/n: F = log n + s^2/2 - (e^{s^2} - 1)/(2n),
    E sum p^2 = e^{s^2} / n. Above c the weights freeze, E sum p^2 -> 1 - c/s up to O(log c / c^2).
    """
    c = math.sqrt(2 * math.log(n))
    for std in np.linspace(0.05, 0.25, 5) * c:
        moments = softmax_moments(n, std**2)
        fluctuation = math.expm1(std**2) / n
        order = n**-2 * math.exp(3 * std**2)  # of the third moment of sum e^l, relative
        assert moments.logsumexp - math.log(n) - std**2 / 2 == pytest.approx(
            -fluctuation / 2, abs=2 * order + 1e-13
        )
        # The covariance of sum e^{2l} and sum e^l is the largest correction: 2 (e^{2 v} - 1) / n.
        correction = 3 * math.expm1(2 * std**2) / n
        assert moments.sum_squares * n == close_to(math.exp(std**2), correction + 1e-12)
    frozen = np.linspace(1, 20, 30) * c
    moments = softmax_moments(n, frozen**2)
    assert (moments.logsumexp <= frozen * c).all()
    assert (abs(moments.sum_squares - (1 - c / frozen)) < 4 * math.log(c) / c**2).all()
    assert (np.diff(moments.logsumexp / frozen) < 0).all()


@given(
    n=st.one_of(st.integers(2, 50), st.integers(2, 10**12)),
    power=st.floats(-7, 4),
    factor=st.floats(1.001, 1e3),
)
@settings(max_examples=150, deadline=None)
def test_wider_logits_are_less_even(n: int, power: float, factor: float) -> None:
    variance = np.array([1, factor]) * 10 ** (2 * power)
    low, high = ({f: getattr(softmax_moments(n, v), f) for f in FIELDS} for v in variance)
    slack = 1e-10
    for name in ("logsumexp", "logsumexp_excess", "entropy_deficit", "max_weight", "sum_squares"):
        assert low[name] <= high[name] * (1 + slack), name
    assert low["weight_variance"] <= high["weight_variance"] * (1 + slack)
    assert low["entropy"] * (1 + slack) >= high["entropy"]
    for values, v in ((low, variance[0]), (high, variance[1])):
        log_n = math.log(n)
        assert values["entropy"] + values["entropy_deficit"] == close_to(log_n, 1e-14)
        assert 0 < values["logsumexp_excess"] <= v / 2 * (1 - 1 / n) * (1 + slack)
        # Jensen, and what holds for every single row.
        assert values["entropy"] >= -math.log(values["max_weight"]) * (1 - slack) - slack
        assert values["sum_squares"] <= values["max_weight"] * (1 + slack)
        assert values["sum_squares"] * n * (1 + slack) >= 1
        assert 0 < values["jacobian_squared_norm"] <= min(0.5, values["sum_squares"]) * (1 + slack)


@given(n=st.integers(2, 10**11), factor=st.integers(2, 9), power=st.floats(-7, 4))
@settings(max_examples=60, deadline=None)
def test_more_keys(n: int, factor: int, power: float) -> None:
    few, many = (softmax_moments(k, 10 ** (2 * power)) for k in (n, n * factor))
    slack = 1e-10
    assert few.logsumexp < many.logsumexp
    assert few.entropy < many.entropy * (1 + slack)
    assert few.max_weight * (1 + slack) > many.max_weight
    assert few.sum_squares * (1 + slack) > many.sum_squares


@pytest.mark.parametrize("variance", [5e-324, 1e-300, 1e-16, 1e8, 1e16, 1e100, 1.7e308])
@pytest.mark.parametrize("n", [1, 2, 3, 1000, 10**9, 10**12])
def test_extremes_are_finite(n: int, variance: float) -> None:
    moments = softmax_moments(n, variance)
    for name in FIELDS:
        if name == "mean_logit_square" and variance > 1e306 and n > 1:
            continue  # (sum p l)^2 goes beyond the largest number where the variance is nearly that
        value = getattr(moments, name)
        assert isinstance(value, float)
        assert math.isfinite(value)
        assert value >= 0
    assert 1 / n <= moments.sum_squares <= 1
    assert 1 / n <= moments.max_weight <= 1


def test_very_wide_logits_scale() -> None:
    """Everything that vanishes does so as 1 / std, without losing digits to cancellation."""
    reference, wider = softmax_moments(1000, 1e20), softmax_moments(1000, 1e220)
    for name in ("entropy", "jacobian_squared_norm"):
        assert getattr(wider, name) * 1e100 == close_to(getattr(reference, name), 1e-8)
    assert wider.logsumexp / 1e110 == close_to(reference.logsumexp / 1e10, 1e-9)


def test_record() -> None:
    moments = softmax_moments([[2], [300]], [0.1, 1.0, 40.0])
    for name in FIELDS:
        values = getattr(moments, name)
        assert values.shape == (2, 3)
        assert not values.flags.writeable
        assert values is getattr(moments, name)
        for i, n in enumerate((2, 300)):
            for k, variance in enumerate((0.1, 1.0, 40.0)):
                alone = getattr(softmax_moments(n, variance), name)
                assert values[i, k] == close_to(alone, 1e-11)
    with pytest.raises(AttributeError, match="immutable"):
        moments.entropy = 1
    for other in (copy.deepcopy(moments), pickle.loads(pickle.dumps(moments))):
        np.testing.assert_array_equal(other.entropy, moments.entropy)
    assert "entropy" in repr(softmax_moments(3, 1.0))
    assert isinstance(softmax_moments(np.int64(3), np.float32(1)).entropy, float)
    assert isinstance(softmax_moments(np.array(3), np.array(1)).entropy, float)


def test_read_lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = rows.mixture
    monkeypatch.setattr(rows, "mixture", lambda *a: calls.append(a[0].__name__) or original(*a))
    moments = softmax_moments(5, 1.0)
    assert calls == []
    assert moments.entropy > moments.entropy_deficit
    assert calls == ["one_dimensional"]
    assert moments.max_weight < 1
    assert calls == ["one_dimensional", "largest"]
