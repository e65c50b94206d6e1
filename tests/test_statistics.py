"""Streaming moments, delta-method standard errors, and how estimates print and are judged."""

import math

import numpy as np
import pytest
from scipy import stats

from varprop.simulation.estimates import Estimate, format_estimate, z_score
from varprop.simulation.statistics import Pilot, StageStatistics
from varprop.simulation.streaming import Streaming


def measured(stage, values, parts=1, shared_places=False):
    """Moments of `values`, collected in `parts` blocks of an even number of replicates."""
    values = np.asarray(values, dtype=float)
    pilot = Pilot.of(stage, values[:2])
    blocks = [values] if parts == 1 else np.split(values, range(2, 2 * parts, 2))
    first, *rest = (StageStatistics.of(stage, block, pilot, shared_places) for block in blocks)
    for block in rest:
        first = first.merge(block)
    return first.moments()


@pytest.mark.parametrize("cuts", [[], [1], [5, 6, 40], [0, 0, 99], list(range(1, 100))])
def test_merging_blocks_is_seeing_all_vectors_at_once(cuts):
    samples = np.random.default_rng(0).standard_normal((100, 3)) * [1, 30, 0.1] + [9, 0, 1]
    first, *rest = (Streaming.of(part) for part in np.split(samples, cuts))
    for part in rest:
        first = first.merge(part)
    assert first.count == 100
    np.testing.assert_allclose(first.mean, samples.mean(axis=0), rtol=1e-13, atol=1e-12)
    covariance = np.cov(samples, rowvar=False) / 100
    np.testing.assert_allclose(first.covariance, covariance, rtol=1e-9)


def slow_moments(values):
    """Mean, variance, second moment, std and excess kurtosis from plain loops over all entries."""
    entries = [math.fsum([float(entry)]) for entry in np.ravel(values)]
    count = len(entries)
    mean = math.fsum(entries) / count
    powers = {k: math.fsum((entry - mean) ** k for entry in entries) / count for k in (2, 4)}
    second = math.fsum(entry**2 for entry in entries) / count
    return mean, powers[2], second, powers[4] / powers[2] ** 2 - 3


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6, -1e9])
@pytest.mark.parametrize("parts", [1, 4])
def test_pooled_moments_against_slow_loops_whatever_the_mean(offset, parts):
    values = np.random.default_rng(1).standard_exponential((12, 5, 7)) + offset
    mean, variance, second, kurtosis = slow_moments(values)
    # The unbiased estimate adds the variance of the mean over replicates.
    variance_of_mean = np.var(values.mean(axis=(1, 2)), ddof=1) / 12
    got = measured("self_scores", values, parts)
    assert got.mean.value == pytest.approx(mean, rel=1e-13)
    assert got.variance.value == pytest.approx(variance + variance_of_mean, rel=1e-8)
    assert got.second_moment.value == pytest.approx(second, rel=1e-13)
    assert got.std.value == pytest.approx(math.sqrt(got.variance.value), rel=1e-13)
    raw = (kurtosis + 3) * (variance / got.variance.value) ** 2 - 3
    assert got.excess_kurtosis.value == pytest.approx(raw, rel=1e-7)


def test_cross_position_moment_against_slow_loops():
    values = np.random.default_rng(2).standard_normal((4, 5, 2, 3)) + 0.5
    products = [
        values[r, t, h, c] * values[r, s, h, c]
        for r in range(4)
        for t in range(5)
        for s in range(5)
        for h in range(2)
        for c in range(3)
        if t != s
    ]
    got = measured("query", values).cross_position_moment
    assert got.value == pytest.approx(math.fsum(products) / len(products), rel=1e-12)


