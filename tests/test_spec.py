"""Specs: defaults resolved again, broadcasting, refusals, and the limits of time."""

import copy
import json
import pickle
import subprocess
import sys
import timeit

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from varprop.expressions import FIELDS, SYMBOLIC
from varprop.fields.readers import DRAWN, READERS, VALUES
from varprop.initializers import normal, parse_initializer, truncated_normal, zeros
from varprop.norms import LayerNorm, RMSNorm
from varprop.positions import Learned, Rotary, Sinusoidal
from varprop.spec import TransformerSpec
from varprop.strategies import specs

SYMBOLS = {name: sympy.Symbol(name, integer=True, positive=True) for name in FIELDS}


def test_defaults_are_those_of_the_contract():
    spec = TransformerSpec()
    sizes = (spec.d_model, spec.n_heads, spec.d_head, spec.seq_len, spec.vocab_size)
    assert sizes == (512, 8, 64, 128, 37000)
    assert all(type(size) is int for size in sizes)
    assert spec.embedding == normal(std="1/sqrt(d_model)")
    assert spec.embedding_scale == pytest.approx(512**0.5)
    assert spec.position == Sinusoidal(10000)
    assert (spec.segment, spec.norm, spec.output_head) == (None, None, "tied")
    assert (spec.dropout, spec.token_repeat, spec.logit_scale) == (0, 0, 0.125)
    assert spec.query == spec.key == parse_initializer("xavier_uniform", "f")
    assert spec.query_bias == spec.key_bias == zeros()
    assert spec.shared_qk is False
    assert spec.shape == ()
    assert not spec.has_arrays
    assert list(spec.to_dict()) == list(READERS)


def test_defaults_left_out_are_resolved_again():
    spec = TransformerSpec(d_model=256).replace(n_heads=4)
    assert (spec.d_head, spec.logit_scale, spec.embedding_scale) == (64, 0.125, 16)
    assert spec.replace(d_model=64).d_head == 16
    assert spec.replace(d_head=10).replace(d_model=128).d_head == 10
    fixed = TransformerSpec(embedding_scale=3)
    assert fixed.replace(d_model=64).embedding_scale == 3
    assert TransformerSpec(embedding_scale="d_model/2").replace(d_model=64).embedding_scale == 32
    assert spec.replace(d_model=512, n_heads=8) == TransformerSpec()
    assert repr(TransformerSpec(d_model=256).replace(n_heads=4)) == (
        "TransformerSpec(d_model=256, n_heads=4)"
    )


def test_everything_can_be_given_as_text_or_as_objects():
    text = TransformerSpec(
        embedding="normal(0, 1)", position="rotary(500, 1/2)", norm="rmsnorm", segment="zeros"
    )
    objects = TransformerSpec(
        embedding=normal(), position=Rotary(500, "1/2"), norm=RMSNorm(), segment=zeros()
    )
    assert text == objects
    assert hash(text) == hash(objects)
    none = {"position": "none", "segment": "none", "norm": "none", "output_head": "none"}
    assert TransformerSpec(**none) == TransformerSpec(**dict.fromkeys(none))
    assert TransformerSpec(**none).output_head is None


def test_values_and_sizes_in_formulas():
    spec = TransformerSpec(token_repeat="1/vocab_size", position="sinusoidal(base=2*d_model)")
    assert spec.number("logit_scale", SYMBOLIC) == 1 / sympy.sqrt(SYMBOLS["d_head"])
    assert spec.number("token_repeat", SYMBOLIC) == 1 / SYMBOLS["vocab_size"]
    assert spec.number("d_model", SYMBOLIC) == SYMBOLS["d_model"]
    assert (spec.number("d_model"), spec.number("token_repeat")) == (512, 1 / 37000)
    assert (spec.position.base, spec.number("position.base")) == (1024, 1024)
    assert spec.number("position.base", SYMBOLIC) == 2 * SYMBOLS["d_model"]
    eps = TransformerSpec(norm="layernorm").number("norm.eps", SYMBOLIC)
    assert eps == sympy.Rational(1, 10**5)
    assert TransformerSpec(dropout=0.1).number("dropout", SYMBOLIC) == sympy.Rational(1, 10)
    for field in ("embedding", "position", "position.phase", "norm.eps", "x"):
        with pytest.raises(ValueError, match="is not a field with a number"):
            spec.number(field)
    with pytest.raises(ValueError, match="embedding_scale is an array"):
        TransformerSpec(embedding_scale=np.ones(2)).number("embedding_scale", SYMBOLIC)


