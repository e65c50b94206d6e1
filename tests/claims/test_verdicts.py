"""Verdicts follow from numbers: other inputs give other numbers, and other verdicts."""

import math

import pytest

from varprop.claims import CLAIMS, Inputs, audit, decide
from varprop.claims.deciding import decide_claim
from varprop.claims.quantities import Quantity
from varprop.claims.records import (
    DISAGREEMENT,
    FAILS,
    HOLDS,
    HOLDS_IF,
    UNDECIDABLE,
    Assertion,
    Claim,
    DecidedReading,
    Finding,
    Reading,
    verdict_of,
)
from varprop.claims.relations import about, at_least, between, exponent, printed, unlike
from varprop.simulation.estimates import Estimate


def predicted(id, **inputs):
    """The decision by the predictions alone."""
    return decide_claim(CLAIMS[id], Inputs(**inputs), lambda *_: None)


PAPER = "1/sqrt(d_model)"
FLIPS = [
    ("A1", {"std": PAPER}, HOLDS),
    ("A1", {"std": 1 / math.sqrt(512)}, HOLDS),
    ("A1", {"std": 1}, FAILS),
    ("A1", {"embedding": "xavier_uniform", "vocab_size": 512}, HOLDS),
    ("A2", {"std": PAPER, "n_heads": 1}, HOLDS),
    ("A2", {"std": 1}, FAILS),
    ("A3", {"std": 0.002}, HOLDS),
    ("A4", {"d_model": 256}, FAILS),
    ("A5", {"d_head": 9}, HOLDS_IF),
    ("A6", {"bound": 1}, FAILS),
    ("A6", {"logit_variance": 4}, FAILS),
    ("A7", {"logit_variance": 4}, HOLDS),
    ("A8", {"std": 2}, FAILS),
    ("A9", {"d_model": 1, "n_heads": 1}, HOLDS),
    ("A10", {"factor": 1, "std": 1}, HOLDS_IF),
    ("A11", {"std": 1}, HOLDS),
    ("A12", {"std": PAPER}, HOLDS),
    ("A12", {"std": PAPER, "vocab_size": 50}, FAILS),
    ("A13", {"std": PAPER}, HOLDS),
    ("A13", {"std": 1}, FAILS),
    ("A14", {"std": 1}, FAILS),
    ("A14", {"factor": 1, "std": 1}, HOLDS),
    ("A15", {"std": PAPER}, HOLDS_IF),
    ("A16", {"factor": 1}, FAILS),
    ("B1", {"d_model": 1, "n_heads": 1, "vocab_size": 1}, HOLDS),
    ("B2", {"d_model": 2, "n_heads": 1}, HOLDS_IF),
    ("B3", {"std": 2}, FAILS),
    ("B4", {"std": 1}, HOLDS),
    ("B5", {"std": 16}, HOLDS),
    ("B6", {"std": 2}, FAILS),
    ("B7", {"std": 2}, FAILS),
    ("B8", {"seq_len": 100_000}, HOLDS),
    ("B9", {"std": 0.5}, FAILS),
    ("B10", {"factor": 0.5}, HOLDS_IF),
    ("B11", {"std": 1}, FAILS),
    ("B13", {"std": PAPER}, FAILS),
    ("B14", {"std": "sqrt(d_model)"}, FAILS),
    ("B16", {"std": 16}, HOLDS),
    ("B17", {"std": 1}, HOLDS),
    ("B18", {"std": 0.01}, FAILS),
    ("B20", {"std": 2}, FAILS),
    ("B25", {"std": 1}, FAILS),
    ("B26", {"std": 1}, HOLDS),
    ("B27", {"std": "1/d_model"}, FAILS),
    ("B30", {"logit_variance": 1e6}, HOLDS),
    ("B30", {"logit_variance": 1}, FAILS),
    ("B31", {"d_model": 1, "n_heads": 1}, HOLDS),
    ("B32", {"std": PAPER}, FAILS),
    ("B33", {"std": 10}, HOLDS),
    ("B34", {"std": 512}, FAILS),
    ("B38", {"std": 1}, FAILS),
]


@pytest.mark.parametrize(("id", "inputs", "verdict"), FLIPS)
def test_a_verdict_flips_with_its_inputs(id, inputs, verdict):
    assert predicted(id, **inputs).verdict == verdict


def test_the_flips_change_verdicts_of_many_claims():
    changed = {id for id, _, verdict in FLIPS if predicted(id).verdict != verdict}
    assert len(changed) >= 30


@pytest.mark.parametrize(
    ("id", "inputs"),
    [
        ("B12", {"std": "sqrt(d_model)"}),
        ("B14", {"std": PAPER}),
        ("B19", {"std": "sqrt(d_model)"}),
        ("B21", {"std": PAPER}),
        ("B23", {"std": 0.001}),
        ("B36", {"std": 0.035}),
    ],
)
def test_readings_flip_with_their_inputs(id, inputs):
    before, after = ([each.holds for each in predicted(id, **x).readings] for x in ({}, inputs))
    assert before != after


