"""Every stage and attribute against the exact enumeration of tiny specifications."""

import functools
import itertools
import math

import numpy as np
import pytest

import varprop
from varprop.normalisation.record import record_of
from varprop.stages.context import Context

from .cases import SECOND_ORDER, case, differences, generator, spec_fields
from .reference import PAIRS, VECTORS, Reference, law, raw_moments, rule

N, U, C = "normal", "uniform", "constant"
SKEWED = ("truncated_normal", {"std": 1.0, "low": -0.5, "high": 2.0})
BASE = {
    "d_model": 2,
    "d_head": 2,
    "n_heads": 1,
    "seq_len": 3,
    "vocab_size": 4,
    "position": ("none", {}),
    "embedding": (N, {"std": 0.7}),
    "embedding_scale": 1.4,
    "query": ("xavier_uniform", {}),
    "key": ("xavier_normal", {}),
    "logit_scale": 0.6,
}
SINE, TURN = ("sinusoidal", {"base": 7.0}), ("rotary", {"base": 3.0, "turning": 2})
CORPUS = {
    "plain": {},
    "sinusoidal": {"position": SINE},
    "sinusoidal, odd": {"position": SINE, "d_model": 3},
    "sinusoidal, one channel": {"position": SINE, "d_model": 1, "d_head": 1, "seq_len": 4},
    "sinusoidal, skewed table": {"position": SINE, "embedding": SKEWED},
    "learned": {"position": ("learned", {"law": (U, {"low": -0.2, "high": 0.9})})},
    "rotary": {"position": TURN},
    "rotary, partial": {"position": TURN, "d_head": 3},
    "rotary, biases with means": {
        "position": TURN,
        "query_bias": (N, {"mean": 0.3, "std": 0.2}),
        "key_bias": (C, {"value": -0.4}),
    },
    "rotary, means everywhere": {
        "position": TURN,
        "embedding": (U, {"low": -0.2, "high": 1.0}),
        "query": (N, {"mean": 0.4, "std": 0.3}),
        "key": (U, {"low": 0.0, "high": 1.0}),
    },
    "segment": {"segment": (N, {"std": 0.5})},
    "segment with a mean, sinusoidal": {
        "segment": (N, {"mean": 0.5, "std": 0.5}),
        "position": SINE,
    },
    "dropout": {"dropout": 0.25},
    "dropout, sinusoidal": {"dropout": 0.25, "position": SINE},
    "repeated tokens": {"token_repeat": 0.5},
    "one token": {"token_repeat": 1, "position": SINE},
    "shared": {"shared_qk": True},
    "shared, sinusoidal, bias": {
        "shared_qk": True,
        "position": SINE,
        "query_bias": ("kaiming_uniform", {}),
    },
    "shared, rotary, mean": {
        "shared_qk": True,
        "position": TURN,
        "query": (N, {"mean": 0.2, "std": 0.6}),
    },
    "identity": {"query": "identity", "key": "identity"},
    "identity, sinusoidal": {"query": "identity", "key": "identity", "position": SINE},
    "identity, rotary, repeats": {
        "query": "identity",
        "key": "identity",
        "position": TURN,
        "token_repeat": 1 / 3,
    },
    "identity query": {"query": "identity", "key_bias": (N, {"mean": 0.5})},
    "constant table": {"embedding": (C, {"value": 0.5})},
    "no table": {"embedding_scale": 0.0, "position": SINE},
    "one position": {"seq_len": 1, "position": SINE},
    "two positions": {"seq_len": 2, "token_repeat": 0.5},
    "everything": {
        "d_model": 1,
        "embedding": SKEWED,
        "position": SINE,
        "segment": (U, {"low": 0.0, "high": 1.0}),
        "dropout": 0.25,
        "query": (N, {"mean": 0.2, "std": 0.5}),
        "key": SKEWED,
        "query_bias": (N, {"mean": 0.1, "std": 0.3}),
        "key_bias": ("lecun_normal", {}),
        "token_repeat": 0.5,
        "d_head": 1,
    },
}
KURTOSIS = [
    "plain",
    "sinusoidal",
    "sinusoidal, odd",
    "sinusoidal, one channel",
    "sinusoidal, skewed table",
    "learned",
    "rotary",
    "segment",
    "dropout",
    "repeated tokens",
    "shared",
    "identity",
    "identity, sinusoidal",
    "identity, rotary, repeats",
    "constant table",
    "no table",
    "one position",
]


@functools.cache
def exact(name, order):
    fields = BASE | CORPUS[name]
    reference = Reference(**fields)
    prediction = varprop.predict(**spec_fields(fields))
    return prediction, {stage: reference.stage(stage, order) for stage in prediction}


@pytest.mark.parametrize("name", CORPUS)
def test_second_order(name):
    prediction, stages = exact(name, 2)
    compared = 0
    for stage, true in stages.items():
        if true is not None:
            compared += 1
            assert differences(prediction[stage], true) == [], stage
    assert compared >= len(stages) - 2