def test_row_variance_and_ensemble_variance_against_slow_loops():
    values = np.random.default_rng(3).standard_normal((6, 2, 4, 3)) * 2 + 1
    rows = [np.var(row, ddof=1) for row in values.reshape(-1, 3)]
    halves = [
        (values[r, h, i, j] - values[r + 1, h, i, j]) ** 2 / 2
        for r in (0, 2, 4)
        for h in range(2)
        for i in range(4)
        for j in range(3)
    ]
    got = measured("scores", values, parts=2)
    assert got.row_variance.value == pytest.approx(np.mean(rows), rel=1e-12)
    assert got.ensemble_variance.value == pytest.approx(np.mean(halves), rel=1e-12)
    per_pair = np.reshape(halves, (3, -1)).mean(axis=1)
    assert got.ensemble_variance.stderr == pytest.approx(stats.sem(per_pair), rel=1e-12)


@pytest.mark.parametrize("shared_places", [False, True])
def test_a_last_replicate_without_partner_is_a_unit(shared_places):
    values = np.random.default_rng(4).standard_normal((5, 8))
    means = values.mean(axis=1)
    units = [means[:2].mean(), means[2:4].mean(), means[4]] if shared_places else means
    got = measured("self_scores", values, shared_places=shared_places)
    assert got.mean == pytest.approx((np.mean(units), stats.sem(units)), rel=1e-12)
    pairs = np.square(values[0:4:2] - values[1:4:2]).mean(axis=1) / 2
    assert got.ensemble_variance == pytest.approx((pairs.mean(), stats.sem(pairs)), rel=1e-12)


def test_a_single_unit_has_no_standard_error():
    got = measured("self_scores", np.random.default_rng(5).standard_normal((2, 8)), 1, True)
    assert got.variance.stderr == math.inf
    assert got.to_dict()["variance"]["stderr"] is None
    assert z_score(123.0, got.variance) == 0


def test_delta_method_standard_errors_match_the_spread_of_repeated_measurements():
    """400 measurements of correlated, skewed entries: mean squared z within chi-square bounds."""
    generator = np.random.default_rng(6)
    results = []
    for _ in range(400):
        shared = generator.standard_normal((200, 1, 1)) + 0.7
        results.append(measured("query", shared + generator.exponential(size=(200, 3, 2))))
    low, high = stats.chi2.ppf([5e-4, 1 - 5e-4], 399) / 399
    for name in ("mean", "variance", "std", "second_moment", "ensemble_variance"):
        values, errors = np.transpose([getattr(result, name) for result in results])
        assert low < np.var(values, ddof=1) / np.mean(errors**2) < high, name
    # Var(shared) + Var(exponential) = 2, without the O(1/N) bias of the squared mean.
    values = np.array([result.variance.value for result in results])
    assert abs(values.mean() - 2) < 4 * stats.sem(values)


def test_kurtosis_standard_error_against_the_jackknife():
    """Leaving out one replicate at a time knows no gradient; they differ by O(1/replicates)."""
    values = np.random.default_rng(8).beta(1, 6, size=(1000, 1, 3))
    left_out = [stats.kurtosis(np.delete(values, r, axis=0), axis=None) for r in range(1000)]
    jackknife = math.sqrt(999 * np.var(left_out))
    for pilot in (Pilot.of("query", values), Pilot(0.3, 2.0), Pilot(0.0, 1.0)):
        got = StageStatistics.of("query", values, pilot, False).moments().excess_kurtosis
        assert got.stderr == pytest.approx(jackknife, rel=0.03)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9, -1e-200])
def test_a_constant_has_no_spread_and_no_kurtosis(constant):
    got = measured("query", np.full((6, 3, 4), constant), parts=3)
    assert got.mean == pytest.approx((constant, 0), rel=1e-15)
    assert got.excess_kurtosis is None
    assert got.ensemble_variance == (0, 0)
    for name in ("variance", "std", "second_moment", "cross_position_moment"):
        exact = constant**2 if "moment" in name else 0.0
        estimate = getattr(got, name)
        assert math.isfinite(estimate.stderr)
        assert abs(z_score(exact, estimate, got.magnitude(name))) < 1, name


