"""``varprop derive``: what it writes, compares, replaces and refuses."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from varprop import cli
from varprop.claims import audit
from varprop.report import claims_page, derive
from varprop.report.numbers import RECORD, measured, read_record, run_of
from varprop.report.pages import CHAPTERS
from varprop.simulation.estimates import Estimate
from varprop.stages import closed_forms

from .conftest import DERIVATIONS, ROOT, WRITTEN, fresh

MODULE = Path(closed_forms.__file__)
CLAIMS = "claims.json"
FILES = [*WRITTEN, MODULE.name]


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A directory of fresh pages, and a copy of the module that passes for the real one."""
    for name, text in WRITTEN.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    module = tmp_path / MODULE.name
    module.write_text(fresh()[MODULE], encoding="utf-8")
    shutil.copy(DERIVATIONS / RECORD, tmp_path)
    shutil.copy(DERIVATIONS / CLAIMS, tmp_path)
    monkeypatch.setattr(closed_forms, "__file__", str(module))
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Derive nothing afresh: what the session derived, under the directory's names."""

    def outputs(directory):
        read_record(directory)
        return {directory / path.name: text for path, text in fresh().items()}

    monkeypatch.setattr(derive, "outputs", outputs)


@pytest.fixture
def run(capsys):
    """Call ``varprop derive``; return exit status, standard output and error."""

    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            cli.main(["derive", *map(str, arguments)])
        return exit_.value.code, *capsys.readouterr()

    return call


def snapshot(directory):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir()}


def test_the_committed_files_are_up_to_date(run):
    status, out, err = run("--check", "--directory", DERIVATIONS)
    assert (status, out, err) == (0, f"{len(fresh())} files are up to date\n", "")


def test_nothing_else_lies_beside_the_pages():
    assert sorted(path.name for path in DERIVATIONS.iterdir()) == sorted([*WRITTEN, RECORD, CLAIMS])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.usefixtures("quick")
def test_check_names_an_altered_file_and_writes_nothing(name, directory, run):
    path = directory / name
    path.write_bytes(path.read_bytes().replace(b"2", b"3", 1))
    before = snapshot(directory)
    status, out, err = run("--check", "--directory", directory)
    assert (status, out, err) == (1, f"differs: {path}\n", "")
    assert snapshot(directory) == before


@pytest.mark.parametrize("name", FILES)
@pytest.mark.usefixtures("quick")
def test_check_names_a_missing_file_and_writes_nothing(name, directory, run):
    (directory / name).unlink()
    before = snapshot(directory)
    assert run("--check", "--directory", directory)[:2] == (1, f"differs: {directory / name}\n")
    assert snapshot(directory) == before


@pytest.mark.parametrize(
    "damage", [lambda b: b.replace(b"\n", b"\r\n"), lambda b: b + b"\n", lambda b: b"\xff"]
)
@pytest.mark.usefixtures("quick")
def test_check_compares_bytes(damage, directory, run):
    path = directory / "sum.md"
    path.write_bytes(damage(path.read_bytes()))
    assert run("--check", "--directory", directory)[0] == 1


def test_check_derives_afresh(directory, run):
    """Pages and module are built again, and an alteration of both is seen."""
    for name in ("rotary.md", MODULE.name):
        path = directory / name
        path.write_bytes(path.read_bytes() + b"\n")
    status, out, _ = run("--check", "--json", "--directory", directory)
    report = json.loads(out)
    assert status == 1
    assert {Path(path).name for path, what in report.items() if what == "differs"} == {
        "rotary.md",
        MODULE.name,
    }
    assert len(report) == len(FILES)


@pytest.mark.usefixtures("quick")
def test_derive_writes_what_has_changed(directory, run):
    before = snapshot(directory)
    (directory / "sum.md").write_text("something else")
    assert run("--directory", directory) == (0, f"written: {directory / 'sum.md'}\n", "")
    after = snapshot(directory)
    assert {name: text for name, (text, _) in after.items()} == {
        n: t for n, (t, _) in before.items()
    }
    assert all(after[name] == before[name] for name in before if name != "sum.md")


def test_two_processes_write_the_same_bytes(tmp_path):
    """Whatever the order of sets and dictionaries: two hash seeds, side by side."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom varprop.report.derive import outputs\n"
        f"for path, text in outputs(Path({str(DERIVATIONS)!r})).items():\n"
        "    sys.stdout.buffer.write(f'{path}\\n{text}'.encode())\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "20")
    ]
    texts = [process.communicate(timeout=60)[0] for process in running]
    assert (
        texts[0]
        == texts[1]
        == "".join(f"{path}\n{text}" for path, text in fresh().items()).encode()
    )


# Replacing a file


def test_replace_keeps_the_old_file_if_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "page.md"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        derive.replace(path, "\ud800")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        derive.replace(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def refuse(*_):
    raise OSError("no")


def test_replace_never_shows_half_a_file(tmp_path, monkeypatch):
    """The new text is whole, in a file beside the old one, when it takes the old one's name."""
    path, real, seen = tmp_path / "deeper" / "page.md", os.replace, []

    def watch(source, target):
        seen.append((Path(source).read_bytes(), Path(source).parent, Path(target)))
        real(source, target)

    monkeypatch.setattr(os, "replace", watch)
    derive.replace(path, "π\n")
    assert seen == [("π\n".encode(), path.parent, path)]
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    derive.replace(path, "new\n")
    assert path.stat().st_mode & 0o777 == 0o600


