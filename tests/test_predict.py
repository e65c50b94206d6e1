"""The front door: presence of stages, errors, places, formulas, extremes, plain data."""

import copy
import json
import math
import pickle
import re
import time

import numpy as np
import pytest
import sympy

import varprop
from varprop.moments import ATTRIBUTES

STAGES = [
    "embedding",
    "scaled_embedding",
    "position",
    "input",
    "normed_input",
    "query",
    "key",
    "scores",
    "logits",
    "self_scores",
    "self_logits",
]
SECOND_ORDER = [name for name in ATTRIBUTES if name != "excess_kurtosis"]


def test_the_documented_numbers():
    p = varprop.predict()
    assert p["logits"].variance == p.logits.variance == pytest.approx(2.25)
    assert p.input.second_moment == 1.5
    assert p.position.second_moment == 0.5
    assert p.position.ensemble_variance == 0
    assert 0 < p.position.variance < 0.5
    assert p.scaled_embedding.variance == pytest.approx(1)
    assert p.spec.d_head == 64


@pytest.mark.parametrize(
    ("fields", "absent"),
    [
        ({}, {"normed_input"}),
        ({"norm": "layernorm(eps=0)"}, set()),
        ({"position": "rotary"}, {"position", "normed_input"}),
        ({"position": "none"}, {"position", "normed_input"}),
        ({"position": "learned"}, {"normed_input"}),
        ({"seq_len": 1}, {"normed_input", "scores", "logits"}),
    ],
)
def test_stages_in_order(fields, absent):
    p = varprop.predict(**fields)
    assert list(p) == [name for name in STAGES if name not in absent]
    assert len(p) == len(list(p))
    for name in absent:
        with pytest.raises(KeyError, match="absent"):
            p[name]
        with pytest.raises(AttributeError):
            getattr(p, name)
    with pytest.raises(KeyError, match="unknown"):
        p["softmax"]
    assert list(p.full())[len(p) :] == ["attention", "attention_output", "output_logits", "loss"]


def test_a_spec_with_changes():
    spec = varprop.TransformerSpec(d_model=64, n_heads=4)
    assert varprop.predict(spec).spec == spec
    assert varprop.predict(spec, n_heads=2).spec.d_head == 32
    assert varprop.predict(spec, d_model=128).scaled_embedding.variance == pytest.approx(1)
    with pytest.raises(ValueError, match="presets"):
        varprop.predict("gpt2")
    for wrong in ({"d_model": 3}, 3, [spec]):
        with pytest.raises(TypeError, match="spec"):
            varprop.predict(wrong)


ABSURD = [
    {"d_model": 0},
    {"d_model": -1},
    {"d_model": 1.5},
    {"d_model": float("nan")},
    {"d_model": True},
    {"d_model": "512"},
    {"d_model": 10**18},
    {"embedding": "normal(std=-1)"},
    {"dropout": 1},
    {"dropout": -0.1},
    {"token_repeat": 0.3},
    {"token_repeat": 2},
    {"embedding_scale": "__import__('os')"},
    {"embedding_scale": "9**9**9**9"},
    {"embedding_scale": "(" * 10_000},
    {"logit_scale": "1" * 10**6},
    {"logit_scale": float("inf")},
    {"n_heads": 7},
    {"position": "alibi"},
    {"position": "rotary(fraction=0.3)"},
    {"query": "identity", "d_head": 3},
    {"norm": "layernorm", "seq_len": 2**21},
    {"norm": "layernorm(eps=0)", "dropout": 0.1},
    {"norm": "layernorm(eps=0)", "d_model": 1, "n_heads": 1},
    {"norm": "layernorm(eps=0)", "embedding": "constant(2)", "position": "none"},
    {"norm": "rmsnorm(eps=0)", "embedding": "zeros", "position": "none"},
    {"embedding_scale": []},
    {"embedding_scale": [1.0, float("nan")]},
    {"d_model": [512.0]},
    {"seq_len": [True]},
    {"embedding_scale": np.ones(2), "dropout": np.zeros(3)},
    {"query_bias": "xavier_uniform"},
    {"depth": 3},
]


@pytest.mark.parametrize("fields", ABSURD, ids=lambda fields: str(fields)[:60])
def test_one_line_errors(fields):
    started = time.process_time()
    with pytest.raises((ValueError, TypeError)) as caught:
        varprop.predict(**fields)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    names = set(fields) | ({"d_head"} if "n_heads" in fields or "query" in fields else set())
    assert any(name in message for name in names)
    assert time.process_time() - started < 1


