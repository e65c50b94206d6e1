"""Predictions agree with measurements, with formulas, and with numbers worked out by hand."""

import math
from pathlib import Path

import pytest
import sympy

from varprop.claims import CLAIMS, Inputs, decide
from varprop.claims.deciding import decide_claim
from varprop.claims.softmaxes import predicted as softmax_predicted
from varprop.claims.softmaxes import softmax
from varprop.report.claims_page import decisions

DERIVATIONS = Path(__file__).parents[2] / "derivations"
RECORDED = {decision.id: decision for decision in decisions(DERIVATIONS)[0]}


def findings(id):
    return [finding for each in RECORDED[id].readings for finding in each.findings]


def test_recorded_measurements_agree():
    scores = [finding.z for id in RECORDED for finding in findings(id)]
    assert len(scores) > 200
    assert max(map(abs, scores)) < 5
    assert all(f.measured is not None for id in RECORDED for f in findings(id))


@pytest.mark.parametrize("id", ["A1", "A4", "A7", "A9", "B2", "B3", "B8", "B23", "B30", "B36"])
def test_the_record_is_what_is_measured_now(id):
    """On the same machine to the last bit; elsewhere the same within the errors."""
    for again, before in zip(decide(id).readings, RECORDED[id].readings, strict=True):
        for new, old in zip(again.findings, before.findings, strict=True):
            assert new.predicted == pytest.approx(old.predicted, rel=1e-12)
            spread = 8 * math.hypot(new.measured.stderr, old.measured.stderr)
            assert abs(new.measured.value - old.measured.value) <= spread + 1e-9


@pytest.mark.parametrize(
    ("id", "inputs"),
    [
        ("A1", {"std": 0.3, "d_model": 48}),
        ("A2", {"d_model": 64, "n_heads": 2, "std": 0.2}),
        ("A5", {"d_head": 5, "bound": 0.5}),
        ("A12", {"d_model": 32, "n_heads": 2, "vocab_size": 100}),
        ("A16", {"d_model": 32, "n_heads": 2}),
        ("B2", {"d_model": 3, "n_heads": 1}),
        ("B3", {"d_model": 4, "std": 2}),
        ("B8", {"d_model": 7, "seq_len": 50}),
        ("B23", {"d_model": 6, "std": 0.01}),
        ("B24", {"d_model": 64, "n_heads": 4}),
        ("B30", {"seq_len": 7, "logit_variance": 3}),
        ("B38", {"d_model": 64, "std": 0.2}),
    ],
)
def test_other_inputs_agree_too(id, inputs):
    decision = decide(id, **inputs)
    assert all(abs(f.z) < 5 for each in decision.readings for f in each.findings)
    assert any(f.measured is not None for each in decision.readings for f in each.findings)


TRUTHS = [
    ("A1", 0, 512),
    ("A1", 2, 512 * 1e-4 / 3),
    ("A1", 3, 1024 / 37512),
    ("A2", 1, 1 / 8),
    ("A3", 0, math.erf(0.01 / math.sqrt(2))),
    ("A5", 0, 8 * 1e-4 / 3),
    ("A5", 2, 512**0.5 * 1e-4 / 3),
    ("A9", 0, 1),
    ("A14", 1, 2 / 3),
    ("A14", 0, 512 / 512.5),
    ("A16", 2, 13 / (12 + 1 / 512)),
    ("B2", 0, 512**0.5 * (1 - 1 / (4 * 512))),
    ("B3", 1, 0.5),
    ("B3", 2, 1024),
    ("B5", 0, 2),
    ("B10", 2, 2),
    ("B19", 0, 512**-2),
    ("B33", 0, 1 / 3),
    ("B34", 0, 512**-2 / (512**-2 + 0.5)),
    ("B36", 1, 2),
    ("B37", 0, 512**0.5),
    ("B38", 0, 512**-2),
]


@pytest.mark.parametrize(("id", "place", "value"), TRUTHS)
def test_values_by_hand(id, place, value):
    assert RECORDED[id].readings[place].predicted == pytest.approx(value, rel=1e-3)


