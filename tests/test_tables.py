"""Tables: every number reads back, points line up, and what is shown is what was computed."""

import html
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import varprop
from varprop.agreement import Check, Row
from varprop.report.tables import COLUMNS, latex, prediction_html
from varprop.report.text import aligned, number, spread, title
from varprop.simulation.estimates import Estimate, notation, write

FINITE = st.floats(allow_nan=False, allow_infinity=False)
POSITIVE = st.floats(1e-290, 1e290)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (math.nan, "-"),
        (0.0, "0"),
        (-0.0, "0"),
        (144.0, "144"),
        (1 / 3, "0.33333"),
        (-2.25, "-2.25"),
        (1.953125e-7, "1.9531e-07"),
        (1.36e9, "1.36e+09"),
        (math.inf, "inf"),
    ],
)
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (0.5, "0.5"),
        (None, "-"),
        (np.array([2.0, 0.5, 1.0]), "0.5 .. 2"),
        (np.array([[1.0], [1.0]]), "1"),
        (np.array([2.0, np.nan]), "2*"),
        (np.array([np.nan, np.nan]), "-"),
    ],
)
def test_spread(values, text):
    assert spread(values) == text


@given(st.lists(st.one_of(st.none(), FINITE), min_size=1))
def test_points_line_up_and_numbers_read_back(values):
    lines = aligned([("label", "heading"), *(("row", number(x)) for x in values)], 1, headings=1)
    units = {re.match(r"row +(-?[0-9]+|-)", line).end() for line in lines[1:]}
    assert len(units) == 1
    for line, value in zip(lines[1:], values, strict=True):
        cell = line.split()[1]
        assert cell == "-" if value is None else float(cell) == float(f"{value:.5g}")


def test_headings_are_flush_right():
    assert aligned([("", "wide_heading"), ("a", "1.25")], 1, headings=1) == [
        "   wide_heading",
        "a          1.25",
    ]


SPECS = [
    {},
    {"d_model": 6, "n_heads": 1, "seq_len": 1, "position": "none"},
    {"position": "rotary", "norm": "rmsnorm(eps=0)", "segment": "normal(std=0.02)"},
    {"d_model": 8, "n_heads": 2, "embedding_scale": 1e6, "seq_len": 3, "dropout": 0.25},
]


@pytest.mark.parametrize("fields", SPECS)
def test_prediction_table_shows_what_was_predicted(fields):
    prediction = varprop.predict(**fields)
    heading, blank, first, second, *rows, space, shares = str(prediction).split("\n")
    assert heading.startswith("Prediction: ")
    assert [blank, space] == ["", ""]
    assert all(name in heading for name in fields)
    above = ["".join(column.rpartition("_")[:2]) for column in COLUMNS]
    assert first.split() == [words for words in above if words]
    assert second.split() == ["stage", *(column.rpartition("_")[2] for column in COLUMNS)]
    assert [row.split()[0] for row in rows] == list(prediction)
    for row in rows:
        stage, *cells = row.split()
        expected = [getattr(prediction[stage], column) for column in COLUMNS]
        assert cells == ["-" if value is None else f"{value:z.5g}" for value in expected]
    parts = re.findall(r"([0-9.e-]+) % (\w+)", shares)
    known = prediction["input"].shares
    assert {part: float(text) for text, part in parts} == {
        part: float(f"{100 * share:.4g}") for part, share in known.items()
    }


def test_prediction_table_of_arrays_shows_ranges():
    widths = np.array([128, 256, 512])
    text = str(varprop.predict(d_model=widths, seq_len=np.array([[2], [5]])))
    assert "arrays of shape (2, 3)" in text
    assert "d_model=(128 .. 512)" in text
    embedding = next(line for line in text.split("\n") if line.startswith("embedding"))
    assert f"{1 / 512:.3g} .. {1 / 128:.3g}" in embedding
    scores = next(line for line in text.split("\n") if line.startswith("scores"))
    assert scores.endswith("*")  # no row_variance at seq_len 2


def test_a_million_entries_print_in_a_few_lines():
    scales = np.linspace(1, 2, 10**6)
    initializer = varprop.normal(std=scales)
    text = str(varprop.predict(embedding_scale=scales, embedding=initializer, position="none"))
    assert max(map(len, text.split("\n"))) < 400


def test_nothing_in_the_input():
    prediction = varprop.predict(embedding="zeros", position="none")
    assert str(prediction).endswith("input: identically 0")


def test_title_names_what_differs_and_nothing_else():
    spec = varprop.TransformerSpec(
        shared_qk=True, query="identity", dropout=0.5, position="learned"
    )
    assert title("Prediction", spec) == (
        "Prediction: d_model=512, n_heads=8, d_head=512, seq_len=128, vocab_size=37000, "
        "position=learned(normal(std=0.02)), dropout=0.5, query=identity, shared_qk=True"
    )


