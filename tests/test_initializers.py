"""Cumulants by independent routes, samplers against cumulants, text against objects."""

import copy
import math
import pickle
from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest
import scipy.stats
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from varprop.expressions import NUMERIC, SYMBOLIC, parse
from varprop.initializers import (
    Initializer,
    constant,
    kaiming_normal,
    kaiming_uniform,
    lecun_normal,
    normal,
    parse_initializer,
    truncated_normal,
    uniform,
    xavier_normal,
    xavier_uniform,
    zeros,
)
from varprop.initializers.distributions import UNIFORM, Distribution
from varprop.initializers.truncation import TruncatedNormal, exact_cumulant
from varprop.norms import LayerNorm, RMSNorm, parse_norm
from varprop.positions import Learned, Rotary, Sinusoidal, parse_position
from varprop.spec import TransformerSpec
from varprop.strategies import initializers, norms, positions

SIZES = {"d_model": 16, "n_heads": 4, "d_head": 4, "seq_len": 7, "vocab_size": 50}
SYMBOLS = {name: sympy.Symbol(name, integer=True, positive=True) for name in SIZES}
VALUES = {SYMBOLS[name]: size for name, size in SIZES.items()}


def law(text: str, fan_in: int = 16, fan_out: int = 50, bias: bool = False) -> Distribution:
    return parse_initializer(text, "f").distribution(SIZES, fan_in, fan_out, NUMERIC, bias)


def cumulants_from_moments(moments: list) -> list:
    cumulants = [0]
    for n in range(1, len(moments)):
        lower = sum(comb(n - 1, k - 1) * cumulants[k] * moments[n - k] for k in range(1, n))
        cumulants.append(moments[n] - lower)
    return cumulants


def test_uniform_cumulants_are_exact_by_two_routes():
    moments = [Fraction(1 - n % 2, n + 1) for n in range(21)]  # of the uniform law on [-1, 1]
    assert cumulants_from_moments(moments)[1:] == [UNIFORM.cumulant(n) for n in range(1, 21)]
    assert UNIFORM.cumulant(4) == Fraction(-2, 15)


def test_uniform_formulas_follow_from_the_density():
    low, high, x = sympy.Rational(-1, 3), sympy.Rational(5, 4), sympy.Symbol("x")
    moments = [sympy.integrate(x**n, (x, low, high)) / (high - low) for n in range(9)]
    distribution = uniform("-1/3", "5/4").distribution({}, 1, 1, SYMBOLIC)
    expected = cumulants_from_moments(moments)
    assert [sympy.simplify(distribution.cumulant(n) - expected[n]) for n in range(1, 9)] == [0] * 8


def exact_truncated(low: float, high: float, highest: int = 8) -> list:
    """Cumulants of the truncated standard normal from its density, at 60 digits."""
    with mpmath.workdps(60):
        a, b = mpmath.mpf(low), mpmath.mpf(high)
        mode = min(max(mpmath.mpf(0), a), b)
        reach = 300 / (mpmath.sqrt(mode**2 + 300) + abs(mode)) * 2
        a, b = max(a, mode - reach), min(b, mode + reach)
        points = [a + (b - a) * k / 12 for k in range(13)]
        moments = [
            mpmath.quad(
                lambda x, n=n: (x - mode) ** n * mpmath.exp(-(x - mode) * (x + mode) / 2), points
            )
            for n in range(highest + 1)
        ]
        cumulants = cumulants_from_moments([moment / moments[0] for moment in moments])
        cumulants[1] += mode
        return cumulants


WINDOWS = [
    (-2, 2),
    (-1, 3),
    (0, 1),
    (-0.5, 0.25),
    (-4, 4),
    (0, 50),
    (-1e6, 1.5),
    (1, 1.001),
    (-1e-6, 2e-6),
    (5, 8),
    (-9, -5),
    (30, 31),
    (-1e4, -30),
    (200, 1e9),
]


@pytest.mark.parametrize(("low", "high"), WINDOWS)
def test_truncated_normal_by_quadrature_from_the_density(low, high):
    expected = exact_truncated(low, high)
    ours = TruncatedNormal(float(low), float(high), False, NUMERIC)
    scale = math.sqrt(expected[2])
    for order in range(1, 9):
        # Compared on the scale of the standard deviation: kappa_n itself may cross 0.
        unit = max(abs(float(expected[order])), scale**order)
        assert abs(ours.cumulant(order) - float(expected[order])) < 2e-11 * unit