def test_fans_are_those_of_pytorch():
    spec = TransformerSpec(
        d_model=6,
        n_heads=3,
        d_head=5,
        seq_len=11,
        vocab_size=13,
        embedding="xavier_normal",
        position="learned(xavier_normal)",
        segment="xavier_normal",
        query="xavier_normal",
        query_bias="kaiming_uniform",
        key_bias="lecun_normal",
        output_head="xavier_normal",
    )
    fans = {
        "embedding": 2 / (6 + 13),
        "position": 2 / (6 + 11),
        "segment": 2 / (6 + 1),
        "query": 2 / (6 + 15),
        "key": 2 / (6 + 15),
        "output_head": 2 / (6 + 13),
        "query_bias": 1 / 18,
        "key_bias": 1 / 6,
    }
    variances = {field: spec.distribution(field).cumulant(2) for field in fans}
    assert variances == pytest.approx(fans, rel=1e-14)
    values = {SYMBOLS[name]: getattr(spec, name) for name in FIELDS}
    formulas = {field: spec.distribution(field, SYMBOLIC).cumulant(2) for field in fans}
    assert {f: float(v.subs(values)) for f, v in formulas.items()} == pytest.approx(fans)
    fused = TransformerSpec(query="xavier_uniform(fan_out=3*d_model)")
    assert fused.distribution("query").cumulant(2) == pytest.approx(2 / (4 * 512))


def test_fields_that_draw_nothing_have_no_distribution():
    spec = TransformerSpec(query="identity")
    for field in ("query", "segment", "output_head", "position", "d_model", "none"):
        with pytest.raises(ValueError, match="draws nothing in TransformerSpec"):
            spec.distribution(field)


def test_an_identity_projection_makes_heads_as_wide_as_the_model():
    spec = TransformerSpec(d_model=10, n_heads=3, query="identity", key="xavier_normal")
    assert (spec.d_head, spec.identity) == (10, True)
    assert spec.distribution("key").cumulant(2) == 2 / 20
    assert spec.distribution("key", SYMBOLIC).cumulant(2) == 1 / SYMBOLS["d_model"]
    assert spec.number("logit_scale", SYMBOLIC) == 1 / sympy.sqrt(SYMBOLS["d_model"])
    assert TransformerSpec(d_head=512, key="identity").d_head == 512
    with pytest.raises(ValueError, match="d_head must be left out with an identity"):
        TransformerSpec(d_head=64, key="identity")


def test_shared_projections_leave_the_key_unread():
    spec = TransformerSpec(
        shared_qk=True, query="lecun_normal", key="identity", query_bias="normal"
    )
    assert (spec.key, spec.key_bias) == (spec.query, spec.query_bias)
    assert (spec.d_head, spec.identity) == (64, False)
    assert TransformerSpec(shared_qk=True, key="nonsense").shape == ()
    assert spec.replace(shared_qk=False).d_head == 512


BROADCAST = {
    "d_model": [16, 64],
    "n_heads": [2, 8],
    "d_head": [3, 5],
    "seq_len": [4, 9],
    "vocab_size": [10, 20],
    "embedding_scale": [0.5, -3.0],
    "dropout": [0.0, 0.5],
    "token_repeat": [0.0, 0.25],
    "logit_scale": [0.5, 1.0],
}
NUMBERS = (*FIELDS, *VALUES)


@pytest.mark.parametrize("field", BROADCAST)
def test_every_numeric_field_broadcasts(field):
    entries = BROADCAST[field]
    together = TransformerSpec(
        **{field: np.array(entries)}, query="truncated_normal(std=1/d_model)"
    )
    assert together.shape == (2,)
    assert together.has_arrays
    for at, entry in enumerate(entries):
        apart = TransformerSpec(**{field: entry}, query="truncated_normal(std=1/d_model)")
        for name in NUMBERS:
            assert np.broadcast_to(getattr(together, name), 2)[at] == getattr(apart, name)
        for name in ("embedding", "query", "key"):
            for order in (2, 4):
                values = together.distribution(name).cumulant(order)
                expected = apart.distribution(name).cumulant(order)
                assert np.broadcast_to(values, 2)[at] == pytest.approx(expected, rel=1e-12)


