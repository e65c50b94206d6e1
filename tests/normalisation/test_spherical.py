"""Contractions of rows of uniform direction: exact rational moments, and brute force."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import varprop
from varprop.normalisation.directions import DEEP, on_sphere
from varprop.normalisation.distinct import distinct_mean
from varprop.normalisation.pairings import Product
from varprop.quadrature.log_laws import log_chi_squares


def vertex(t=0, s=0, r=0):
    return (t, s, r, 0, 0, 0)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 512])
def test_known_moments(d):
    d = Fraction(d)
    none = (0, 0, 0)
    # sum of fourth powers: 3 d / (d (d + 2)) |y|^4 / ... and (y_t . y_s)^2 = d
    assert on_sphere(Product((vertex(t=4),)), none, d, False) == 3 * d**2 / (d + 2)
    assert on_sphere(Product((vertex(t=1, s=1),) * 2), none, d, False) == d
    assert on_sphere(Product((vertex(t=1, s=1),) * 4), none, d, False) == 3 * d**3 / (d + 2)
    assert on_sphere(Product((vertex(t=1, s=1),)), none, d, False) == 0
    if d > 1:
        fourth = on_sphere(Product((vertex(t=4),)), none, d, True)
        assert fourth / d == 3 * (d - 1) / (d + 1)
        assert on_sphere(Product((vertex(t=1, s=1),) * 2), none, d, True) == d**2 / (d - 1)


PRODUCTS = [
    (vertex(t=4),),
    (vertex(t=6),),
    (vertex(t=3, s=1), vertex(t=1, s=1)),
    (vertex(t=2, s=2),),
    (vertex(t=1, s=1), vertex(t=1, r=1), vertex(s=1, r=1)),
    (vertex(t=2), vertex(t=4, s=2), vertex(s=2)),
    (vertex(t=1), vertex(t=3)),
]


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("vertices", PRODUCTS, ids=str)
def test_against_a_rule_on_the_sphere(vertices, centred):
    """In three dimensions, or two of them, averages over a sphere have exact rules."""
    points = circle() if centred else sphere()
    total = 0.0
    used = [i for i in range(3) if any(v[i] for v in vertices)]
    for chosen in product(points, repeat=len(used)):
        rows = dict(zip(used, (row for row, _ in chosen), strict=True))
        weight = np.prod([w for _, w in chosen])
        total += weight * np.prod(
            [np.prod([rows[i] ** v[i] for i in used], axis=0).sum() for v in vertices]
        )
    one = Product(tuple(sorted(vertices)))
    found = float(on_sphere(one, (0, 0, 0), Fraction(3), centred))
    assert found == pytest.approx(total, rel=1e-11, abs=1e-11)


def sphere():
    """Points of length sqrt(3), exact up to degree 7."""
    heights, weights = np.polynomial.legendre.leggauss(4)
    return [
        (np.sqrt(3) * np.array([np.cos(a) * np.sqrt(1 - z * z), np.sin(a) * np.sqrt(1 - z * z), z]),
         w / 16)
        for z, w in zip(heights, weights, strict=True)
        for a in 2 * np.pi * np.arange(8) / 8
    ]  # fmt: skip


def circle():
    """Points of length sqrt(3) whose channels sum to 0, exact up to degree 7."""
    first, second = np.array([1, -1, 0]) / np.sqrt(2), np.array([1, 1, -2]) / np.sqrt(6)
    angles = 2 * np.pi * np.arange(8) / 8
    return [(np.sqrt(3) * (np.cos(a) * first + np.sin(a) * second), 1 / 8) for a in angles]


@pytest.mark.parametrize("degrees", [1, 2, 3, 20, 511, 2**20])
def test_lengths_have_the_moments_of_a_chi_square(degrees):
    points, weights = log_chi_squares(float(degrees), depth=DEEP)
    squares = 0.7 * degrees * np.exp(points)
    assert weights.sum() == pytest.approx(1, rel=1e-14)
    for order in range(1, 5):
        exact = np.prod([0.7 * (degrees + 2 * i) for i in range(order)])
        # The rule's step is off by |Gamma(q + 25i)| / Gamma(q), q = order + 1 at two degrees.
        assert float(weights @ squares**order) == pytest.approx(exact, rel=1e-11)


def test_means_over_distinct_positions():
    rng = np.random.default_rng(0)
    f, g, h = rng.random((3, 5))
    triples = [(i, j, k) for i, j, k in product(range(5), repeat=3) if len({i, j, k}) == 3]
    direct = np.mean([f[i] * g[j] * h[k] for i, j, k in triples])
    assert distinct_mean([f, g, h], 5) == pytest.approx(direct, rel=1e-14)
    assert distinct_mean([f, 3.0], 5) == pytest.approx(3 * f.mean(), rel=1e-14)
    assert distinct_mean([2.0, 3.0], 5) == 6
    apart = np.array([1.0, 1e-20])  # (sum^2 - sum of squares) would be 0
    assert distinct_mean([apart, apart], 2) == pytest.approx(1e-20, rel=1e-14)


@pytest.mark.parametrize(
    ("norm", "shape"), [("layernorm(eps=0)", (127, 129)), ("rmsnorm(eps=0)", (128, 130))]
)
def test_kurtosis_and_formula(norm, shape):
    p = varprop.predict(d_model=128, norm=norm, position="none")
    assert p.normed_input.excess_kurtosis == pytest.approx(3 * shape[0] / shape[1] - 3, rel=1e-12)
    formula = p.formula("normed_input", "excess_kurtosis")
    (symbol,) = formula.free_symbols
    assert float(formula.subs(symbol, 128)) == pytest.approx(p.normed_input.excess_kurtosis)
    for stage in ("query", "logits", "self_logits"):
        formula = p.formula(stage, "excess_kurtosis")
        sizes = p.spec.sizes()
        value = float(formula.subs({s: sizes[s.name] for s in formula.free_symbols}))
        assert value == pytest.approx(p[stage].excess_kurtosis, rel=1e-9)


def test_formula_of_a_quadrature_is_refused():
    p = varprop.predict(norm="layernorm", position="none")
    with pytest.raises(ValueError, match="quadrature") as caught:
        p.formula("logits", "variance")
    assert "\n" not in str(caught.value)
    assert p.formula("input", "variance") == 1
