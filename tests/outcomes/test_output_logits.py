"""The output head's logits: against the simulation, known values, and plain quadrature."""

import math

import numpy as np
import pytest
from scipy import stats

import varprop
from varprop.simulation.estimates import z_score

SMALL = {
    "d_model": 6,
    "n_heads": 1,
    "d_head": 2,
    "seq_len": 4,
    "vocab_size": 7,
    "output_scale": 0.5,
}
LAYERNORM = {"norm": "layernorm(eps=0)"}
SKEWED = "normal(mean=0.3, std=0.5)"
CASES = {
    "sinusoidal": {},
    "sinusoidal, layernorm": LAYERNORM,
    "odd width": {"d_model": 5} | LAYERNORM,
    "sinusoidal, a table with a mean": {"embedding": SKEWED, "embedding_scale": 1},
    "odd width, a table with a mean": {"d_model": 5, "embedding": SKEWED, "embedding_scale": 1},
    "no positions": {"position": "none", "embedding": SKEWED, "embedding_scale": -1},
    "rotary": {"position": "rotary", "hidden_scale": 0.2, "embedding": "normal(std=2)"},
    "learned": {
        "position": "learned(normal(mean=-0.2, std=0.5))",
        "segment": "normal(std=0.3)",
        "embedding": SKEWED,
    },
    "segment": {"segment": "normal(mean=1, std=0.3)", "embedding": SKEWED, "embedding_scale": 0.8},
    "segment, layernorm": {"segment": "normal(mean=1, std=0.3)", "embedding": SKEWED} | LAYERNORM,
    "one channel": {"d_model": 1},
    "one channel with a mean": {"d_model": 1, "embedding": "normal(mean=1)"},
    "two channels, layernorm": {"d_model": 2} | LAYERNORM,
    "separate": {"output_head": SKEWED},
    "separate, no positions": {"output_head": "uniform(-1, 2)", "position": "none"},
    "uniform head": {"output_head": "uniform(-1, 1)", "position": "none"} | LAYERNORM,
    "constant rows": {"output_head": SKEWED, "embedding": "constant(-0.4)", "position": "none"},
    "one row without direction": {"d_model": 1, "embedding": "zeros", "output_head": SKEWED},
    "no row with a direction": {"embedding": "zeros", "position": "none", "output_head": SKEWED},
    "the table is not in the rows": {"embedding_scale": 0, "embedding": SKEWED},
    "uniform table": {"embedding": "uniform(-1, 1)", "position": "none"},
}
SEEDS = (1, 2)


@pytest.mark.parametrize("name", CASES)
def test_prediction_agrees_with_the_simulation(name):
    fields = SMALL | CASES[name]
    predicted = varprop.predict(**fields).output_logits
    for seed in SEEDS:
        measured = varprop.measure(**fields, replicates=4000, seed=seed).output_logits
        for attribute in ("mean", "variance", "second_moment", "ensemble_variance", "std"):
            value = getattr(predicted, attribute)
            assert abs(z_score(value, getattr(measured, attribute))) < 5, attribute
        for attribute in measured.further:
            value = getattr(predicted, attribute)
            if value is not None:
                assert abs(z_score(value, measured.further[attribute])) < 5, attribute


@pytest.mark.parametrize("fields", [{}, LAYERNORM, {"d_model": 1}, {"d_model": 2} | LAYERNORM])
def test_kurtosis_agrees_with_the_simulation(fields):
    fields = SMALL | {"position": "none", "output_head": "uniform(-1, 1)"} | fields
    predicted = varprop.predict(**fields).output_logits.excess_kurtosis
    measured = varprop.measure(**fields, replicates=10000).output_logits.excess_kurtosis
    assert abs(z_score(predicted, measured)) < 5
    mean = fields | {"output_head": "uniform(-1, 2)"}
    predicted = varprop.predict(**mean).output_logits.excess_kurtosis
    measured = varprop.measure(**mean, replicates=10000).output_logits.excess_kurtosis
    assert abs(z_score(predicted, measured)) < 5


