"""The strategies draw valid specs of every kind."""

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from varprop.initializers import Initializer
from varprop.initializers.families import SIGNATURES
from varprop.norms import LayerNorm, Norm, RMSNorm
from varprop.positions import Learned, Position, Rotary, Sinusoidal
from varprop.spec import TransformerSpec
from varprop.strategies import LONGEST, WIDEST, initializers, norms, positions, specs

SEARCH = settings(max_examples=5000, deadline=None, phases=[Phase.generate], database=None)


@settings(max_examples=200, deadline=None)
@given(specs())
def test_specs_are_valid_small_and_scalar(spec):
    assert isinstance(spec, TransformerSpec)
    assert 1 <= spec.d_model <= WIDEST
    assert 1 <= spec.seq_len <= LONGEST
    assert spec.shape == ()
    draws = spec.distribution("embedding").sample(np.random.default_rng(0), (spec.d_model,))
    assert np.isfinite(draws).all()


KINDS = [
    lambda spec: spec.d_model == 1,
    lambda spec: spec.d_model % 2 and spec.d_model > 1,
    lambda spec: spec.seq_len == 1,
    lambda spec: spec.vocab_size == 1,
    lambda spec: spec.n_heads * spec.d_head != spec.d_model and not spec.identity,
    lambda spec: spec.query == "identity" != spec.key,
    lambda spec: spec.shared_qk and not spec.identity,
    lambda spec: spec.shared_qk and spec.identity,
    lambda spec: isinstance(spec.position, Sinusoidal) and spec.d_model % 2,
    lambda spec: isinstance(spec.position, Learned),
    lambda spec: isinstance(spec.position, Rotary) and spec.position.fraction < 1,
    lambda spec: spec.position is None,
    lambda spec: isinstance(spec.norm, LayerNorm),
    lambda spec: isinstance(spec.norm, RMSNorm),
    lambda spec: spec.segment is not None and spec.dropout > 0,
    lambda spec: spec.token_repeat == 1 / spec.vocab_size and spec.vocab_size > 1,
    lambda spec: spec.embedding.distribution(spec.sizes(), 1, 1).cumulant(1) != 0,
    lambda spec: spec.embedding_scale == 0,
    lambda spec: isinstance(spec.output_head, Initializer),
]


@pytest.mark.parametrize("kind", KINDS, ids=range(len(KINDS)))
def test_every_kind_of_spec_is_found(kind):
    assert kind(find(specs(), lambda spec: bool(kind(spec)), settings=SEARCH))


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_initializer_is_found(name):
    assert find(initializers(), lambda one: one.name == name, settings=SEARCH).name == name


@settings(max_examples=50, deadline=None)
@given(specs(norm="none", d_model=8, dropout=st.sampled_from([0.25, 0.5]), key="lecun_normal"))
def test_fields_can_be_fixed_or_drawn_otherwise(spec):
    assert (spec.norm, spec.d_model) == (None, 8)
    assert spec.dropout in (0.25, 0.5)
    assert spec.shared_qk or spec.key.name == "lecun_normal"


@settings(max_examples=50, deadline=None)
@given(positions(d_head=5), positions(), norms(), initializers(bias=True))
def test_parts_are_valid_alone(narrow, position, norm, bias):
    assert narrow is None or isinstance(narrow, Position)
    assert not isinstance(narrow, Rotary) or narrow.resolved({"d_model": 5}).channels(5) in (2, 4)
    assert not isinstance(position, Rotary) or position.arguments["fraction"].text == "1"
    assert norm is None or (isinstance(norm, Norm) and norm.eps > 0)
    assert TransformerSpec(query_bias=bias, position=position, norm=norm).query_bias == bias


@given(specs(d_head=st.sampled_from([2, 4])), specs(d_head=2))
@settings(max_examples=25, deadline=None)
def test_a_width_that_is_asked_for_is_kept(drawn, fixed):
    assert drawn.d_head in (2, 4)
    assert fixed.d_head == 2