def test_scaling_every_entry_scales_the_estimates():
    values = np.random.default_rng(7).standard_normal((8, 5, 3)) + 0.3
    plain = measured("input", values)
    for factor in (1e-100, 1e-3, 1e30, 1e100):
        scaled = measured("input", values * factor)
        assert scaled.std == pytest.approx(np.multiply(plain.std, factor), rel=1e-9)
        assert scaled.excess_kurtosis == pytest.approx(plain.excess_kurtosis, rel=1e-9)


@pytest.mark.parametrize("entry", [1e160, math.inf, math.nan])
def test_what_cannot_be_squared_is_refused_with_the_stage(entry):
    with pytest.raises(ValueError, match=r"^logits: "):
        Pilot.of("logits", np.array([[1.0, entry]]))


@pytest.mark.parametrize("attribute", ["cross_position_moment", "row_variance"])
def test_attributes_that_do_not_apply_are_none(attribute):
    values = np.ones((2, 1, 2, 1))
    assert getattr(measured("query", values), attribute) is None
    assert getattr(measured("scores", values), attribute) is None
    assert getattr(measured("self_scores", values), attribute) is None


@pytest.mark.parametrize(
    ("predicted", "estimate", "magnitude", "z"),
    [
        (1.0, (1.2, 0.1), 0.0, 2.0),
        (1.2, (1.0, 0.1), 0.0, -2.0),
        (0.0, (0.0, 0.0), 0.0, 0.0),
        (5.0, (1.0, math.inf), 0.0, 0.0),
    ],
)
def test_z_score(predicted, estimate, magnitude, z):
    assert z_score(predicted, Estimate(*estimate), magnitude) == pytest.approx(z)


def test_z_score_forgives_rounding_and_nothing_else():
    assert abs(z_score(1.0, Estimate(1 + 4e-16, 1e-17))) < 0.01
    assert abs(z_score(0.5, Estimate(0.5 - 3e-14, 0.0))) < 1
    assert abs(z_score(0.0, Estimate(1e-16, 0.0), magnitude=1.0)) < 0.01
    assert abs(z_score(1.0, Estimate(1 + 1e-11, 1e-17))) > 50
    assert abs(z_score(0.0, Estimate(1e-16, 0.0))) > 1e10  # nothing cancels: that is not 0


@pytest.mark.parametrize(
    ("value", "stderr", "text"),
    [
        (1.49831, 0.00213, "1.4983 ± 0.0021"),
        (143.894, 0.462, "143.89 ± 0.46"),
        (143.8, 0.996, "143.8 ± 1.0"),
        (0.0996, 0.0996, "0.10 ± 0.10"),
        (-12345.6, 789.0, "-12346 ± 789"),
        (0.0019527, 1.1e-6, "(1.9527 ± 0.0011)e-03"),
        (0.999993009, 1.2e-8, "0.999993009 ± 0.000000012"),
        (1.9527e-5, 1.1e-8, "(1.9527 ± 0.0011)e-05"),
        (4e-9, 1.8e-8, "(0.4 ± 1.8)e-08"),
        (0.0, 1.8e-8, "(0.0 ± 1.8)e-08"),
        (4.2e-12, 1.8e-8, "(0.0 ± 1.8)e-08"),
        (1.2345e20, 1.1e17, "(1.2345 ± 0.0011)e+20"),
        (9.99999e9, 1.1e6, "(1.00000 ± 0.00011)e+10"),
        (0.3438811260317, 0.0, "0.343881126 ± 0"),
        (0.5, 1e-17, "0.5 ± 1e-17"),
        (2.5, math.inf, "2.5 ± inf"),
        (0.0, 5e-324, "0 ± 4.9e-324"),
    ],
)
def test_digits_follow_the_standard_error(value, stderr, text):
    assert format_estimate(Estimate(value, stderr)) == str(Estimate(value, stderr)) == text


def test_the_variance_of_rows_of_one_length_has_the_error_of_a_squared_mean():
    """Entries of one mean square in all replicates: only the mean varies, and around 0."""
    scores = []
    for seed in range(200):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], (40, 2, 3))
        scores.append(z_score(1.0, measured("self_scores", signs).variance))
    assert max(map(abs, scores)) < 5
    assert np.std(scores) < 1.15