def test_places_that_are_refused():
    p = varprop.predict()
    for stage, place in [
        ("logits", {"i": 3}),
        ("logits", {"i": 3, "j": 3}),
        ("logits", {"i": -1, "j": 2}),
        ("logits", {"i": 0, "j": 128}),
        ("input", {"position": 0}),
        ("input", {"position": 0, "channel": 512}),
        ("query", {"position": 0, "channel": 64}),
        ("input", {"i": 0, "j": 1}),
        ("self_logits", {"i": 0, "j": 1}),
        ("logits", {"i": 0, "j": 1, "same_token": 1}),
        ("self_logits", {"i": 0, "same_token": True}),
    ]:
        with pytest.raises(ValueError):  # noqa: PT011
            p.at(stage, **place)
    for value in (1.0, "1", True, [1]):
        with pytest.raises(TypeError, match="i: "):
            p.at("logits", i=value, j=2)
    with pytest.raises(KeyError):
        p.at("softmax", i=1, j=2)
    with pytest.raises(ValueError, match="attention is known on average over places only"):
        p.at("attention", i=1, j=2)
    with pytest.raises(ValueError, match="array"):
        varprop.predict(seq_len=[2, 3]).at("input", position=0, channel=0)
    assert p.at("logits", i=np.int64(3), j=50) == p.at("logits", i=3, j=50, same_token=False)


def test_formulas_that_are_refused():
    p = varprop.predict()
    for stage, attribute in (
        ("logits", "nope"),
        ("input", "row_variance"),
        ("logits", "cross_position_moment"),
    ):
        with pytest.raises(ValueError, match=attribute):
            p.formula(stage, attribute)
    with pytest.raises(KeyError):
        p.formula("nope", "mean")
    with pytest.raises(ValueError, match="array"):
        varprop.predict(embedding_scale=[1.0, 2.0]).formula("input", "variance")


def test_formulas_of_the_base_model():
    p = varprop.predict()
    assert str(p.formula("embedding", "variance")) == "1/d_model"
    assert p.formula("scaled_embedding", "variance") == 1
    value = p.formula("logits", "variance")
    names = {symbol.name for symbol in value.free_symbols}
    assert names <= {"d_model", "n_heads", "d_head", "seq_len", "vocab_size"}
    sizes = p.spec.sizes()
    assert float(
        value.subs({s: sizes[s.name] for s in value.free_symbols}).evalf()
    ) == pytest.approx(2.25)


EXTREMES = [
    {"embedding_scale": 0},
    {"embedding_scale": 1e-150},
    {"embedding_scale": -3},
    {"embedding": "normal(std=0)"},
    {"embedding": "zeros", "position": "none"},
    {"embedding": "zeros", "position": "rotary"},
    {"embedding_scale": 1e-100, "position": "none"},
    {"d_model": 2**20},
    {"seq_len": 10**12},
    {"vocab_size": 10**12, "token_repeat": "1/vocab_size"},
    {"token_repeat": 1},
    {"dropout": 0.999999},
    {"logit_scale": 0},
    {"logit_scale": 1e-200},
    {"seq_len": 2},
    {"d_model": 1, "n_heads": 1},
    {"d_model": 1, "n_heads": 1, "seq_len": 1, "vocab_size": 1, "token_repeat": 1},
    {"position": "sinusoidal(base=1e-5)"},
    {"position": "sinusoidal(base=1e300)"},
    {"position": "rotary(base=1e-300)", "seq_len": 10**6},
    {"query": "normal(std=1e-200)"},
    {"query": "constant(1)", "key": "constant(-1)"},
    {"embedding": "constant(2)", "position": "none"},
    {"embedding": "constant(2)", "position": "none", "query": "identity", "key": "identity"},
]


@pytest.mark.parametrize("fields", EXTREMES, ids=str)
def test_extremes_are_finite_or_none(fields):
    p = varprop.predict(**fields)
    for moments in p.values():
        for attribute in SECOND_ORDER:
            value = getattr(moments, attribute)
            assert value is None or (type(value) is float and math.isfinite(value)), attribute
            assert value is None or attribute in ("mean", "cross_position_moment") or value >= 0, (
                attribute
            )


@pytest.mark.parametrize("scale", [1e60, 1e100, 1e140])
def test_what_fits_in_a_double_is_told(scale):
    p = varprop.predict(embedding_scale=scale, position="none")
    assert p.scaled_embedding.mean == 0
    assert p.scaled_embedding.variance == pytest.approx(scale**2 / 512)
    assert p.query.variance == pytest.approx(p.spec.distribution("query").cumulant(2) * scale**2)


@pytest.mark.parametrize("scale", [1e200, 1e-160])
def test_what_does_not_fit_is_one_line(scale):
    with pytest.raises(ValueError, match="double precision") as caught:
        varprop.predict(embedding_scale=scale).logits.variance  # noqa: B018
    assert "\n" not in str(caught.value)


BEYOND = [
    {"embedding_scale": 1e300},
    {"embedding_scale": 1e-300},
    {"embedding": "constant(1e300)"},
    {"embedding": "normal(std=1e150)"},
    {"norm": "layernorm", "embedding_scale": 1e300},
    {"norm": "layernorm(eps=1e-300)", "embedding": "normal(std=1e-200)"},
    {"norm": "rmsnorm(eps=1e300)", "segment": "uniform(0,1)", "dropout": 0.5},
    {"query": "normal(std=1e150)", "key": "normal(std=1e150)", "logit_scale": 1e-300},
]


