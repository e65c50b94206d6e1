"""Every stage against direct simulation at moderate thresholds, and what is not known."""

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import special

import varprop

GAUSSIAN = {"query": "normal(std=0.25)", "key": "normal(std=0.5)"}
SMALL = {"d_model": 16, "n_heads": 2, "d_head": 4, "seq_len": 6, "vocab_size": 50}
SPECS = {
    "plain": {"position": "none"} | GAUSSIAN,
    "sinusoidal": {"position": "sinusoidal", "embedding": "normal(std=0.1)"} | GAUSSIAN,
    "learned": {"position": "learned(normal(std=1))"} | GAUSSIAN,
    "rotary": {"position": "rotary"} | GAUSSIAN,
    "uniform table": {"position": "sinusoidal", "embedding": "uniform(-0.5, 0.5)"},
    "truncated": {"position": "none", "embedding": "truncated_normal(std=0.4, low=-1, high=0.5)"},
    "rmsnorm": {"position": "none", "norm": "rmsnorm(eps=0)"} | GAUSSIAN,
    "layernorm": {"position": "learned(normal(std=1))", "norm": "layernorm(eps=0)"} | GAUSSIAN,
}
REPLICATES = 6000


def simulated(spec, rng):
    """Stages by name, each with the replicate first, from matrix products of raw draws."""
    d, n, h = spec.d_model, spec.seq_len, spec.d_head
    shape = (REPLICATES, n, d)
    stages = {"embedding": spec.distribution("embedding").sample(rng, shape)}
    x = stages["scaled_embedding"] = stages["embedding"] * spec.embedding_scale
    position = str(spec.position)
    if position.startswith("sinusoidal"):
        k = np.arange(d) // 2
        turns = np.arange(n)[:, None] * 10000.0 ** (-2 * k / d)
        x = x + np.where(np.arange(d) % 2, np.cos(turns), np.sin(turns))
    if position.startswith("learned"):
        x = x + spec.distribution("position").sample(rng, shape)
    stages["input"] = x
    if spec.norm is not None:
        x = x - x.mean(-1, keepdims=True) * str(spec.norm).startswith("layernorm")
        x = stages["normed_input"] = x / np.sqrt((x**2).mean(-1, keepdims=True))
    if str(spec.query).startswith("normal"):
        draws = (spec.distribution(w).sample(rng, (REPLICATES, d, h)) for w in ("query", "key"))
        q, k = (x @ w for w in draws)
        products = q @ k.swapaxes(1, 2)  # rotation is checked by its invariance: see the law
        stages |= {"query": q, "key": k}
        stages["self_scores"] = np.diagonal(products, axis1=1, axis2=2)
        stages["scores"] = products[:, ~np.eye(n, dtype=bool)]
    return stages


@pytest.mark.parametrize("name", SPECS)
def test_tails_and_centres_agree_with_simulation(name):
    spec = varprop.TransformerSpec(**SMALL | SPECS[name])
    found = varprop.precision(spec)
    worst = 0.0
    for stage, values in simulated(spec, np.random.default_rng(11)).items():
        law = found[stage]._law
        assert law.method == "exact", stage
        size = np.abs(values).reshape(REPLICATES, -1)
        for share in (0.2, 0.5, 0.9, 0.99, 0.999):
            a = float(np.quantile(size, share)) * 1.01
            for logs, hits in (
                (law.entry.log_tail(a), size >= a),
                (law.entry.log_between(a / 3, a), (size >= a / 3) & (size < a)),
                (law.entry.log_between(0, a / 3), size < a / 3),
            ):
                shares = hits.mean(axis=1)
                error = shares.std() / math.sqrt(REPLICATES) + 1e-7
                worst = max(worst, abs(shares.mean() - math.exp(logs)) / error)
    assert worst < 5


@pytest.mark.parametrize("name", ["plain", "sinusoidal", "layernorm"])
def test_probabilities_of_the_intervals_add_to_1(name):
    for record in varprop.precision(**SMALL | SPECS[name]).values():
        entry = record._law.entry
        if entry is None:
            continue
        parts = (entry.log_between(0, 0.3), entry.log_between(0.3, 2.0), entry.log_tail(2.0))
        assert sum(map(math.exp, parts)) == pytest.approx(1, rel=1e-9)


def test_xavier_scores_are_asymptotic_and_near_a_simulation():
    spec = varprop.TransformerSpec(d_model=64, n_heads=1, d_head=16, seq_len=4)
    record = varprop.precision(spec)["scores"]
    assert record.method.startswith("asymptotic")
    rng, count = np.random.default_rng(5), 4000
    x = rng.standard_normal((count, 2, 64)) + np.tile([0.0, 1.0], 32)
    weights = (spec.distribution(w).sample(rng, (count, 64, 16)) for w in ("query", "key"))
    q, k = (x[:, i][:, None] @ w for i, w in enumerate(weights))
    scores = np.abs((q * k).sum(-1)).ravel()
    for a in (2.0, 8.0, 16.0):
        p = math.exp(record._law.entry.log_tail(a))
        assert abs((scores >= a).mean() - p) < 4 * math.sqrt(p * (1 - p) / count) + 0.01 * p


