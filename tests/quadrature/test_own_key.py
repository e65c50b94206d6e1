"""Rows with one given logit against quad, grids, Monte Carlo, and rows without one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quadrature.own_reference import computed, of_rows, one_other_key, two_others
from varprop.quadrature import (
    averages,
    largest,
    narrow,
    nodes,
    own_largest,
    own_nodes,
    own_rows,
    rows,
    softmax_moments,
    wide,
)
from varprop.quadrature.integrals import OwnKeyIntegrals
from varprop.quadrature.own_key import own_key_integrals
from varprop.quadrature.own_largest import own_key_largest

STDS = [0.0, 1e-3, 0.1, 0.333, 0.334, 1.0, 3.0, 9.0, 11.0, 50.0, 1e4]
LENGTHS = np.array([1.0, 2, 3, 30, 128, 1e4, 1e9])
LOGITS = np.array([-1e12, -1e6, -800, -40, -3, -1e-4, 0, 1e-4, 0.3, 5, 40, 700, 800, 1e6, 1e12])


@pytest.mark.parametrize("own", [-40.0, -8.0, -2.0, -1e-3, 0.0, 0.3, 5.0, 20.0, 45.0])
@pytest.mark.parametrize("std", STDS[1:])
def test_one_other_key(std: float, own: float) -> None:
    """What is small is so by itself, not by cancellation, but for three differences."""
    expected = one_other_key(std, own)
    for name, value in computed(std, 2, own).items():
        # F - log 2 and log 2 - entropy of the reference, F as a sum of a and of a positive number.
        scale = {"deficit": 1.0, "logsumexp_excess": 1.0, "logsumexp": 1.0}.get(name, 0.0)
        # The weights of the reference and E p0 hold digits of 1 - p0 > 2^-53 only.
        absolute = 1e-13 * scale * (1 + std + abs(own)) + 1e-25
        assert value == pytest.approx(expected[name], rel=1e-10, abs=absolute), name


@pytest.mark.parametrize(("std", "own"), [(10.0, 80.0), (30.0, 300.0), (1e3, 9e3), (1e4, 6e4)])
def test_an_own_key_above_all_others(std: float, own: float) -> None:
    """Where another key comes close only far out in its tail."""
    expected, values = one_other_key(std, own), computed(std, 2, own)
    for name in ("loss", "entropy", "jacobian", "squares", "largest", "output", "logsumexp"):
        assert values[name] == pytest.approx(expected[name], rel=1e-10, abs=0), name


@pytest.mark.parametrize("own", [-3.0, 0.0, 0.2, 4.0])
@pytest.mark.parametrize(("std", "step"), [(1e-3, 0.5), (0.3, 0.4), (0.4, 0.3), (1.2, 0.15)])
def test_two_others_by_a_grid(std: float, own: float, step: float) -> None:
    expected, coarser = two_others(std, own, step), two_others(std, own, step * 1.25)
    values = computed(std, 3, own)
    for name, value in expected.items():
        # Differences of the reference round at 1e-15.
        error = 1e-10 * abs(value) + abs(value - coarser[name]) + 1e-14
        assert error < 1e-8 * (1 + abs(value))
        assert abs(values[name] - value) < error, name


@pytest.mark.parametrize(
    ("n", "std", "own"), [(3, 1.0, 0.5), (5, 2.0, -1.0), (20, 0.3, 2.0), (40, 5.0, 10.0)]
)
def test_monte_carlo(n: int, std: float, own: float) -> None:
    logits = std * np.random.default_rng(n).standard_normal((100_000, n))
    logits[:, 0] = own
    values = computed(std, n, own)
    for name, each in of_rows(logits).items():
        stderr = each.std() / math.sqrt(len(each))
        assert abs(each.mean() - values[name]) < 5 * stderr, name


@pytest.mark.parametrize("std", [1e-4, 1e-2, 0.3, 0.35, 1.5, 4.0, 10.0, 40.0, 1e3])
@pytest.mark.parametrize("n", [2, 3, 30, 128, 10**4])
def test_gaussian_own_logit_makes_an_ordinary_row(std: float, n: int) -> None:
    """The trapezoidal rule over a ~ N(0, std^2), of which the integrals are analytic.

    Poles of p0 are at |Im a| = pi where logits are equal, and where logits are wide the average
    over the others keeps them away from the real axis by as much as std / sqrt(2 log n).
    """
    step = 0.2 * min(1.0, max(4 / std, 1 / (1 + math.log(n))))
    own = std * step * np.arange(-round(9.5 / step), round(9.5 / step) + 1)
    weights = step * np.exp(-((own / std) ** 2) / 2) / math.sqrt(2 * math.pi)
    given_own = own_key_integrals(std, np.array([float(n)]), own)
    mean = {name: float(v[0] @ weights) for name, v in given_own._asdict().items()}
    moments = softmax_moments(n, std**2)
    assert mean == pytest.approx(
        {
            "logsumexp": moments.logsumexp,
            "logsumexp_excess": moments.logsumexp_excess,
            "entropy": moments.entropy,
            "deficit": moments.entropy_deficit,
            "squares": moments.sum_squares,
            "squares_excess": moments.weight_variance * n,
            "jacobian": moments.jacobian_squared_norm,
            "own_weight": 1 / n,
            "own_square": moments.sum_squares / n,
            "output": moments.mean_logit_square,
            "other_outputs": (n - 1) * float(given_own.own_square[0] @ (weights * own**2)),
            "loss": moments.logsumexp,
        },
        rel=1e-10,
        abs=0,
    )


@pytest.mark.parametrize(("n", "std"), [(2, 0.3), (30, 1.5), (128, 0.01), (10, 12.0)])
def test_largest_weight_of_an_ordinary_row(n: int, std: float) -> None:
    x, w = np.polynomial.legendre.leggauss(10)
    ends = np.linspace(-8.5, 8.5, 9)
    half = (ends[1] - ends[0]) / 2
    z = ((ends[:-1] + half)[:, None] + half * x).ravel()
    weights = np.tile(half * w, 8) * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    mean = own_key_largest(std, np.array([float(n)]), std * z)[0] @ weights
    # Ten nodes on a panel of two standard deviations: the density alone is integrated to 1e-8.
    assert mean == pytest.approx(softmax_moments(n, std**2).max_weight, rel=1e-7)


@pytest.mark.parametrize("std", [1e-3, 0.2, 0.5, 2.0, 8.0, 15.0, 100.0])
@pytest.mark.parametrize("n", [2, 30, 10**6])
def test_derivatives(std: float, n: int) -> None:
    """dF/da = E p0, dE p0/da = E p0 - E p0^2, and entropy by Stein from F, E p0 and E sum p^2."""
    h = 0.1
    for own in (-4.0, 0.0, 1.5, 7.0):
        r = own_key_integrals(std, np.array([float(n)]), own + h * np.arange(-4, 5))
        stencil = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / (840 * h)
        middle = OwnKeyIntegrals(*(v[0, 4] for v in r))
        # h^8 / 630 times a ninth derivative of log(1 + e^a), at most 1e3, and rounding of F.
        error = 1e3 * h**8 / 630 + 1e-13 * abs(r.logsumexp).max() / h
        assert abs(r.logsumexp[0] @ stencil - middle.own_weight) < error
        assert abs(r.own_weight[0] @ stencil - middle.own_weight + middle.own_square) < error
        spread = 1 - middle.own_weight - (middle.squares - middle.own_square)
        stein = middle.logsumexp - own * middle.own_weight - std**2 * spread
        assert middle.entropy == pytest.approx(stein, rel=1e-10, abs=1e-13 * (std**2 + 10))


def test_equal_others_in_closed_form() -> None:
    for n in (2, 5, 10**6):
        for own in (-30.0, -1.0, 0.0, 2.0, 30.0):
            values = computed(0.0, n, own)
            logsumexp = np.logaddexp(own, math.log(n - 1))
            p, q = math.exp(own - logsumexp), math.exp(-logsumexp)
            squares = p**2 + (n - 1) * q**2
            cubes = p**3 + (n - 1) * q**3
            loss = math.log1p((n - 1) * math.exp(-own))
            expected = {
                "logsumexp": logsumexp,
                "entropy": p * loss + (n - 1) * q * logsumexp,
                "squares": squares,
                "jacobian": squares - 2 * cubes + squares**2,
                "own_weight": p,
                "own_square": p**2,
                "output": (p * own) ** 2,
                "loss": loss,
                "largest": max(p, q),
            }
            for name, value in expected.items():
                # The Jacobian of the reference cancels.
                absolute = 1e-15 if name == "jacobian" else 0
                assert values[name] == pytest.approx(value, rel=1e-11, abs=absolute), name


@pytest.mark.parametrize("std", [1e-4, 1e-3])
@pytest.mark.parametrize("own", [-1e-4, 1e-4, 3e-4])
@pytest.mark.parametrize("n", [2, 10, 10**6])
def test_nearly_equal_logits(std: float, own: float, n: int) -> None:
    """To second order departures are quadratic in the logits: with v their expected variance,

    log n - entropy = v / 2, F - log n = mean + v / 2, E sum p^2 - 1/n = v / n; a third cumulant
    of own^3 / n and terms of fourth order are left out.
    """
    second = ((n - 1) * std**2 + own**2) / n
    mean_square = ((n - 1) * std**2 + own**2) / n**2
    v, values = second - mean_square, computed(std, n, own)
    error = 3 * abs(own) * (own**2 + 3 * std**2) / n + 10 * second**2
    assert abs(values["deficit"] - v / 2) < error + 1e-8 * v
    assert abs(values["logsumexp_excess"] - own / n - v / 2) < error + 1e-8 * v
    assert abs(values["squares_excess"] - v / n) < 3 * error + 1e-8 * v / n


def test_lengths_and_logits_at_once() -> None:
    """The same numbers one by one, and interpolated in log(n - 1) where there are many."""
    many = np.arange(1.0, 1500.0)
    for std in (0.2, 2.0, 60.0):
        together = own_key_integrals(std, many, LOGITS)
        for n in (1, 2, 17, 18, 300, 1499):
            for k in (3, 6, 9, 13):
                alone = own_key_integrals(std, np.array([float(n)]), LOGITS[k : k + 1])
                for name, value in together._asdict().items():
                    one = getattr(alone, name)[0, 0]
                    error = 1e-10 * (1 + abs(LOGITS[k])) * (name in ("output", "deficit"))
                    expected = pytest.approx(one, rel=1e-10, abs=1e-13 + error)
                    assert value[n - 1, k] == expected, (std, n, k, name)


@pytest.mark.parametrize("std", [*STDS, 1e-300, 30.0, 1e3])
def test_extremes(std: float) -> None:
    values = own_key_integrals(std, LENGTHS, LOGITS)
    n, slack = LENGTHS[:, None], 1e-11
    for name, value in values._asdict().items():
        assert value.shape == (len(LENGTHS), len(LOGITS))
        assert np.isfinite(value).all(), name
    assert (values.squares >= (1 - slack) / n).all()
    assert (values.squares <= 1 + slack).all()
    assert (values.entropy >= 0).all()
    assert (values.entropy <= np.log(n) * (1 + slack)).all()
    assert (values.own_weight <= 1 + slack).all()
    assert (values.own_square >= 0).all()
    assert (values.own_square <= values.own_weight * (1 + slack)).all()
    assert (np.diff(values.logsumexp, axis=1) >= -slack * (1 + abs(values.logsumexp[:, 1:]))).all()
    assert (np.diff(values.own_weight, axis=1) >= -slack).all()
    # An own key above everything takes all the weight, one below everything none of it.
    np.testing.assert_allclose(values.logsumexp[:, -1], 1e12, rtol=1e-12)
    np.testing.assert_allclose(values.own_weight[:, -1], 1, rtol=1e-11)
    np.testing.assert_allclose(values.squares[:, -1], 1, rtol=1e-11)
    others = softmax_moments(np.maximum(LENGTHS - 1, 1).astype(int), std**2)
    if std < 1e5:
        kept = slice(1, None)
        np.testing.assert_allclose(values.squares[kept, 0], others.sum_squares[kept], rtol=1e-10)
        np.testing.assert_allclose(
            values.entropy[kept, 0], others.entropy[kept], rtol=1e-10, atol=1e-15
        )
        np.testing.assert_allclose(
            values.logsumexp[kept, 0], others.logsumexp[kept], rtol=1e-10, atol=1e-13 * (50 + std)
        )
        np.testing.assert_allclose(
            values.output[kept, 0], others.mean_logit_square[kept], rtol=1e-9, atol=1e-300
        )


@given(
    n=st.integers(2, 10**9),
    power=st.floats(-4, 4),
    own=st.one_of(st.floats(-5, 10), st.floats(-1e6, 1e6)),
)
@settings(max_examples=60, deadline=None)
def test_bounds(n: int, power: float, own: float) -> None:
    values, slack = computed(10**power, n, own), 1e-10
    assert 0 <= values["entropy"] <= math.log(n) * (1 + slack)
    assert 1 / n * (1 - slack) <= values["squares"] <= values["largest"] * (1 + slack)
    assert values["own_weight"] <= values["largest"] * (1 + slack) <= 1 + 2 * slack
    assert values["jacobian"] <= values["squares"] * (1 + slack)
    assert values["loss"] >= 0
    # Jensen: E p0 = E e^{-log(1 + Z'/e^a)}, and E p0^2 >= (E p0)^2.
    assert math.exp(-values["loss"]) <= values["own_weight"] * (1 + slack) + 1e-300
    assert values["own_weight"] ** 2 <= values["own_square"] * (1 + slack) + 1e-300


MODULES = (nodes, narrow, wide, largest, rows, averages, own_nodes, own_rows, own_largest)


@pytest.fixture(
    params=[
        {"STEP": 0.125, "GAUSSIAN_STEP": 0.35, "PANEL": 1.5},
        {"NEGLECTED": 50.0, "HIGHEST": 5.0, "SMOOTH": 0.6, "LOWEST": -60.0, "ORDER": 20},
        {"WIDEST": 0.25, "STEP": 0.17, "SHARED": 0.2},
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
    for cached in (narrow.gaussian_rule, wide._kernels, averages._kernels, largest.legendre):
        cached.cache_clear()


OWN = np.array([-60.0, -6, -0.5, 0, 1e-3, 3, 12, 60])


@pytest.fixture(scope="module")
def standard() -> dict[float, tuple[OwnKeyIntegrals, np.ndarray]]:
    return {std: both(std) for std in STDS}


def both(std: float) -> tuple[OwnKeyIntegrals, np.ndarray]:
    lengths = LENGTHS[1:]
    return own_key_integrals(std, lengths, OWN), own_key_largest(std, lengths[:3], OWN)


def test_resolution(
    standard: dict[float, tuple[OwnKeyIntegrals, np.ndarray]], resolution: None
) -> None:
    for std, (integrals, highest) in standard.items():
        other, other_highest = both(std)
        np.testing.assert_allclose(other_highest, highest, rtol=2e-11)
        for name, value in integrals._asdict().items():
            # Sums of a and of positive numbers, where it is not the sum that is wanted small.
            scale = 60 + std if "logsumexp" in name else std < 0.4 and "deficit" in name
            absolute = 1e-13 * scale + 1e-25
            np.testing.assert_allclose(
                getattr(other, name), value, rtol=2e-11, atol=absolute, err_msg=f"{name}, {std}"
            )
