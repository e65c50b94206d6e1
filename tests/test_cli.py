"""The command line: one line per mistake, strict JSON, and nothing imported before it is needed."""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
import sympy

import varprop
from varprop import agreement, cli
from varprop.command import options
from varprop.fields.readers import READERS
from varprop.report.tables import latex

ROOT = Path(__file__).parents[1]
SMALL = ["--d-model", "8", "--n-heads", "2", "--seq-len", "4"]


@pytest.fixture
def run(capsys):
    """Call the command line in this process; return exit status, standard output and error."""

    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            cli.main(arguments)
        return exit_.value.code, *capsys.readouterr()

    return call


def process(*arguments, **keywords):
    command = [sys.executable, "-m", "varprop", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **keywords)


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    assert text.endswith("\n")
    return json.loads(text, parse_constant=refuse)


FIELDS = [
    ({}, []),
    ({"d_model": 64, "n_heads": 4}, ["--d-model", "64", "--n-heads=4"]),
    ({"embedding_scale": "sqrt(d_model)*2"}, ["--embedding-scale", "sqrt(d_model)*2"]),
    ({"embedding_scale": -2.5e-1}, ["--embedding-scale", "-2.5e-1"]),
    ({"shared_qk": True, "position": "none"}, ["--shared-qk", "--position", "none"]),
    ({"position": "rotary(base=500, fraction=0.5)"}, ["--position", "rotary(500, 0.5)"]),
    ({"norm": "rmsnorm(eps=0)", "query": "identity"}, ["--norm", "rmsnorm(0)", "--query=identity"]),
    (
        {"segment": "normal(std=0.02)", "output_head": "none", "token_repeat": "1/vocab_size"},
        ["--segment=normal(0,0.02)", "--output-head", "none", "--token-repeat", "1/vocab_size"],
    ),
]


@pytest.mark.parametrize(("fields", "arguments"), FIELDS)
def test_predict_says_what_the_library_says(run, fields, arguments):
    prediction = varprop.predict(**fields)
    assert run("predict", *arguments) == (0, f"{prediction}\n", "")
    status, out, error = run("predict", *arguments, "--json")
    assert (status, error) == (0, "")
    assert strict(out) == prediction.to_dict()
    assert list(strict(out)["stages"]) == list(prediction)


def test_every_field_is_an_option():
    assert list(options.HELP) == list(READERS)
    context = click.Context(cli.group)
    for name in ("predict", "measure", "check"):
        command = cli.group.get_command(context, name)
        flags = {flag for parameter in command.params for flag in parameter.opts}
        assert {f"--{field.replace('_', '-')}" for field in READERS} < flags


@pytest.mark.parametrize("attribute", ["variance", "mean", "second_moment"])
def test_formula_reads_back(run, attribute):
    expression = varprop.predict(position="none").formula("scores", attribute)
    arguments = ("predict", "--position", "none", "--formula", f"scores.{attribute}")
    status, out, error = run(*arguments)
    assert (status, error) == (0, "")
    names = {str(symbol): symbol for symbol in expression.free_symbols}
    assert sympy.sympify(out, locals=names) == expression
    assert run(*arguments, "--latex") == (0, f"{latex(expression)}\n", "")


def test_measure_and_check_say_what_the_library_says(run):
    fields = {"d_model": 8, "n_heads": 2, "seq_len": 4, "replicates": 40, "seed": 3}
    given = [*SMALL, "--replicates", "40", "--seed", "3", "--workers", "2"]
    measured, checked = varprop.measure(**fields), varprop.check(**fields)
    assert run("measure", *given) == (0, f"{measured}\n", "")
    assert strict(run("measure", *given, "--json")[1]) == measured.to_dict()
    assert run("check", *given) == (0 if checked.passed else 1, f"{checked}\n", "")
    assert strict(run("check", *given, "--json")[1]) == checked.to_dict()


def test_check_exits_1_where_it_does_not_pass(run, monkeypatch):
    monkeypatch.setattr(agreement, "LIMIT", 0.0)
    status, out, error = run("check", *SMALL, "--replicates", "20")
    assert (status, error) == (1, "")
    assert "FAILED" in out
    assert out.splitlines()[-1].startswith("failed: ")


def test_infinite_standard_errors_are_null(run):
    _, out, _ = run("check", *SMALL, "--replicates", "2", "--json")
    assert None in [row["stderr"] for row in strict(out)["rows"]]


