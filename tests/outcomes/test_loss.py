"""The first loss: against the simulation, known values, and plain quadrature."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import log_ndtr

import varprop
from tests.quadrature.own_reference import own_token_losses
from varprop import strategies
from varprop.outcomes.own_loss import grid_step, own_token_loss
from varprop.predict import Prediction
from varprop.quadrature import expected_loss
from varprop.quadrature.gauss import Law
from varprop.simulation.estimates import z_score

SMALL = {"d_model": 6, "n_heads": 1, "d_head": 1, "seq_len": 3, "vocab_size": 5}
LAYERNORM = {"norm": "layernorm(eps=0)"}
SKEWED = "normal(mean=0.3, std=0.5)"
CASES = {
    "sinusoidal": {"output_scale": 0.5},
    "layernorm": {"output_scale": 0.5} | LAYERNORM,
    "a table with a mean": {"embedding": SKEWED, "embedding_scale": 1},
    "negative": {"embedding": SKEWED, "position": "none", "embedding_scale": -1},
    "learned": {
        "position": "learned(normal(mean=-0.2, std=0.5))",
        "segment": "normal(std=0.3)",
        "embedding": SKEWED,
    },
    "segment": {"segment": "normal(mean=1, std=0.3)", "embedding": SKEWED, "embedding_scale": 0.8},
    "wide": {"embedding": "normal(std=3)", "vocab_size": 50, "embedding_scale": 0.2},
    "very wide": {
        "embedding": "normal(std=10)",
        "position": "learned(normal(std=30))",
        "embedding_scale": 1,
        "vocab_size": 2,
    },
    "one channel": {"d_model": 1, "vocab_size": 3},
    "separate": {"output_head": SKEWED, "hidden_scale": 0.3},
    "one row without direction": {"d_model": 1, "embedding": "zeros", "output_head": "normal"},
    "no row with a direction": {"embedding": "zeros", "position": "none", "output_head": "normal"},
    "equal rows": {"embedding": "constant(0.3)"},
    "one token": {"vocab_size": 1},
    "wider": {"d_model": 130, "segment": "normal(std=0.1)"} | LAYERNORM,
}


@pytest.mark.parametrize("name", CASES)
def test_prediction_agrees_with_the_simulation(name):
    fields = SMALL | CASES[name]
    predicted = varprop.predict(**fields).loss
    assert predicted.method == "quadrature"
    for seed in (1, 2):
        measured = varprop.measure(**fields, replicates=3000, seed=seed).loss
        for attribute in ("mean", *measured.further):
            value, size = getattr(predicted, attribute), math.log(5)
            assert abs(z_score(value, getattr(measured, attribute), size)) < 5, attribute


@pytest.mark.parametrize("tied", [True, False])
def test_heads_that_are_not_gaussian_are_as_near_as_the_method_says(tied):
    fields = SMALL | {"d_model": 16, "embedding": "uniform(-1, 1)", "output_scale": 0.4}
    fields |= {} if tied else {"output_head": "uniform(-1, 2)"}
    predicted = varprop.predict(**fields).loss
    assert "asymptotic" in predicted.method
    measured = varprop.measure(**fields, replicates=4000).loss
    for attribute in ("mean", "excess", "other_token"):
        value, stderr = getattr(measured, attribute)
        guess = getattr(predicted, attribute)
        assert abs(value - guess) < predicted.error * abs(guess) + 5 * stderr


def test_known_values():
    """Questions E06, E13 and E17."""
    plain = {"position": "none", "embedding_scale": 1}
    t5 = varprop.predict(
        d_model=768, n_heads=12, vocab_size=32128, embedding="normal(std=0.05)", **plain
    ).loss
    assert t5.mean == pytest.approx(11.3373617, abs=5e-5)
    assert t5.mean == expected_loss(32128, 768 * 0.05**2)
    cut = "truncated_normal(std=1/sqrt(d_model), low=-3*std, high=3*std)"
    fields = {"d_model": 4096, "n_heads": 32, "vocab_size": 128256, "output_head": cut}
    separate = varprop.predict(**fields).loss
    assert separate.mean == pytest.approx(12.2484455856803, abs=1e-8)
    assert separate.own_token == separate.other_token == separate.depth_zero == separate.mean
    assert 0 < separate.error < 1e-4
    one, two = (
        varprop.predict(vocab_size=size, d_model=100, n_heads=1, embedding="normal", **plain).loss
        for size in (1, 2)
    )
    assert (one.mean, one.excess, one.own_token, one.depth_zero) == (0, 0, 0, 0)
    assert (one.ratio, one.other_token) == (None, None)
    assert two.mean == pytest.approx(5.68803, abs=1e-5)


def test_excess_and_ratio_do_not_cancel():
    narrow = varprop.predict(output_scale=1e-9, output_head="normal").loss
    assert narrow.excess == pytest.approx(512 * 1e-18 / 2, rel=1e-4)
    default = varprop.predict().loss
    assert default.mean - default.excess == pytest.approx(math.log(37000), rel=1e-15)
    assert default.ratio == default.mean / math.log(37000)
    expected = default.own_token / 37000 + default.other_token * (1 - 1 / 37000)
    assert default.depth_zero == pytest.approx(expected, rel=1e-15)


def test_what_all_rows_of_the_head_share_drops_out():
    heads = ("normal(std=0.1)", "normal(mean=3, std=0.1)")
    without, with_mean = (varprop.predict(output_head=head).loss for head in heads)
    assert without.mean == with_mean.mean
    tied = [
        varprop.predict(position="none", **LAYERNORM, embedding=f"normal(mean={mean}, std=0.1)")
        for mean in (0, 3)
    ]
    assert tied[0].loss.own_token == tied[1].loss.own_token


def test_two_tokens_against_plain_quadrature():
    """V = 2, no positions: E log(1 + e^{l - a}), l normal and a = sqrt(d) std |e|."""
    d, std = 5, 0.6
    got = varprop.predict(
        d_model=d, n_heads=1, vocab_size=2, position="none", embedding=f"normal(std={std})"
    ).loss

    nodes, weights = np.polynomial.legendre.leggauss(300)
    scale = math.sqrt(d) * std
    other, r = 9 * scale * nodes[:, None], 5.5 * (1 + nodes)
    density = stats.norm.pdf(other, scale=scale) * stats.chi.pdf(r, d)
    masses = density * np.multiply.outer(9 * scale * weights, 5.5 * weights)
    expected = float((masses * np.logaddexp(0, other - scale * r)).sum())
    assert got.own_token == pytest.approx(expected, rel=1e-9)
    mean = math.sqrt(d) * std * stats.chi(d).mean()
    assert got.other_token == pytest.approx(expected + mean, rel=1e-9)


@pytest.mark.parametrize(("vocab_size", "variance"), [(2, 0.01), (37000, 1), (50, 4), (10**12, 1)])
@pytest.mark.parametrize(("mean", "std"), [(1, 0.7), (-5, 0.5), (8, 1)])
def test_one_grid_gives_what_a_quadrature_for_each_own_logit_gives(vocab_size, variance, mean, std):
    mean, std = mean * variance**0.5, std * variance**0.5
    step = grid_step(vocab_size, variance, std)
    results = []
    for apart in (min(step / std, 0.5), 0.2):
        z = apart * np.arange(-round(8.7 / apart), round(8.7 / apart) + 1)
        results.append((mean + std * z, np.exp(z**2 / -2) / np.exp(z**2 / -2).sum()))
    got = own_token_loss(vocab_size, variance, Law(*results[0]), step)
    expected, _ = own_token_losses(vocab_size, variance, *results[1])
    assert got == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("std", [30.0, 1000.0, 1e8])
def test_very_wide_logits_against_the_largest_of_them(std):
    """With V = 1000 and logits this wide, log sum e^l is the largest one, up to about 1."""
    size, d = 1000, 1
    got = varprop.predict(
        d_model=d, n_heads=1, vocab_size=size, position="none", embedding=f"normal(std={std})"
    ).loss

    def beyond(x):  # E max(largest of the others - |z|, 0), in standard deviations
        below = math.exp((size - 1) * log_ndtr(x))
        return (1 - below) * (2 * stats.norm.cdf(x) - 1)

    expected = std * integrate.quad(beyond, 0, 10, epsrel=1e-12)[0]
    assert got.own_token == pytest.approx(expected, abs=2, rel=1e-11)


def test_broadcasting_holds_what_single_numbers_give():
    sizes, stds = np.array([1, 2, 37000]), np.array([[0.05], [3.0]])
    got = varprop.predict(vocab_size=sizes, embedding=varprop.normal(std=stds)).loss
    for i, j in np.ndindex(2, 3):
        one = varprop.predict(
            vocab_size=int(sizes[j]), embedding=varprop.normal(std=stds[i, 0])
        ).loss
        for name in ("mean", *one.further):
            value = getattr(one, name)
            assert np.array_equal(
                getattr(got, name)[i, j], np.nan if value is None else value, True
            )


HEADS = st.one_of(st.just("tied"), strategies.initializers())


@settings(deadline=None, max_examples=60)
@given(strategies.specs(output_head=HEADS))
def test_every_spec_gives_finite_numbers_or_none(spec):
    prediction = Prediction(spec)
    for moments in (prediction.output_logits, prediction.loss):
        for name, value in moments.to_dict().items():
            assert value is None or type(value) is str or math.isfinite(value), name
        assert math.isfinite(moments.error)
    loss = prediction.loss
    if loss.mean is not None:
        assert loss.mean >= math.log(spec.vocab_size) * (1 - 1e-12)
        assert loss.excess >= 0


@pytest.mark.parametrize(
    "fields",
    [
        {"embedding": "normal(std=1)"},
        {"embedding": "normal(std=1000)", "vocab_size": 10**12},
        {"embedding": "normal(std=1e-150)"},
        {"embedding": "normal(std=1e100)"},
        {"embedding": "normal(mean=100, std=0.1)"},
        {"embedding": "normal(std=1e-10)", "segment": "normal(std=1e10)"},
        {"embedding_scale": -1, "embedding": "normal(std=1)", "d_model": 2**20, "n_heads": 1},
        {"output_scale": 1e-200},
        {"output_scale": 0},
    ],
)
def test_extremes_neither_warn_nor_fail(fields):
    got = varprop.predict(**fields).loss
    values = [got.mean, *(getattr(got, name) for name in got.further)]
    assert all(math.isfinite(value) for value in values)
    low, high = sorted([got.own_token, got.other_token])
    assert low * (1 - 1e-12) <= got.depth_zero <= high * (1 + 1e-12)


def test_rows_without_direction_that_only_rounding_moves_are_not_predicted():
    got = Prediction(
        varprop.TransformerSpec(embedding="constant(0.1)", position="none", norm="layernorm")
    )
    assert got.loss.mean is None
    assert got.output_logits.variance is None
    assert "rounding" in got.loss.method


def test_usual_specs_take_a_moment():
    varprop.predict().loss.depth_zero  # noqa: B018 (imports SciPy)
    taken = []
    for std in (0.02, 0.03, 0.04, 0.05, 0.06):
        got = varprop.predict(embedding=f"normal(std={std})").loss
        start = time.perf_counter()
        assert got.depth_zero > 0
        taken.append(time.perf_counter() - start)
    assert min(taken) < 0.02
