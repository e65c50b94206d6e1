"""The tables and statements of the page on half precision, by casts and by other integrals."""

import math
import re

import ml_dtypes
import mpmath
import numpy as np
import pytest
from scipy import stats

from varprop.report.comparisons import measured
from varprop.report.pages.half_precision_runs import COMPARISONS

from .conftest import PAGES
from .markdown import prose, tables
from .truths.half_precision import KINDS, all_numbers

PAGE = PAGES["half_precision.md"]
TABLES = {table.name: table for table in tables(PAGE)}
DIGITS = {"float16": 10, "bfloat16": 7, "float8_e4m3fn": 3, "float8_e5m2": 2}


def test_formats():
    rows = TABLES["half.formats"].rows
    assert [row[0].strip("`") for row in rows] == list(DIGITS)
    for name, *cells in rows:
        digits = DIGITS[name.strip("`")]
        kind, numbers = KINDS[digits], all_numbers(digits)
        total, one = kind.type(0), kind.type(1)
        while total + one != total:
            total = total + one
        known = [digits, numbers[-1], 1.5 * numbers[-1] - numbers[-2] / 2, numbers[1] / 2]
        known += [float(ml_dtypes.finfo(kind).eps), float(total)]
        assert [float(cell) for cell in cells] == pytest.approx(known, rel=5e-6)
    e4m3 = KINDS[3]
    assert float(np.float32(464).astype(e4m3)) == 448
    assert math.isnan(np.nextafter(np.float32(464), np.float32(999)).astype(e4m3))


def test_factors():
    for width, *cells in TABLES["half.factors"].rows:
        d = int(width.replace(",", ""))
        for kind, factor, variance in zip(
            (KINDS[10], KINDS[7]), cells[::2], cells[1::2], strict=True
        ):
            rounded = float(np.float32(math.sqrt(d)).astype(kind))
            assert float(factor) == rounded
            assert variance == f"{rounded**2 / d:.6f}"
            assert abs(rounded**2 / d - 1) < float(ml_dtypes.finfo(kind).eps) * 1.01


def variance_gamma(z, h):
    """P(|sum of h products| >= z sqrt(h)) from the density with a Bessel function."""
    v, a = mpmath.mpf(h - 1) / 2, z * math.sqrt(h)

    def density(x):
        return (x / 2) ** v * mpmath.besselk(v, x) / mpmath.sqrt(mpmath.pi) / mpmath.gamma(v + 0.5)

    ends = [a + step * math.sqrt(h) for step in (0, 1, 2, 4, 8, 16)]
    return float(2 * mpmath.quad(density, [*ends, mpmath.inf]))


def test_tails():
    _, header, rows = TABLES["half.tails"]
    heads = [int(cell.split()[1]) for cell in header[2:]]
    for stds, normal, *cells in rows:
        z = float(stds)
        assert float(normal) == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-3)
        for head, cell in zip(heads, cells, strict=True):
            assert float(cell) == pytest.approx(variance_gamma(z, head), rel=1e-3)
            assert float(cell) > float(normal)


def test_widths():
    for width, head, away, raw, logit in TABLES["half.widths"].rows:
        d, h = int(width.replace(",", "")), int(head)
        assert away == f"{65520 / math.sqrt(d):,.0f}"
        for cell, threshold in ((raw, 65520), (logit, 65520 * math.sqrt(h))):
            known = variance_gamma(threshold / d / math.sqrt(h), h)
            assert float(cell) == pytest.approx(known, rel=1e-3, abs=1e-300)


def noise(law, digits):
    """The mean square of rounding over every half cell of the format."""
    numbers = all_numbers(digits)
    ends = np.sort(np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2]))
    ends = np.append(ends[ends < 9 * law.std()], 9 * law.std())
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half, middle = np.diff(ends)[:, None] / 2, (ends[1:] + ends[:-1])[:, None] / 2
    x = middle + half * nodes
    rounded = x.astype(KINDS[digits]).astype(float)
    return 2 * (np.square(rounded - x) * law.pdf(x) * half * weights).sum()


def test_query_scaling():
    for head, scale, added, factor in TABLES["half.query"].rows:
        exact = 1 / math.sqrt(int(head))
        rounded = float(np.float16(exact))
        assert float(scale) == pytest.approx(rounded, rel=1e-7)
        assert factor == f"{(rounded / exact) ** 2:.6f}"
        power_of_two = math.log2(exact).is_integer()
        known = 0.0 if power_of_two else noise(stats.norm(0, exact), 10) / exact**2
        assert float(added) == pytest.approx(known, rel=1e-3)


def estimate(cell):
    """Read "1.5 ± 0.1" or "(1.5 ± 0.1)e-04"."""
    inside, _, power = cell.removeprefix("(").partition(")")
    return (float(part + power) for part in inside.split(" ± "))


@pytest.mark.parametrize("name", [comparison.name for comparison in COMPARISONS])
def test_comparisons(name):
    """Fresh numbers from another seed are close to the recorded ones and to what is predicted."""
    comparison = next(one for one in COMPARISONS if one.name == name)
    fewer = comparison._replace(
        seed=9, simulate=lambda *case, seed: comparison.simulate(*case, seed=seed, replicates=2000)
    )
    again = [row for case in measured(fewer)["measured"] for row in case.values()]
    _, header, rows = TABLES[name]
    predicted, recorded, z = (header.index(word) for word in ("predicted", "measured", "z"))
    assert len(rows) == len(again)
    for row, (value, stderr) in zip(rows, again, strict=True):
        known, (old, error) = float(row[predicted]), estimate(row[recorded])
        assert abs(float(row[z])) <= 5
        assert abs(old - known) <= 6 * error
        assert abs(value - old) <= 6 * math.hypot(stderr, error)


def quoted(*quotes):
    text = prose(PAGE)
    for quote in quotes:
        assert quote in text, quote


def test_a_normal_law_is_within_one_per_cent_of_the_average():
    quoted("a normal one within 1%", "A normal number loses about 4e-8", "3e-6 in `bfloat16`")
    for digits, about in ((10, 4e-8), (7, 3e-6), (2, None)):
        average = 2.0 ** (-2 * digits) / (32 * math.log(2))
        ratios = [noise(stats.norm(0, s), digits) / s**2 for s in 2 ** np.linspace(0, 1, 9)]
        assert max(abs(ratio / average - 1) for ratio in ratios) < 0.01 or digits == 2
        assert about is None or all(f"{ratio:.0e}" == f"{about:.0e}" for ratio in ratios)


def test_the_largest_of_all_entries():
    quoted("65520 is 1,024 of those away: the largest of all entries has six")
    assert round(65520 / 64) == 1024
    entries = 37000 * 4096
    largest = stats.norm.isf(1 / entries / 2)
    assert round(float(largest)) == 6


def test_sums_of_symmetric_terms():
    quoted("at most twice as often")
    rng, z = np.random.default_rng(0), 2.5
    sums = np.cumsum(rng.standard_normal((20000, 64)) * rng.standard_normal((20000, 64)), axis=1)
    last = (abs(sums[:, -1]) >= z * 8).mean()
    ever = (abs(sums) >= z * 8).any(axis=1).mean()
    assert last < ever < 2 * last


def test_thresholds_in_words():
    quoted("65520 squared is 4.3e9", "$1/\\lambda$ times as large")
    assert f"{65520**2:.1e}" == "4.3e+09"
    assert re.search(r"\| `float16` \| 10 \| 65504 \| 65520 \|", PAGE)