@pytest.mark.parametrize("name", KURTOSIS)
def test_kurtosis(name):
    prediction, stages = exact(name, 4)
    for stage, true in stages.items():
        if true is not None:
            assert differences(prediction[stage], true, ("variance", "excess_kurtosis")) == [], (
                stage
            )


@pytest.mark.parametrize("name", CORPUS)
def test_one_place(name):
    prediction, stages = exact(name, 2)
    for stage, true in stages.items():
        for where, patterns in (true or {"by_pattern": {}})["by_pattern"].items():
            check_place(prediction, stage, where, patterns)


def check_place(prediction, stage, where, patterns):
    """`at` equals the enumeration, for the mixture and for each half of it."""
    place = dict(zip(("position", "channel") if stage in VECTORS else "ij", where, strict=False))
    halves = {None: patterns}
    if stage in PAIRS:
        halves |= {
            len(tokens_moments) == 1 or same: [(1.0, moments)]
            for same, tokens_moments, moments in same_or_not(prediction, patterns)
        }
    for same, weighted in halves.items():
        extra = {} if same is None else {"same_token": same}
        _, first, second = np.sum(
            [chance * np.array(moments[:3]) for chance, moments in weighted], axis=0
        )
        got = prediction.at(stage, **place, **extra)
        floor = 1e-13 * second
        assert got.mean == pytest.approx(first, rel=1e-9, abs=1e-13 * math.sqrt(second))
        assert got.variance == pytest.approx(second - first**2, rel=1e-9, abs=floor)
        assert got.second_moment == pytest.approx(second, rel=1e-9, abs=floor)


def same_or_not(prediction, patterns):
    """(same, both halves, moments); at token_repeat 0 or 1 there is one half only."""
    if len(patterns) == 2:
        yield from (
            (same, patterns, moments)
            for same, (_, moments) in zip((True, False), patterns, strict=True)
        )
    elif prediction.spec.token_repeat == 0:
        yield False, (0, 0), patterns[0][1]
    else:
        yield True, (0, 0), patterns[0][1]


@pytest.mark.parametrize("seed", range(16))
def test_random_specifications(seed):
    fields = case(generator(seed)) | {"seq_len": 1 + seed % 3}
    prediction, reference = varprop.predict(**spec_fields(fields)), Reference(**fields)
    for stage in prediction:
        if (true := reference.stage(stage)) is not None:
            assert differences(prediction[stage], true) == [], (stage, fields)


# Where nothing is known of a row's direction, what is predicted after a norm with eps = 0 must
# hold for any law of the rows.


def norm_cases():
    for seed in itertools.count():
        fields = case(generator(seed), norm=True) | {"dropout": 0.0, "seq_len": 1 + seed % 3}
        if fields["d_model"] in (2, 3) and not direction_is_known(fields):
            yield fields


def direction_is_known(fields):
    try:
        record = record_of(Context(varprop.TransformerSpec(**spec_fields(fields))))
    except ValueError:  # eps = 0 is refused where a row can have no direction
        return False
    return record.gaussian or record.centred


@pytest.mark.parametrize("fields", list(itertools.islice(norm_cases(), 30)), ids=range(30))
def test_normed_rows_of_any_law(fields):
    try:
        prediction = varprop.predict(**spec_fields(fields))
    except ValueError as error:
        assert "norm: " in str(error)  # noqa: PT017
        return
    reference = Reference(**fields, generic=np.random.default_rng(0))
    for stage in prediction:
        if stage in reference.ROWS or (true := reference.stage(stage)) is None:
            continue
        scale = max(1.0, true["second_moment"])
        for attribute in SECOND_ORDER:
            mine = getattr(prediction[stage], attribute)
            if mine is not None and not (true[attribute] is not None and np.isnan(true[attribute])):
                absolute = 1e-7 if attribute == "std" else 1e-12 * scale
                assert mine == pytest.approx(true[attribute], rel=1e-9, abs=absolute), (
                    stage,
                    attribute,
                )
        for where, raw in true["places"].items():
            place = dict(
                zip(("position", "channel") if stage in VECTORS else "ij", where, strict=False)
            )
            wanted = (raw[1], raw[2] - raw[1] ** 2, raw[2])
            for mine, expected in zip(prediction.at(stage, **place), wanted, strict=True):
                assert mine is None or mine == pytest.approx(expected, rel=1e-9, abs=1e-12 * scale)


