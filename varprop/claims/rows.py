"""A norm with eps, for rows of independent Gaussian entries."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from varprop.claims.fronts import embedded
from varprop.claims.inputs import Inputs
from varprop.claims.quantities import Quantity, stage


def normed_with_eps(inputs: Inputs, table: str, factor: Any, norm: str) -> Quantity:
    """Mean square after a norm with eps, nothing added: E[v / (v + eps)].

    v is the row's mean square, c² s² chi²_k / d, with k = d for an RMSNorm and d - 1 for a
    LayerNorm, whose variance about the row's mean is biased.
    """
    fields = embedded(inputs, table, factor, position="none", norm=norm)

    def predicted() -> float:
        spec = inputs.spec(embedding=table, embedding_scale=factor, norm=norm)
        variance = float(spec.number("embedding_scale")) ** 2
        variance *= float(spec.distribution("embedding").cumulant(2))
        eps = spec.norm.eps if spec.norm is not None else 0.0
        freedom = inputs.d_model - norm.startswith("layernorm")
        return _ratio(variance / inputs.d_model, freedom, float(eps))

    return Quantity(predicted, stage("normed_input.second_moment", **fields).measure)


@functools.lru_cache(maxsize=1)
def _legendre() -> tuple[Any, Any]:
    return np.polynomial.legendre.leggauss(400)


@functools.lru_cache(maxsize=64)
def _ratio(scale: float, freedom: int, eps: float) -> float:
    """E[scale x / (scale x + eps)] for x of a chi-square law, by Gauss-Legendre in log x."""
    from scipy.special import gammaln

    if freedom < 1:
        return 0.0
    nodes, weights = _legendre()
    # The law of log x has its mode at log k and a std near sqrt(2 / k).
    reach = 14 * (2 / freedom) ** 0.5 + 8 / freedom
    logs = np.log(freedom) + reach * nodes
    half = freedom / 2
    density = np.exp(half * logs - np.exp(logs) / 2 - half * np.log(2) - gammaln(half))
    values = 1 / (1 + eps / (scale * np.exp(logs)))
    return float((weights * density * values).sum() / (weights * density).sum())