# The record of measurements

WHOLE = json.loads((DERIVATIONS / RECORD).read_text())


def damaged(*path, value=None):
    """The record's text with one entry replaced, or left out."""
    record = json.loads(json.dumps(WHOLE))
    inside = record
    for key in path[:-1]:
        inside = inside[key]
    if value is None:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return json.dumps(record)


SUM = ("runs", "sum", "measured")
DAMAGES = {
    "empty": "",
    "half": json.dumps(WHOLE)[:-2000],
    "list": "[]",
    "number": "3",
    "null": "null",
    "nested": "[" * 100_000,
    "not text": b"\xff\xfe\x00",
    "no versions": damaged("versions"),
    "versions": damaged("versions", value=["2.4"]),
    "no runs": damaged("runs"),
    "runs": damaged("runs", value=[1, 2]),
    "no run": damaged("runs", "rotary"),
    "run": damaged("runs", "rotary", value="x"),
    "other fields": damaged("runs", "sum", "fields", "d_model", value=64),
    "other seed": damaged("runs", "sum", "seed", value=5),
    "no seed": damaged("runs", "sum", "seed"),
    "no row": damaged(*SUM, "input.mean"),
    "short row": damaged(*SUM, "input.mean", value=[1.0, 2.0]),
    "words": damaged(*SUM, "input.mean", value=["a", "b", "c"]),
    "number for a row": damaged(*SUM, "input.mean", value=7),
    "measured": damaged(*SUM, value=[1]),
}


@pytest.mark.parametrize("text", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("check", [("--check",), ()])
def test_a_damaged_record_is_one_line(text, check, directory, run):
    (directory / RECORD).write_bytes(text if isinstance(text, bytes) else text.encode())
    before = snapshot(directory)
    complains(*run("--directory", directory, *check))
    assert snapshot(directory) == before


def test_a_missing_record_is_one_line(tmp_path, run):
    complains(*run("--directory", tmp_path))
    complains(*run("--directory", tmp_path / "nowhere", "--check"))
    (tmp_path / RECORD).mkdir()
    complains(*run("--directory", tmp_path))


def complains(status, out, err):
    assert (status, out) == (2, "")
    assert err.startswith("Error: directory: ")
    assert RECORD in err
    assert "varprop derive --measure" in err
    assert err.count("\n") == 1
    assert len(err) < 300


@pytest.mark.usefixtures("quick")
def test_a_page_that_cannot_be_replaced_is_one_line(directory, run):
    (directory / "sum.md").unlink()
    (directory / "sum.md").mkdir()
    status, out, err = run("--directory", directory)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "sum.md" in err
    assert run("--check", "--directory", directory)[0] == 1


def test_check_and_measure_exclude_each_other(tmp_path, run):
    status, _, err = run("--check", "--measure", "--directory", tmp_path)
    assert status == 2
    assert "--check" in err
    assert not list(tmp_path.iterdir())


SMALL = {"embedding": 300, "self-scores": 300, "rotary": 300}


@pytest.mark.parametrize("slug", SMALL)
def test_other_random_numbers_give_the_recorded_measurements(slug):
    """Two estimates of one number differ by no more than five of their joint standard errors."""
    chapter = next(chapter for chapter in CHAPTERS if chapter.slug == slug)
    recorded = run_of(chapter.experiment, slug, WHOLE).measured
    again = measured(chapter.experiment._replace(replicates=SMALL[slug], seed=7), progress=False)
    for row, (value, stderr, _) in again["measured"].items():
        if not row.endswith("kurtosis"):
            other = Estimate(*recorded[row][0])
            assert abs(value - other.value) <= 5 * (stderr**2 + other.stderr**2) ** 0.5, row


@pytest.mark.usefixtures("quick")
def test_measure_replaces_the_record(directory, run, monkeypatch):
    """With two replicates a page and two claims; ``derive`` takes the record that comes out."""
    monkeypatch.setattr(claims_page, "audit", lambda: audit(["A1", "B2"]))
    few = tuple(c._replace(experiment=c.experiment._replace(replicates=2)) for c in CHAPTERS[:1])
    monkeypatch.setattr("varprop.report.pages.CHAPTERS", few)
    assert run("--measure", "--directory", directory)[0] == 0
    record = read_record(directory)
    assert list(record["runs"]) == ["embedding"]
    assert run_of(few[0].experiment, "embedding", record).replicates == 2
    assert list(json.loads((directory / CLAIMS).read_text())["measured"]) == ["A1", "B2"]
