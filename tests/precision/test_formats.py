"""Thresholds and rounding against the data types themselves, and constants after rounding."""

import json
import math
import pickle
import re

import ml_dtypes
import numpy as np
import pytest

import varprop
from varprop.precision.formats import FORMATS, format_named

TYPES = {name: getattr(ml_dtypes, name, np.float16) for name in FORMATS}


def cast(value, name):
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.float32(value).astype(TYPES[name]))


@pytest.mark.parametrize("name", FORMATS)
def test_thresholds_are_where_the_rounding_changes(name):
    form = format_named(name)
    assert math.isfinite(form.rounded(math.nextafter(form.overflow, 0)))
    assert not math.isfinite(form.rounded(form.overflow))
    assert form.rounded(math.nextafter(form.nonzero, 0)) == 0 < form.rounded(form.nonzero)
    normal = float(ml_dtypes.finfo(TYPES[name]).smallest_normal)
    assert form.rounded(math.nextafter(form.normal, 0)) < normal == form.rounded(form.normal)


def test_thresholds_as_published():
    ends = {name: format_named(name).overflow for name in FORMATS}
    assert ends["float16"] == 65520
    assert ends["float8_e4m3fn"] == math.nextafter(464, 465)
    assert ends["float8_e5m2"] == 61440
    assert ends["bfloat16"] == pytest.approx(3.3961775e38, rel=1e-7)


@pytest.mark.parametrize("name", FORMATS)
def test_rounding_is_that_of_the_data_type(name):
    rng = np.random.default_rng(3)
    form = format_named(name)
    values = np.float32(rng.standard_normal(4000) * 10.0 ** rng.uniform(-9, 6, 4000))
    numbers = np.arange(1, 60) * form.smallest_subnormal / 2  # every tie among the smallest
    for value in (*values, *np.float32(numbers)):
        np.testing.assert_equal(form.rounded(float(value)), cast(value, name))


@pytest.mark.parametrize(
    ("d", "dtype", "multiplier"),
    [
        (3072, "bfloat16", 55.5),
        (1152, "bfloat16", 34.0),
        (640, "bfloat16", 25.25),
        (3584, "bfloat16", 59.75),
        (12288, "bfloat16", 111.0),
        (3072, "float16", 55.4375),
        (768, "float16", 27.71875),
    ],
)
def test_the_rounded_multiplier(d, dtype, multiplier):
    found = varprop.precision(d_model=d, n_heads=1, dtype=dtype)
    assert found.multiplier == multiplier
    assert found.multiplier_variance_factor == pytest.approx(multiplier**2 / d, rel=1e-14)


def test_eps_after_the_cast():
    eps = {"1e-12": 0.0, "1e-8": 0.0, "1e-7": 1.1920928955078125e-07}
    for text, value in eps.items():
        assert varprop.precision(norm=f"layernorm(eps={text})").eps == value
    assert varprop.precision().eps is None


def test_the_mapping_is_immutable_and_can_be_copied():
    found = varprop.precision(d_model=64, entries=5)
    assert found.scores is found["scores"]
    assert found["scores"].entries == 5
    for target, name in ((found, "multiplier"), (found["scores"], "entries")):
        with pytest.raises(AttributeError, match=name):
            setattr(target, name, 1)
        with pytest.raises(AttributeError, match=name):
            delattr(target, name)
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()
    assert list(found) == [*varprop.predict(d_model=64), "output_logits"]
    assert "output_logits" not in varprop.precision(output_head="none")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "fields",
    [
        {"embedding_scale": 1e300},
        {"embedding_scale": 1e-300},
        {"embedding": "constant(1e300)"},
        {"norm": "rmsnorm(eps=1e300)"},
        {"query": "normal(std=1e150)", "key": "normal(std=1e150)", "logit_scale": 1e-300},
        {"output_scale": -1e300},
    ],
    ids=str,
)
def test_beyond_double_precision_is_one_line_whatever_is_read(fields, name):
    found = varprop.precision(d_model=8, n_heads=2, seq_len=5, vocab_size=7, **fields, dtype=name)
    for record in (*found.values(), found.query_scaling, found):
        try:
            json.dumps(record.to_dict(), allow_nan=False)
        except ValueError as error:
            assert re.fullmatch(r"\w+\.\w+: beyond double precision .*", str(error))  # noqa: PT017


@pytest.mark.parametrize("name", FORMATS)
def test_what_rounds_to_no_finite_number_is_null_in_plain_data(name):
    fields = {"d_model": 2**20, "n_heads": 1, "position": "none", "norm": "layernorm(eps=1e300)"}
    plain = varprop.precision(**fields, embedding_scale=1e39, dtype=name).to_dict()
    assert plain["multiplier"] is plain["eps"] is None
    json.dumps(plain, allow_nan=False)


@pytest.mark.parametrize("name", FORMATS)
def test_a_running_sum_of_ones_stalls(name):
    total, one = TYPES[name](0), TYPES[name](1)
    while total + one != total:
        total = total + one
    assert varprop.precision(dtype=name).stall_length == float(total)


def test_stalls_as_published():
    stalls = {name: varprop.precision(dtype=name).stall_length for name in FORMATS}
    assert stalls == {"float16": 2048, "bfloat16": 256, "float8_e4m3fn": 16, "float8_e5m2": 8}


def test_sizes_of_the_tensors():
    found = varprop.precision(d_model=64, n_heads=4, d_head=8, seq_len=10, vocab_size=100)
    sizes = {name: each.entries for name, each in found.items()}
    assert sizes["embedding"] == sizes["scaled_embedding"] == 6400
    assert sizes["position"] == sizes["input"] == 640
    assert sizes["query"] == sizes["key"] == 320
    assert sizes["scores"] == sizes["logits"] == 360
    assert sizes["self_scores"] == sizes["self_logits"] == 40
    assert sizes["output_logits"] == 1000
    assert found.query_scaling.scaled_query.entries == 320


@pytest.mark.parametrize(
    ("arguments", "error", "name"),
    [
        ({"dtype": "float32"}, ValueError, "dtype"),
        ({"dtype": np.float16}, TypeError, "dtype"),
        ({"dtype": ["float16"]}, TypeError, "dtype"),
        ({"entries": 0}, ValueError, "entries"),
        ({"entries": 1.5}, TypeError, "entries"),
        ({"entries": True}, TypeError, "entries"),
        ({"d_model": np.array([64, 128])}, ValueError, "spec"),
        ({"d_modl": 64}, ValueError, "d_modl"),
        ({"spec_or_prediction": 3}, TypeError, "spec"),
    ],
)
def test_refusals_are_one_line_that_names_the_argument(arguments, error, name):
    with pytest.raises(error, match=name) as caught:
        varprop.precision(**arguments)
    assert "\n" not in str(caught.value)