def test_the_condition_is_the_edge_of_the_verdict():
    """Just inside the printed range of stds the claim holds, just outside it does not."""
    for id in ("A12", "A14"):
        words = predicted(id).condition.rpartition("std from ")[2].split(" to ")
        low, high = map(float, words)
        inside = [predicted(id, std=std).verdict for std in (low * 1.001, high / 1.001)]
        outside = [predicted(id, std=std).verdict for std in (low / 1.001, high * 1.001)]
        assert inside == [HOLDS] * 2
        assert outside == [FAILS] * 2


UNDECIDED = {"A17", "B22", "B28", "B29", "B39", "B40"}


def test_every_claim_is_there_and_has_a_verdict():
    ids = [f"A{i}" for i in range(1, 18)] + [f"B{i}" for i in range(1, 41)]
    assert list(CLAIMS) == ids
    found = {id: predicted(id) for id in CLAIMS}
    assert {id for id, d in found.items() if d.verdict == UNDECIDABLE} == UNDECIDED
    for decision in found.values():
        assert decision.verdict in (HOLDS, HOLDS_IF, FAILS, UNDECIDABLE)
        assert bool(decision.condition) or decision.verdict in (HOLDS, FAILS)


# The rule


def decided(*holds, z=0.0):
    return [
        DecidedReading("", (Finding("", "", 1.0, Estimate(1.0 + z, 1.0), each),)) for each in holds
    ]


@pytest.mark.parametrize(
    ("readings", "verdict"),
    [
        (decided(True, True), HOLDS),
        (decided(True, None), HOLDS),
        (decided(True, False), HOLDS_IF),
        (decided(False), FAILS),
        (decided(None, None), UNDECIDABLE),
        ([], UNDECIDABLE),
        (decided(True, z=5.5), DISAGREEMENT),
        (decided(None, z=-5.5), DISAGREEMENT),
    ],
)
def test_the_rule(readings, verdict):
    assert verdict_of(readings) == verdict


def test_a_reading_holds_if_all_its_assertions_do():
    def claim(*values):
        parts = tuple(
            Assertion(str(v), Quantity(lambda v=v: v, lambda v=v: Estimate(v, 0.1)), about(1))
            for v in values
        )
        return Claim("A0", "", "", "", lambda _: [Reading("", parts)], "", "", "")

    assert decide_claim(claim(1.0, 1.04), Inputs()).verdict == HOLDS
    decision = decide_claim(claim(1.0, 1.06), Inputs())
    assert decision.verdict == FAILS
    assert decision.readings[0].predicted == 1.06


def test_a_wrong_prediction_is_a_disagreement():
    wrong = Assertion("x", Quantity(lambda: 1.0, lambda: Estimate(1.6, 0.1)), about(1))
    claim = Claim("A0", "", "", "", lambda _: [Reading("", (wrong,))], "", "", "")
    decision = decide_claim(claim, Inputs())
    assert decision.verdict == DISAGREEMENT
    assert "z = 6.0" in decision.summary


@pytest.mark.parametrize(
    ("relation", "true", "false"),
    [
        (about(512), (486.5, 537.5), (486.3, 537.7)),
        (about(-2), (-2.09, -1.91), (-2.11, 2)),
        (exponent(2), (1.951, 2.049), (1.949, 2.051)),
        (printed("0.226"), (0.22551, 0.22649), (0.2254, 0.2266)),
        (printed("22.6"), (22.627,), (22.66,)),
        (at_least(0.5), (0.5, 9), (0.49, math.nan)),
        (between(0.1, 10), (0.1, 10), (0.09, 11)),
        (unlike(1), (0.94, 1.06), (0.96, 1.04)),
    ],
)
def test_relations(relation, true, false):
    assert all(map(relation.holds, true))
    assert not any(map(relation.holds, false))


# Inputs


def test_ids_in_any_case_and_inputs_as_text():
    assert decide("a4").id == "A4"
    assert predicted("A1", std=PAPER).readings[0].predicted == pytest.approx(1)
    assert predicted("A1", factor="2*4", std=0.5).readings[0].predicted == 16


@pytest.mark.parametrize(
    ("id", "inputs", "error"),
    [
        ("A99", {}, ValueError),
        (7, {}, ValueError),
        ("A1", {"stdd": 1}, TypeError),
        ("A1", {"std": -1}, ValueError),
        ("A1", {"std": "wide"}, ValueError),
        ("A1", {"std": 1, "embedding": "zeros"}, ValueError),
        ("A1", {"embedding": "zeros"}, ValueError),
        ("A1", {"d_model": 512.0}, TypeError),
        ("A1", {"d_model": 0}, ValueError),
        ("A1", {"factor": 0}, ValueError),
        ("A12", {"vocab_size": 1}, ValueError),
    ],
)
def test_wrong_input_is_one_line(id, inputs, error):
    with pytest.raises(error) as caught:
        decide(id, **inputs)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_audit_takes_ids_and_inputs():
    decisions = audit(["A8", "B20"], progress=False, d_model=64, n_heads=4)
    assert [d.id for d in decisions] == ["A8", "B20"]
    assert decisions[0].readings[0].predicted == pytest.approx(64)