@pytest.fixture(scope="module")
def closed_forms():
    low, high = sympy.symbols("low high", real=True)
    forms = [exact_cumulant(low, high, order) for order in range(1, 7)]
    return sympy.lambdify((low, high), forms, "mpmath", cse=True)


@pytest.mark.parametrize(
    ("low", "high"), [(-2, 2), (-1, 3), (0, 1), (-0.5, 2.25), (1, 4), (-7, -2), (-0.01, 0.02)]
)
def test_truncated_normal_closed_form_equals_quadrature_and_scipy(low, high, closed_forms):
    ours = TruncatedNormal(float(low), float(high), False, NUMERIC)
    with mpmath.workdps(50):
        exact = [float(value) for value in closed_forms(mpmath.mpf(low), mpmath.mpf(high))]
    assert [ours.cumulant(n) for n in range(1, 7)] == pytest.approx(exact, rel=1e-11, abs=1e-14)
    mean, variance, skew, kurtosis = scipy.stats.truncnorm(low, high).stats("mvsk")
    expected = [mean, variance, skew * variance**1.5, kurtosis * variance**2]
    assert [ours.cumulant(n) for n in range(1, 5)] == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_truncated_normal_far_tail_is_exponential():
    ours = TruncatedNormal(1e8, 1e9, False, NUMERIC)
    assert ours.cumulant(1) == pytest.approx(1e8)
    for order in range(2, 9):
        assert ours.cumulant(order) == pytest.approx(math.factorial(order - 1) * 1e-8**order)


def test_truncated_normal_conventions():
    jax = law("truncated_normal(std=0.3, variance_preserving=True)")
    assert jax.cumulant(2) == pytest.approx(0.09, rel=1e-15)
    assert law("truncated_normal").cumulant(2) ** 0.5 == pytest.approx(0.87962566103423978)
    draws = jax.sample(np.random.default_rng(0), 10_000)
    assert 0.66 < np.abs(draws).max() < 0.3 * 2 / 0.87962566103423978  # the cut-offs grow too
    pytorch = law("truncated_normal(std=0.02, low=-2, high=2)")
    assert pytorch.cumulant(2) == pytest.approx(0.0004, rel=1e-12)
    assert pytorch.cumulant(4) == pytest.approx(0, abs=1e-18)
    lopsided = truncated_normal(0.3, "-std", "3*std", True).distribution(SIZES, 1)
    assert lopsided.cumulant(2) == pytest.approx(0.09)
    assert lopsided.cumulant(3) > 0


def test_truncated_normal_formula_keeps_the_window_constant():
    for std in ("1/sqrt(d_model)", "d_model+1", "0.02"):
        formula = truncated_normal(std).distribution(SYMBOLS, 1, 1, SYMBOLIC).cumulant(4)
        value = parse(std, "f").evaluate(SYMBOLS, SYMBOLIC)
        assert not sympy.cancel(formula / value**4).free_symbols


SAMPLED = [
    "normal(mean=0.5, std=2)",
    "uniform(-1, 3)",
    "truncated_normal(std=0.5)",
    "truncated_normal(std=2, low=-0.4, high=0.9)",
    "truncated_normal(std=2, low=-0.2, high=7)",
    "truncated_normal(std=1, low=0.3, high=2)",
    "truncated_normal(std=1, low=-40, high=-6)",
    "truncated_normal(std=1, low=35, high=36)",
    "truncated_normal(std=0.1, low=-std, high=2*std, variance_preserving=True)",
    "xavier_uniform(gain=2)",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal(a=0.1)",
    "lecun_normal",
]


@pytest.mark.parametrize("text", SAMPLED)
def test_samplers_follow_the_cumulants(text):
    distribution = law(text)
    k1, k2, k3, k4 = (distribution.cumulant(n) for n in range(1, 5))
    moments = [k1, k2, k3, k4 + 3 * k2**2]
    for seed in range(4):
        draws = distribution.sample(np.random.default_rng(seed), (200, 300)).ravel()
        assert draws.dtype == np.float64
        for power, expected in zip(range(1, 5), moments, strict=True):
            terms = draws if power == 1 else (draws - k1) ** power
            z = (terms.mean() - expected) / (terms.std() / math.sqrt(draws.size))
            assert abs(z) < 5, (power, seed, z)


