"""Predictions of the softmax and its output: against simulation, and where they are known."""

import math

import numpy as np
import pytest

import varprop
from varprop.quadrature import softmax_moments

LIMIT = 5.0
"""Standard errors, as for `varprop.check`."""

NAMES = (
    "mean",
    "second_moment",
    "variance",
    "std",
    "ensemble_variance",
    "logsumexp",
    "entropy",
    "entropy_deficit",
    "max_weight",
    "sum_squares",
    "weight_variance",
    "jacobian_squared_norm",
)
ROWS = {
    "embedding": "normal(std=0.9)",
    "embedding_scale": 1.1,
    "query": "normal(std=0.8)",
    "key": "normal(std=0.6)",
    "value": "uniform(-1, 2)",
    "value_bias": "normal(mean=1, std=0.5)",
    "output_head": "none",
}
EXACT = [
    {"d_model": 4, "d_head": 2, "seq_len": 3, "position": "none"},
    {"d_model": 1, "d_head": 1, "seq_len": 2, "position": "none", "attention_dropout": 0.3},
    {"d_model": 3, "d_head": 1, "seq_len": 4, "causal": True, "attention_dropout": 0.4},
    {"d_model": 4, "d_head": 3, "seq_len": 3, "query_bias": "normal(std=0.7)", "causal": True},
    {"d_model": 3, "d_head": 2, "seq_len": 4, "shared_qk": True, "logit_scale": 0.3},
    {"d_model": 2, "d_head": 1, "seq_len": 3, "shared_qk": True, "attention_dropout": 0.2},
    {"d_model": 3, "n_heads": 1, "seq_len": 4, "query": "identity", "key_bias": "constant(2)"},
    {"d_model": 3, "n_heads": 1, "seq_len": 4, "key": "identity", "causal": True},
    {"d_model": 4, "n_heads": 1, "seq_len": 3, "query": "identity", "key": "identity"},
    {"d_model": 2, "n_heads": 1, "seq_len": 5, "shared_qk": True, "query": "identity"},
    {"d_model": 2, "d_head": 1, "seq_len": 8, "logit_scale": -4.0},
]


def predict(**fields):
    defaults = ROWS | {"position": "learned(normal(std=0.3))"}
    if fields.get("shared_qk"):
        defaults.pop("key")
    return varprop.predict(**(defaults | fields))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("fields", EXACT)
def test_exact_laws_agree_with_simulation(fields, seed):
    prediction = predict(**fields)
    measured = varprop.measure(
        prediction.spec, replicates=1500, seed=seed, full=True, progress=False
    )
    for stage in ("attention", "attention_output"):
        moments, estimates = prediction[stage], measured[stage]
        assert moments.method == "quadrature"
        assert moments.error == 0
        for name in NAMES:
            estimate = getattr(estimates, name, None)
            if estimate is None or getattr(moments, name, None) is None:
                continue
            off = abs(getattr(moments, name) - estimate.value)
            assert off <= LIMIT * estimate.stderr + 1e-12 * abs(estimate.value), (stage, name)
        assert moments.ensemble_variance is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"d_model": 32, "n_heads": 4, "seq_len": 12},
        {"d_model": 32, "n_heads": 4, "seq_len": 12, "causal": True, "dropout": 0.1},
        {"d_model": 32, "n_heads": 2, "seq_len": 12, "position": "rotary"},
        {"d_model": 32, "n_heads": 2, "seq_len": 8, "norm": "layernorm(eps=0)"},
        {"d_model": 32, "n_heads": 4, "seq_len": 12, "shared_qk": True, "logit_scale": 0.05},
        {"d_model": 16, "n_heads": 2, "seq_len": 9, "token_repeat": 0.01},
    ],
)
def test_stated_errors_cover_actual_ones(fields):
    prediction = varprop.predict(output_head="none", **fields)
    measured = varprop.measure(prediction.spec, replicates=400, seed=3, full=True, progress=False)
    for stage in ("attention", "attention_output"):
        moments, estimates = prediction[stage], measured[stage]
        assert moments.method.startswith("asymptotic: ")
        assert 0 < moments.error < math.inf
        for name in NAMES:
            estimate = getattr(estimates, name, None)
            predicted = getattr(moments, name, None)
            if estimate is not None and predicted is not None:
                allowed = moments.error * abs(predicted) + LIMIT * estimate.stderr
                assert abs(predicted - estimate.value) <= allowed, (stage, name)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 100])
