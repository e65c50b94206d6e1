"""The simulator against slow loops, hand-derived moments, its own spread, and its promises."""

import json
import math
import pickle
import tracemalloc
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from varprop import simulate
from varprop.simulate import choose_layout, measure
from varprop.simulation import progress
from varprop.simulation.draws import Draws, Layout
from varprop.simulation.estimates import z_score
from varprop.simulation.measurement import Measurement
from varprop.spec import TransformerSpec
from varprop.stages import STAGES

SMALL = {"d_model": 16, "n_heads": 2, "seq_len": 6, "embedding": "normal(std=0.5)"}
SECOND_ORDER = (
    "variance",
    "ensemble_variance",
    "second_moment",
    "std",
    "cross_position_moment",
    "row_variance",
)


def measure_subset(replicates, seed, place_budget, **fields):
    """A measurement whose places are made not to fit."""
    spec = TransformerSpec(**fields)
    layout = choose_layout(spec, place_budget)
    assert not layout.all_places
    return simulate._run(spec, layout, replicates, seed, False, 1)


# The definition, one entry at a time.


def slow_sinusoid(t, c, base, width):
    wave = math.cos if c % 2 else math.sin
    return wave(t * base ** (-2 * (c // 2) / width))


def slow_norm(row, kind):
    centre = sum(row) / len(row) if kind == "layernorm" else 0.0
    eps = 1e-5 if kind == "layernorm" else 1e-6
    scale = math.sqrt(sum((x - centre) ** 2 for x in row) / len(row) + eps)
    return [(x - centre) / scale for x in row]


def slow_rotation(t, row, width, base):
    row = list(row)
    for k in range(width // 2):
        angle = t * base ** (-2 * k / width)
        a, b = row[2 * k], row[2 * k + 1]
        row[2 * k] = a * math.cos(angle) - b * math.sin(angle)
        row[2 * k + 1] = a * math.sin(angle) + b * math.cos(angle)
    return row


def slow_projection(draws, r, field, x, h, t):
    """Head h of q = W x + b at position t, from the raw draws."""
    spec = draws.spec
    drawn = "query" if spec.shared_qk else field
    bias = draws[f"{drawn}_bias"][r, 0, h]
    if getattr(spec, drawn) == "identity":
        row = [x[c] + bias[c] for c in range(spec.d_model)]
    else:
        weight = draws[f"{drawn}_weight"][r].reshape(-1, spec.d_head, spec.d_model)[h]
        row = [sum(w * y for w, y in zip(weight[a], x, strict=True)) for a in range(spec.d_head)]
        row = [y + bias[a] for a, y in enumerate(row)]
    if str(spec.position).startswith("rotary"):
        row = slow_rotation(t, row, round(spec.position.fraction * spec.d_head), 50.0)
    return row


def slow_stages(draws, r, place):
    """Every stage of replicate r by the words of DESIGN section 1; place[n] is the nth position."""
    spec, count = draws.spec, len(place)
    channels, positions = range(spec.d_model), range(count)
    sums, table = [], []
    for n in positions:
        row = []
        for c in channels:
            x = spec.embedding_scale * draws["rows"][r, n, c]
            if str(spec.position).startswith("sinusoidal"):
                x += slow_sinusoid(place[n], c, 50.0, spec.d_model)
            elif str(spec.position).startswith("learned"):
                x += draws["position"][r, n, c]
            if spec.segment is not None:
                x += draws["segment_row"][r, 0, c]
            if spec.dropout:
                assert draws["mask"][r, n, c] in (0, 1 / (1 - spec.dropout))
                x *= draws["mask"][r, n, c]
            row.append(x)
        sums.append(row)
        table.append([slow_sinusoid(place[n], c, 50.0, spec.d_model) for c in channels])
    normed = [slow_norm(row, spec.norm.name) for row in sums] if spec.norm else sums
    heads = range(draws.layout.heads)
    query, key = (
        [
            [slow_projection(draws, r, field, normed[n], h, place[n]) for h in heads]
            for n in positions
        ]
        for field in ("query", "key")
    )
    products = [
        [
            [
                sum(a * b for a, b in zip(query[i][h], key[j][h], strict=True))
                for j in positions
                if (i == j) == diagonal
            ]
            for i in positions
        ]
        for diagonal in (False, True)
        for h in heads
    ]
    off, on = np.array(products[: len(heads)]), np.array(products[len(heads) :])[..., 0]
    slow = {"input": sums, "normed_input": normed, "query": query, "key": key}
    slow |= {"scores": off, "logits": off * spec.logit_scale}
    slow |= {"self_scores": on, "self_logits": on * spec.logit_scale}
    if str(spec.position).startswith("sinusoidal"):
        slow["position"] = table
    return slow


VARIANTS = [
    {"position": "sinusoidal(base=50)"},
    {"position": "sinusoidal(base=50)", "d_model": 5, "n_heads": 1},
    {"position": "rotary(base=50)", "norm": "rmsnorm", "query_bias": "normal(std=0.3)"},
    {"position": "rotary(base=50, fraction=0.5)", "key": "normal(mean=0.1, std=0.2)", "d_head": 4},
    {"position": "learned(normal(std=0.3))", "segment": "uniform(-1, 2)", "dropout": 0.25},
    {"position": "none", "shared_qk": True, "query_bias": "kaiming_uniform", "norm": "layernorm"},
    {"position": "none", "query": "identity", "key": "xavier_normal", "key_bias": "constant(0.2)"},
    {"position": "rotary(base=50)", "query": "identity", "key": "identity", "token_repeat": 0.25},
    {"token_repeat": "1/2", "position": "sinusoidal(base=50)", "dropout": 0.5, "logit_scale": 3},
]


@pytest.mark.parametrize("fields", VARIANTS, ids=str)
@pytest.mark.parametrize("all_places", [True, False])
def test_every_stage_against_the_definition_in_slow_loops(fields, all_places):
    spec = TransformerSpec(**{"d_model": 4, "n_heads": 2, "seq_len": 4} | fields)
    heads = 1 if "identity" in (spec.query, spec.key) else spec.n_heads
    layout = Layout(positions=4 if all_places else 3, heads=heads, block=4, all_places=all_places)
    draws = Draws(spec, layout, 4, np.random.default_rng(0))
    fast = {stage: draws[stage] for stage in measure(spec, replicates=2)}
    for r in range(4):
        place = draws["places"][0 if all_places else r]
        assert len(set(place)) == layout.positions
        slow = slow_stages(draws, r, [int(t) for t in place])
        for stage, values in fast.items():
            if stage in slow:
                expected = np.reshape(slow[stage], values[r].shape)
                np.testing.assert_allclose(values[r], expected, rtol=1e-12, atol=1e-13)
    if not all_places:
        assert (draws["places"][0::2] == draws["places"][1::2]).all()


def test_stages_that_a_spec_has():
    assert set(measure(TransformerSpec(d_model=8, norm="layernorm"), replicates=2)) == set(STAGES)
    assert "position" not in measure(**SMALL, replicates=2, position="rotary")
    assert "position" not in measure(**SMALL, replicates=2, position="none")
    alone = measure(**SMALL | {"seq_len": 1}, replicates=4)
    assert {"scores", "logits", "normed_input"}.isdisjoint(alone)
    assert alone.self_logits.variance.value > 0
    assert alone.query.cross_position_moment is None
    pair = measure(**SMALL | {"seq_len": 2}, replicates=4)
    assert pair.logits.row_variance is None
    assert pair.query.cross_position_moment is not None
    assert measure(**SMALL, replicates=4).logits.row_variance is not None


# Moments derived by hand: mean-zero weights of variance w make q of variance w E|x|^2, and a
# product of independent q_i, k_j of variance d_head w^2 E|x_i|^2 E|x_j|^2.


def sinusoid_overlap(d_model, seq_len):
    """Mean inner product of the table's rows at different positions."""
    rows = [[slow_sinusoid(t, c, 10000.0, d_model) for c in range(d_model)] for t in range(seq_len)]
    products = [
        math.fsum(a * b for a, b in zip(x, y, strict=True)) for x, y in combinations(rows, 2)
    ]
    return math.fsum(products) / len(products)


def known_cases():
    overlap = sinusoid_overlap(16, 6)
    xavier = 2 / (16 + 16)
    # Two of the unit-variance rows c*E, c = 2, and a sinusoid: E|x|^2 = 16 * (1 + 1/2) = 24.
    plain = SMALL | {"embedding_scale": 2}
    yield (
        plain,
        {
            ("embedding", "variance"): 0.25,
            ("scaled_embedding", "variance"): 1.0,
            ("scaled_embedding", "cross_position_moment"): 0.0,
            ("position", "second_moment"): 0.5,
            ("position", "ensemble_variance"): 0.0,
            ("position", "cross_position_moment"): overlap / 16,
            ("input", "second_moment"): 1.5,
            ("input", "ensemble_variance"): 1.0,
            ("input", "cross_position_moment"): overlap / 16,
            ("query", "variance"): 1.5,
            ("query", "ensemble_variance"): 1.5,
            ("key", "std"): math.sqrt(1.5),
            ("key", "cross_position_moment"): xavier * overlap,
            ("logits", "mean"): 0.0,
            ("logits", "variance"): 2.25,
            ("logits", "ensemble_variance"): 2.25,
            ("logits", "row_variance"): xavier**2 * 24 * (24 - overlap),
            ("scores", "row_variance"): 8 * xavier**2 * 24 * (24 - overlap),
            # E|x|^4 = (E|x|^2)^2 + 2 d + 4 |p|^2 for Gaussian rows of variance 1.
            ("self_logits", "variance"): xavier**2 * (24**2 + 2 * 16 + 4 * 8),
        },
    )
    shared = plain | {"shared_qk": True, "query": "normal(std=0.25)"}
    yield (shared, {("self_scores", "mean"): 12.0, ("scores", "mean"): overlap / 2})
    yield (
        plain | {"dropout": 0.2},
        {
            ("input", "second_moment"): 1.5 / 0.8,
            ("input", "cross_position_moment"): overlap / 16,
            ("logits", "variance"): xavier**2 * (24 / 0.8) ** 2,
        },
    )
    added = {"position": "learned(normal(std=0.3))", "segment": "normal(std=0.4)"}
    yield (
        plain | added,
        {
            ("position", "ensemble_variance"): 0.09,
            ("input", "variance"): 1 + 0.09 + 0.16,
            ("input", "cross_position_moment"): 0.16,
            ("query", "cross_position_moment"): 0.16,
        },
    )
    repeated = plain | {"token_repeat": "1/4", "position": "none"}
    yield (
        repeated,
        {
            ("embedding", "cross_position_moment"): 0.25 / 4,
            ("query", "cross_position_moment"): 1 / 4,
            # Equal ids have E|x|^4 = 16^2 + 2*16, others (E|x|^2)^2 = 16^2.
            ("logits", "variance"): xavier**2 * (16**2 + 2 * 16 / 4),
        },
    )
    biased = {"query_bias": "kaiming_uniform", "key_bias": "normal(mean=0.5, std=0.2)"}
    yield (
        plain | biased | {"position": "rotary"},
        {
            ("query", "variance"): 1 + 1 / (3 * 16),
            ("query", "ensemble_variance"): 1 + 1 / (3 * 16),
            ("key", "second_moment"): 1 + 0.25 + 0.04,
            ("key", "ensemble_variance"): 1 + 0.04,
        },
    )
    uniform = {"embedding": "uniform(-1, 2)", "embedding_scale": 1, "position": "none"}
    yield (
        SMALL | uniform | {"norm": "rmsnorm(eps=0)", "query": "identity", "key": "identity"},
        {
            ("embedding", "mean"): 0.5,
            ("embedding", "variance"): 0.75,
            ("embedding", "excess_kurtosis"): -1.2,
            ("normed_input", "second_moment"): 1.0,
            ("self_logits", "mean"): 4.0,
            ("self_logits", "variance"): 0.0,
        },
    )


@pytest.mark.parametrize(("fields", "known"), list(known_cases()))
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_moments_known_by_hand(fields, known, seed):
    result = measure(**fields, replicates=2000, seed=seed)
    for (stage, attribute), value in known.items():
        moments = result[stage]
        z = z_score(value, getattr(moments, attribute), moments.magnitude(attribute))
        assert abs(z) < 4.5, (stage, attribute, value, getattr(moments, attribute))


def test_a_rotated_constant_is_known_exactly():
    """x = (1, 1, ...) unprojected: q_i . k_j is the sum of 2 cos((i - j) w_k)."""
    fields = {"d_model": 8, "seq_len": 5, "embedding": "constant(1)", "embedding_scale": 1}
    result = measure(**fields, position="rotary", query="identity", key="identity", replicates=4)
    exact = [
        sum(2 * math.cos((i - j) * 10000 ** (-k / 4)) for k in range(4))
        for i, j in permutations(range(5), 2)
    ]
    for attribute, value in (("mean", np.mean(exact)), ("variance", np.var(exact))):
        estimate = getattr(result.scores, attribute)
        assert estimate.stderr < 1e-14
        assert abs(z_score(value, estimate, result.scores.magnitude(attribute))) < 1
    assert result.scores.ensemble_variance == (0, 0)
    assert result.self_scores.mean.value == pytest.approx(8, rel=1e-14)
    assert result.self_scores.excess_kurtosis is None


@pytest.mark.parametrize("seq_len", [7, 400])
def test_an_exact_table_gives_no_standard_error_and_agrees_to_rounding(seq_len):
    result = measure(d_model=16, n_heads=2, seq_len=seq_len, replicates=4).position
    entries = [slow_sinusoid(t, c, 10000.0, 16) for t in range(seq_len) for c in range(16)]
    mean = math.fsum(entries) / len(entries)
    known = {"mean": mean, "second_moment": 0.5, "variance": 0.5 - mean**2}
    known["cross_position_moment"] = sinusoid_overlap(16, seq_len) / 16
    for attribute, value in known.items():
        estimate = getattr(result, attribute)
        assert estimate.stderr < 1e-15, attribute
        assert abs(z_score(value, estimate, result.magnitude(attribute))) < 1, attribute


def test_token_ids_of_any_vocabulary():
    single = measure(**SMALL, token_repeat=1, position="none", replicates=50).embedding
    assert single.cross_position_moment.value == pytest.approx(single.second_moment.value, 1e-12)
    huge = measure(**SMALL, token_repeat=1e-12, vocab_size=10**12, replicates=500).embedding
    assert abs(z_score(0.25, huge.second_moment)) < 4.5
    assert abs(z_score(0.0, huge.cross_position_moment)) < 4.5


# Standard errors.


def test_standard_errors_are_the_spread_of_repeated_measurements():
    """60 measurements: the mean square of z is chi-square with 59 degrees of freedom over 59."""
    fields = SMALL | {"dropout": 0.1, "token_repeat": "1/8", "norm": "layernorm"}
    results = [measure(**fields, replicates=200, seed=seed) for seed in range(60)]
    low, high = np.sqrt(stats.chi2.ppf([5e-4, 1 - 5e-4], 59) / 59)
    assert 0.7 < low < 0.76
    assert 1.28 < high < 1.34
    for stage in results[0]:
        for attribute in SECOND_ORDER:
            if getattr(results[0][stage], attribute) is None or stage == "position":
                continue
            estimates = [getattr(result[stage], attribute) for result in results]
            values, errors = np.transpose(estimates)
            if errors.max() > 1e-12:  # LayerNorm's mean square does not vary
                spread = np.std((values - values.mean()) / errors, ddof=1)
                assert low < spread < high, (stage, attribute, spread)


def test_a_random_subset_of_places_estimates_the_same():
    fields = SMALL | {"seq_len": 12, "segment": "normal(std=0.5)"}
    everywhere = measure(**fields, replicates=3000)
    somewhere = measure_subset(3000, seed=1, place_budget=1000, **fields)
    assert list(everywhere) == list(somewhere)
    for stage in everywhere:
        for attribute in ("mean", *SECOND_ORDER):
            first = getattr(everywhere[stage], attribute)
            second = getattr(somewhere[stage], attribute)
            if first is not None:
                error = math.hypot(first.stderr, second.stderr, 1e-13)
                assert abs(first.value - second.value) < 4.5 * error, (stage, attribute)
    assert somewhere.position.ensemble_variance == (0, 0)
    assert somewhere.position.variance.stderr > 0


def test_subset_standard_errors_are_the_spread_of_repeated_measurements():
    fields = SMALL | {"seq_len": 40}
    results = [measure_subset(200, seed, 1500, **fields) for seed in range(60)]
    low, high = np.sqrt(stats.chi2.ppf([5e-4, 1 - 5e-4], 59) / 59)
    for stage in ("position", "input", "query", "logits"):
        estimates = [result[stage].variance for result in results]
        values, errors = np.transpose(estimates)
        assert low < np.std((values - values.mean()) / errors, ddof=1) < high, stage


# Promises.


@pytest.mark.parametrize(
    "fields",
    [
        SMALL | {"dropout": 0.1, "token_repeat": "1/8"},
        {"d_model": 130, "n_heads": 1, "seq_len": 33, "position": "rotary"},
        {"d_model": 64, "n_heads": 4, "seq_len": 10**6},
    ],
)
def test_the_same_bits_however_the_work_is_split(fields):
    replicates = 9 * choose_layout(TransformerSpec(**fields)).block // 2 + 1
    replicates = min(replicates, 2500)
    first = measure(**fields, replicates=replicates, seed=3)
    for workers in (1, 2, 5):
        again = measure(**fields, replicates=replicates, seed=3, workers=workers)
        assert dict(again) == dict(first)
    assert dict(measure(**fields, replicates=replicates, seed=4)) != dict(first)


def test_only_a_few_results_wait():
    started = []
    results = simulate._in_order(lambda index: started.append(index) or {}, 1000, 2)
    for taken, _ in enumerate(results, start=1):
        assert len(started) <= taken + 5
    assert taken == 999


@pytest.mark.parametrize("seq_len", [16384, 10**12])
def test_memory_is_bounded_at_any_length(seq_len):
    tracemalloc.start()
    try:
        result = measure(d_model=64, n_heads=4, seq_len=seq_len, replicates=6)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * 2**20
    assert result.logits.row_variance.value > 0


def test_memory_is_bounded_at_any_number_of_replicates():
    """Peak memory is that of one block, not of the replicates."""
    peaks = []
    for replicates in (1200, 6000):
        tracemalloc.start()
        measure(**SMALL, replicates=replicates)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"replicates": 1}, ValueError),
        ({"replicates": True}, TypeError),
        ({"replicates": 2.0}, TypeError),
        ({"replicates": "many" * 100}, TypeError),
        ({"seed": -1}, ValueError),
        ({"seed": None}, TypeError),
        ({"workers": 0}, ValueError),
        ({"progress": "yes"}, TypeError),
        ({"embedding_scale": np.array([1.0, 2.0])}, ValueError),
        ({"d_model": np.array([16, 32])}, ValueError),
        ({"embedding": {"normal": {"std": np.array([1.0, 2.0])}}}, ValueError),
        ({"d_model": 2**20, "n_heads": 1}, ValueError),
    ],
)
def test_wrong_input_is_one_line_that_names_the_field(changes, kind):
    if isinstance(changes.get("embedding"), dict):
        from varprop.initializers import normal

        changes = {"embedding": normal(std=np.array([1.0, 2.0]))}
    with pytest.raises(kind) as caught:
        measure(**changes)
    text = str(caught.value)
    assert text.startswith(next(iter(changes)))
    assert len(text) < 300
    assert "\n" not in text


