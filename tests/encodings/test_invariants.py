"""The sinusoidal invariants against the table itself, and the three routes to an average."""

import itertools
import math
import time

import numpy as np
import pytest

from varprop.encodings import Encoding, SinusoidalInvariants, place_average, wave_sum
from varprop.encodings.averages import _distinct, _labels, merge_free
from varprop.encodings.geometric import spectral_mean
from varprop.encodings.positions import by_distance, matrices, matrix_mean
from varprop.encodings.sinusoidal import power_sum

SIZES = [(1, 1), (1, 7), (2, 1), (2, 2), (3, 5), (8, 1), (8, 33), (13, 20), (64, 100), (101, 64)]
BASES = [10000.0, 500.0, 1.0, 2.0, 0.5, 1e-3, 1e12]


def slow_table(n, d, base):
    """The table of DESIGN section 2, one entry at a time."""
    wave = (math.sin, math.cos)
    return np.array(
        [[wave[c % 2](t * base ** (-2 * (c // 2) / d)) for c in range(d)] for t in range(n)]
    )


def apart(matrix):
    n = len(matrix)
    return (matrix.sum() - np.trace(matrix)) / (n * (n - 1)) if n > 1 else None


def from_table(p):
    """Every named invariant by its definition, with its degree."""
    d = p.shape[1]
    norms, gram = (p**2).sum(axis=1), p @ p.T
    return {
        "mean": (p.mean(), 1 / 2, d),
        "mean_square": (np.mean(p**2), 1, d),
        "variance": (p.var(), 1, d),
        "mean_fourth_norm": (np.mean(norms**2), 2, 1),
        "mean_square_norm_product": (apart(np.outer(norms, norms)), 2, 1),
        "mean_inner_product": (apart(gram), 1, 1),
        "mean_squared_inner_product": (apart(gram**2), 2, 1),
        "mean_vector_square_norm": (np.sum(p.mean(axis=0) ** 2), 1, 1),
    }


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("d", "n"), SIZES)
def test_every_invariant_to_1e_12_of_its_scale(d, n, base):
    named, p = SinusoidalInvariants(d, n, base), slow_table(n, d, base)
    largest = max(
        1.0, n * max(1.0, base ** (-2 * ((d - 1) // 2) / d))
    )  # the angle itself is rounded
    np.testing.assert_allclose(named.table(), p, rtol=0, atol=4e-16 * largest)
    for name, (true, degree, per) in from_table(p).items():
        got = getattr(named, name)
        if true is None:
            assert got is None
        else:
            tolerance = max(1e-12, 1e-15 * largest) * max(d / 2, 1) ** degree / per
            assert got == pytest.approx(true, rel=0, abs=tolerance), name
    sums = max(1e-12, 1e-15 * largest) * n
    np.testing.assert_allclose(named.channel_sums, p.sum(axis=0), rtol=0, atol=sums)


def test_the_mean_square_is_a_half_for_even_widths():
    for d, n in itertools.product((2, 4, 512, 12288), (1, 2, 1000, 10**12)):
        assert SinusoidalInvariants(d, n).mean_square == 0.5


@pytest.mark.parametrize("multiple", [1, 2, 5])
def test_a_frequency_that_is_a_multiple_of_a_whole_turn(multiple):
    base = (2 * math.pi * multiple) ** (-2.0)  # second frequency of d_model 4: base**(-1/2)
    for n in (1, 2, 9, 10):
        p = slow_table(n, 4, base)
        named = SinusoidalInvariants(4, n, base)
        for name, (true, degree, per) in from_table(p).items():
            got = getattr(named, name)
            assert got is true is None or got == pytest.approx(
                true, rel=0, abs=1e-12 * 2**degree / per
            )


def test_tiny_frequencies_do_not_cancel():
    named, p = SinusoidalInvariants(6, 50, 1e30), slow_table(50, 6, 1e30)
    for name, (true, degree, per) in from_table(p).items():
        assert getattr(named, name) == pytest.approx(true, rel=0, abs=1e-12 * 3**degree / per)


def test_long_and_wide_is_fast():
    started = time.process_time()
    named = SinusoidalInvariants(12288, 10**9)
    assert 0 < named.mean < 0.5
    assert named.mean_square == 0.5
    assert abs(named.mean_inner_product) < 6144
    assert named.mean_square_norm_product == pytest.approx(6144**2, rel=1e-12)
    assert named.mean_fourth_norm == pytest.approx(6144**2, rel=1e-12)
    assert 0 < named.mean_vector_square_norm < 6144
    assert np.isfinite(named.channel_sums).all()
    assert time.process_time() - started < 1


def test_the_double_sum_is_below_five_seconds_at_12288():
    started = time.process_time()
    value = SinusoidalInvariants(12288, 10**9).mean_squared_inner_product
    assert time.process_time() - started < 5
    inner = SinusoidalInvariants(12288, 10**9).mean_inner_product
    assert value >= inner**2


# General contractions: rotary ones, free channels, three positions.


def rotation(encoding, t):
    matrix = np.eye(encoding.width)
    for k in range(encoding.turning // 2):
        w = t * encoding.base ** (-2 * k / encoding.turning)
        matrix[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [
            [math.cos(w), -math.sin(w)],
            [math.sin(w), math.cos(w)],
        ]
    return matrix


def contraction(encoding, part, place, channel):
    """One contraction at given positions by np.einsum on the tables themselves."""
    operands, letters = [], {}
    for name, indices in part:
        kind, labels = name.split("_")
        if kind == "f":
            table = slow_table(place[labels] + 1, encoding.width, encoding.base)[-1]
        elif len(labels) == 2:
            table = rotation(encoding, place[labels[0]]).T @ rotation(encoding, place[labels[1]])
        else:
            table = rotation(encoding, place[labels])
        for axis, index in enumerate(indices):
            if index < 0:
                table = np.take(table, [channel], axis=axis)
        operands += [table, [letters.setdefault(i, len(letters)) for i in indices]]
    return float(np.einsum(*operands, []))


def slow_average(encoding, parts, n):
    labels = sorted({label for part in parts for name, _ in part for label in name.split("_")[1]})
    free = any(i < 0 for part in parts for _, indices in part for i in indices)
    values = [
        math.prod(
            contraction(encoding, part, dict(zip(labels, chosen, strict=True)), channel)
            for part in parts
        )
        for chosen in itertools.permutations(range(n), len(labels))
        for channel in range(encoding.width if free else 1)
    ]
    return float(np.mean(values)) if values else None


SINE = [
    Encoding("sinusoidal", 4, 4, 7.0),
    Encoding("sinusoidal", 5, 5, 10000.0),
    Encoding("sinusoidal", 1, 1, 3.0),
]
TURN = [
    Encoding("rotary", 4, 4, 7.0),
    Encoding("rotary", 5, 2, 100.0),
    Encoding("rotary", 6, 4, 0.5),
]
SINE_PARTS = [
    ((("f_t", (-1,)),),),
    ((("f_t", (-1,)),), (("f_s", (-1,)),)),
    (power_sum(t=1, s=1), power_sum(t=1, s=1)),
    (power_sum(t=1, s=1), power_sum(t=1, r=1)),
    (power_sum(t=3), power_sum(s=1)),
    (power_sum(t=2, s=2),),
    (power_sum(t=1, s=1), (("f_s", (-1,)), ("f_t", (-1,)), ("f_t", (-1,)))),
    (power_sum(t=1), power_sum(s=1), power_sum(r=2)),
    (power_sum(t=1, s=1),) * 4,
]
TURN_PARTS = [
    ((("R_t", (-1, 0)),),),
    ((("R_s", (-1, 0)), ("R_t", (-1, 0))),),
    ((("R_s", (-1, 0)), ("R_t", (-1, 1))),),
    ((("R_ts", (0, 0)),),),
    ((("R_ts", (0, 1)), ("R_ts", (0, 1))),),
    ((("R_ts", (0, 1)), ("R_ts", (1, 0))),),
    ((("R_ts", (0, 1)), ("R_tr", (0, 1))),),
    ((("R_ts", (0, 0)),), (("R_ts", (0, 1)),), (("R_ts", (0, 1)),)),
    ((("R_t", (-1, 0)),), (("R_t", (-1, 0)),), (("R_t", (-1, 1)),)),
]
CASES = list(itertools.product(SINE, SINE_PARTS)) + list(itertools.product(TURN, TURN_PARTS))


@pytest.mark.parametrize(("encoding", "parts"), CASES)
def test_three_routes_to_an_average(encoding, parts):
    scale = max(encoding.width, 2) ** sum(len(part) for part in parts)
    sums, labels = [wave_sum(encoding, part) for part in merge_free(parts)], _labels(parts)
    for n in (1, 2, 5):
        true = slow_average(encoding, parts, n)
        got = place_average(encoding, parts, n)
        if true is None:
            assert got is None
            continue
        routes = [got, _distinct(lambda blocks, n=n: spectral_mean(sums, blocks, n), labels, n)]
        grids = matrices(sums, labels, n)
        routes.append(_distinct(lambda b, n=n, g=grids: matrix_mean(g, labels, b, n), labels, n))
        if len(labels) <= 2:
            routes.append(by_distance(sums, labels, n))
        for route in routes:
            assert route is None or route == pytest.approx(true, rel=0, abs=1e-13 * scale)


@pytest.mark.parametrize("encoding", SINE + TURN)
def test_one_place(encoding):
    for parts in SINE_PARTS if encoding.kind == "sinusoidal" else TURN_PARTS:
        for part in parts:
            place = {"t": 3, "s": 1, "r": 7}
            for channel in range(encoding.width):
                free = any(i < 0 for _, indices in part for i in indices)
                got = wave_sum(encoding, part, channel if free else None).at(place)
                assert got == pytest.approx(
                    contraction(encoding, part, place, channel), rel=0, abs=1e-12
                )


def test_fourth_powers_of_inner_products_are_known_up_to_1e5_positions():
    fourth = (power_sum(t=1, s=1),) * 4
    wide = Encoding("sinusoidal", 512, 512, 10000.0)
    assert place_average(wide, fourth, 10**5) > 0
    assert place_average(wide, fourth, 10**6) is None
    table = slow_table(200, 512, 10000.0)
    assert place_average(wide, fourth, 200) == pytest.approx(
        apart((table @ table.T) ** 4), rel=1e-12
    )