@pytest.mark.parametrize("fields", BEYOND, ids=str)
def test_beyond_double_precision_is_one_line_whatever_is_read(fields):
    p = varprop.predict(d_model=8, n_heads=2, seq_len=5, vocab_size=7, **fields)
    for name, moments in p.items():
        stage = moments.stage
        pair = {"i": 1, "j": 2} if stage.is_pair else {"i": 1}
        place = {"position": 1, "channel": 1} if stage.is_vector else pair
        for attribute in (*ATTRIBUTES, "method", "error", "at"):
            try:
                read = p.at(name, **place) if attribute == "at" else [getattr(moments, attribute)]
            except ValueError as error:
                assert re.fullmatch(rf"{name}\..*: beyond double precision .*", str(error))  # noqa: PT017
            else:
                numbers = [value for value in read if isinstance(value, float)]
                assert all(map(math.isfinite, numbers)), attribute


TIMED = [
    {},
    {"d_model": 12288, "n_heads": 96, "seq_len": 10**9},
    {"position": "rotary", "seq_len": 10**9},
    {
        "dropout": 0.1,
        "segment": "normal(mean=1)",
        "token_repeat": 0.5,
        "query": "normal(mean=.1)",
        "key": "uniform(0,1)",
    },
    {"shared_qk": True, "query_bias": "normal(mean=1)"},
    {"query": "identity", "key": "identity"},
]


@pytest.mark.parametrize("fields", TIMED, ids=str)
def test_second_order_is_quick_once_derived(fields):
    for moments in varprop.predict(**fields | {"d_model": 64, "n_heads": 1, "seq_len": 8}).values():
        for attribute in SECOND_ORDER:
            getattr(moments, attribute)
    for moments in varprop.predict(**fields).values():
        started = time.process_time()
        assert moments.variance >= 0
        assert time.process_time() - started < 0.5


DATA = [
    {},
    {"seq_len": 1},
    {"position": "rotary"},
    {"norm": "rmsnorm(eps=0)"},
    {"embedding_scale": np.array([0.0, 1.0])},
    {"seq_len": np.array([[1], [2], [3]]), "position": "none"},
    {"embedding": varprop.normal(std=np.array([0.0, 1.0]))},
]


@pytest.mark.parametrize("fields", DATA, ids=str)
def test_plain_data_is_strict_json(fields):
    p = varprop.predict(**fields)
    data = json.loads(json.dumps(p.to_dict(), allow_nan=False))
    assert list(data["stages"]) == list(p)
    for stage, moments in p.items():
        for attribute in ATTRIBUTES:
            value, told = getattr(moments, attribute), data["stages"][stage][attribute]
            if isinstance(value, np.ndarray):
                assert np.array_equal(np.array(told, dtype=float), value, equal_nan=True)
            else:
                assert told == value
    assert varprop.TransformerSpec(**data["spec"]) == p.spec


def test_shown():
    p = varprop.predict()
    assert "logits" in str(p)
    assert "<table" in p._repr_html_()
    assert repr(p).startswith("<Prediction")
    assert {"logits", "input"} <= set(dir(p))


def test_a_prediction_is_immutable():
    p = varprop.predict()
    for change in (
        lambda: setattr(p, "spec", 1),
        lambda: delattr(p, "_stages"),
        lambda: setattr(p.spec, "d_model", 1),
        lambda: setattr(p.input, "variance", 1.0),
        lambda: setattr(p.input, "stage", None),
        lambda: delattr(p.input, "stage"),
        lambda: delattr(p.attention, "outcome"),
    ):
        with pytest.raises(AttributeError):
            change()
    with pytest.raises(TypeError):
        p["input"] = p.query
    assert p.input.second_moment == 1.5


def test_copies_and_pickles():
    p = varprop.predict(embedding_scale=3)
    wanted = p.logits.variance
    for made in (copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert made.spec == p.spec
        assert made.logits.variance == wanted
    for name in p.full():
        packed = pickle.dumps(p[name])
        for one in (copy.copy(p[name]), copy.deepcopy(p[name]), pickle.loads(packed)):
            assert one.mean == p[name].mean


@pytest.mark.parametrize("attribute", ["variance", "row_variance", "excess_kurtosis"])
@pytest.mark.parametrize("position", ["sinusoidal", "rotary"])
def test_formulas_with_averages_over_places_become_functions_and_travel(
    position, attribute, monkeypatch
):
    from varprop.stages import symbolic

    p = varprop.predict(d_model=16, n_heads=2, seq_len=6, position=position, shared_qk=True)
    expression = p.formula("logits", attribute)
    packed = pickle.dumps(expression)
    monkeypatch.setattr(symbolic, "_PARTS", {})  # as in another process
    travelled = pickle.loads(packed)
    assert travelled == expression
    symbols = sorted(travelled.free_symbols, key=str)
    sizes = [getattr(p.spec, symbol.name) for symbol in symbols]
    wanted = pytest.approx(getattr(p["logits"], attribute), rel=1e-12)
    assert float(travelled.subs(dict(zip(symbols, sizes, strict=True))).evalf()) == wanted
    for module in ("math", "numpy", "mpmath"):
        assert float(sympy.lambdify(symbols, travelled, module)(*sizes)) == wanted
