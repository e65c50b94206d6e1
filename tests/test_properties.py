"""Pairs of specifications that must agree, over specifications drawn by varprop.strategies."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import varprop
from varprop.strategies import specs

QUICK = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SECOND = (
    "mean",
    "variance",
    "ensemble_variance",
    "second_moment",
    "std",
    "cross_position_moment",
    "row_variance",
)
PROJECTED = ("query", "key", "scores", "logits", "self_scores", "self_logits")
FACTORS = st.sampled_from([0.5, 1.7, -2.0, 1e-3, 40.0])
NOISE = st.sampled_from(
    ["normal(std=0.3)", "uniform(-0.5, 0.5)", "truncated_normal(std=0.7)", "xavier_uniform"]
)


def close(one, other, scale=1.0):
    if one is None or other is None:
        assert one is other
    else:
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12 * scale)


def agree(one, other, stages=None, attributes=SECOND, factor=1.0):
    """The attributes of `one` are those of `other` times the factor to the power of their order."""
    for stage in stages or one:
        if stage not in one:
            continue
        scale = one[stage].second_moment or 0.0
        for attribute in attributes:
            power = 1 if attribute in ("mean", "std") else 2
            mine, theirs = getattr(one[stage], attribute), getattr(other[stage], attribute)
            if theirs is not None:
                theirs *= (abs(factor) if attribute == "std" else factor) ** power
            floor = 1e3 * math.sqrt(scale) if attribute == "std" else scale ** (power / 2)
            close(mine, theirs, floor)


@QUICK
@given(specs(norm="none", embedding=NOISE), FACTORS)
def test_scaling_the_factor_scales_the_variance_by_its_square(spec, a):
    one = varprop.predict(spec)
    other = varprop.predict(spec, embedding_scale=a * spec.embedding_scale)
    agree(other, one, ["scaled_embedding"], factor=a)


@QUICK
@given(specs(norm="none"), FACTORS, st.sampled_from([0.3, 1.0, 2.5]))
def test_factor_c_and_std_s_equals_factor_1_and_std_cs(spec, c, s):
    scaled = varprop.predict(spec, embedding=f"normal(std={s})", embedding_scale=abs(c))
    plain = varprop.predict(spec, embedding=f"normal(std={abs(c) * s!r})", embedding_scale=1)
    agree(scaled, plain, [name for name in plain if name != "embedding"])


@QUICK
@given(
    specs(
        norm="none",
        position="none",
        query=NOISE,
        key=NOISE,
        shared_qk=False,
        d_head=4,
        query_bias="zeros",
        key_bias="zeros",
    )
)
def test_rotary_changes_no_second_moment_with_independent_centred_projections(spec):
    for position in ("rotary(base=7)", "rotary(base=100, fraction=1/2)"):
        turned, plain = varprop.predict(spec, position=position), varprop.predict(spec)
        second = ("mean", "variance", "ensemble_variance", "second_moment")
        agree(turned, plain, PROJECTED, second)


@QUICK
@given(specs(norm="none", position="none", d_head=2, query=NOISE, key=NOISE))
def test_rotary_never_changes_a_self_logit(spec):
    turned, plain = varprop.predict(spec, position="rotary(base=3)"), varprop.predict(spec)
    agree(turned, plain, ["self_scores", "self_logits"])


@QUICK
@given(
    specs(
        norm="none", query=NOISE, query_bias=st.just("normal(mean=0.2, std=0.4)"), shared_qk=False
    ),
    FACTORS,
)
def test_scaling_q_before_equals_scaling_the_logits_after(spec, a):
    def scaled(field):
        one = spec.distribution(field)
        return f"normal(mean={one.cumulant(1) * a!r}, std={abs(a) * math.sqrt(one.cumulant(2))!r})"

    before = varprop.predict(spec, query=scaled("query"), query_bias=scaled("query_bias"))
    after = varprop.predict(spec, logit_scale=a * spec.logit_scale)
    agree(before, after, ["logits", "self_logits"])


@QUICK
@given(specs(norm="none"))
def test_rare_repeats_tend_to_none(spec):
    never, rarely = varprop.predict(spec, token_repeat=0), varprop.predict(spec, token_repeat=1e-12)
    for stage in never:
        scale = never[stage].second_moment
        for attribute in SECOND:
            mine, theirs = getattr(rarely[stage], attribute), getattr(never[stage], attribute)
            assert (mine is None) == (theirs is None)
            if mine is not None:
                floor = (
                    math.sqrt(scale) * 1e-5
                    if attribute == "std"
                    else 1e-9 * (scale + math.sqrt(scale))
                )
                assert mine == pytest.approx(theirs, rel=1e-7, abs=floor + 1e-30)


@QUICK
@given(specs(norm="none", seq_len=st.integers(1, 4), d_model=st.integers(1, 6)))
def test_attributes_are_averages_of_places(spec):
    p = varprop.predict(spec)
    for stage in p:
        found = []
        width = spec.d_head if stage in ("query", "key") else spec.d_model
        for i in range(spec.seq_len):
            if p[stage].stage.is_vector:
                found += [p.at(stage, position=i, channel=c) for c in range(width)]
            elif stage.startswith("self"):
                found.append(p.at(stage, i=i))
            else:
                found += [p.at(stage, i=i, j=j) for j in range(spec.seq_len) if j != i]
        mean, variance, second = np.array(found).T
        scale = p[stage].second_moment
        close(p[stage].mean, mean.mean(), math.sqrt(scale))
        close(p[stage].ensemble_variance, variance.mean(), scale)
        close(p[stage].variance, variance.mean() + mean.var(), scale)
        close(p[stage].second_moment, second.mean(), scale)


@QUICK
@given(specs(norm="none", seq_len=st.integers(2, 5), token_repeat=st.sampled_from([0.25, 0.5])))
def test_same_token_or_not_mixes_to_the_unconditional(spec):
    p, r = varprop.predict(spec), spec.token_repeat
    for stage in ("scores", "logits"):
        whole, same, other = (
            p.at(stage, i=1, j=0, same_token=held) for held in (None, True, False)
        )
        scale = whole.second_moment
        close(whole.mean, r * same.mean + (1 - r) * other.mean, math.sqrt(scale))
        close(whole.second_moment, r * same.second_moment + (1 - r) * other.second_moment, scale)
        close(whole.variance, whole.second_moment - whole.mean**2, scale)


@QUICK
@given(specs(norm="none"))
def test_identities_between_the_attributes(spec):
    for moments in varprop.predict(spec).values():
        scale = moments.second_moment
        close(moments.second_moment, moments.variance + moments.mean**2, scale)
        close(moments.std**2, moments.variance, scale)
        assert 0 <= moments.ensemble_variance <= moments.variance + 1e-12 * scale
        assert (moments.row_variance is None) == (not moments.stage.is_pair or spec.seq_len < 3)
        assert (moments.cross_position_moment is None) == (
            not moments.stage.is_vector or spec.seq_len < 2
        )
        for attribute in SECOND:
            value = getattr(moments, attribute)
            assert value is None or (type(value) is float and math.isfinite(value))


FORMULAS = [
    {},
    {"position": "none", "embedding": "uniform(-0.2, 1)", "key": "normal(mean=0.2, std=0.5)"},
    {"position": "rotary", "query_bias": "kaiming_uniform", "embedding_scale": 1, "seq_len": 3},
    {
        "position": "learned",
        "segment": "normal(mean=0.1)",
        "dropout": 0.25,
        "token_repeat": "1/vocab_size",
    },
    {"shared_qk": True, "query_bias": "normal(std=0.3)", "logit_scale": "1/d_head"},
    {
        "query": "identity",
        "key": "identity",
        "position": "sinusoidal(base=10*d_model)",
        "n_heads": 1,
    },
    {"norm": "layernorm(eps=0)", "position": "none"},
    {"embedding": "truncated_normal(std=0.5)", "dropout": 0.1, "position": "sinusoidal(base=50)"},
]


@pytest.mark.parametrize("fields", FORMULAS, ids=str)
def test_formulas_equal_the_numbers(fields):
    p = varprop.predict(**{"d_model": 4, "n_heads": 2, "seq_len": 4, "vocab_size": 5} | fields)
    sizes = p.spec.sizes()
    for stage, moments in p.items():
        for attribute in SECOND:
            value = getattr(moments, attribute)
            if value is None:
                with pytest.raises(ValueError, match=attribute):
                    p.formula(stage, attribute)
                continue
            formula = p.formula(stage, attribute)
            assert {symbol.name for symbol in formula.free_symbols} <= set(sizes)
            number = complex(
                formula.subs({s: sizes[s.name] for s in formula.free_symbols}).evalf(30)
            )
            assert number == pytest.approx(
                value, rel=1e-9, abs=1e-7 if attribute == "std" else 1e-12
            )


def test_a_formula_with_a_skewed_truncated_table_comes_in_time():
    program = (
        "import varprop; p = varprop.predict(d_model=4, n_heads=2, position='none', "
        "embedding='truncated_normal(std=0.5, low=-0.3*std, high=3*std)'); "
        "p.formula('embedding', 'variance'); p.formula('scores', 'variance')"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=15, capture_output=True)


def each_alone(fields, name, values, attributes=SECOND):
    """Broadcasting a field equals a loop over its values, None as nan."""
    whole = varprop.predict(**fields(np.array(values)))
    alone = [varprop.predict(**fields(value)) for value in values]
    for stage in whole:
        for attribute in attributes:
            got = getattr(whole[stage], attribute)
            wanted = [getattr(one[stage], attribute) if stage in one else None for one in alone]
            if got is None:
                assert wanted == [None] * len(wanted), (name, stage, attribute)
                continue
            assert got.shape == (len(values),)
            wanted = [math.nan if value is None else value for value in wanted]
            np.testing.assert_allclose(
                got, wanted, rtol=1e-10, atol=1e-13, err_msg=f"{name} {stage} {attribute}"
            )


ARRAYS = {
    "std": ([0.0, 1.0, 0.5], lambda v: {"embedding": varprop.normal(std=v)}),
    "mean": ([0.0, 1.0], lambda v: {"embedding": varprop.normal(mean=v)}),
    "embedding_scale": ([0.0, -1.0, 2.0], lambda v: {"embedding_scale": v}),
    "dropout": ([0.0, 0.1, 0.5], lambda v: {"dropout": v}),
    "token_repeat": ([0.0, 1 / 3, 1.0], lambda v: {"token_repeat": v}),
    "vocab_size": ([1, 3, 6], lambda v: {"vocab_size": v, "token_repeat": "1/vocab_size"}),
    "seq_len": ([1, 2, 3, 4], lambda v: {"seq_len": v}),
    "seq_len 1": ([1, 1], lambda v: {"seq_len": v}),
    "d_head": ([2, 4, 6], lambda v: {"d_head": v}),
    "logit_scale": ([0.0, -1.0], lambda v: {"logit_scale": v}),
    "query": ([0.0, 0.5], lambda v: {"query": varprop.normal(mean=v, std=v)}),
    "query_bias": ([0.0, 0.5], lambda v: {"query_bias": varprop.normal(mean=v), "shared_qk": True}),
    "segment": ([0.0, 0.5], lambda v: {"segment": varprop.normal(mean=v, std=v), "dropout": 0.1}),
    "norm, query": (
        [0.0, 0.5],
        lambda v: {"norm": "rmsnorm(eps=0)", "query": varprop.normal(mean=v)},
    ),
    "norm, logit_scale": ([0.0, 2.0], lambda v: {"norm": "layernorm(eps=0)", "logit_scale": v}),
    "norm, seq_len": ([1, 2, 3], lambda v: {"norm": "layernorm(eps=0)", "seq_len": v}),
}


@pytest.mark.parametrize("position", ["sinusoidal(base=9)", "learned", "rotary(base=9)", "none"])
@pytest.mark.parametrize("name", ARRAYS)
def test_broadcasting_equals_a_loop(name, position):
    values, fields = ARRAYS[name]
    base = {"d_model": 4, "n_heads": 2, "seq_len": 4, "position": position}
    each_alone(lambda v: base | fields(v), name, values)


def test_arrays_of_two_shapes_broadcast_together():
    p = varprop.predict(
        d_model=np.array([[128], [256]]), n_heads=4, embedding_scale=np.array([0.0, 1.0, 2.0])
    )
    for i, d in enumerate((128, 256)):
        for j, scale in enumerate((0.0, 1.0, 2.0)):
            one = varprop.predict(d_model=d, n_heads=4, embedding_scale=scale)
            for stage in p:
                assert p[stage].variance.shape == (2, 3)
                assert p[stage].variance[i, j] == pytest.approx(one[stage].variance, rel=1e-12)


@settings(QUICK, max_examples=3)
@given(
    specs(
        norm="none",
        d_model=st.integers(2, 8),
        seq_len=st.integers(3, 5),
        embedding=NOISE,
        query=NOISE,
        key=NOISE,
    )
)
def test_prediction_equals_measurement(spec):
    assert varprop.check(spec, replicates=300, seed=0).passed


def test_prediction_equals_the_engines_own_simulation():
    from varprop import algebra as va

    spec = varprop.TransformerSpec(
        d_model=4, n_heads=1, seq_len=3, embedding="normal(std=0.8)", embedding_scale=1.2
    )
    h, d, n = va.dims("h d n")
    wq, wk = (
        va.iid(name, (h, d), variance=spec.distribution("query").cumulant(2)) for name in "QK"
    )
    x = va.iid("E", (n, d), variance=0.96**2) + va.fixed("P", (n, d))
    score = va.einsum("ai,ti,aj,sj->ts", wq, x, wk, x)["t", "s"]
    table = np.array(
        [
            [(math.sin, math.cos)[c % 2](t * 10000 ** (-2 * (c // 2) / 4)) for c in range(4)]
            for t in range(3)
        ]
    )
    got = va.simulate(score, {h: 4, d: 4, n: 3}, fixed={"P": table}, draws=40_000, seed=0)
    place = varprop.predict(spec).at("scores", i=0, j=1)
    assert abs(got.variance.value - place.variance) < 5 * got.variance.stderr


def test_a_projection_that_cancels_is_zero_within_rounding():
    """Equal weights behind a LayerNorm: what is left of a query is rounding."""
    report = varprop.check(
        d_model=6, d_head=2, n_heads=2, seq_len=3, norm="layernorm(eps=0)", position="none",
        query="constant(0.3)", replicates=200,
    )  # fmt: skip
    assert report.passed
    assert next(row.predicted for row in report if row[:2] == ("query", "variance")) == 0