def test_arrays_inside_named_things_broadcast_with_the_rest():
    spec = TransformerSpec(
        d_model=np.array([[16], [32], [64]]),
        embedding=normal(std=np.array([1.0, 2.0])),
        position=Rotary(np.array([10.0, 100.0])),
        norm=LayerNorm(np.array([0.1, 0.2])),
    )
    assert spec.shape == (3, 2)
    assert spec.d_head.tolist() == [[2], [4], [8]]
    assert spec.position.base.tolist() == [10, 100]
    assert TransformerSpec(position=Learned(normal(std=np.ones(3)))).shape == (3,)
    assert TransformerSpec(d_model=[128, 256]).shape == (2,)
    assert TransformerSpec(d_model=np.array(128)) == TransformerSpec(d_model=128)


REFUSED = [
    ({"d_modle": 3}, "unknown field 'd_modle'; did you mean d_model? accepted: d_model, n_heads"),
    ({"x" * 10_000: 3}, "unknown field 'xxx"),
    ({"d_model": 0}, "d_model must be an integer from 1 to 1048576, got 0"),
    ({"d_model": 2**20 + 1}, "d_model must be an integer"),
    ({"d_model": "512"}, "d_model must be an integer"),
    ({"d_model": True}, "d_model must be an integer"),
    ({"d_model": 512.0}, "d_model must be an integer"),
    ({"d_model": None}, "d_model must be an integer"),
    ({"d_model": 10**100_000}, "d_model must be an integer from 1 to 1048576, got an integer of"),
    ({"d_head": None}, "d_head must be an integer"),
    ({"seq_len": 10**12 + 1}, "seq_len must be an integer from 1 to 1000000000000"),
    ({"vocab_size": -5}, "vocab_size must be an integer"),
    ({"d_model": np.array([8, 0])}, "d_model must be an integer from 1 to 1048576, got 0"),
    ({"d_model": np.array([8.0])}, "d_model must be an array of integers"),
    ({"d_model": np.array([True])}, "d_model must be an array of integers"),
    ({"d_model": np.array([], int)}, "d_model must be an array of integers with at least one"),
    (
        {"n_heads": 7},
        "n_heads=7 does not divide d_model=512: choose n_heads=4 or 8, or give d_head",
    ),
    ({"n_heads": 1000}, "n_heads=1000 does not divide d_model=512: choose n_heads=512, or give"),
    ({"n_heads": np.array([8, 7])}, "n_heads=7 does not divide d_model=512"),
    ({"d_model": np.array([8, 16]), "n_heads": np.array([1, 2, 4])}, "n_heads has shape (3,)"),
    ({"dropout": 1}, "dropout must be a probability, at least 0 and below 1, got 1.0"),
    ({"dropout": -0.1}, "dropout must be a probability"),
    (
        {"dropout": np.array([0, 1.5])},
        "dropout must be a probability, at least 0 and below 1, got 1",
    ),
    ({"dropout": float("nan")}, "dropout must be a finite number, got nan"),
    ({"dropout": True}, "dropout must be a number, an expression or an array"),
    ({"dropout": None}, "dropout must be a number"),
    ({"embedding_scale": np.array([1, np.inf])}, "embedding_scale must be finite in every entry"),
    ({"embedding_scale": "1/(n_heads-8)"}, "embedding_scale must be a finite real number"),
    ({"embedding_scale": "sqrt(dmodel)"}, "embedding_scale: cannot read 'sqrt(dmodel)'"),
    ({"logit_scale": "__import__('os')"}, "logit_scale: cannot read"),
    ({"logit_scale": 1j}, "logit_scale must be a number"),
    ({"token_repeat": 0.3}, "token_repeat must be 0, or 1/V for a positive integer V"),
    ({"token_repeat": 2}, "token_repeat must be 0, or 1/V"),
    ({"token_repeat": -0.5}, "token_repeat must be 0, or 1/V"),
    ({"token_repeat": 1e-13}, "token_repeat must be 0, or 1/V"),
    ({"token_repeat": 5e-324}, "token_repeat must be 0, or 1/V"),
    ({"token_repeat": "2/vocab_size", "vocab_size": 5}, "token_repeat must be 0, or 1/V"),
    ({"token_repeat": np.array([0.5, 0.4])}, "token_repeat must be 0, or 1/V"),
    ({"shared_qk": 1}, "shared_qk must be True or False, got 1"),
    ({"shared_qk": "yes"}, "shared_qk must be True or False"),
    ({"embedding": "none"}, "embedding: unknown initializer 'none'"),
    ({"embedding": None}, "embedding must be one of normal"),
    (
        {"embedding": "normal(std=d_model-600)"},
        "embedding: normal std must be a finite number >= 0",
    ),
    ({"query": "tied"}, "query: unknown initializer 'tied'"),
    ({"query_bias": "xavier_uniform"}, "query_bias: xavier_uniform of a bias needs fan_in="),
    ({"query_bias": "identity"}, "query_bias: unknown initializer 'identity'"),
    ({"segment": "identity"}, "segment: unknown initializer 'identity'"),
    ({"output_head": "xavier"}, "output_head: unknown initializer 'xavier'; did you mean xavier"),
    ({"position": "rotary", "d_head": 7}, "position: rotary turns fraction*d_head channels"),
    ({"position": "rotary(fraction=2)"}, "position: rotary turns"),
    ({"position": "rotary(fraction=0.3)"}, "position: rotary turns"),
    ({"position": "rotary", "d_head": np.array([8, 7])}, "position: rotary turns"),
    ({"position": "rotary(fraction=1/128)"}, "position: rotary turns"),
    ({"norm": "layernorm(eps=0)", "dropout": 0.1}, "norm: layernorm eps must be > 0 here"),
    ({"norm": "layernorm(eps=-1e-9)"}, "norm: layernorm eps must be a finite number >= 0"),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED, ids=[m[:50] for _, m in REFUSED])