def test_html_has_a_formula_per_stage():
    prediction = varprop.predict(position="learned", segment="normal(std=0.02)")
    text = prediction_html(prediction)
    rows = re.findall(r"<tr>(<td>.*?)</tr>", text)
    assert len(rows) == len(prediction)
    for row, (stage, moments) in zip(rows, prediction.items(), strict=True):
        cells = [html.unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", row)]
        assert cells[0] == stage
        assert cells[1 + COLUMNS.index("variance")] == number(moments.variance)
        formula = latex(prediction.formula(stage, "variance"))
        assert cells[-1] == rf"$\mathrm{{Var}} = {formula}$"
    assert prediction._repr_html_() == text


def test_html_of_arrays_has_no_formula():
    rows = prediction_html(varprop.predict(embedding_scale=np.array([1.0, 2.0]))).split("\n")
    scaled = next(row for row in rows if row.startswith("<tr><td>scaled_embedding"))
    assert "<td>0.00195 .. 0.00781</td>" in scaled
    assert scaled.endswith("<td></td></tr>")


def test_latex_has_upright_indices():
    formula = varprop.predict(position="none", query="normal(std=1)").formula("query", "variance")
    assert latex(formula) == r"d_{\mathrm{model}}"


@given(FINITE, POSITIVE)
def test_what_is_not_shown_is_small_beside_the_standard_error(value, stderr):
    common = notation(stderr, value)
    if common is None:
        assert float(write(value, None)) == float(f"{value:.10g}")
        return
    assert abs(float(write(value, common)) - value) < stderr / 10
    digits = re.sub(r"e.*|\D", "", write(stderr, common)).lstrip("0")
    assert float(write(stderr, common)) == float(f"{stderr:.1e}") or len(digits) > 2


def test_check_table_matches_digits_to_the_standard_error():
    result = varprop.check(d_model=8, n_heads=2, seq_len=4, replicates=60, position="learned")
    heading, _, _, *lines, _, verdict = str(result).split("\n")
    assert heading == title("Check", result.spec)
    assert verdict.startswith("passed: all ") == result.passed
    for line, row in zip(lines, result, strict=True):
        stage, attribute, predicted, measured, stderr, z, *remark = line.split(maxsplit=6)
        assert (stage, attribute) == (row.stage, row.attribute)
        if row.z is None:
            assert remark == [row.note]
            continue
        mantissas = [text.partition("e")[0] for text in (predicted, measured, stderr)]
        if notation(row.measured.stderr, row.predicted, row.measured.value):
            assert len({len(mantissa.partition(".")[2]) for mantissa in mantissas}) == 1
        assert z == f"{row.z:z.2f}"
        assert remark == (["not judged"] if attribute == "excess_kurtosis" else [])


def test_check_table_of_a_failure():
    rows = [
        Row("input", "mean", 0.0, Estimate(0.0, 0.0), 0.0),
        Row("input", "variance", 1.5, Estimate(1.7, 0.02), 10.0),
        Row("input", "std", 1e9, Estimate(1.3, 0.02), -9e10),
        Row("input", "excess_kurtosis", 0.0, Estimate(9.0, 1.0), 9.0),
        Row("input", "row_variance", None, Estimate(1.25, math.inf), None, "no prediction"),
    ]
    result = Check(varprop.TransformerSpec(), rows, replicates=7, seed=3)
    assert not result.passed
    lines = [" ".join(line.split()) for line in str(result).split("\n")]
    assert lines[3:8] == [
        "input mean 0 0 0 0.00",
        "input variance 1.500 1.700 0.020 10.00 FAILED",
        "input std 1.000000000000e+09 0.000000001300e+09 0.000000000020e+09 -9e+10 FAILED",
        "input excess_kurtosis 0.0 9.0 1.0 9.00 not judged",
        "input row_variance - 1.25 inf - no prediction",
    ]
    assert str(result).endswith(
        "failed: 2 of 3 judged rows (7 replicates, seed 3): input.variance, input.std"
    )


def test_measurement_prints_in_the_same_way():
    measured = varprop.measure(d_model=8, n_heads=2, seq_len=4, replicates=60)
    lines = str(measured).split("\n")
    assert lines[0] == title("Measurement", measured.spec)
    assert lines[2].split()[:3] == ["stage", "mean", "variance"]
    assert [line.split()[0] for line in lines[3:-2]] == list(measured)
    assert str(measured["logits"].variance) in "\n".join(lines)
    assert lines[-1] == "60 replicates, seed 0"
