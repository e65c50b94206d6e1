"""The laws that rows of keys are averaged over, against exact moments and other routes."""

import math

import numpy as np
import pytest
from scipy.special import gammaln, k0, loggamma

import varprop
from varprop.outcomes import row_law, row_nodes
from varprop.outcomes.front import Front
from varprop.outcomes.key_law import exact_law, matched_law
from varprop.quadrature.gauss import gauss, gaussian, krylov, sphere_coordinate
from varprop.quadrature.largest_of_law import NearGaussian, largest_of_law
from varprop.quadrature.length_rule import length_rule
from varprop.quadrature.log_laws import DEPTH, log_beta, log_chi_squares
from varprop.quadrature.own_key import own_key_integrals
from varprop.quadrature.own_largest import own_key_largest
from varprop.quadrature.rows import largest

ROUNDING = 2e-13


@pytest.mark.parametrize("freedom", [1, 1.7, 2, 3, 8, 64, 512, 2**14])
@pytest.mark.parametrize("power", [0.5, 1, 2, 3])
def test_moments_of_chi_squares(freedom, power):
    law = log_chi_squares(float(freedom))
    half = freedom / 2
    expected = math.exp(gammaln(half + power) - gammaln(half) - power * math.log(half))
    # gammaln rounds relative to its own size; the law is cut where its density is exp(-DEPTH);
    # the trapezoidal rule adds the Fourier transform at 2 pi / step, the law's and this moment's.
    rounding = ROUNDING + 4e-16 * abs(gammaln(half))
    largest_ratio = 1 + math.sqrt(2 * DEPTH / half) + DEPTH / half
    cut = 10 * math.exp(-DEPTH) * largest_ratio**power / expected
    frequency = 2j * math.pi / (law.points[1] - law.points[0])
    alias = sum(
        2 * math.exp(loggamma(half + p + frequency).real - gammaln(half + p)) for p in (0, power)
    )
    tolerance = rounding + cut + 1.01 * alias
    assert law.weights @ np.exp(power * law.points) == pytest.approx(expected, rel=tolerance)
    assert np.all(law.weights > 0)


@pytest.mark.parametrize("freedoms", [(1.0, 1.0), (1.0, 64.0), (64.0, 512.0), (3.0, 2.0, 700.0)])
def test_products_have_the_product_of_moments(freedoms):
    law = log_chi_squares(*freedoms)
    expected = math.prod(1 + 2 / freedom for freedom in freedoms)
    assert law.weights @ np.exp(law.points) == pytest.approx(1, rel=1e-11)
    assert law.weights @ np.exp(2 * law.points) == pytest.approx(expected, rel=1e-11)


def test_infinite_freedom_is_certain():
    law = log_chi_squares(math.inf)
    assert law.points.tolist() == [0]
    assert law.weights.tolist() == [1]


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 511), (64, 511), (5, 3), (1, 2**16)])
def test_moments_of_beta(first, second):
    law = log_beta(float(first), float(second))
    mean = first / (first + second)
    square = mean * (first + 2) / (first + second + 2)
    assert law.weights @ np.exp(law.points) == pytest.approx(mean, rel=1e-11)
    assert law.weights @ np.exp(2 * law.points) == pytest.approx(square, rel=1e-11)


@pytest.mark.parametrize("order", [1, 2, 5, 12])
def test_gauss_rules_are_right_for_polynomials(order):
    law = log_chi_squares(7.0)
    rule = gauss(krylov(law, 20), order)
    assert np.all(rule.law.weights > 0)
    for power in range(2 * order):
        expected = law.weights @ law.points**power
        size = law.weights @ abs(law.points) ** power
        assert rule.law.weights @ rule.law.points**power == pytest.approx(
            expected, abs=1e-11 * size
        )
    # What the rule makes of each point adds up to its weights.
    np.testing.assert_allclose(rule.cardinal.sum(axis=1), rule.law.weights, atol=1e-14)
    np.testing.assert_allclose(rule.cardinal.sum(axis=0), law.weights, atol=1e-14)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 100])
