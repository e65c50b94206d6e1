"""Central moments of a row's variance, and the expansion's bound, against enumerations."""

import itertools

import numpy as np
import pytest

import varprop
from varprop.encodings import Encoding
from varprop.normalisation.expansion import Expansion
from varprop.normalisation.record import Record, record_of
from varprop.stages.context import Context

VALUES, CHANCES = (0.3, -1.1), (0.6, 0.4)


def cumulants():
    """Those of an entry that takes two values."""
    from math import comb

    raw = [sum(p * v**n for p, v in zip(CHANCES, VALUES, strict=True)) for n in range(9)]
    found = [0.0]
    for n in range(1, 9):
        lower = sum(comb(n - 1, j - 1) * found[j] * raw[n - j] for j in range(1, n))
        found.append(raw[n] - lower)
    return tuple(found[1:])


def enumerated(fixed, dropout, layernorm):
    """Values of v and their probabilities, for a row of entries of two values and masks."""
    values, chances = [], []
    for row in itertools.product(itertools.product(range(2), range(2)), repeat=len(fixed)):
        x = np.array([(VALUES[i] + f) * kept for (i, kept), f in zip(row, fixed, strict=True)])
        x = x / (1 - dropout)
        values.append(np.mean((x - layernorm * x.mean()) ** 2))
        chances.append(
            np.prod([CHANCES[i] * ((1 - dropout) if kept else dropout) for i, kept in row])
        )
    return np.array(values), np.array(chances)


@pytest.mark.parametrize("layernorm", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.25])
@pytest.mark.parametrize("base", [None, 7.0])
@pytest.mark.parametrize("width", [2, 3])
def test_moments_and_bound(layernorm, dropout, base, width):
    k, eps = cumulants(), 0.7
    record = Record(
        width=width, length=4, layernorm=layernorm, eps=eps, own=0.0, token=k[1], common=0.0,
        mean=k[0], cumulants=k, symmetric=False, dropout=dropout, base=base, amplitude=1.0,
    )  # fmt: skip
    expansion = Expansion(record)
    means, central = expansion.moments
    table = np.zeros((1, width))
    if base is not None:
        table = Encoding("sinusoidal", width, width, base).table(np.arange(4))
    exact = []
    for t, fixed in enumerate(table):
        v, p = enumerated(fixed, dropout, layernorm)
        mean = p @ v
        assert np.atleast_1d(means)[t] == pytest.approx(mean, rel=1e-12)
        for order in range(5):
            found = np.atleast_1d(central[order])[t]
            assert found == pytest.approx(p @ (v - mean) ** order, rel=1e-10, abs=1e-15)
        exact.append([p @ (v / (v + eps)) ** power for power in range(1, 5)])
    for power in range(1, 5):
        true = np.array(exact)[:, power - 1]
        off = np.abs(np.atleast_1d(expansion.moment(power)) - true).mean()
        size = np.mean(np.atleast_1d(expansion.moment(power)))
        assert off <= abs(expansion.error(power) * size)


def test_gaussian_rows_expand_to_their_quadrature():
    """Where both are known they agree within the stated error, which is not idle either."""
    fields = {"norm": "rmsnorm(eps=0.5)", "position": "none", "d_model": 64, "n_heads": 4}
    p = varprop.predict(**fields)
    expansion = Expansion(record_of(Context(p.spec)))
    exact = p.normed_input.second_moment
    assert abs(expansion.moment(1) - exact) <= expansion.error(1) * exact
    assert abs(expansion.moment(1) - exact) > 0


def test_what_is_not_gaussian_says_so():
    fields = {"norm": "layernorm(eps=0.1)", "position": "none", "embedding": "uniform(-1, 1)"}
    p = varprop.predict(**fields)
    assert p.logits.method.startswith("asymptotic: ")
    assert 0 < p.normed_input.error < p.logits.error < 1e-3
    assert p.embedding.method == p.input.method == "exact"
    assert p.embedding.error == 0
    assert p.normed_input.excess_kurtosis is None
    tiny = varprop.predict(**fields | {"d_model": 2, "n_heads": 1})
    assert tiny.normed_input.variance is None
    assert tiny.normed_input.method.startswith("not known: ")
    assert varprop.predict(**fields | {"norm": "layernorm(eps=0)"}).logits.method == "exact"