@pytest.mark.parametrize("position", ["none", "sinusoidal", "rotary", "learned"])
@pytest.mark.parametrize("norm", ["layernorm(eps=0)", "rmsnorm(eps=0)"])
def test_what_a_norm_with_eps_0_must_tell(norm, position):
    p = varprop.predict(d_model=16, n_heads=2, seq_len=5, norm=norm, position=position)
    weight = p.spec.distribution("query").cumulant(2)
    assert p.normed_input.second_moment == 1
    assert p.query.second_moment == p.query.variance == pytest.approx(16 * weight)
    assert (
        p.scores.second_moment
        == p.self_scores.second_moment
        == pytest.approx(8 * (16 * weight) ** 2)
    )
    assert p.scores.mean == p.self_scores.mean == 0
    if norm.startswith("layernorm"):
        assert p.normed_input.mean == 0
        assert p.normed_input.variance == 1
        if position != "sinusoidal":
            assert p.normed_input.ensemble_variance == 1
    if position != "sinusoidal":  # a point on a sphere in 15 or 16 dimensions
        shape = 15 / 17 if norm.startswith("layernorm") else 16 / 18
        assert p.normed_input.excess_kurtosis == pytest.approx(3 * shape - 3, rel=1e-12)
        assert p.normed_input.cross_position_moment == p.query.cross_position_moment == 0
        assert p.normed_input.method == p.scores.method == "exact"


# The reference itself, against a plain tensor product of all quadratures.


def test_the_reference_against_one_great_sum():
    fields = {
        "d_model": 1,
        "d_head": 1,
        "seq_len": 2,
        "embedding": (U, {"low": -0.5, "high": 1.0}),
        "embedding_scale": 1.3,
        "position": SINE,
        "segment": (N, {"mean": 0.2, "std": 0.4}),
        "dropout": 0.25,
        "query": (N, {"mean": 0.3, "std": 0.5}),
        "key": (U, {"low": 0.0, "high": 1.0}),
        "query_bias": (C, {"value": 0.4}),
        "logit_scale": -0.5,
    }
    table, segment = (
        rule(law(U, fields["embedding"][1], 1, 5), 8),
        rule(law(N, fields["segment"][1], 1, 1), 8),
    )
    q, k = rule(law(N, fields["query"][1], 1, 1), 4), rule(law(U, fields["key"][1], 1, 1), 4)
    mask = (np.array([0, 1 / 0.75]), np.array([0.25, 0.75]))
    total = np.zeros(5)
    for (e0, a), (e1, b), (g, c), (m0, d), (m1, e) in itertools.product(
        *(list(zip(*one, strict=True)) for one in (table, table, segment, mask, mask))
    ):
        x0, x1 = m0 * (1.3 * e0 + 0.0 + g), m1 * (1.3 * e1 + math.sin(1) + g)
        for (w, f), (v, h) in itertools.product(zip(*q, strict=True), zip(*k, strict=True)):
            logit = -0.5 * (w * x0 + 0.4) * (v * x1)
            total += a * b * c * d * e * f * h * logit ** np.arange(5)
    reference = Reference(**fields)
    ((_, moments),) = reference.place("logits", (0, 1), 4)
    np.testing.assert_allclose(moments, total, rtol=1e-11)


def test_quadratures_have_the_moments_of_their_laws():
    gauss = raw_moments(law(N, {"mean": 0.5, "std": 2.0}, 1, 1), 4)
    assert gauss == pytest.approx([1, 0.5, 4.25, 6.125, 0.0625 + 6 * 0.25 * 4 + 3 * 16])
    flat = raw_moments(law(U, {"low": -1.0, "high": 3.0}, 1, 1), 4)
    assert flat == pytest.approx(
        [(3 ** (n + 1) - (-1) ** (n + 1)) / (4 * (n + 1)) for n in range(5)]
    )
    cut = raw_moments(law(*SKEWED, 1, 1), 8)
    x = np.linspace(-0.5, 2, 200_001)
    density = np.exp(-(x**2) / 2)
    assert cut == pytest.approx(
        [np.trapezoid(x**n * density) / np.trapezoid(density) for n in range(9)], rel=1e-9
    )


# The generated module against fresh derivations.


def test_closed_forms_equal_fresh_derivations():
    from varprop.stages.closed_forms import FORMS
    from varprop.stages.derivation import compiled, derive, form_key
    from varprop.stages.generation import quantities, structures
    from varprop.stages.projections import KEY, QUERY
    from varprop.stages.scores import PAIR, SELF
    from varprop.stages.stage import narrowed
    from varprop.stages.structure import ABSENT
    from varprop.stages.tokens import ROWS

    rng, compared = np.random.default_rng(0), 0
    for structure in structures():
        for definition in (ROWS, QUERY, KEY, PAIR, SELF):
            for what in quantities(definition, structure):
                joint = what in ("cross", "row", "shared") or len(definition.labels) > 1
                narrow = narrowed(structure, definition, structure.cross if joint else ABSENT)
                key = form_key(definition, narrow, what)
                if rng.random() > 0.1 or (definition in (PAIR, SELF) and what.endswith("4")):
                    continue
                parameters, evaluate = FORMS[key]
                fresh = compiled(derive(definition, narrow, what))
                assert set(fresh.parameters) == set(parameters), key
                values = dict(
                    zip(sorted(parameters), rng.uniform(0.5, 2, len(parameters)), strict=True)
                )
                ours = evaluate(*(values[name] for name in parameters))
                theirs = fresh(values.__getitem__)
                assert ours.keys() == theirs.keys(), key
                for parts, value in ours.items():
                    assert value == pytest.approx(theirs[parts], rel=1e-12), key
                compared += 1
    assert compared > 30