@pytest.mark.parametrize(
    "fields",
    [
        {"logit_scale": 0},
        {"position": "none", "embedding": "zeros"},
        {"key": "zeros"},
        {"query": "zeros"},
        {"position": "none", "token_repeat": 1},
    ],
)
def test_equal_logits_give_uniform_rows(causal, n, fields):
    attention = varprop.predict(seq_len=n, causal=causal, **fields)["attention"]
    lengths = np.arange(1, n + 1) if causal else np.array([n])
    assert attention.method == "quadrature"
    assert attention.entropy_deficit == 0
    assert attention.weight_variance == 0
    assert attention.entropy == pytest.approx(np.log(lengths).mean(), rel=1e-9)
    assert attention.sum_squares == pytest.approx((1 / lengths).mean(), rel=1e-9)
    assert attention.max_weight == pytest.approx((1 / lengths).mean(), rel=1e-9)
    jacobian = (1 / lengths - 1 / lengths**2).mean()
    assert attention.jacobian_squared_norm == pytest.approx(jacobian, rel=1e-9, abs=1e-15)
    assert attention.regime == "near uniform"


def test_causal_variance_is_that_of_pooled_uniform_rows():
    n, drop = 9, 0.25
    moments = varprop.predict(seq_len=n, causal=True, logit_scale=0, attention_dropout=drop)
    pooled = np.concatenate([np.full(m, 1 / m) for m in range(1, n + 1)])
    kept = np.concatenate([pooled / (1 - drop), 0 * pooled])
    weights = np.concatenate([np.full(pooled.size, 1 - drop), np.full(pooled.size, drop)])
    weights /= pooled.size
    attention = moments["attention"]
    assert attention.mean == pytest.approx(weights @ kept, rel=1e-13)
    assert attention.second_moment == pytest.approx(weights @ kept**2, rel=1e-13)
    expected = weights @ kept**2 - (weights @ kept) ** 2
    assert attention.variance == pytest.approx(expected, rel=1e-12)


def test_equal_weights_average_the_values():
    """o is the mean of n values: variance w_v d sigma^2 / n for independent rows."""
    spec = {"d_model": 6, "n_heads": 2, "seq_len": 5, "position": "none", "logit_scale": 0}
    rows = {"embedding": "uniform(-1, 1)", "embedding_scale": 3, "value": "normal(std=0.5)"}
    output = varprop.predict(**spec, **rows)["attention_output"]
    assert output.variance == pytest.approx(0.25 * 6 * 9 / 3 / 5, rel=1e-12)


def test_equal_weights_average_positions_that_cancel():
    """Rows that are far apart may have a mean product below 0, which their average keeps."""
    fields = {"d_model": 3, "n_heads": 3, "seq_len": 6, "embedding": "zeros", "query": "zeros"}
    prediction = varprop.predict(**fields, value="normal(std=2)")
    channels = [
        np.sin(np.arange(6)),
        np.cos(np.arange(6)),
        np.sin(np.arange(6) * 10000 ** (-2 / 3)),
    ]
    expected = 4 * sum(channel.mean() ** 2 for channel in channels)
    assert prediction["input"].cross_position_moment < 0
    assert prediction["attention_output"].method == "quadrature"
    assert prediction["attention_output"].variance == pytest.approx(expected, rel=1e-10)


def test_rotary_keys_have_no_common_direction():
    fields = {"d_model": 8, "n_heads": 4, "seq_len": 24, "position": "rotary"}
    rows = {"embedding": "normal(std=1)", "embedding_scale": 1, "query": "normal(std=0.4)"}
    prediction = varprop.predict(**fields, **rows, output_head="none", logit_scale=0.4)
    output = prediction["attention_output"]
    measured = varprop.measure(prediction.spec, replicates=1000, full=True, progress=False)
    found = measured["attention_output"].second_moment
    off = abs(output.second_moment - found.value)
    assert off > LIMIT * found.stderr
    assert off <= output.error * output.second_moment
    assert "keys that are turned" in output.method


@pytest.mark.parametrize("fields", [{"embedding": "zeros"}, {"norm": "layernorm(eps=0.1)"}, {}])
def test_short_rows_of_equal_weights_have_nearer_positions(fields):
    fields = {"d_model": 4, "n_heads": 1, "seq_len": 6, "query": "zeros", "causal": True} | fields
    prediction = varprop.predict(**{"embedding": "normal(std=0.2)", "embedding_scale": 1} | fields)
    output = prediction["attention_output"]
    measured = varprop.measure(prediction.spec, replicates=1000, full=True, progress=False)
    assert prediction["attention"].method == "quadrature"
    assert output.method.startswith("asymptotic: neglected, positions of short rows")
    found = measured["attention_output"].second_moment
    off = abs(output.second_moment - found.value)
    assert off <= output.error * output.second_moment + LIMIT * found.stderr


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 0.3, 1e4])
@pytest.mark.parametrize("fields", [{"shared_qk": True}, {"causal": True}])
@pytest.mark.parametrize("n", [2, 10**12])
def test_every_scale_and_length_is_finite(scale, fields, n):
    moments = predict(d_model=16, n_heads=2, seq_len=n, logit_scale=scale, **fields)
    attention, output = moments["attention"], moments["attention_output"]
    assert attention.method == "quadrature"
    assert 0 <= attention.entropy <= math.log(n) * (1 + 1e-9)
    assert 0 < attention.sum_squares <= 1
    assert 0 <= attention.entropy_deficit <= math.log(n) * (1 + 1e-9)
    assert attention.variance >= 0
    assert attention.jacobian_squared_norm >= 0
    assert 0 < output.variance < math.inf
    assert math.isfinite(attention.logsumexp)
    assert isinstance(attention.regime, str)