def test_a_spec_is_required_by_position_and_can_be_changed():
    spec = TransformerSpec(**SMALL)
    assert dict(measure(spec, replicates=3)) == dict(measure(**SMALL, replicates=3))
    assert measure(spec, replicates=3, seq_len=4).spec.seq_len == 4
    with pytest.raises(ValueError, match=r"^spec: .*presets"):
        measure("bert-base")
    with pytest.raises(TypeError, match=r"^spec: got int"):
        measure(512)


def test_too_large_entries_are_refused_by_stage():
    with pytest.raises(ValueError, match=r"^scores: "):
        measure(**SMALL, embedding_scale=1e100, replicates=2)


def test_a_measurement_is_an_immutable_mapping():
    result = measure(**SMALL, replicates=4, seed=5)
    assert isinstance(result, Measurement)
    assert result["logits"] is result.logits
    assert "logits" in dir(result)
    assert pickle.loads(pickle.dumps(result)) == result
    with pytest.raises(AttributeError):
        result.seed = 1
    with pytest.raises(AttributeError):
        del result.seed
    with pytest.raises(AttributeError):
        result.logits.mean = 0
    with pytest.raises(AttributeError, match=r"'logit'.*logits"):
        _ = result.logit
    with pytest.raises(KeyError):
        result["logit"]


def test_plain_data():
    result = measure(**SMALL, replicates=4, seed=5)
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert data["stages"]["logits"]["variance"]["value"] == result.logits.variance.value
    assert data["stages"]["logits"]["cross_position_moment"] is None
    assert (data["replicates"], data["seed"]) == (4, 5)
    assert "4 replicates" in repr(result)


def test_no_progress_bar_unless_a_terminal_waits(capsys, monkeypatch):
    measure(**SMALL, replicates=1000)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    measure(**SMALL, replicates=1000, progress=True)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    measure(**SMALL, replicates=1000, progress=False)
    assert capsys.readouterr().err == ""
    measure(**SMALL, replicates=1000)
    out, err = capsys.readouterr()
    assert out == ""
    assert "measuring" in err