def test_refusals_are_one_line_that_names_the_field(fields, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        TransformerSpec(**fields)
    given = str(caught.value)
    assert given.startswith(message)
    assert given.isprintable()
    assert len(given) < 300


STILL = {"embedding": "zeros", "position": "none"}
ONE = {"d_model": 1, "n_heads": 1}
CANCELLING = {
    "embedding": "constant(1)",
    "embedding_scale": 2,
    "position": "none",
    "segment": "constant(-2)",
}
EPS_ZERO = [
    ("layernorm", {}, True),
    ("rmsnorm", {}, True),
    ("layernorm", {"dropout": 0.1}, False),
    ("rmsnorm", {"dropout": 0.1}, False),
    ("rmsnorm", {"dropout": np.array([0, 0.1])}, False),
    ("layernorm", ONE, False),
    ("rmsnorm", ONE, True),
    ("layernorm", {"d_model": np.array([1, 8]), "n_heads": 1}, False),
    ("layernorm", STILL, False),
    ("rmsnorm", STILL, False),
    ("layernorm", {"embedding_scale": 0, "position": "none"}, False),
    ("layernorm", {"embedding_scale": np.array([1, 0]), "position": "none"}, False),
    ("layernorm", {"embedding": "normal(std=0)", "position": "rotary"}, False),
    ("layernorm", {"embedding": "constant(2)", "position": "none"}, False),
    ("rmsnorm", {"embedding": "constant(2)", "position": "none"}, True),
    ("rmsnorm", {"embedding": "constant(2)", "position": "none", "embedding_scale": 0}, False),
    ("rmsnorm", STILL | {"segment": "constant(1)"}, True),
    ("rmsnorm", CANCELLING, False),
    ("layernorm", CANCELLING, False),
    ("layernorm", STILL | {"segment": "normal"}, True),
    ("layernorm", {"embedding": "zeros", "position": "learned"}, True),
    ("layernorm", {"embedding": "zeros", "position": "learned(zeros)"}, False),
    ("rmsnorm", {"embedding": "zeros", "position": "learned(constant(1))"}, True),
    ("layernorm", {"embedding": "zeros"}, True),
    ("rmsnorm", {"embedding": "zeros"}, True),
    ("rmsnorm", {"embedding": "zeros"} | ONE, False),
    ("rmsnorm", {"embedding": "constant(1)"} | ONE, True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "accepted"), EPS_ZERO)
def test_eps_zero_is_refused_where_the_norm_can_be_0_over_0(name, fields, accepted):
    assert TransformerSpec(norm=f"{name}(eps=1e-9)", **fields).norm.name == name
    if accepted:
        assert TransformerSpec(norm=f"{name}(eps=0)", **fields).norm.eps == 0
        return
    with pytest.raises(ValueError, match=f"norm: {name} eps must be > 0 here, got 0"):
        TransformerSpec(norm=f"{name}(eps=0)", **fields)


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 49, 37000, 10**6, 10**9 + 7, 10**12])
def test_token_repeat_is_the_inverse_of_an_integer(rows):
    for given_value in (1 / rows, f"1/{rows}", np.float64(1) / rows):
        assert TransformerSpec(token_repeat=given_value).token_repeat == 1 / rows
    if rows < 10**6:
        assert TransformerSpec(token_repeat=(1 + 9e-10) / rows).token_repeat == 1 / rows
        with pytest.raises(ValueError, match="token_repeat must be"):
            TransformerSpec(token_repeat=(1 + 2e-9) / rows)


