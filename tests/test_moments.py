"""Moments: exact rational spot checks, shares, and what is None."""

from fractions import Fraction

import numpy as np
import pytest

import varprop
from varprop.moments import ATTRIBUTES

PLAIN = {
    "d_model": 6,
    "n_heads": 2,
    "seq_len": 5,
    "position": "none",
    "embedding": "normal(std=2)",
    "embedding_scale": 3,
    "query": "normal(std=0.5)",
    "key": "normal(std=0.25)",
    "logit_scale": 0.5,
}


def test_exact_rationals_without_positions():
    p = varprop.predict(**PLAIN)
    x, q, k = 36, Fraction(6 * 36, 4), Fraction(6 * 36, 16)
    assert p.embedding.variance == 4
    assert p.input.variance == x
    assert p.query.variance == q
    assert p.key.variance == k
    assert p.scores.variance == 3 * q * k
    assert p.logits.variance == Fraction(3, 4) * q * k
    assert p.logits.row_variance == p.logits.variance
    # q and k of one position share |x|^2, and E|x|^4 = d (d + 2) x^2
    assert p.self_scores.variance == 3 * Fraction(6 * 8 * x**2, 64)
    assert p.self_scores.mean == p.scores.mean == 0


def test_exact_kurtosis_without_positions():
    p = varprop.predict(**PLAIN)
    assert p.embedding.excess_kurtosis == 0
    # E q^4 = 3 w^2 E|x|^4 = 3 w^2 d (d + 2) x^2
    assert p.query.excess_kurtosis == pytest.approx(3 * 8 / 6 - 3)
    # Given the rows, q.k is a sum of h products of normals: E (q.k)^4 = 3 h (h+2) E q^4/3 E k^4/3
    assert p.scores.excess_kurtosis == pytest.approx(3 * (3 * (3 + 2)) / 9 * (8 / 6) ** 2 - 3)


def test_uniform_tables_keep_their_kurtosis():
    p = varprop.predict(embedding="uniform(-1, 1)", position="none")
    assert p.embedding.excess_kurtosis == pytest.approx(-1.2)
    assert p.scaled_embedding.excess_kurtosis == pytest.approx(-1.2)


def test_segment_and_repeats_are_what_positions_have_in_common():
    p = varprop.predict(
        **PLAIN | {"segment": "normal(mean=1, std=2)", "token_repeat": 0.25, "dropout": 0.5}
    )
    assert p.input.cross_position_moment == pytest.approx(1 + 4 + 0.25 * 36)
    assert p.input.mean == pytest.approx(1)
    assert p.input.second_moment == pytest.approx(2 * (36 + 4 + 1))
    assert p.query.cross_position_moment == pytest.approx(6 * 0.25 * (5 + 9))


def test_a_shared_row_is_ignored_by_the_row_variance():
    biased = varprop.predict(**PLAIN | {"key_bias": "normal(std=3)"})
    plain = varprop.predict(**PLAIN)
    assert biased.logits.variance > plain.logits.variance
    assert biased.logits.row_variance == pytest.approx(plain.logits.row_variance, rel=1e-12)


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary", "none"])
def test_shares_sum_to_one(position):
    shares = varprop.predict(
        position=position, segment="normal(mean=0.3)", embedding="normal(mean=0.1)"
    ).input.shares
    assert set(shares) == {"embedding", "position", "segment"}
    assert sum(shares.values()) == pytest.approx(1)
    if position in ("rotary", "none"):
        assert shares["position"] == 0
    assert varprop.predict().query.shares is None


def test_shares_of_the_base_model_and_of_nothing():
    assert varprop.predict().input.shares == pytest.approx(
        {"embedding": 2 / 3, "position": 1 / 3, "segment": 0}
    )
    assert varprop.predict(embedding="zeros", position="none").input.shares in (
        None,
        dict.fromkeys(("embedding", "position", "segment")),
    )


def test_what_is_none():
    p = varprop.predict(d_model=8, n_heads=2, seq_len=2, embedding="zeros", position="none")
    for stage, moments in p.items():
        assert moments.excess_kurtosis is None
        assert (moments.row_variance, moments.variance) == (None, 0)
        assert (moments.cross_position_moment is None) == (not moments.stage.is_vector), stage
    assert varprop.predict(seq_len=1).input.cross_position_moment is None
    assert varprop.predict(position="none", embedding="constant(2)").input.excess_kurtosis is None
    assert varprop.predict(logit_scale=0).logits.excess_kurtosis is None


def test_broadcast_results_have_nan_for_none():
    p = varprop.predict(seq_len=np.array([1, 2, 3]), logit_scale=np.array([[1.0], [0.0]]))
    assert p.logits.variance.shape == (2, 3)
    assert np.isnan(p.logits.variance).tolist() == [[True, False, False]] * 2
    assert np.isnan(p.logits.row_variance).tolist() == [[True, True, False]] * 2
    assert np.isnan(p.logits.excess_kurtosis).tolist() == [[True, False, False], [True, True, True]]
    assert np.isnan(p.input.cross_position_moment).tolist() == [[True, False, False]] * 2
    assert not np.isnan(p.self_logits.variance).any()


def test_attributes_are_computed_once():
    p = varprop.predict()
    assert all(getattr(p.logits, name) is getattr(p.logits, name) for name in ATTRIBUTES)
    assert p.logits.method == "exact"


@pytest.mark.parametrize("fields", [{"query": "identity", "key": "identity"}, {"shared_qk": True}])
def test_a_fourth_power_of_inner_products_ends_at_a_length(fields):
    """Whatever the width is, such scores have a kurtosis up to 100,000 places."""
    short, long = (
        varprop.predict(d_model=4, n_heads=1, seq_len=length, **fields)
        for length in (100_000, 100_001)
    )
    assert short.logits.excess_kurtosis is not None
    assert long.logits.excess_kurtosis is None
    assert long.self_logits.excess_kurtosis is not None
    assert long.logits.variance == pytest.approx(short.logits.variance, rel=1e-3)