@pytest.mark.parametrize(
    ("low", "high"), [(-2, 2), (-0.3, 0.2), (-0.2, 9), (0.1, 0.9), (2, 3), (-30, -6), (12, 12.2)]
)
def test_truncated_draws_have_the_law_of_scipy(low, high):
    draws = TruncatedNormal(low, high, False, NUMERIC).sample(np.random.default_rng(5), (20_000,))
    assert low <= draws.min() < draws.max() <= high
    assert scipy.stats.kstest(draws, scipy.stats.truncnorm(low, high).cdf).pvalue > 1e-4


def test_truncated_draws_stay_finite_in_the_farthest_tail():
    draws = TruncatedNormal(1e7, 1e12, False, NUMERIC).sample(np.random.default_rng(0), (10_000,))
    assert np.mean(draws - 1e7) == pytest.approx(1e-7, rel=0.05)


def test_a_seed_gives_the_same_draws():
    for text in SAMPLED:
        one, two = (law(text).sample(np.random.default_rng(3), (4, 5)) for _ in range(2))
        assert np.array_equal(one, two)
    assert law("normal").sample(np.random.default_rng(0), ()).shape == ()
    assert law("truncated_normal").sample(np.random.default_rng(0), ()).shape == ()
    assert law("constant(3)").sample(np.random.default_rng(0), (2,)).tolist() == [3, 3]


VARIANCES = [
    ("normal(std=0.02)", False, 0.0004),
    ("uniform(-1, 2)", False, 0.75),
    ("xavier_uniform", False, 2 / 66),
    ("xavier_uniform(gain=3)", False, 18 / 66),
    ("xavier_uniform(fan_out=3*d_model)", False, 2 / 64),
    ("xavier_normal(fan_in=2, fan_out=6)", True, 2 / 8),
    ("kaiming_uniform", False, 1 / 48),
    ("kaiming_uniform(a=0)", False, 2 / 16),
    ("kaiming_uniform", True, 1 / 48),
    ("kaiming_uniform(a=0)", True, 1 / 48),
    ("kaiming_uniform(fan_in=4)", True, 1 / 12),
    ("kaiming_normal", False, 2 / 16),
    ("kaiming_normal(a=1)", True, 1 / 16),
    ("lecun_normal", False, 1 / 16),
    ("lecun_normal(fan_in=d_head)", False, 1 / 4),
    ("constant(2)", False, 0),
]


@pytest.mark.parametrize(("text", "bias", "variance"), VARIANCES)
def test_variances_are_those_of_pytorch(text, bias, variance):
    distribution = law(text, bias=bias)
    assert distribution.cumulant(2) == pytest.approx(variance, rel=1e-14)
    half = math.sqrt(3 * variance)
    draws = distribution.sample(np.random.default_rng(0), (2000,))
    if "uniform" in text and "(-1" not in text:
        assert 0.99 * half < np.abs(draws).max() <= half
    fans = (SYMBOLS["d_model"], SYMBOLS["vocab_size"])
    formula = parse_initializer(text, "f").distribution(SYMBOLS, *fans, SYMBOLIC, bias)
    assert float(formula.cumulant(2).subs(VALUES) if variance else 0) == pytest.approx(variance)


def test_structural_zeros_are_the_int_0():
    for text in ("normal", "xavier_uniform", "truncated_normal", "zeros", "uniform(-0.3, 0.3)"):
        for functions, sizes in ((NUMERIC, SIZES), (SYMBOLIC, SYMBOLS)):
            fan = sizes["d_model"]
            distribution = parse_initializer(text, "f").distribution(sizes, fan, fan, functions)
            odd = [distribution.cumulant(n) for n in (1, 3, 5)]
            assert [(type(value), value) for value in odd] == [(int, 0)] * 3
    assert type(law("normal").cumulant(4)) is int
    assert type(law("constant(3)").cumulant(1)) is float


def test_degenerate_is_told_apart():
    assert [law(t).degenerate for t in ("zeros", "constant(1)", "normal(std=0)", "normal")] == [
        True,
        True,
        True,
        False,
    ]
    mixed = normal(std=np.array([0.0, 1.0])).distribution(SIZES, 1)
    assert mixed.degenerate.tolist() == [True, False]