def test_moments_of_a_coordinate(dimension):
    law = sphere_coordinate(dimension, 12)
    assert law.weights.sum() == pytest.approx(1, rel=ROUNDING)
    assert law.weights @ law.points**2 == pytest.approx(1 / dimension, rel=ROUNDING)
    fourth = 3 / (dimension * (dimension + 2))
    assert law.weights @ law.points**4 == pytest.approx(fourth, rel=ROUNDING)


@pytest.mark.parametrize("longest", [1, 2, 16, 17, 40, 300, 5000, 70_000])
@pytest.mark.parametrize("function", [np.log, np.sqrt, lambda m: 1 / (m + 20) ** 2])
def test_sums_over_lengths(longest, function):
    rule, every = length_rule(longest), np.arange(1, longest + 1, dtype=float)
    expected = function(every).sum()
    assert rule.weights.sum() == pytest.approx(longest, rel=ROUNDING)
    assert rule.weights @ function(rule.points) == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert rule.points.min() >= 1


def test_lengths_beyond_memory():
    rule = length_rule(10**12)
    assert rule.points.size < 150
    assert rule.weights @ rule.points == pytest.approx(5e23, rel=1e-9)


EXACT = [
    {},
    {"query_bias": "normal(std=0.3)", "key_bias": "constant(3)"},
    {"shared_qk": True},
    {"query": "identity", "n_heads": 1},
    {"key": "identity", "n_heads": 1},
    {"query": "identity", "key": "identity", "n_heads": 1},
]


def small(d_model=6, d_head=2, **fields):
    fields = {"query": "normal(std=0.7)", "key": "normal(std=0.5)"} | fields
    if "n_heads" not in fields:
        fields["d_head"] = d_head
    return varprop.predict(
        d_model=d_model,
        seq_len=4,
        embedding="normal(std=0.8)",
        embedding_scale=1.3,
        position="learned(normal(std=0.3))",
        logit_scale=-0.4,
        **fields,
    )


@pytest.mark.parametrize("fields", EXACT)
@pytest.mark.parametrize("widths", [(6, 2), (2, 1), (1, 1), (40, 8)])
def test_laws_have_the_variances_of_the_closed_forms(fields, widths, monkeypatch):
    """E s^2 is `row_variance`; E a^2 and E a are what self_logits have beyond the shared part."""
    monkeypatch.setattr(row_law, "NOTHING", 1e-14)
    monkeypatch.setattr(row_nodes, "ORDERS", (40,))
    monkeypatch.setattr(row_nodes, "FEWEST_ALIGNED", 40)
    monkeypatch.setattr(row_nodes, "OWN_ORDERS", (24,))
    prediction = small(*widths, **fields)
    front = Front(prediction)
    assert front.is_exact
    law, logits, own = exact_law(front), prediction["logits"], prediction["self_logits"]
    square = own.second_moment - logits.second_moment + logits.row_variance
    # Averages of a softmax are bounded or grow like s; squares of a heavy tail are harder.
    heavy = 1e-6 if min(widths) < 4 else 1e-8
    assert law.variance == pytest.approx(logits.row_variance, rel=heavy)
    assert law.own_mean == pytest.approx(own.mean - logits.mean, rel=heavy, abs=1e-12)
    assert law.own_square == pytest.approx(square, rel=heavy)
    # |x_i|^2 = across + b^2, in units of an entry's variance.
    norm = law.across.sum() + (law.weights @ law.own**2).sum()
    assert norm == pytest.approx(front.width, rel=heavy)
    matched = matched_law(front, logits.row_variance, own.mean - logits.mean, square)
    assert matched.variance == pytest.approx(law.variance, rel=heavy)
    assert matched.own_square == pytest.approx(law.own_square, rel=heavy)


@pytest.mark.parametrize("std", [1e-3, 0.3, 1.5, 6.0, 40.0, 300.0])
def test_largest_weight_of_an_own_key_like_the_others(std):
    lengths = np.array([2.0, 5.0, 128.0, 1e9])
    like = NearGaussian(0.0, 1.0, np.ones(1))
    np.testing.assert_allclose(largest_of_law(std, lengths, like), largest(std, lengths)[0], 1e-12)


