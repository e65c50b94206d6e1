"""Wrong input is one line that names what came and what is accepted."""

import math

import numpy as np
import pytest
import sympy

from varprop import algebra as va

h, d, n = va.dims("h d n")
W = va.iid("W", (h, d), variance="w")
E = va.iid("E", (n, d), variance=1, excess_kurtosis=0)
B = va.iid("B", (n, d), variance=1, excess_kurtosis="g")
P = va.fixed("P", (n, d))
Q = va.einsum("ai,ti->ta", W, E + P)
PAIR = va.joint(("u", "v"), d, lambda members: 1, "pair")
SIZES = {h: 2, d: 3, n: 2}
TABLE = np.ones((2, 3))


def simulate(entry=None, sizes=SIZES, values=None, **options):
    options = {"fixed": {P: TABLE}, "draws": 10} | options
    place = Q["t", "a"] if entry is None else entry
    return va.simulate(place, sizes, {"w": 1} if values is None else values, **options)


CORPUS = {
    # functions that are no polynomial
    "root": (lambda: sympy.sqrt(E), "moments here"),
    "numpy function": (lambda: np.exp(E), "numpy.exp of E"),
    "math function": (lambda: math.exp(E), "no polynomial"),
    "reciprocal": (lambda: 1 / E, "no polynomial"),
    "numpy reciprocal": (lambda: np.float64(1) / E, "no polynomial"),
    "quotient": (lambda: E / P, "no polynomial"),
    "negative power": (lambda: E**-1, "accepted: 1, 2, 3"),
    "fractional power": (lambda: E**0.5, "accepted: 1, 2, 3"),
    "zeroth power": (lambda: E**0, "accepted: 1, 2, 3"),
    "boolean power": (lambda: E**True, "accepted: 1, 2, 3"),
    "exponential": (lambda: 2**E, "no polynomial"),
    "absolute": (lambda: abs(E), "no polynomial"),
    "comparison": (lambda: E < 1, "no polynomial"),
    "numpy comparison": (lambda: np.float64(1) < E, "numpy.less"),
    "maximum": (lambda: max(E, P), "no polynomial"),
    "remainder": (lambda: E % 2, "no polynomial"),
    "rounding": (lambda: round(E), "no polynomial"),
    "truth": (lambda: bool(E), "no polynomial"),
    "array": (lambda: np.asarray(E), "no polynomial"),
    "iteration": (lambda: list(E), "index it with letters"),
    # scalars
    "boolean": (lambda: True * E, "got True (bool)"),
    "numpy boolean": (lambda: np.bool_(True) * E, "bool"),
    "none": (lambda: E * None, "got None"),
    "none added": (lambda: E + None, "got None"),
    "nan": (lambda: math.nan * E, "finite"),
    "infinity": (lambda: sympy.oo * E, "finite"),
    "imaginary": (lambda: sympy.I * E, "real"),
    "complex": (lambda: 1j * E, "1j"),
    "text": (lambda: "1/d" * E, "'1/d'"),
    "vector": (lambda: np.ones(3) * E, "ndarray"),
    "zero divisor": (lambda: E / 0, "by 0"),
    # shapes, names, letters
    "shapes": (lambda: E + W, "equal shapes"),
    "product of shapes": (lambda: E * W, "equal shapes, or einsum"),
    "two sizes": (lambda: va.einsum("ai,ta->ti", W, E), "'a' is used with two sizes, h and d"),
    "integer sizes": (
        lambda: va.einsum("i,i->", va.fixed("a", 3), va.fixed("b", 4)),
        "two sizes, 3 and 4",
    ),
    "letter of two sizes": (lambda: va.mean(E["t", "t"]), "two sizes, n and d"),
    "letter of two sizes apart": (
        lambda: va.covariance(W["t", "i"], E["t", "i"]),
        "two sizes, h and n",
    ),
    "no letters": (lambda: va.mean(E), "got 0 letters; accepted: 2"),
    "few letters": (lambda: E["t"], "got 1 letters"),
    "number as letter": (lambda: E[0, 1], "index 0; accepted: a letter"),
    "slice as letter": (lambda: E[:, 1], "accepted: a letter"),
    "too many letters": (
        lambda: va.mean(va.fixed("f", 1)["t"], va.fixed("f", 1)["s"]),
        "size 1",
    ),
    "same name": (lambda: W + va.iid("W", (h, d), variance=1), "W: two different tensors"),
    "same name elsewhere": (
        lambda: va.covariance(va.einsum("ai->a", W)["a"], va.fixed("W", h)["a"]),
        "W: two different tensors",
    ),
    # einsum
    "no arrow": (lambda: va.einsum("ai,ti", W, E), "'ai,ti->ta'"),
    "unknown output": (lambda: va.einsum("ai->az", W), "output 'az'"),
    "output twice": (lambda: va.einsum("ai->aa", W), "each once"),
    "ellipsis": (lambda: va.einsum("...i->i", W), "does not fit W"),
    "operand missing": (lambda: va.einsum("ai,ti->ta", W), "2 operands named, 1 given"),
    "no operand": (lambda: va.einsum("->"), "1 operands named, 0 given"),
    "array operand": (lambda: va.einsum("ai->a", TABLE), "ndarray"),
    "no subscripts": (lambda: va.einsum(W, E), "accepted: subscripts"),
    # cumulants
    "unknown cumulant": (lambda: va.variance((E * E * E)["t", "i"]), "E: the cumulant of order 6"),
    "no variance": (lambda: va.iid("x", d), "x: the variance is missing"),
    "kurtosis only": (lambda: va.iid("x", d, excess_kurtosis=1), "variance is missing"),
    "both": (lambda: va.iid("x", d, mean=0, cumulants={2: 1}), "cumulants= and mean="),
    "negative variance": (lambda: va.iid("x", d, variance=-1), "x: variance -1"),
    "variance of text": (lambda: va.iid("x", d, variance="1/d"), "x: variance"),
    "order zero": (lambda: va.iid("x", d, cumulants={0: 1, 2: 1}), "order 0"),
    "list": (lambda: va.iid("x", d, cumulants=[0, 1]), "accepted: a mapping"),
    "moment zero": (lambda: va.moment(E["t", "i"], 0), "order: got 0"),
    "moment of half": (lambda: va.moment(E["t", "i"], 1.5), "order: got 1.5"),
    "mean of number": (lambda: va.mean(3), "accepted: an entry"),
    # sizes and names
    "size zero": (lambda: va.fixed("x", 0), "x: size 0"),
    "boolean size": (lambda: va.fixed("x", True), "x: size True"),
    "float size": (lambda: va.fixed("x", 2.0), "x: size 2.0"),
    "size of text": (lambda: va.fixed("x", "2*d"), "x: size '2*d'"),
    "size of any sign": (lambda: va.fixed("x", sympy.Symbol("d")), "x: size d"),
    "name": (lambda: va.fixed("a b", d), "tensor name: got 'a b'"),
    "dims": (lambda: va.dims(5), "dims: got 5"),
    "no dims": (lambda: va.dims(""), "dims: got ''"),
    # simulate
    "size missing": (lambda: simulate(sizes={h: 2, d: 3}), "no number for n"),
    "value missing": (lambda: simulate(values={"v": 1}), "no number for w; got h, d, n, v"),
    "value of text": (lambda: simulate(values={"w": "1"}), "w is '1'"),
    "value nan": (lambda: simulate(values={"w": math.nan}), "w: scalar: got nan"),
    "boolean value": (lambda: simulate(values={"w": True}), "got True"),
    "size bound twice": (lambda: simulate(values={"w": 1, h: 3}), "h is 3, but 2 in sizes"),
    "sizes a list": (lambda: simulate(sizes=[2, 3]), "accepted: a mapping"),
    "key a number": (lambda: simulate(sizes={3: 2}), "key 3"),
    "size not whole": (lambda: simulate(sizes=SIZES | {h: 2.5}), "h is 2.5"),
    "size negative": (lambda: simulate(sizes=SIZES | {h: -2}), "h is -2"),
    "size true": (lambda: simulate(sizes=SIZES | {h: True}), "h is True"),
    "size infinite": (lambda: simulate(sizes=SIZES | {h: math.inf}), "h is inf"),
    "sizes too large": (lambda: simulate(sizes=SIZES | {h: 10**18}), "a draw of"),
    "letters too many": (
        lambda: simulate(va.einsum("ti,si->ts", E, E)["t", "s"], SIZES | {n: 1}),
        "n is 1, too small for 2 different letters",
    ),
    "array missing": (lambda: simulate(fixed=None), "no array for P; accepted: an array of shape"),
    "array shape": (lambda: simulate(fixed={P: TABLE.T}), "P: got shape (3, 2); accepted: (2, 3)"),
    "array of text": (lambda: simulate(fixed={P: "abc"}), "real numbers"),
    "ragged": (lambda: simulate(fixed={P: [[1, 2], [3]]}), "real numbers"),
    "array of nan": (lambda: simulate(fixed={P: TABLE * math.nan}), "nan or inf"),
    "array for random": (lambda: simulate(fixed={P: TABLE, W: TABLE}), "W is random"),
    "array key": (lambda: simulate(fixed={3: TABLE}), "key 3"),
    "draws": (lambda: simulate(draws=1), "draws: got 1"),
    "float draws": (lambda: simulate(draws=1e5), "draws: got 100000.0"),
    "seed": (lambda: simulate(seed=None), "seed: got None"),
    "at out of range": (lambda: simulate(at={"t": 2}), "t is 2; accepted: 0 to 1"),
    "at unknown": (lambda: simulate(at={"z": 0}), "no letter 'z'; accepted: t, a"),
    "at equal": (
        lambda: simulate(va.einsum("ti,si->ts", E, E)["t", "s"], at={"t": 1, "s": 1}),
        "s is 1, as another letter",
    ),
    "no law": (
        lambda: simulate(B["t", "i"], values={"g": -3}),
        "B: no law has the cumulants",
    ),
    "no Gaussian": (lambda: simulate(values={"w": -1}), "W: no law has the cumulants"),
    "joint": (lambda: simulate(PAIR[0]["i"]), "u: drawn jointly"),
    "sampler shape": (
        lambda: simulate(sampler={E: lambda rng, shape: rng.random(3)}),
        "sampler of E: got shape (3,)",
    ),
    "sampler number": (lambda: simulate(sampler={E: 3}), "E: 3; accepted: a function"),
    "sampler of none": (lambda: simulate(sampler={"Z": len}), "no random tensor 'Z'"),
    "division by zero": (
        lambda: simulate((E / sympy.Symbol("w"))["t", "i"], values={"w": 0}),
        "zero",
    ),
    "root of negative": (
        lambda: simulate((sympy.sqrt(sympy.Symbol("w")) * E)["t", "i"], values={"w": -1}),
        "real",
    ),
    "logarithm": (
        lambda: simulate((sympy.log(sympy.Symbol("w")) * E)["t", "i"], values={"w": 0}),
        "log(w)",
    ),
    "long name": (lambda: simulate(va.fixed("x" * 5000, d)["i"]), "tensor name"),
    "many digits": (lambda: simulate(sizes=SIZES | {h: 10**5000}), "h is"),
    # evaluate
    "letter value": (lambda: va.evaluate(va.mean(P["t", "i"]), SIZES, {}, {P: TABLE}), "letter"),
    "entry": (lambda: va.evaluate(va.mean(P["t", "i"]), SIZES, at={"t": 0, "i": 0}), "for P"),
}


@pytest.mark.parametrize("name", CORPUS)
def test_error(name):
    action, part = CORPUS[name]
    with pytest.raises((TypeError, ValueError)) as caught:
        action()
    message = str(caught.value)
    assert part in message
    assert len(message) < 300
    assert "\n" not in message


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.float64(2) * E,
        lambda: E * np.float32(2),
        lambda: np.int64(2) + E,
        lambda: np.float64(2) - E,
        lambda: E / np.float64(2),
        lambda: sympy.Rational(1, 2) * E,
        lambda: sympy.Symbol("c") + E,
        lambda: "c" * E,
        lambda: E ** np.int64(2),
    ],
)
def test_scalars_of_other_libraries(make):
    assert isinstance(va.mean(make()["t", "i"]), sympy.Expr)