@pytest.mark.parametrize(
    ("make", "scalars"),
    [
        (lambda x: normal(x, 2 * x), (0.5, 1.5)),
        (lambda x: uniform(-x, 2 * x), (0.5, 1.5)),
        (lambda x: truncated_normal(x), (0.5, 1.5)),
        (lambda x: truncated_normal(x, -1, 2), (0.5, 1.5)),
        (lambda x: truncated_normal(x, -1, 2, variance_preserving=True), (0.5, 1.5)),
        (lambda x: xavier_uniform(x), (0.5, 1.5)),
        (lambda x: kaiming_uniform(x, fan_in=2 * x), (0.5, 1.5)),
        (lambda x: constant(x), (0.5, 1.5)),
    ],
)
def test_arrays_equal_their_entries(make, scalars):
    together = make(np.array(scalars)).distribution(SIZES, 16, 50)
    apart = [make(x).distribution(SIZES, 16, 50) for x in scalars]
    for order in range(1, 7):
        expected = [distribution.cumulant(order) for distribution in apart]
        assert np.broadcast_to(together.cumulant(order), 2) == pytest.approx(expected, rel=1e-12)


def test_distributions_of_arrays_or_symbols_are_not_drawn():
    of_array = normal(std=np.array([1.0, 2.0])).distribution(SIZES, 16)
    of_symbol = lecun_normal().distribution(SYMBOLS, SYMBOLS["d_model"], 1, SYMBOLIC)
    for distribution in (of_array, of_symbol):
        with pytest.raises(ValueError, match="single numbers"):
            distribution.sample(np.random.default_rng(0), 3)


def test_a_large_array_of_windows_is_computed_in_chunks():
    std = np.linspace(0.1, 3, 9000)
    together = truncated_normal(std, -1, 1).distribution(SIZES, 1).cumulant(4)
    one = truncated_normal(float(std[5000]), -1, 1).distribution(SIZES, 1).cumulant(4)
    assert together[5000] == pytest.approx(one, rel=1e-10)


SAME = [
    (normal(), "normal", "normal()", "normal(std=1)", "normal(0, 1)", " normal( mean = 0.0 ) "),
    (normal(std=0.02), "normal(0, 0.02)", "normal(std=2e-2)", "normal(std = 0.020)"),
    (normal(std="1/sqrt(d_model)"), "normal(std=1 / sqrt(d_model))"),
    (uniform(-1, 2), "uniform(-1, 2)", "uniform(high=2, low=-1)", "uniform(-1, high=2.0)"),
    (truncated_normal(), "truncated_normal", "truncated_normal(1, -2*std, 2*std, False)"),
    (truncated_normal(0.02, -2, 2, True), "truncated_normal(0.02, -2, 2, True)"),
    (xavier_uniform(), "xavier_uniform", "xavier_uniform()", "xavier_uniform(1)"),
    (xavier_uniform(fan_out="3*d_model"), "xavier_uniform(fan_out=3*d_model)"),
    (xavier_normal(2, fan_in=3), "xavier_normal(gain=2, fan_in=3)", "xavier_normal(2, 3)"),
    (kaiming_uniform(), "kaiming_uniform(a=sqrt(5))", "kaiming_uniform"),
    (kaiming_normal(), "kaiming_normal(0)", "kaiming_normal"),
    (lecun_normal(), "lecun_normal", "lecun_normal()"),
    (zeros(), "zeros", "zeros()"),
    (constant("pi/2"), "constant(value=pi/2)", "constant(pi / 2)"),
]


@pytest.mark.parametrize("spellings", SAME, ids=lambda spellings: spellings[1])
def test_one_initializer_has_many_spellings(spellings):
    made = {parse_initializer(spelling, "f") for spelling in spellings}
    assert len(made) == 1
    assert len({str(one) for one in made}) == 1
    assert len({parse_initializer(str(one), "f") for one in made} | made) == 1


@settings(max_examples=200, deadline=None)
@given(initializers())
def test_initializers_read_back(initializer):
    assert parse_initializer(str(initializer), "f") == initializer
    assert parse_initializer(initializer.to_dict(), "f") == initializer
    for copied in (pickle.loads(pickle.dumps(initializer)), copy.deepcopy(initializer)):
        assert copied == initializer
        assert hash(copied) == hash(initializer)


