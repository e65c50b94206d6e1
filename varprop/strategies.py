"""Hypothesis strategies for property tests of code that uses varprop.

    @given(specs())                                 any small valid spec
    @given(specs(norm="none", d_model=8))           some fields fixed
    @given(specs(dropout=st.floats(0, 0.5)))        or drawn otherwise
    @given(initializers(), positions())

Sizes are small (d_model up to 24, odd ones and 1 among them) and numbers short and moderate, so
that what is found can be read, and simulated.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from varprop.initializers import Initializer, parse_initializer
from varprop.norms import Norm, parse_norm
from varprop.positions import Position, Rotary, Sinusoidal, parse_position
from varprop.spec import TransformerSpec

__all__ = ["initializers", "norms", "positions", "specs"]

WIDEST, LONGEST = 24, 9


def _decimals(low: int, high: int) -> SearchStrategy[float]:
    """Numbers from low/100 to high/100, short to read."""
    return st.integers(low, high).map(lambda hundredths: hundredths / 100)


_SCALES = st.one_of(
    _decimals(1, 200), st.sampled_from(["1/sqrt(d_model)", "0.5*sqrt(d_model)", "2/seq_len"])
)
_FANS = st.sampled_from(["", "fan_in=d_model", "fan_in=5, fan_out=7", "fan_out=3*d_model"])


@st.composite
def initializers(draw: DrawFn, /, *, bias: bool = False) -> Initializer:
    """Draw an initializer, of a bias if so: Xavier needs both of its fans there."""
    std, low = draw(_SCALES), draw(_decimals(-200, 100))
    high = draw(_decimals(1, 200))
    fans = "fan_in=5, fan_out=7" if bias else draw(_FANS)
    comma = ", " if fans else ""
    text = draw(
        st.sampled_from(
            [
                "zeros",
                f"constant({low})",
                f"normal(std={std})",
                f"normal(mean={low}, std={std})",
                f"uniform({low}, {low + high})",
                f"truncated_normal(std={std})",
                f"truncated_normal(std={std}, low=-{high}*std, high=3*std)",
                f"truncated_normal(std={std}, variance_preserving=True)",
                f"xavier_uniform({fans})",
                f"xavier_normal({high}{comma}{fans})",
                f"kaiming_uniform({fans})",
                f"kaiming_normal({low}{comma}{fans})",
                f"lecun_normal({fans})",
            ]
        )
    )
    return parse_initializer(text, "initializers")


@st.composite
def positions(draw: DrawFn, /, *, d_head: int | None = None) -> Position | None:
    """Draw a positional encoding or None; rotary ones turn an even number of `d_head` channels.

    Without `d_head` they turn all channels.
    """
    base = draw(st.sampled_from([10000, 500, 2, "10*d_model"]))
    kinds: list[SearchStrategy[Position | None]] = [
        st.none(),
        st.just(Sinusoidal(base)),
        initializers().map(lambda drawn: parse_position({"name": "learned", "initializer": drawn})),
    ]
    if d_head is None:
        kinds.append(st.just(Rotary(base)))
    elif d_head > 1:
        pairs = st.integers(1, d_head // 2)
        kinds.append(pairs.map(lambda half: Rotary(base, f"{2 * half}/{d_head}")))
    return draw(st.one_of(kinds))


def norms() -> SearchStrategy[Norm | None]:
    """Draw a normalisation with eps > 0, or None."""
    eps = st.sampled_from(["1e-6", "1e-5", "0.01", "1"])
    names = st.sampled_from(["layernorm", "rmsnorm"])
    made = st.builds(lambda name, value: parse_norm(f"{name}(eps={value})"), names, eps)
    return st.one_of(st.none(), made)


@st.composite
def specs(draw: DrawFn, /, **fields: Any) -> TransformerSpec:
    """Draw a small valid spec in which `fields` are fixed, or drawn from the strategies given."""
    kept: dict[str, Any] = {}

    def take(field: str, otherwise: SearchStrategy[Any]) -> Any:
        value = fields.get(field, otherwise)
        kept[field] = draw(value) if isinstance(value, SearchStrategy) else value
        return kept[field]

    d_model = take("d_model", st.integers(1, WIDEST))
    shared = take("shared_qk", st.booleans())
    drawn = [initializers()] * 3
    # An identity projection makes d_head d_model: not where d_head is asked for.
    projection = st.one_of(*drawn) if "d_head" in fields else st.one_of(st.just("identity"), *drawn)
    query = take("query", projection)
    key = query if shared and "key" not in fields else take("key", projection)
    identity = query == "identity" or (key == "identity" and not shared)
    if identity:
        d_head = take("d_head", st.just(d_model)) if "d_head" in fields else d_model
        take("n_heads", st.integers(1, 4))
    elif "d_head" in fields or draw(st.booleans()):
        d_head = take("d_head", st.integers(1, 8))
        take("n_heads", st.integers(1, 4))
    else:
        divisors = [heads for heads in range(1, d_model + 1) if d_model % heads == 0]
        d_head = d_model // take("n_heads", st.sampled_from(divisors))
    take("position", positions(d_head=d_head))
    take("seq_len", st.integers(1, LONGEST))
    take("vocab_size", st.integers(1, 50))
    take("embedding", initializers())
    take("embedding_scale", st.one_of(st.just("sqrt(d_model)"), _decimals(-200, 400)))
    take("segment", st.one_of(st.none(), initializers()))
    take("dropout", st.one_of(st.just(0), _decimals(1, 60)))
    take("norm", norms())
    take("query_bias", initializers(bias=True))
    take("key_bias", initializers(bias=True))
    take("token_repeat", st.sampled_from([0, "1/vocab_size", 0.25, 1]))
    take("logit_scale", st.one_of(st.just("1/sqrt(d_head)"), _decimals(-100, 200)))
    take("causal", st.booleans())
    take("attention_dropout", st.one_of(st.just(0), _decimals(1, 60)))
    take("value", initializers())
    take("value_bias", initializers(bias=True))
    take("hidden_scale", st.one_of(st.just(1), _decimals(-100, 200)))
    take("output_scale", st.one_of(st.just(1), st.just("1/sqrt(d_model)")))
    take("output_head", st.one_of(st.sampled_from(["tied", "none"]), initializers()))
    return TransformerSpec(**(fields | kept))