INTEGERS = ["0", "-1", "1.5", "nan", "True", "1e3", "512.0", "0x10", "", " 8", "1_000", "٥١٢", "²"]
INTEGERS += ["1000000000000000000", "9" * 5000]
EXPRESSIONS = ["__import__('os')", "().__class__", "9**9**9**9", "(" * 10**4, "9" * 10**6, "", "\0"]
EXPRESSIONS += ["1/0", "sqrt(-1)", "log(0)", "inf", "nan", "1e999", "d_model.real", "lambda: 0"]
HOSTILE = [("--d-model", text, "d_model") for text in INTEGERS]
HOSTILE += [(f"--{field.replace('_', '-')}", text, field) for text in EXPRESSIONS for field in (
    "embedding_scale", "logit_scale", "dropout", "token_repeat", "embedding", "position", "norm",
)]  # fmt: skip
HOSTILE += [
    ("--n-heads", "7", "n_heads"),
    ("--embedding", "normal(std=-1)", "embedding"),
    ("--embedding", "normal(std=" + "9" * 10**6, "embedding"),
    ("--query", "tied", "query"),
    ("--query-bias", "xavier_uniform", "query_bias"),
    ("--dropout", "1", "dropout"),
    ("--token-repeat", "0.3", "token_repeat"),
    ("--norm", "layernorm(eps=-1)", "norm"),
    ("--position", "rotary(fraction=0.3)", "position"),
    ("--formula", "logits", "--formula"),
    ("--formula", "softmax.variance", "--formula"),
    ("--formula", "logits.entropy", "attribute"),
    ("--formula", "logits.cross_position_moment", "logits.cross_position_moment"),
    ("--d-modle", "8", "--d-modle"),
    ("--colour\x1b[31m", "8", "--colour"),
    ("--" + "x" * 10**5, "8", "--x"),
    ("--d_model", "8", "--d_model"),
]


@pytest.mark.parametrize(
    ("option", "text", "named"), HOSTILE, ids=lambda text: ascii(text)[:24].replace("\\", "/")
)
def test_hostile_input_is_refused_in_one_line(run, option, text, named):
    start = time.process_time()
    status, out, error = run("predict", option, text)
    assert time.process_time() - start < 1
    assert (status, out) == (2, "")
    assert error.startswith("Error: ")
    assert error.count("\n") == 1
    assert error.removesuffix("\n").isprintable()
    assert len(error) < 300
    assert named in error


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["frobnicate"], "frobnicate"),
        (["predict", "bert"], "bert"),
        (["predict", "--d-model"], "--d-model"),
        (["predict", "--latex"], "--formula"),
        (["predict", "--json", "--formula", "logits.mean"], "--json"),
        (["measure", "--replicates", "1"], "replicates"),
        (["measure", "--replicates", "1e3"], "replicates"),
        (["measure", "--seed", "-1"], "seed"),
        (["check", "--workers", "0"], "workers"),
        (["check", "--norm", "rmsnorm(eps=-1)"], "norm"),
    ],
)
def test_misuse_is_refused_in_one_line(run, arguments, named):
    status, out, error = run(*arguments)
    assert (status, out) == (2, "")
    assert error.startswith("Error: ")
    assert error.count("\n") == 1
    assert named in error


@pytest.mark.parametrize("name", [None, "predict", "measure", "check"])
def test_help_has_examples(run, name):
    status, out, error = run(*([name] if name else []), "--help")
    assert (status, error) == (0, "")
    assert out.count("  varprop ") >= 2
    assert name is not None or all(command in out for command in cli.COMMANDS)
    assert name is None or run(name, "-h") == (0, out, "")


def test_examples_in_the_help_run(run):
    context = click.Context(cli.group)
    for name in ("predict", "measure", "check"):
        lines = cli.group.get_command(context, name).help.splitlines()
        calls = [shlex.split(line) for line in lines if line.strip().startswith("varprop ")]
        assert len(calls) >= 2
        small = [] if name == "predict" else [*SMALL, "--replicates", "20"]
        for call in calls:
            assert run(*call[1:], *small)[0] == 0


def test_nothing_given_shows_the_help(run):
    assert run() == run("--help")


def test_interruption_has_a_status_of_its_own(run, monkeypatch):
    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["varprop.predict"], "predict", interrupt)
    status, out, error = run("predict")
    assert (status, out, error.strip()) == (130, "", "Interrupted.")


def test_as_a_module_and_from_outside():
    done = process("predict", "--d-model", "1e3")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "Error: d_model must be a whole number in digits, such as 512, got '1e3'\n"
    )


def test_broken_pipe_is_quiet():
    command = [sys.executable, "-m", "varprop", "predict", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as writer:
        writer.stdout.close()  # nobody reads
        assert writer.stderr.read() == b""


PROBE = """
import sys
from varprop.cli import main
try:
    main({arguments})
finally:
    print(*sorted(set({names}) & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["predict", "--json"], ["rich", "scipy", "sympy", "varprop.simulate", "varprop.report"]),
        (["predict"], ["rich", "scipy", "sympy", "varprop.simulate"]),
        (["--help"], ["rich", "scipy", "sympy", "varprop.command.commands", "varprop.report"]),
        (["measure", *SMALL, "--replicates", "4"], ["rich", "sympy"]),
    ],
)
def test_commands_import_only_what_they_need(arguments, unneeded):
    code = PROBE.format(arguments=arguments, names=unneeded)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "\n")
