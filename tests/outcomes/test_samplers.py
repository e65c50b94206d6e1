"""The simulator's side of the stages behind the logits, against plain loops and known cases."""

import copy
import math
import pickle

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

import varprop
from varprop.simulate import choose_layout, measure
from varprop.simulation.draws import Draws
from varprop.spec import TransformerSpec
from varprop.stages import OUTCOMES, STAGES

SMALL = {"d_model": 8, "n_heads": 2, "seq_len": 5, "vocab_size": 7}


def drawn(**fields):
    spec = TransformerSpec(**(SMALL | fields))
    return Draws(spec, choose_layout(spec), 3, np.random.default_rng(0))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("seq_len", [1, 2, 5])
def test_weights_are_the_softmax_of_each_row_of_logits(causal, seq_len):
    draws = drawn(causal=causal, seq_len=seq_len, logit_scale=2)
    weights = draws["attention"]
    scores = draws["query"].swapaxes(1, 2) @ draws["key"].transpose(0, 2, 3, 1)
    expected = []
    for i in range(seq_len):
        seen = i + 1 if causal else seq_len
        expected.append(softmax(2 * scores[..., i, :seen], axis=-1))
    rows = np.concatenate(expected, axis=-1)
    np.testing.assert_allclose(weights.reshape(*rows.shape), rows, rtol=1e-12)


def test_what_a_row_is_like_is_computed_from_its_weights():
    draws = drawn(causal=True, logit_scale=3)
    further = OUTCOMES["attention"].further(draws)
    scores = draws["query"].swapaxes(1, 2) @ draws["key"].transpose(0, 2, 3, 1)
    rows = [softmax(3 * scores[..., i, : i + 1], axis=-1) for i in range(5)]

    def average(of):
        return np.mean([of(p, i + 1).mean(axis=1) for i, p in enumerate(rows)], axis=0)

    def jacobian(p, n):
        full = p[..., None] * (np.eye(n) - p[..., None, :])
        return np.square(full).sum(axis=(-1, -2))

    expected = {
        "logsumexp": np.mean(
            [logsumexp(3 * scores[..., i, : i + 1], axis=-1).mean(axis=1) for i in range(5)], axis=0
        ),
        "entropy": average(lambda p, n: -(p * np.log(p)).sum(-1)),
        "entropy_deficit": average(lambda p, n: math.log(n) + (p * np.log(p)).sum(-1)),
        "max_weight": average(lambda p, n: p.max(-1)),
        "sum_squares": average(lambda p, n: np.square(p).sum(-1)),
        "weight_variance": average(lambda p, n: np.square(p - 1 / n).mean(-1)),
        "jacobian_squared_norm": average(jacobian),
    }
    assert further.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(further[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


def test_the_output_is_the_weighted_sum_of_the_values():
    draws = drawn(value_bias="normal", attention_dropout=0.4, causal=True)
    output = draws["attention_output"]
    values = draws["input"] @ draws["value_weight"].swapaxes(1, 2)
    values = values.reshape(3, 5, 2, 4) + draws["value_bias"]
    weights = draws.once("dropped", None)
    for i in range(5):
        expected = np.einsum("rhj,rjhc->rhc", weights[:, :, i], values)
        np.testing.assert_allclose(output[:, i], expected, rtol=1e-12, atol=1e-12)


def test_dropped_weights_are_0_or_divided_by_what_is_kept():
    draws = drawn(attention_dropout=0.25)
    kept, plain = draws["attention"], draws.once("softmax", None)
    ratio = kept / plain
    assert set(np.unique(ratio.round(12))) == {0, round(1 / 0.75, 12)}
    assert 0.5 < (ratio > 0).mean() < 0.95


@pytest.mark.parametrize("norm", ["none", "layernorm", "rmsnorm(eps=1)"])
@pytest.mark.parametrize("head", ["tied", "normal(mean=1, std=2)"])
def test_losses_are_cross_entropies_of_the_logits(norm, head):
    draws = drawn(norm=norm, output_head=head, hidden_scale=0.5, output_scale=3, dropout=0.5)
    row = draws["scaled_embedding"] + draws["position"]
    if norm == "layernorm":
        row = row - row.mean(-1, keepdims=True)
    hidden = row / np.sqrt(np.square(row).mean(-1, keepdims=True))
    own = 1.5 * (hidden * draws["embedding"]).sum(-1)
    further = OUTCOMES["output_logits"].further(draws)
    if head == "tied":
        np.testing.assert_allclose(further["own_token_mean"], own.mean(1), rtol=1e-12)
    else:
        assert further == {}
    again = copy.deepcopy(draws.rng)
    losses = OUTCOMES["loss"].further(draws)
    field = "embedding" if head == "tied" else "output_head"
    for replicate in range(3):
        rows = draws.spec.distribution(field).sample(again, (7, 8))
        logits = 1.5 * hidden[replicate] @ rows.T
        mean = logsumexp(logits, axis=-1) - logits[:, -1]
        np.testing.assert_allclose(draws["loss"][replicate], mean, rtol=1e-12)
        if head == "tied":
            logits[:, 0] = own[replicate]
        total = logsumexp(logits, axis=-1)
        assert losses["own_token"][replicate] == pytest.approx((total - logits[:, 0]).mean())
        assert losses["other_token"][replicate] == pytest.approx((total - logits[:, -1]).mean())
        assert losses["excess"][replicate] == pytest.approx(mean.mean() - math.log(7))


def test_later_stages_are_simulated_when_they_are_read_from_the_same_draws():
    front = measure(**SMALL, replicates=20, seed=3)
    full = measure(**SMALL, replicates=20, seed=3, full=True)
    assert list(front) == [name for name in full if name in STAGES]
    assert list(full) == list(front.full()) == [*front, *OUTCOMES]
    for name in full:
        assert full[name] == front[name]
    assert front.attention.entropy == full["attention"].further["entropy"]
    assert pickle.loads(pickle.dumps(full)).to_dict() == full.to_dict()
    assert set(front.to_dict()["stages"]) == set(front)


def test_what_a_simulation_cannot_see_is_absent_with_a_reason():
    large = measure(d_model=16, n_heads=1, seq_len=2000, vocab_size=10**6, replicates=2)
    for name in ("attention", "attention_output", "loss"):
        with pytest.raises(KeyError, match=f"{name} is not simulated at these sizes"):
            large[name]
    assert large["output_logits"].variance.value > 0


def test_no_output_head_has_no_logits_and_no_loss():
    fields = SMALL | {"output_head": "none"}
    for found in (varprop.predict(**fields).full(), measure(**fields, replicates=2, full=True)):
        assert list(found)[-2:] == ["attention", "attention_output"]
        with pytest.raises(KeyError, match="absent"):
            found["loss"]
