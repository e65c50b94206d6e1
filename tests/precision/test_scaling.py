"""Scaling the query before the product with the key, or the logits after it."""

import math

import ml_dtypes
import numpy as np
import pytest

import varprop

from .test_rounding import TYPES

WIDTHS = {64: True, 80: False, 128: False, 256: True}


@pytest.mark.parametrize("width", WIDTHS)
def test_powers_of_two_are_exact(width):
    scaling = varprop.precision(d_head=width).query_scaling
    assert scaling.exact == WIDTHS[width]
    assert scaling.scale == 1 / math.sqrt(width)
    assert scaling.multiplier == float(np.float16(1 / math.sqrt(width)))
    assert scaling.variance_factor == (scaling.multiplier / scaling.scale) ** 2
    assert (scaling.added_noise_ratio == 0) == WIDTHS[width]


@pytest.mark.parametrize(("scale", "exact"), [(1, True), (-0.25, True), (0, False), (3, False)])
def test_other_scales(scale, exact):
    scaling = varprop.precision(logit_scale=scale).query_scaling
    assert (scaling.exact, scaling.variance_factor) == (exact, 1)
    assert not varprop.precision(logit_scale=2.0**-30).query_scaling.exact


def test_the_product_of_a_scaled_query_is_the_logit():
    """Raw scores of unit weights overflow; what is formed from a scaled query hardly does."""
    fields = {"position": "none", "query": "normal(std=1)", "key": "normal(std=1)"}
    found = varprop.precision(d_model=12288, n_heads=96, norm="rmsnorm(eps=0)", **fields)
    scaling = found.query_scaling
    assert scaling.scores.overflow_probability > 0.6
    assert scaling.logits.overflow_probability < 1e-6
    assert scaling.scores is found["scores"]
    assert scaling.logits is found["logits"]
    data = found.to_dict()["query_scaling"]
    assert data["logits"] == found.to_dict()["stages"]["logits"]
    assert data["exact"] is False


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_added_noise_is_that_of_rounding_again(dtype):
    """A rounded query times a rounded scale falls on many places between two numbers."""
    fields = {"d_model": 64, "n_heads": 1, "d_head": 80, "query": "normal(std=0.1)"}
    spec = varprop.TransformerSpec(**fields, position="none")
    scaling = varprop.precision(spec, dtype).query_scaling
    assert scaling.scaled_query.method == "exact"
    rng, kind, count = np.random.default_rng(8), TYPES[dtype], 4000
    x = rng.standard_normal((count, 4, 64))
    query = (x @ spec.distribution("query").sample(rng, (count, 64, 80))).reshape(count, -1)
    rounded = query.astype(np.float32).astype(kind).astype(float)
    product = rounded * scaling.multiplier
    again = product.astype(np.float32).astype(kind).astype(float)
    ratios = np.square(again - product).mean(1) / np.square(product).mean()
    few = 4 * float(ml_dtypes.finfo(kind).eps)
    assert ratios.mean() == pytest.approx(scaling.added_noise_ratio, rel=few)


def test_a_scale_can_push_queries_below_the_normal_numbers():
    scaling = varprop.precision(query="normal(std=1e-4)", logit_scale=2.0**-10).query_scaling
    assert scaling.exact
    query = varprop.precision(query="normal(std=1e-4)")["query"]
    assert query.subnormal_share < 0.05 < 0.9 < scaling.scaled_query.subnormal_share


def test_a_single_position_has_its_own_score():
    scaling = varprop.precision(seq_len=1).query_scaling
    assert scaling.scores.stage == "self_scores"
    assert scaling.logits.stage == "self_logits"


def test_what_is_not_known_is_none():
    scaling = varprop.precision(query="identity", n_heads=1, d_head=512).query_scaling
    assert scaling.added_noise_ratio is None
    assert scaling.scaled_query.rounding_variance is None