def test_small_scales_follow_the_row_variance():
    """log n - entropy is half the variance of a row's logits, the own one among them, for s -> 0.

    sum_j (l_j - mean)^2 = (n - 2) row_variance + (n - 1)/n (a - mean of the others)^2
    """
    n = 7
    moments = predict(d_model=16, n_heads=2, seq_len=n, logit_scale=1e-6)
    row, own = moments["logits"].row_variance, moments["self_logits"].second_moment
    expected = ((n - 2) * row + (n - 1) / n * (own + row / (n - 1))) / n / 2
    assert moments["attention"].entropy_deficit == pytest.approx(expected, rel=1e-7)


def test_huge_scales_leave_one_key():
    moments = predict(d_model=16, n_heads=2, seq_len=7, logit_scale=1e8)
    attention = moments["attention"]
    assert attention.entropy < 1e-6
    assert attention.max_weight == pytest.approx(1, abs=1e-6)
    assert attention.regime == "one key dominates"


def test_wide_models_have_rows_of_one_variance():
    """With all widths large and many keys, the iid softmax of the row variance."""
    moments = varprop.predict(
        d_model=2**20, d_head=2**20, n_heads=1, seq_len=1000, position="none",
        query="normal(std=1/1024)", key="normal(std=1/1024)",
    )  # fmt: skip
    attention, variance = moments["attention"], moments["logits"].row_variance
    expected = softmax_moments(1000, variance)
    # The relative variance of s^2 is 6/2^20, and it enters times second derivatives.
    for name in ("entropy", "sum_squares", "max_weight", "logsumexp", "jacobian_squared_norm"):
        assert getattr(attention, name) == pytest.approx(getattr(expected, name), rel=1e-4)


def test_more_scale_means_fewer_keys():
    scales = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
    attention = predict(d_model=16, n_heads=2, seq_len=64, logit_scale=scales)["attention"]
    assert np.all(np.diff(attention.entropy) < 0)
    assert np.all(np.diff(attention.effective_keys) < 0)
    assert np.all(np.diff(attention.max_weight) > 0)
    assert attention.regime[0] == "near uniform"
    assert attention.regime.shape == scales.shape


def test_arrays_are_points():
    widths = np.array([4, 8])
    attention = predict(d_model=widths, n_heads=2, seq_len=5)["attention"]
    each = [predict(d_model=int(d), n_heads=2, seq_len=5)["attention"] for d in widths]
    for name in (*attention.further, "mean", "variance", "second_moment", "std", "method", "error"):
        assert getattr(attention, name).tolist() == [getattr(one, name) for one in each]


def test_unknown_is_none_and_says_why():
    """Two keys whose row variance depends on a length that may not change."""
    moments = varprop.predict(d_model=4, n_heads=1, seq_len=2, logit_scale="1/seq_len")
    attention = moments["attention"]
    assert attention.entropy is None
    assert attention.mean == 0.5
    assert "not known" in attention.method
    assert attention.error == math.inf


def test_bias_with_dropout_counts_the_weights_that_are_left():
    """With values that are all b, o = b sum p, and E (sum p)^2 = 1 + drop/(1-drop) E sum p^2."""
    moments = predict(
        d_model=4, d_head=2, seq_len=3, value="zeros", value_bias="constant(2)",
        attention_dropout=0.25,
    )  # fmt: skip
    squares = moments["attention"].sum_squares
    output = moments["attention_output"]
    assert output.mean == 2
    assert output.variance == pytest.approx(4 * squares / 3, rel=1e-12)


def test_methods_say_what_is_neglected():
    attention = varprop.predict(token_repeat=1 / 37000)["attention"]
    for words in ("not Gaussian", "positions", "repeat a token"):
        assert words in attention.method
    data = attention.to_dict()
    assert data["method"] == attention.method
    assert {"entropy", "regime", "max_weight"} <= data.keys()
