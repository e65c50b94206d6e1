"""The laws of queries, keys, scores and logits: products of lengths and a Gaussian number."""

from __future__ import annotations

from varprop.initializers.distributions import Distribution
from varprop.spec import TransformerSpec

from .laws import NOTHING
from .mixtures import Length, Product
from .rows import Law, has_direction, row_length

IDENTITY = "not known: an identity projection"
BIASED = "not known: a projection with a bias, or weights whose mean is not 0"
EXACT = "exact"
FAR = 0.1
"""Excess kurtosis of a sum of weights beyond which it is not taken as Gaussian."""


def projected(spec: TransformerSpec, name: str, factor: float = 1.0) -> Law:
    """An entry of the query or key: given its row it is Gaussian of variance w |x|^2."""
    drawn, reason = _weights(spec, name)
    if drawn is None:
        return Law(None, reason)
    length, method = row_length(spec)
    if length is None:
        return Law(None, method)
    return _product(float(drawn.cumulant(2)) * factor**2, [length], [reason, method])


def score(spec: TransformerSpec, factor: float, own: bool) -> Law:
    """A score times a factor: given both rows and the query, Gaussian with the key's weights.

    Given its row the query has the length w |x|^2 times a chi-square number of d_head degrees.
    """
    if spec.shared_qk:
        return Law(None, "not known: query and key share their weights")
    query, reason = _weights(spec, "query")
    key, other = _weights(spec, "key")
    if query is None or key is None:
        return Law(None, reason if query is None else other)
    length, method = row_length(spec)
    if length is None:
        return Law(None, method)
    square = float(query.cumulant(2)) * float(key.cumulant(2)) * factor**2
    rows: list[float | Length] = [length, length]
    if isinstance(length, Length):
        if own:
            rows = [length._replace(scale=length.scale**2, power=2)]
        elif spec.token_repeat:
            return Law(None, "not known: tokens that may be the same in two rows")
    return _product(square, [*rows, Length(1.0, spec.d_head)], [reason, other, method])


def output_logit(spec: TransformerSpec) -> Law:
    """A logit of the output head: Gaussian with the head's weights, as |h|^2 is d_model exactly.

    h is a row after the final norm with eps = 0, the head's row one of another token.
    """
    drawn = spec.distribution("embedding" if spec.output_head == "tied" else "output_head")
    if drawn.cumulant(1):
        return Law(None, "not known: an output head whose mean is not 0")
    square = float(drawn.cumulant(2)) * float(spec.hidden_scale * spec.output_scale) ** 2
    if square and not has_direction(spec):
        return Law(None, "not known: rows without a direction")
    head, method = _gaussian(drawn, spec)
    return _product(square, [float(spec.d_model)], [method]) if head else Law(None, method)


def _product(square: float, factors: list[float | Length], methods: list[str]) -> Law:
    random = []
    for factor in factors:
        if isinstance(factor, Length):
            square *= factor.scale
            random.append(factor._replace(scale=1.0))
        else:
            square *= factor
    notes = dict.fromkeys(m.removeprefix("asymptotic: ") for m in methods if m != EXACT)
    method = "asymptotic: " + "; ".join(notes) if notes else EXACT
    return Law(Product(square, tuple(random)) if square else NOTHING, method)


def _weights(spec: TransformerSpec, name: str) -> tuple[Distribution | None, str]:
    """What a projection's weights are drawn from and how well a Gaussian stands for them."""
    if spec.identity:
        return None, IDENTITY
    drawn, bias = spec.distribution(name), spec.distribution(f"{name}_bias")
    if drawn.cumulant(1) or not bias.nothing:
        return None, BIASED
    return _gaussian(drawn, spec)


def _gaussian(drawn: Distribution, spec: TransformerSpec) -> tuple[Distribution | None, str]:
    if drawn.gaussian:
        return drawn, EXACT
    off = drawn.excess_kurtosis * 3 / spec.d_model
    if abs(off) > FAR:
        return None, "not known: few weights that are not Gaussian"
    return drawn, (
        "asymptotic: weights taken as Gaussian, whose sums have an excess kurtosis of about "
        f"{off:.2g} given a Gaussian row, so a tail at z stds is off by about "
        f"{abs(off) / 24:.2g} z^4 of itself"
    )
