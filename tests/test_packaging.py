"""The README keeps its word, and the repository holds what it should and nothing else."""

import ast
import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import pytest

import varprop

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def marked(name):
    """The block of the README that follows a marker."""
    pattern = rf"^<!-- {name} -->\n```\w+\n(.*?)\n```$"
    (block,) = re.findall(pattern, README, re.DOTALL | re.MULTILINE)
    return block


def test_ci_runs_the_commands_of_the_readme_first():
    calls = re.findall(r"^run '(.*?)'", CI, re.MULTILINE)
    assert calls[:2] == [marked("command: check"), marked("command: test")]
    assert calls[2:] == [
        ".venv/bin/varprop derive --check",
        ".venv/bin/ruff check",
        ".venv/bin/mypy",
    ]


def test_readme_has_no_other_commands():
    assert len(re.findall(r"^```sh$", README, re.MULTILINE)) == 2


def shown(value, text):
    """Write a value with as many significant digits as `text` has, if it is a number."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.{len(text.replace('.', '').lstrip('0'))}g}"


def test_python_of_the_readme_says_what_its_comments_say():
    namespace: dict[str, object] = {}
    compared = 0
    for block in PYTHON:
        exec(compile(block, "README.md", "exec"), namespace)
        for line in block.splitlines():
            code, mark, text = line.partition("# = ")
            if mark:
                assert shown(eval(code, namespace), text) == text, line
                compared += 1
    assert compared >= 10


def test_readme_shows_the_printed_prediction():
    assert marked("the printed prediction") == str(varprop.predict())


def test_readme_shows_rows_of_the_check():
    head, *rows = marked("rows of the check").split("\n")
    assert head.split() == ["stage", "attribute", "predicted", "measured", "stderr", "z"]
    prediction = varprop.predict()
    for row in rows:
        stage, attribute, predicted, *_ = row.split()
        value = getattr(prediction[stage], attribute)
        assert predicted == f"{value:.{len(predicted.partition('.')[2])}f}"


def test_readme_names_every_field_and_attribute():
    fields = re.findall(r"^\| (`.*?) \|", README, re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(fields)))
    assert named == {*varprop.TransformerSpec().to_dict(), *ATTRIBUTES}


ATTRIBUTES = (
    "mean",
    "variance",
    "ensemble_variance",
    "second_moment",
    "std",
    "excess_kurtosis",
    "cross_position_moment",
    "row_variance",
)


def test_top_level_holds_what_the_design_lists():
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    ignored = [line.rstrip("/") for line in lines]
    names = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    kept = {name for name in names if not any(fnmatch.fnmatch(name, word) for word in ignored)}
    assert kept == {
        "CHANGELOG.md",
        "README.md",
        "derivations",
        "pyproject.toml",
        "tests",
        "varprop",
    }


def test_nothing_locks_download_addresses_or_names_this_machine():
    suffixes = {".py", ".md", ".toml", ".json", ""}
    folders = [ROOT / name for name in ("varprop", "tests", "derivations", ".ci")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    files += [path for path in ROOT.iterdir() if path.is_file()]
    read = [path for path in files if path.suffix in suffixes and "__pycache__" not in path.parts]
    assert len(read) > 50
    forbidden = re.compile("|".join(("pypi" + r"\.org", "files.python" + "hosted", "/ro" + "ot/")))
    for path in read:
        assert not re.search(r"(^|[.-])lock(\.|$)", path.name), path
        assert not forbidden.search(path.read_text(encoding="utf-8")), path


def test_changelog_starts_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'^version = "(.*)"', pyproject, re.MULTILINE)
    assert re.findall(r"^## (\S+)", text, re.MULTILINE)[0] == version
    groups = re.findall(r"^### (.*)", text, re.MULTILINE)
    assert set(groups) <= {"New", "Enhancements", "Bug fixes"}


@pytest.mark.parametrize(
    "code",
    [
        "import varprop; varprop.predict()",
        "import varprop; varprop.predict(position='none').logits.variance",
        "import varprop; print(varprop.predict())",
        "import varprop; varprop.predict().to_dict()",
        "import varprop; varprop.predict(embedding='truncated_normal(std=0.02)').to_dict()",
    ],
)
def test_predicting_needs_no_heavy_import(code):
    heavy = {"sympy", "scipy", "rich", "click", "hypothesis", "varprop.simulate"}
    probe = f"{code}\nimport sys\nassert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


def test_simulator_shares_no_formula_with_the_prediction():
    code = "import sys, varprop.simulate; print(*(m for m in sys.modules if 'varprop.al' in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == ""
    rooms = [ROOT / "varprop/simulate.py", *(ROOT / "varprop/simulation").glob("*.py")]
    assert len(rooms) > 5
    for path in rooms:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {"varprop.predict", "varprop.moments", "varprop.encodings"} & imported


def test_every_public_name_is_there():
    assert sorted(varprop.__all__) == sorted(set(varprop.__all__))
    for name in varprop.__all__:
        assert getattr(varprop, name) is not None
        assert name in dir(varprop)
    assert callable(varprop.check)
    with pytest.raises(AttributeError, match="no_such_name"):
        varprop.no_such_name  # noqa: B018