@settings(max_examples=100, deadline=None)
@given(positions(), positions(d_head=6), norms())
def test_positions_and_norms_read_back(position, other, norm):
    for one in (position, other):
        assert parse_position("none" if one is None else str(one)) == one
    assert parse_norm("none" if norm is None else str(norm)) == norm


@settings(max_examples=40, deadline=None)
@given(initializers(bias=True), st.booleans())
def test_formulas_have_the_values_of_the_numbers(initializer, bias):
    numbers = initializer.distribution(SIZES, 16, 50, NUMERIC, bias)
    fans = (SYMBOLS["d_model"], SYMBOLS["vocab_size"])
    formulas = initializer.distribution(SYMBOLS, *fans, SYMBOLIC, bias)
    for order in range(1, 5):
        expected = sympy.sympify(formulas.cumulant(order)).subs(VALUES)
        assert numbers.cumulant(order) == pytest.approx(
            float(sympy.N(expected, 30)), rel=1e-9, abs=1e-12
        )


def test_initializers_with_arrays_compare_and_do_not_hash():
    one, same, other = (normal(std=np.array(x)) for x in ([1.0, 2.0], [1.0, 2.0], [1.0, 3.0]))
    assert one == same != other
    assert one != normal()
    assert parse_initializer(one.to_dict(), "f") == one
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(TypeError, match="no hash"):
        hash(one)


def test_distributions_survive_pickling():
    for text in [*SAMPLED, "zeros"]:
        one = law(text)
        two = pickle.loads(pickle.dumps(one))
        assert one.cumulant(4) == two.cumulant(4)
        assert two.degenerate == one.degenerate


REFUSED = [
    ("normal(std=-1)", "normal std must be a finite number >= 0, got -1.0"),
    ("normal(std=d_model-17)", "normal std must be a finite number >= 0, got -1.0"),
    ("normal(std=1/0)", "normal std must be a finite real number"),
    ("normal(std=1e200)", "not finite"),
    ("normal(std=abc)", "normal std: cannot read 'abc'"),
    ("normal(std)", "normal mean: cannot read 'std'"),
    ("normal(std=)", "normal std: cannot read ''"),
    ("normal(,)", "normal mean: cannot read ''"),
    ("normal(1, 2, 3)", "normal takes mean, std, got 3 arguments"),
    ("normal(0, mean=1)", "normal mean is given twice"),
    ("normal(std=1, std=2)", "'std' is given twice"),
    ("normal(std=1, 2)", "'2' follows a named argument"),
    ("normal(sdt=1)", "normal has no argument 'sdt': did you mean std?"),
    ("normal(std=True)", "normal std: cannot read 'True'"),
    ("normal(std=1", "of the form name"),
    ("normal(std=1))(", "of the form name"),
    ("normal)(", "of the form name"),
    ("normal(1)(2)", "unbalanced parentheses"),
    ("normal()()", "unbalanced parentheses"),
    ("normal std=1", "of the form name"),
    ("norml", "unknown initializer 'norml'; did you mean normal?"),
    ("", "of the form name"),
    ("identity", "unknown initializer 'identity'"),
    ("zeros(1)", "zeros takes no arguments"),
    ("zeros(value=1)", "it takes none"),
    ("constant", "constant needs value"),
    ("uniform", "uniform needs low and high"),
    ("uniform(1)", "uniform needs high"),
    ("uniform(2, 1)", "uniform low must be less than high=1.0, got 2.0"),
    ("uniform(d_model, 16)", "uniform low must be less than high=16.0, got 16.0"),
    ("truncated_normal(std=0)", "truncated_normal std must be a finite number > 0"),
    ("truncated_normal(1, 2, 1)", "truncated_normal low must be less than high"),
    ("truncated_normal(variance_preserving=1)", "must be True or False"),
    ("truncated_normal(std=std)", "truncated_normal std: cannot read 'std'"),
    ("xavier_uniform(gain=-1)", "xavier_uniform gain must be a finite number >= 0"),
    ("xavier_uniform(fan_in=0)", "xavier_uniform fan_in must be a finite number > 0"),
    ("kaiming_uniform(a=log(0))", "kaiming_uniform a must be a finite real number"),
    ("normal(" + "(" * 300, "of the form name"),
    ("n" * 10**6, "of the form name"),
    ("normal(std=" + "9" * 10**6, "of the form name"),
    ("nörmal", "of the form name"),
    ("normal\x00", "of the form name"),
    ("__import__('os')", "unknown initializer '__import__'"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text[:30] for text, _ in REFUSED])