@settings(max_examples=80, deadline=None)
@given(specs())
def test_specs_read_back_copy_and_compare(spec):
    data = json.loads(json.dumps(spec.to_dict(), allow_nan=False))
    assert TransformerSpec(**data) == spec
    assert eval(repr(spec), {"TransformerSpec": TransformerSpec}) == spec
    for other in (pickle.loads(pickle.dumps(spec)), copy.deepcopy(spec), spec.replace()):
        assert other == spec
        assert hash(other) == hash(spec)


@settings(max_examples=25, deadline=None)
@given(specs())
def test_formulas_have_the_values_of_the_numbers(spec):
    values = {SYMBOLS[name]: getattr(spec, name) for name in FIELDS}
    for field in VALUES:
        formula = spec.number(field, SYMBOLIC)
        assert float(formula.subs(values)) == pytest.approx(getattr(spec, field), rel=1e-12)
    for field in DRAWN:
        if not hasattr(getattr(spec, field), "distribution"):
            continue
        numbers, formulas = spec.distribution(field), spec.distribution(field, SYMBOLIC)
        for order in (1, 2, 4):
            expected = sympy.N(sympy.sympify(formulas.cumulant(order)).subs(values), 30)
            scale = float(numbers.cumulant(2)) ** (order / 2)
            assert numbers.cumulant(order) == pytest.approx(
                float(expected), rel=1e-9, abs=1e-11 * scale
            )


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(list(READERS)),
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 10**30),
        st.floats(),
        st.text(max_size=20),
        st.text(alphabet="normal(std=1/sqrtd_)0", max_size=30),
        st.lists(st.integers(-2, 9), max_size=3),
        st.binary(max_size=3),
        st.dictionaries(st.sampled_from(["name", "std"]), st.text(max_size=4)),
    ),
)
def test_any_value_is_accepted_or_refused_in_one_line(field, value):
    messages = []
    try:
        TransformerSpec(**{field: value})
    except (TypeError, ValueError) as error:
        messages.append(str(error))
    assert all(m.isprintable() and len(m) < 300 and field in m for m in messages)


def test_specs_with_arrays_compare_copy_and_do_not_hash():
    one, same, other = (
        TransformerSpec(embedding_scale=np.array(x)) for x in ([1, 2], [1, 2], [1, 3])
    )
    assert one == same != other
    assert one != TransformerSpec()
    assert one != 3
    assert pickle.loads(pickle.dumps(one)) == one
    assert TransformerSpec(**json.loads(json.dumps(one.to_dict()))) == one
    inner = TransformerSpec(embedding=truncated_normal(np.array([1.0, 2.0])))
    assert TransformerSpec(**json.loads(json.dumps(inner.to_dict()))) == inner
    with pytest.raises(TypeError, match="no hash"):
        hash(one)
    assert one.to_dict()["embedding_scale"] == [1, 2]
    assert "array of float64 with shape (2,)" in repr(one)


def test_specs_are_immutable():
    spec = TransformerSpec(embedding_scale=np.ones(2))
    with pytest.raises(AttributeError, match="immutable"):
        spec.d_model = 3
    with pytest.raises(AttributeError, match="immutable"):
        del spec.d_model
    with pytest.raises(ValueError, match="read-only"):
        spec.embedding_scale[0] = 3


def test_a_spec_is_made_in_microseconds_and_arrays_are_checked_at_once():
    scalar = timeit.repeat(lambda: TransformerSpec(embedding_scale=3.7), number=200, repeat=15)
    assert min(scalar) / 200 < 40e-6 * 2.5  # the limit is 40 us; other machines are slower
    scales = np.random.default_rng(0).random(10**6)
    array = timeit.repeat(lambda: TransformerSpec(embedding_scale=scales), number=1, repeat=5)
    assert min(array) < 0.05


def test_importing_the_spec_loads_nothing_heavy():
    heavy = "sympy", "scipy", "mpmath", "hypothesis", "difflib", "fractions"
    code = (
        "import sys, varprop.spec as s; s.TransformerSpec(norm='layernorm', position='rotary');"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