def test_a_gaussian_head_has_no_excess_kurtosis():
    for fields in ({}, LAYERNORM, {"embedding": "uniform(-1, 1)", "output_head": "normal"}):
        assert varprop.predict(**fields).output_logits.excess_kurtosis == 0


def test_known_values():
    """Questions A07, E06 and E13."""
    plain = {"position": "none", "embedding_scale": 1}
    small = varprop.predict(vocab_size=32000, **plain).output_logits
    assert small.variance == pytest.approx(1, rel=1e-15)
    assert small.own_token_second_moment == pytest.approx(512, rel=1e-14)
    big = varprop.predict(vocab_size=32000, embedding="normal(std=1)", **plain).output_logits
    assert big.variance == pytest.approx(512, rel=1e-15)
    t5 = {"d_model": 768, "n_heads": 12, "position": "none"}
    scaled = varprop.predict(**t5, embedding="normal(std=1)", output_scale="1/sqrt(d_model)")
    assert scaled.output_logits.variance == pytest.approx(1, rel=1e-14)
    unscaled = varprop.predict(**t5, embedding="normal(std=0.05)").output_logits
    assert unscaled.variance == pytest.approx(1.92, rel=1e-14)
    cut = varprop.predict(
        d_model=4096,
        n_heads=32,
        output_head="truncated_normal(std=1/sqrt(d_model), low=-3*std, high=3*std)",
    ).output_logits
    assert cut.variance == pytest.approx(0.9733369246625415, rel=1e-12)
    assert (cut.own_token_mean, cut.own_token_ratio) == (None, None)


@pytest.mark.parametrize(("d_model", "norm"), [(7, "rmsnorm"), (7, "layernorm"), (300, "rmsnorm")])
def test_own_token_without_positions_is_the_length_of_its_row(d_model, norm):
    dimensions = d_model - (norm == "layernorm")
    length = stats.chi(dimensions)
    got = varprop.predict(
        d_model=d_model,
        n_heads=1,
        position="none",
        norm=f"{norm}(eps=0)",
        embedding="normal(std=0.3)",
        hidden_scale=2,
    ).output_logits
    scale = 2 * 0.3 * math.sqrt(d_model)
    assert got.own_token_mean == pytest.approx(scale * length.mean(), rel=1e-11)
    assert got.own_token_second_moment == pytest.approx(scale**2 * dimensions, rel=1e-11)
    assert got.own_token_variance == pytest.approx(scale**2 * length.var(), rel=1e-9)
    assert got.own_token_ratio == pytest.approx(dimensions, rel=1e-11)


