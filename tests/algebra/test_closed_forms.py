"""Published closed forms, and identities between definitions of the same quantity."""

import pytest
import sympy

from varprop import algebra as va

h, d, n = va.dims("h d n")
w, s, g, c = sympy.symbols("w s g c")
W = va.iid("W", (h, d), variance=1)
S = va.iid("S", (d, d), variance=1)
E = va.iid("E", (n, d), variance=s, excess_kurtosis=g)
P = va.fixed("P", (n, d))
x = va.iid("x", d, variance=s)
f = va.fixed("f", d)


def same(left, right):
    return sympy.expand(left - right) == 0


WISHART = {  # E tr((W W^T)^k) for a Gaussian h x d matrix
    1: h * d,
    2: h * d * (h + d + 1),
    3: h * d * (h**2 + d**2 + 3 * h * d + 3 * h + 3 * d + 4),
    4: h * d * (h**3 + d**3 + 6 * h * d * (h + d) + 6 * (h**2 + d**2) + 17 * h * d)
    + h * d * (21 * (h + d) + 20),
}


@pytest.mark.parametrize("power", WISHART)
def test_wishart(power):
    rows, columns = "abcd"[:power], "ijkl"[:power]
    pairs = [f"{rows[j]}{columns[j]},{rows[(j + 1) % power]}{columns[j]}" for j in range(power)]
    trace = va.einsum(",".join(pairs) + "->", *[W] * (2 * power))
    assert same(va.mean(trace), WISHART[power])


def test_squared_norm_is_chi_squared():
    norm = va.einsum("ai,ai->", W, W)
    for order in range(1, 5):  # cumulants of chi squared: 2^(n-1) (n-1)! degrees of freedom
        expected = 2 ** (order - 1) * sympy.factorial(order - 1) * h * d
        assert same(va.cumulant(norm, order), expected)


def test_trace_of_gaussian_powers():
    assert same(va.mean(va.einsum("ab,bc,cd,da->", *[S] * 4)), d**2 + 2 * d)
    assert va.mean(va.einsum("ab,bc,ca->", S, S, S)) == 0
    assert va.variance(va.einsum("ii->", S)) == d


@pytest.mark.parametrize("order", range(1, 11))
def test_isserlis(order):
    norm = sympy.factorial2(order - 1) if order % 2 == 0 else 0
    moment = va.moment(va.einsum("i,i->", f, x), order)
    squared = va.mean(va.einsum("i,i->", f, x), va.einsum("i,i->", f, x))
    assert same(moment, norm * squared ** (order // 2))


def test_projection_of_unknown_vectors():
    q = va.einsum("ai,ti->ta", va.iid("V", (h, d), variance=w), E + P)
    index = sympy.Symbol("i", integer=True)
    t = sympy.Symbol("t", integer=True)
    norm = sympy.Sum(sympy.IndexedBase("P")[t, index] ** 2, (index, 0, d - 1))
    assert same(va.variance(q["t", "a"]), w * (d * s + norm))
    assert va.covariance(q["t", "a"], q["t", "b"]) == 0


def test_logit_of_the_readme():
    query = va.iid("Q", (h, d), variance=1 / d)
    key = va.iid("K", (h, d), variance=1 / d)
    q, k = va.einsum("ai,ti->ta", query, c * E), va.einsum("ai,ti->ta", key, c * E)
    logit = va.einsum("ta,sa->ts", q, k) / sympy.sqrt(h)
    assert va.variance(logit["t", "s"]) == c**4 * s**2
    kurtosis = sympy.expand(va.cumulant(logit["t", "s"], 4) / (c**4 * s**2) ** 2)
    row = 1 + (g + 2) / d  # E ||x||^4 / (E ||x||^2)^2
    assert same(kurtosis, 3 * (row**2 * (1 + 2 / h) - 1))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (2 * E + P, P + E * 2),
        ((E + P) - (P + E), E * 0),
        (E - E, 0 * P),
        ((-E) * -1, E),
        (E / 2, sympy.Rational(1, 2) * E),
        (sum([E, P, E]), 2 * E + P),
        (1 - E, -E + 1),
        (E**2, E * E),
        (P**3 * E, P * P * (E * P)),
        (E * P, va.einsum("ti,ti->ti", P, E)),
        (((c + 1) * E - c * E) - E, E * 0),
        (sympy.sqrt(c) * (sympy.sqrt(c) * E), c * E),
        ((E / c) * c, E),
        (E + 3, E + 3 * va.ones((n, d))),
        (va.einsum("ti,i->ti", E, va.ones(d)), E),
        (va.einsum("ti->it", va.einsum("ti->it", P * E)), E * P),
    ],
)
def test_equal_definitions(left, right):
    for order in (1, 2):
        assert same(va.moment(left["t", "i"], order), va.moment(right["t", "i"], order))
    difference = left - right
    assert va.mean(difference["t", "i"]) == 0
    assert same(va.variance(difference["t", "i"]), 0)


def test_chain_of_matrices():
    value = x
    for step in range(50):
        value = va.einsum("ab,b->a", va.iid(f"W{step}", (d, d), variance=1 / d), value)
    assert va.variance(value["a"]) == s
    assert same(va.moment(value["a"], 4).subs(d, sympy.oo), 3 * s**2)
    flat = va.einsum("ab,bc,cd,d->a", *[va.iid(f"W{j}", (d, d), variance=1 / d) for j in "xyz"], x)
    assert va.variance(flat["a"]) == s


def test_depth_is_not_bounded_by_the_stack():
    value = x
    for step in range(700):
        value = va.einsum("ab,b->a", va.iid(f"W{step}", (d, d), variance=1 / d), value)
    assert va.variance(value["a"]) == s


def test_scalars_and_integer_sizes():
    u = va.iid("u", 3, mean=2, variance=1)
    total = va.einsum("i->", u)
    assert va.mean(total) == 6
    assert va.variance(va.einsum("->", total)) == 3
    assert va.variance(va.einsum(",->", total, total)) == 2 * 9 + 4 * 36 * 3
    assert va.mean((total * u)["i"]) == 6 * 2 + 1
    assert va.variance(va.iid("one", 1, variance=s)["i"]) == s


def test_letters_are_different_values_and_a_repeated_letter_is_one():
    gram = va.einsum("ti,si->ts", E, E)
    assert va.mean(gram["t", "s"]) == 0
    assert va.mean(gram["t", "t"]) == d * s
    assert same(va.variance(gram["t", "t"]), d * s**2 * (g + 2))


def test_unknown_cumulants_matter_only_where_they_stay():
    short = va.iid("short", d, cumulants={1: 1, 2: s, 3: 1})
    cube = short * short * short
    assert va.covariance(cube["i"], cube["j"]) == 0
    assert va.moment((short * 0)["i"], 7) == 0
    assert va.variance((cube - cube)["i"]) == 0
    with pytest.raises(ValueError, match="short: the cumulant of order 4"):
        va.moment(short["i"], 4)


def test_scalar_symbols_and_index_names_do_not_clash():
    i, t = va.dims("i t")
    table = va.fixed("T", (t, i))
    y = va.iid("y", i, variance=1)
    result = va.variance(va.einsum("ti,i->t", table, y)["t"])
    assert sorted(map(str, result.args[1])) == ["0", "i - 1", "j"]


def test_readme_gallery_is_polynomial_in_floats_too():
    assert va.variance((0.5 * E)["t", "i"]).subs(s, 4) == 1
    assert va.variance((2 * E)["t", "i"]).is_polynomial()
