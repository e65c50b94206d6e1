"""The command, its JSON, and the page."""

import json
import re
import unicodedata
from pathlib import Path

import pytest

from varprop.claims import CLAIMS, decide, torch_record
from varprop.cli import main
from varprop.report import claims_page
from varprop.report.claims_page import PAGE, page

DERIVATIONS = Path(__file__).parents[2] / "derivations"

WRITTEN = (DERIVATIONS / PAGE).read_text(encoding="utf-8")


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["claims", *arguments])
    return stopped.value.code, *capsys.readouterr()


def test_one_claim_in_full(capsys):
    status, out, err = run(capsys, "A9")
    assert (status, err) == (0, "")
    for part in ("A9", "document A", "formula", "1.0000", "no", "verdict: fails", "Remember"):
        assert part in out
    assert max(map(len, out.splitlines())) <= 140


def test_several_claims_in_a_table(capsys):
    status, out, _ = run(capsys, "b6", "A4", "B39")
    head, *rows, _, count = out.splitlines()
    assert status == 0
    assert head.split()[:3] == ["id", "claim", "verdict"]
    assert [row.split()[0] for row in rows] == ["B6", "A4", "B39"]
    assert count == "3 claims: 2 holds, 1 undecidable"
    assert len({row.index(CLAIMS[row.split()[0]].short) for row in rows}) == 1


def test_json(capsys):
    status, out, _ = run(capsys, "A3", "B3", "B39", "--json")
    data = json.loads(out)
    assert status == 0
    assert [each["id"] for each in data] == ["A3", "B3", "B39"]
    keys = {"id", "document", "section", "statement", "verdict", "condition", "summary", "readings"}
    for each in data:
        assert keys <= set(each)
        assert each["document"] == each["id"][0]
        for reading in each["readings"]:
            names = {"reading", "claimed", "predicted", "measured", "stderr", "holds"}
            assert names <= set(reading)
            assert isinstance(reading["predicted"], float)
            assert reading["holds"] in (True, False, None)
    assert "torch" in data[0]["readings"][0]["source"]
    assert [reading["holds"] for reading in data[1]["readings"]] == [True, None, None]


def test_inputs_on_the_command_line(capsys):
    for std, verdict in {"1/sqrt(d_model)": "holds", "1": "fails"}.items():
        _, out, _ = run(capsys, "A1", "--std", std, "--d-model", "256", "--n-heads", "4", "--json")
        assert json.loads(out)[0]["verdict"] == verdict


def test_document(capsys):
    _, out, _ = run(capsys, "A4", "B6", "--document", "a")
    assert "A4" in out
    assert "B6" not in out


@pytest.mark.parametrize(
    "arguments",
    [["A77"], ["--document", "C"], ["A1", "--d-model", "1e3"], ["A1", "--std", "x"]],
)
def test_bad_input_is_one_line_and_exit_2(capsys, arguments):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_a_disagreement_exits_with_1(capsys, monkeypatch):
    from varprop.claims import embedding_a
    from varprop.claims.quantities import Quantity
    from varprop.simulation.estimates import Estimate

    wrong = Quantity(lambda: 512.0, lambda: Estimate(500.0, 1.0))
    monkeypatch.setattr(embedding_a, "element", lambda *_: wrong)
    status, out, _ = run(capsys, "A1")
    assert status == 1
    assert "disagreement" in out


def test_without_torch_the_record_speaks(monkeypatch):
    monkeypatch.setattr(torch_record.importlib.util, "find_spec", lambda name: None)
    torch_record.numbers.cache_clear()
    source = decide("B18").readings[0].findings[0].source
    torch_record.numbers.cache_clear()
    assert "committed record" in source
    assert re.search(r"torch 2\.\d+\.\d+", source)
    assert "seed 0" in source


def test_a_real_embedding_gives_the_record():
    pytest.importorskip("torch")
    measured, record = torch_record.measured_by_torch(), torch_record.recorded()
    for what in ("variance", "share"):
        assert abs(measured[what][0] - record[what][0]) <= 6 * record[what][1]


# The page


def test_the_page_is_what_would_be_written():
    assert page(DERIVATIONS) == WRITTEN


def test_the_page_has_a_section_for_each_claim():
    assert re.findall(r"^### (\w+)$", WRITTEN, re.MULTILINE) == list(CLAIMS)
    assert WRITTEN.count("**Verdict: ") == len(CLAIMS)
    rows = re.findall(r"^\| \[(\w+)\]\(#(\w+)\) \| .*? \| (\S+) \| ", WRITTEN, re.MULTILINE)
    assert [row[0] for row in rows] == list(CLAIMS)
    for id, anchor, verdict in rows:
        assert anchor == id.lower()
        assert f"### {id}\n" in WRITTEN
        assert f"**Verdict: {verdict}.**" in WRITTEN.split(f"### {id}\n")[1].split("\n### ")[0]


def test_tables_have_equal_rows():
    for table in re.findall(r"(?:^\|.*\|\n)+", WRITTEN, re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1


def test_github_renders_the_mathematics():
    assert "operatorname" not in WRITTEN
    for text in re.findall(r"^\$\$(.*)\$\$$", WRITTEN, re.MULTILINE):
        assert text.count("{") == text.count("}")
        assert not re.search(r"\\[^A-Za-z]|[<>|*&#~`]", text)
    assert "None" not in WRITTEN
    assert "nan" not in WRITTEN.split()


def test_contradictions_and_the_answer():
    pairs = ["B18 against A3", "A10 against A1", "B5 against B10", "B7 against B9"]
    for pair in [*pairs, "B11 against B21", "B26 against B38"]:
        assert f"**{pair}.**" in WRITTEN
    for id in re.findall(r"\b([AB]\d+)\b", WRITTEN.split("## Where the documents")[1]):
        assert id in CLAIMS
    last = WRITTEN.split("## What the factor sqrt(d_model) does")[1]
    for about in ("which table", "sum with the positions", "tied head", "left out"):
        assert about in last
    assert "without a norm" in last
    assert "with a norm" in last


def test_a_record_that_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot read"):
        page(tmp_path)
    record = json.loads((DERIVATIONS / claims_page.RECORD).read_text())
    del record["measured"]["A1"][0]
    (tmp_path / claims_page.RECORD).write_text(json.dumps(record))
    with pytest.raises(ValueError, match="does not fit"):
        page(tmp_path)


def statements():
    for claim in CLAIMS.values():
        yield from (claim.short, claim.statement, claim.calculation, claim.remember, claim.section)


def test_the_texts_are_our_own():
    """Nothing in the documents' language."""
    texts = [*statements(), WRITTEN]
    for text in texts:
        assert not any("CJK" in unicodedata.name(c, "") for c in text)