def test_refusals_name_field_and_argument(text, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        parse_initializer(text, "query_bias").distribution(SIZES, 16, 50)
    given = str(caught.value)
    assert message in given
    assert given.isprintable()
    assert len(given) < 300


@pytest.mark.parametrize(
    "make",
    [
        lambda: normal(std=-1),
        lambda: normal(std=True),
        lambda: normal(std=None),
        lambda: normal(std=np.array([1.0, -1.0])),
        lambda: normal(np.zeros(2), np.ones(3)),
        lambda: uniform(np.array([0.0, 1.0]), 1),
        lambda: uniform(float("nan"), 1),
        lambda: constant("x"),
        lambda: truncated_normal(variance_preserving="yes"),
        lambda: truncated_normal(low=3),
        lambda: xavier_uniform(fan_in=np.array([0])),
    ],
)
def test_objects_are_refused_when_they_are_made(make):
    with pytest.raises((TypeError, ValueError)) as caught:
        make()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "value", [None, 3, True, normal, ["normal"], {"std": 1}, {"name": 3}, b"normal", np.array(1)]
)
def test_other_types_are_refused(value):
    with pytest.raises(TypeError) as caught:
        parse_initializer(value, "segment")
    assert str(caught.value).startswith("segment must be one of normal, uniform,")


@pytest.mark.parametrize(
    "text",
    ["xavier_uniform", "xavier_normal(2)", "xavier_uniform(fan_in=3)", "xavier_normal(fan_out=3)"],
)
def test_xavier_of_a_bias_needs_both_fans(text):
    with pytest.raises(ValueError, match="needs fan_in= and fan_out="):
        law(text, bias=True)


def test_initializers_are_immutable():
    initializer = normal()
    for change in (
        lambda: setattr(initializer, "name", "zeros"),
        lambda: delattr(initializer, "name"),
        lambda: initializer.arguments.update(std=3),
        lambda: setattr(law("normal"), "scale", 3),
    ):
        with pytest.raises(AttributeError):
            change()
    assert isinstance(initializer, Initializer)


def test_positions_and_norms_by_name():
    assert parse_position("sinusoidal") == Sinusoidal(10000) == parse_position("sinusoidal()")
    assert parse_position("learned") == Learned() == parse_position("learned(normal(0, 0.02))")
    assert parse_position("learned(initializer=zeros)").initializer == zeros()
    assert parse_position("rotary(fraction=1/4)") == Rotary(10000, "1/4")
    assert (Rotary(500, 0.5).base, Rotary(500, 0.5).fraction) == (500, 0.5)
    assert Rotary(fraction="1/3").channels(6) == 2
    assert Rotary().channels(np.array([2, 4])).tolist() == [2, 4]
    assert parse_position("none") is parse_position(None) is None
    assert str(parse_position("learned(uniform(-1, 1))")) == "learned(uniform(low=-1, high=1))"
    assert parse_norm("layernorm") == LayerNorm() != RMSNorm()
    assert (LayerNorm().eps, RMSNorm().eps, RMSNorm(0.1).eps) == (1e-5, 1e-6, 0.1)
    assert parse_norm("none") is parse_norm(None) is None


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("position", "rotary(fraction=0)", "position: rotary fraction must be"),
        ("position", "sinusoidal(base=-1)", "position: sinusoidal base must be"),
        ("position", "sinusoidal(base=d_model-512)", "position: sinusoidal base must be"),
        ("position", "learned(nrmal)", "position: learned: unknown initializer 'nrmal'"),
        ("position", "learned(normal(std=-1))", "position: learned: normal std must be"),
        ("position", "alibi", "position: unknown position 'alibi'; accepted: sinusoidal"),
        (
            "position",
            3,
            "position must be one of none, sinusoidal, learned, rotary, as text or object, got 3",
        ),
        ("norm", "layernorm(eps=-1)", "norm: layernorm eps must be a finite number >= 0"),
        ("norm", "layer_norm", "norm: unknown norm 'layer_norm'; did you mean layernorm?"),
        ("norm", "rmsnorm(1, 2)", "norm: rmsnorm takes eps, got 2 arguments"),
    ],
)
def test_positions_and_norms_that_are_refused(field, value, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        TransformerSpec(**{field: value})
    assert str(caught.value).startswith(message)
