"""Brute force against the engine, and what a simulation promises."""

import numpy as np
import pytest
import sympy

from varprop import algebra as va
from varprop.algebra import simulation

h, d, n = va.dims("h d n")
w, s, g, c = sympy.symbols("w s g c")
SIZES = {h: 3, d: 4, n: 3}
VALUES = {w: 0.5, s: 2, g: 0, c: 1.5}
TABLE = np.arange(12).reshape(3, 4) / 7

W = va.iid("W", (h, d), variance=w)
V = va.iid("V", (h, d), variance=w, excess_kurtosis=-1.2)
E = va.iid("E", (n, d), mean=1 / d, variance=s, third_cumulant=0.3, cumulants=None)
X = va.iid("X", (n, d), variance=s, excess_kurtosis=g)
M = va.iid("M", (n, d), cumulants={1: 1, 2: sympy.Rational(1, 9), 3: 0, 4: 0})
U = va.iid("U", d, variance=1, sampler=lambda rng, shape: rng.uniform(-(3**0.5), 3**0.5, shape))
P = va.fixed("P", (n, d))
Q, K = va.einsum("ai,ti->ta", W, c * X + P), va.einsum("ai,ti->ta", V, c * X + P)
CASES = {
    "projection": (Q, ("t", "a")),
    "logit": (va.einsum("ta,sa->ts", Q, K), ("t", "s")),
    "self-logit": (va.einsum("ta,sa->ts", Q, K), ("t", "t")),
    "trace": (va.einsum("ai,ai->", W, W), ()),
    "mask": (M * (X + P), ("t", "i")),
    "skewed sum": (va.einsum("ti->t", E), ("t",)),
    "outer product": (va.einsum("i,j->ij", U, U), ("i", "j")),
    "constants": (2 - X / sympy.sqrt(d) + va.ones((n, d)), ("t", "i")),
    "fixed": (P, ("t", "i")),
}


def entry(name):
    tensor, letters = CASES[name]
    return tensor[letters] if letters else tensor


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_engine(name):
    place = entry(name)
    at = {"s": 2, "t": 1}
    at = {letter: at[letter] for letter in getattr(place, "letters", ()) if letter in at}
    scores = []
    for seed in range(20):
        result = va.simulate(place, SIZES, VALUES, fixed={P: TABLE}, at=at, draws=5000, seed=seed)
        letters = {"i": 0, "j": 1, "a": 0} | at
        for formula, estimate in zip((va.mean(place), va.variance(place)), result, strict=True):
            expected = va.evaluate(formula, SIZES, VALUES, fixed={P: TABLE}, at=letters)
            if estimate.stderr:
                scores.append((estimate.value - expected) / estimate.stderr)
            else:
                assert estimate.value == pytest.approx(expected)
    if scores:
        assert np.abs(scores).max() < 4.5
        assert 0.35 < np.mean(np.square(scores)) < 2


def test_standard_errors_are_honest():
    results = [
        va.simulate(entry("logit"), SIZES, VALUES, fixed={P: TABLE}, draws=1000, seed=seed)
        for seed in range(300)
    ]
    for name in ("mean", "variance"):
        values, errors = np.array([getattr(result, name) for result in results]).T
        assert values.std() == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.15)


def test_seeds_and_chunks(monkeypatch):
    one = va.simulate(entry("logit"), SIZES, VALUES, fixed={P: TABLE}, draws=1000, seed=3)
    assert one == va.simulate(entry("logit"), SIZES, VALUES, fixed={P: TABLE}, draws=1000, seed=3)
    assert one != va.simulate(entry("logit"), SIZES, VALUES, fixed={P: TABLE}, draws=1000, seed=4)
    monkeypatch.setattr(simulation, "NUMBERS_AT_ONCE", 5000)
    chunked = va.simulate(entry("logit"), SIZES, VALUES, fixed={P: TABLE}, draws=1000, seed=3)
    assert chunked.variance.value == pytest.approx(one.variance.value, rel=0.5)


def test_power_sums_do_not_cancel():
    draws = 1e8 + np.random.default_rng(0).standard_normal(3000)
    sums = simulation.PowerSums()
    for part in np.array_split(draws, 7):
        sums.add(part)
    result = sums.estimates()
    assert result.mean.value == pytest.approx(draws.mean(), rel=1e-15)
    assert result.variance.value == pytest.approx(draws.var(ddof=1), rel=1e-9)
    fourth = np.mean((draws - draws.mean()) ** 4)
    expected = ((fourth - 2997 / 2999 * draws.var(ddof=1) ** 2) / 3000) ** 0.5
    assert result.variance.stderr == pytest.approx(expected, rel=1e-9)


def test_letters_take_the_least_values_in_order_of_appearance():
    table = va.fixed("T", (n, n, h))
    numbers = np.arange(27).reshape(3, 3, 3)
    value = va.simulate(table["t", "s", "a"], SIZES, fixed={"T": numbers}, draws=2).mean
    assert value == (numbers[0, 1, 0], 0)
    value = va.simulate(table["t", "s", "a"], SIZES, fixed={"T": numbers}, at={"s": 0}, draws=2)
    assert value.mean.value == numbers[1, 0, 0]
    value = va.simulate(table["t", "t", "a"], SIZES, fixed={"T": numbers}, at={"t": 2}, draws=2)
    assert value.mean.value == numbers[2, 2, 0]


def test_keys_are_symbols_or_names():
    place = entry("projection")
    by_name = va.simulate(
        place,
        {"h": 3, "d": 4, "n": 3},
        {"w": 0.5, "s": 2, "g": 0, "c": 1.5},
        fixed={"P": TABLE.tolist()},
        draws=500,
    )
    assert by_name == va.simulate(place, SIZES, VALUES, fixed={P: TABLE}, draws=500)


def test_samplers():
    def ones(rng, shape):
        return np.ones(shape)

    result = va.simulate(entry("mask"), SIZES, VALUES, fixed={P: 0 * TABLE}, sampler={M: ones})
    assert abs(result.variance.value - 2) < 5 * result.variance.stderr


def test_evaluate_rewritten_expressions():
    formula = va.variance(entry("logit"))
    at = {"t": 0, "s": 2}
    expected = va.evaluate(formula, SIZES, VALUES, {P: TABLE}, at)
    for rewritten in (sympy.factor(formula), sympy.factor_terms(formula), sympy.expand(formula)):
        assert va.evaluate(rewritten, SIZES, VALUES, {P: TABLE}, at) == pytest.approx(expected)
    assert va.evaluate(7, {}) == 7
    number = va.fixed("number", ())
    assert va.evaluate(va.mean(3 * number), {}, fixed={number: 2}) == 6
    assert va.simulate(number * number, {}, fixed={number: 2}, draws=2).mean.value == 4