SIZES = {"d": 512, "h": 64, "V": 37000, "n": 128, "b": 0.01, "c": 512**0.5, "l": 0.125}
FORMULAS = [
    ("A1", {"s": 1}, 0, 0),
    ("A2", {"s": 512**-0.5}, 0, 0),
    ("A3", {"s": 1}, 0, 0),
    ("A4", {}, 0, 1),
    ("A5", {}, 0, 0),
    ("A6", {"v": 64e-8 / 9}, 0, 0),
    ("A7", {}, 0, 4),
    ("A8", {"s": 1}, 0, 0),
    ("A9", {"s": 1}, 0, 0),
    ("A10", {"s": 1}, 1, 1),
    ("A11", {}, 0, 0),
    ("A12", {"s": 1}, 0, 1),
    ("A13", {"s": 512**-0.5}, 1, 0),
    ("A14", {"s": 512**-0.5}, 1, 0),
    ("A16", {}, 0, 0),
    ("B1", {}, 0, 0),
    ("B2", {"s": 1}, 0, 0),
    ("B3", {"s": 1}, 0, 0),
    ("B6", {"s": 1}, 0, 0),
    ("B7", {"s": 1}, 0, 0),
    ("B8", {}, 0, 0),
    ("B9", {"s": 1}, 2, 0),
    ("B10", {}, 0, 0),
    ("B14", {"s": 1}, None, 512),
    ("B16", {"s": 1}, 0, 0),
    ("B17", {"s": 512**-0.5}, 1, 0),
    ("B19", {"s": 1}, 0, 0),
    ("B20", {"s": 1}, 0, 0),
    ("B21", {"s": 1, "a": 1 / 512, "h": 64, "l": 1}, None, 64**-0.25),
    ("B21", {"s": 1, "a": 1}, None, 512**-0.5),
    ("B25", {"s": 512**-0.5}, 4, 2),
    ("B26", {"v": 4e-4, "eps": 1e-5}, 1, 0),
    ("B27", {"s": 1}, 0, 0),
    ("B28", {}, 4, 0),
    ("B31", {"s": 1}, 0, 0),
    ("B33", {"s": 1}, 0, 0),
    ("B34", {"s": 1}, 0, 0),
    ("B36", {"w": 1 / 512}, 1, 0),
    ("B37", {}, 0, 0),
    ("B38", {"s": 1}, 2, 1),
]


@pytest.mark.parametrize(("id", "values", "place", "part"), FORMULAS)
def test_formulas_give_the_predictions(id, values, place, part):
    _, _, text = CLAIMS[id].formula.rpartition(" = ")
    symbols = {name: sympy.Symbol(name) for name in (*SIZES, "s", "a", "v", "w", "eps")}
    value = float(sympy.sympify(text, locals=symbols).subs(SIZES | values))
    known = part if place is None else RECORDED[id].readings[place].findings[part].predicted
    assert value == pytest.approx(known, rel=1e-4)


def test_claims_share_their_numbers():
    """Two claims about one number say the same."""

    def number(id, place):
        return RECORDED[id].readings[place].findings[0]

    pairs = [
        (("A13", 0), ("A14", 0)),
        (("A1", 0), ("B6", 0)),
        (("A1", 0), ("A12", 0)),
        (("A8", 1), ("B3", 0)),
        (("A11", 0), ("B1", 0)),
    ]
    for one, other in pairs:
        assert number(*one).predicted == pytest.approx(number(*other).predicted, rel=1e-12)
        values = (number(*each).measured.value for each in (one, other))
        assert next(values) == pytest.approx(next(values), rel=1e-9)


def test_the_gradient_is_relative_to_variance_one():
    assert softmax(16, 1.0, "gradient").predict() == 1
    value = softmax(16, 9.0, "gradient").predict()
    assert value == softmax_predicted(16, 9.0, "gradient") / softmax_predicted(16, 1.0, "gradient")


def test_too_large_to_measure_is_said():
    decision = decide("A12", d_model=4096, n_heads=32, vocab_size=128256, std=0.01)
    loss = decision.readings[0].findings[2]
    assert loss.measured is None
    assert "not measured at this size" in str(decision)


def test_a_new_claim_starts_from_inputs_only():
    for claim in CLAIMS.values():
        first, second = (decide_claim(claim, Inputs(), lambda *_: None) for _ in range(2))
        assert first == second