def cosine_and_size(dimensions, length):
    """E of noise, noise^2 and cosine of x = L f + z, on a plain grid of Gauss nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    reach = 9 + math.sqrt(dimensions)
    z, r = 9 * nodes[:, None], reach * (1 + nodes) / 2
    density = stats.norm.pdf(z) * stats.chi.pdf(r, dimensions - 1)
    masses = density * np.multiply.outer(9 * weights, reach / 2 * weights)
    front = length + z
    size = np.hypot(front, r)
    noise, cosine = (z * front + r * r) / size, front / size
    return [float((masses * value).sum()) for value in (noise, noise**2, cosine)]


def test_own_token_with_sinusoids_against_plain_quadrature():
    """Even widths and RMSNorm: every position has |f|^2 = d/2."""
    d, std, scale = 6, 0.4, 1.5
    got = varprop.predict(
        d_model=d, n_heads=1, embedding=f"normal(std={std})", embedding_scale=scale
    ).output_logits
    noise, square, _ = cosine_and_size(d, math.sqrt(d / 2) / (scale * std))
    assert got.own_token_mean == pytest.approx(math.sqrt(d) * std * noise, rel=1e-9)
    assert got.own_token_second_moment == pytest.approx(d * std**2 * square, rel=1e-9)


def test_a_mean_of_the_table_against_plain_quadrature():
    d, mean, std = 5, 0.7, 0.5
    fields = {"d_model": d, "n_heads": 1, "position": "none"}
    got = varprop.predict(**fields, embedding=f"normal(mean={mean}, std={std})").output_logits
    noise, _, cosine = cosine_and_size(d, mean * math.sqrt(d) / std)
    assert got.mean == pytest.approx(mean * d * cosine, rel=1e-9)
    own = math.sqrt(d) * std * noise + mean * d * cosine
    assert got.own_token_mean == pytest.approx(own, rel=1e-9)
    assert got.own_token_second_moment == pytest.approx(d**2 * (mean**2 + std**2), rel=1e-9)


@pytest.mark.parametrize("norm", ["rmsnorm(eps=0)", "layernorm(eps=0)"])
@pytest.mark.parametrize("position", ["none", "sinusoidal", "learned(uniform(-1, 1.5))"])
@pytest.mark.parametrize("embedding", ["uniform(-1, 1)", "truncated_normal(low=-1, high=3)"])
def test_nearly_gaussian_rows_are_as_near_as_the_method_says(norm, position, embedding):
    fields = {"d_model": 16, "n_heads": 1, "seq_len": 2, "vocab_size": 5, "embedding_scale": 1.5}
    fields |= {"norm": norm, "position": position, "embedding": embedding}
    predicted = varprop.predict(**fields).output_logits
    measured = varprop.measure(**fields, replicates=10000).output_logits
    if predicted.own_token_mean is None:
        assert norm.startswith("rms")
        assert not embedding.startswith("uniform")
        return
    assert "asymptotic" in predicted.method
    for attribute, (value, stderr) in measured.further.items():
        error = predicted.error * abs(getattr(predicted, attribute))
        assert abs(value - getattr(predicted, attribute)) < error + 5 * stderr


def test_own_token_is_none_where_nothing_is_known():
    for fields in (
        {"d_model": 8, "n_heads": 1, "embedding": "uniform(-1, 1)"},
        {"output_head": "normal"},
    ):
        got = varprop.predict(**fields).output_logits
        assert [getattr(got, name) for name in got.further] == [None] * len(got.further)
        assert got.method == "exact"
        assert got.variance > 0


def test_one_of_many_positions_is_enough():
    """Sequences too long to look at every position."""
    fields = {"d_model": 64, "n_heads": 1} | LAYERNORM
    some, all_of_them = (
        varprop.predict(**fields, seq_len=length).output_logits for length in (2**16 + 1, 2**16)
    )
    assert (all_of_them.method, all_of_them.error) == ("quadrature", 0)
    assert "asymptotic" in some.method
    assert some.own_token_mean == pytest.approx(all_of_them.own_token_mean, rel=some.error)


def test_numbers_broadcast():
    stds, scales = np.array([[0.1], [1.0]]), np.array([0.5, 1, 2])
    got = varprop.predict(embedding=varprop.normal(std=stds), output_scale=scales).output_logits
    for index in np.ndindex(2, 3):
        one = varprop.predict(
            embedding=varprop.normal(std=stds[index[0], 0]), output_scale=scales[index[1]]
        ).output_logits
        for name in ("variance", "own_token_mean", "own_token_ratio"):
            assert getattr(got, name)[index] == getattr(one, name)
    widths = varprop.predict(d_model=np.array([8, 512]), embedding="uniform(-1, 1)", n_heads=1)
    assert np.isnan(widths.output_logits.own_token_mean[0])


def test_everything_is_printed_as_plain_data():
    data = varprop.predict().output_logits.to_dict()
    assert {"own_token_mean", "own_token_ratio", "variance", "method"} <= data.keys()
    assert all(value is None or type(value) in (float, str) for value in data.values())