def test_raw_scores_of_unit_weights_overflow():
    """Rows of length d_model exactly: a sum of d_head products, std d_model sqrt(d_head)."""
    fields = {"position": "none", "query": "normal(std=1)", "key": "normal(std=1)"}
    found = varprop.precision(d_model=12288, n_heads=96, norm="rmsnorm(eps=0)", **fields)
    assert found["scores"].overflow_probability == pytest.approx(0.6374, abs=2e-3)
    assert found["scores"].method == "exact"
    assert found["logits"].overflow_probability < 1e-6


def test_many_places_are_a_lattice_near_the_exact_average():
    common = {"embedding": "normal(std=0.2)", "embedding_scale": 1, "d_model": 512}
    few, many = (varprop.precision(seq_len=n, **common)["input"] for n in (1900, 2000))
    assert few.method == "exact"
    assert many.method.startswith("quadrature")
    a = 1.4
    logs = [record._law.entry.log_tail(a) for record in (few, many)]
    assert logs[0] == pytest.approx(logs[1], abs=5e-3)


@pytest.mark.parametrize(
    ("fields", "stages"),
    [
        ({"query": "identity", "d_head": 16}, ("query", "key", "scores", "self_logits")),
        ({"shared_qk": True} | {"query": "normal(std=1)"}, ("scores", "self_scores")),
        ({"dropout": 0.1}, ("input", "query", "scores")),
        ({"query_bias": "normal(std=1)"}, ("query", "logits")),
        ({"query": "normal(mean=1, std=1)"}, ("query", "scores")),
        ({"token_repeat": 0.5, "position": "none"}, ("scores", "logits")),
        ({"segment": "normal(std=1)"}, ("query", "scores")),
        ({"embedding": "normal(mean=1, std=1)"}, ("query", "scores")),
        ({"embedding": "uniform(-1, 1)", "position": "learned"}, ("input", "query")),
        ({"d_model": 15, "n_heads": 1, "query": "normal(std=1)"}, ("query",)),
        ({"norm": "layernorm"}, ("normed_input",)),
        ({"norm": "layernorm(eps=1)", "position": "none"}, ("normed_input", "query")),
    ],
)
def test_what_is_not_known_is_none_with_a_reason(fields, stages):
    found = varprop.precision(**SMALL | fields)
    for stage in stages:
        record = found[stage]
        assert record.method.startswith("not known: ")
        values = record.to_dict()
        assert [values[name] for name in values if name.endswith(("share", "probability"))] == (
            [None] * 4
        )
    assert found["scaled_embedding"].overflow_probability is not None


def test_an_eps_that_hardly_matters_is_stated():
    found = varprop.precision(position="none", norm="layernorm", **GAUSSIAN)
    assert "eps neglected" in found["normed_input"].method
    assert "eps neglected" in found["scores"].method


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize(
    "fields",
    [
        {"d_model": 1, "n_heads": 1, "position": "none"},
        {"d_model": 2, "n_heads": 1},
        {"d_model": 2**16, "d_head": 2**16, "n_heads": 1, "vocab_size": 2**20},
        {"embedding": "zeros"},
        {"embedding": "zeros", "position": "none"},
        {"embedding": "normal(std=1e-150)", "embedding_scale": 1},
        {"embedding": "normal(std=1e30)"},
        {"seq_len": 1},
        {"query": "zeros"},
        {"embedding_scale": 0, "logit_scale": -2},
        {"logit_scale": 0},
    ],
)
def test_extremes_give_probabilities(fields, dtype):
    weights = {"query": "normal(std=1)", "key": "normal(std=1)"}
    for stage, record in varprop.precision(dtype=dtype, **weights | fields).items():
        shares = (record.overflow_probability, record.subnormal_share, record.zero_share)
        assert all(0 <= share <= 1 for share in shares), stage
        assert sum(shares) <= 1 + 1e-12
        assert 0 <= record.any_overflow_probability <= 1


HEADS = {
    "tied": {"embedding": "normal(std=0.5)"},
    "own": {"output_head": "normal(std=2)", "embedding": "uniform(-1, 1)"},
    "scaled": {"hidden_scale": 0.5, "output_scale": "1/sqrt(d_model)", "position": "none"},
    "layernorm": {"norm": "layernorm(eps=0)", "output_head": "normal(std=0.1)"},
}


@pytest.mark.parametrize("name", HEADS)
def test_output_logits_of_a_gaussian_head_are_gaussian(name):
    spec = varprop.TransformerSpec(**SMALL | HEADS[name])
    record = varprop.precision(spec)["output_logits"]
    assert record.method == "exact"
    law, deviation = record._law.entry, varprop.predict(spec)["output_logits"].std
    for z in (0.1, 1, 3, 30):
        known = math.log(2) + float(special.log_ndtr(-z))
        assert law.log_tail(z * deviation) == pytest.approx(known, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("fields", "method"),
    [
        ({"embedding": "normal(mean=1, std=1)"}, "not known: an output head whose mean is not 0"),
        ({"output_head": "uniform(-1, 1)", "d_model": 8}, "not known: few weights"),
        ({"output_head": "uniform(-1, 1)", "d_model": 64}, "asymptotic: weights taken as Gaussian"),
        (
            {"embedding": "zeros", "output_head": "normal(std=1)", "position": "none"},
            "not known: rows without a direction",
        ),
    ],
)
def test_other_heads(fields, method):
    record = varprop.precision(**SMALL | fields)["output_logits"]
    assert record.method.startswith(method)
    assert (record.overflow_probability is None) == method.startswith("not known")


def test_nothing_is_imported_before_it_is_needed():
    code = "import sys, varprop; print({'scipy', 'ml_dtypes'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