@pytest.mark.parametrize("std", [0.3, 2.0, 30.0])
def test_largest_weight_of_a_mixture_of_own_keys(std):
    """The law as a density, against the trapezoidal rule over single own keys."""
    law = NearGaussian(0.3, 1.3, np.array([1, 0, 0.1, 0, 0.03]))
    y = 0.2 * np.arange(-40, 41)
    weights = 0.2 * np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi) * law.factor(y)
    lengths = np.array([5.0])
    expected = own_key_largest(std, lengths, std * (law.mean + law.std * y)) @ weights
    np.testing.assert_allclose(largest_of_law(std, lengths, law), expected, rtol=1e-9)


def test_probabilities_below():
    law = NearGaussian(0.0, 1.0, np.array([1, 0.2, 0.1, -0.05]))
    y = np.linspace(-9, 1.3, 200_001)
    density = np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi) * law.factor(y)
    assert law.below(np.array([1.3]))[0] == pytest.approx(np.trapezoid(density, y), rel=1e-9)


@pytest.mark.parametrize("std", [0.2, 1.0, 5.0])
def test_squares_of_the_other_keys(std):
    """Two keys of which one is given: sum over the other, by quadrature over its logit."""
    law, own = gaussian(60), np.array([-0.7, 0.4])
    weights = 1 / (1 + np.exp(own[:, None] - std * law.points))
    expected = (weights**2 * (std * law.points) ** 2) @ law.weights
    found = own_key_integrals(std, np.array([2.0]), own).other_outputs[0]
    np.testing.assert_allclose(found, expected, rtol=1e-7 if std < 2 else 1e-3)


def test_rows_of_one_key_have_no_others():
    found = own_key_integrals(1.0, np.array([1.0]), np.array([0.3]))
    assert not found.other_outputs.any()
    assert found.own_weight[0, 0] == 1


def two_keys_of_one_channel(scale):
    """E max p and E sum p^2 - 1/2 by quadrature: l_0 - l_1 = scale w_q w_k r^2/2 (1 + sqrt(2) cos).

    |w_q w_k| has the density 2 K_0 / pi, r^2/2 the density e^-x, and the angle is split at the 0.
    """
    step = 0.1
    size = np.exp(step * np.arange(-450, 50))
    product, half = size * 2 / math.pi * k0(size) * step, size * np.exp(-size) * step
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = [(0, 0.75), (0.75, 1)]
    angle = np.concatenate([math.pi * (a + (b - a) * (nodes + 1) / 2) for a, b in ends])
    share = np.concatenate([(b - a) * weights / 2 for a, b in ends])
    turned = scale * abs(1 + math.sqrt(2) * np.cos(angle))
    largest = excess = 0.0
    for u, weight in zip(size, product, strict=True):
        if weight > 1e-25:
            steps = np.tanh(u * np.multiply.outer(size, turned) / 2)
            largest += weight * (half @ steps @ share) / 2
            excess += weight * (half @ steps**2 @ share) / 2
    return 0.5 + largest, excess


@pytest.mark.parametrize("scale", [0.01, 0.1, 0.33, 3])
def test_two_keys_of_one_channel_by_quadrature(scale):
    """The largest weight grows like the scale, the others like its square; widths of 1 are worst.

    The stage's few nodes are good to that there, as its docstring says.
    """
    spec = {"d_model": 1, "n_heads": 1, "seq_len": 2, "embedding": "normal(std=1)"}
    found = varprop.predict(
        **spec, position="none", query="normal(std=1)", key="normal(std=1)", logit_scale=scale
    )["attention"]
    largest, excess = two_keys_of_one_channel(scale)
    assert found.method == "quadrature"
    assert found.max_weight == pytest.approx(largest, rel=1e-5)
    assert found.weight_variance == pytest.approx(excess / 2, rel=1e-6)
