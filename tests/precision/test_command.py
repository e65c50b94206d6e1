"""``varprop precision`` and the printed table."""

import json
import shlex

import click
import pytest

import varprop
from varprop import cli
from varprop.fields.readers import READERS
from varprop.precision.formats import FORMATS
from varprop.precision.record import NUMBERS
from varprop.report.text import number


@pytest.fixture
def run(capsys):
    """Call the command line in this process; return exit status, standard output and error."""

    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            cli.main(["precision", *arguments])
        return exit_.value.code, *capsys.readouterr()

    return call


CASES = [
    ({}, []),
    ({"dtype": "bfloat16", "d_model": 3072}, ["--dtype", "bfloat16", "--d-model=3072"]),
    ({"entries": 7, "d_head": 80}, ["--entries", "7", "--d-head", "80"]),
    ({"norm": "layernorm", "dropout": 0.1}, ["--norm", "layernorm", "--dropout", "0.1"]),
    ({"seq_len": 1, "shared_qk": True}, ["--seq-len", "1", "--shared-qk"]),
]


@pytest.mark.parametrize(("fields", "arguments"), CASES)
def test_the_command_says_what_the_library_says(run, fields, arguments):
    found = varprop.precision(**fields)
    assert run(*arguments) == (0, f"{found}\n", "")
    status, out, error = run(*arguments, "--json")
    assert (status, error) == (0, "")

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    assert json.loads(out, parse_constant=refuse) == found.to_dict()


@pytest.mark.parametrize("dtype", FORMATS)
def test_the_table_shows_every_number(dtype):
    found = varprop.precision(dtype=dtype, norm="layernorm", query="normal(std=1)", d_head=80)
    lines = str(found).splitlines()
    assert lines[0].startswith(f"Rounded to {dtype}: d_model=512,")
    body = {line.split()[0]: line.split()[1:] for line in lines[4 : 4 + len(found)]}
    assert list(body) == list(found)
    for stage, record in found.items():
        shown = [number(getattr(record, name), 4) for name in NUMBERS]
        assert body[stage] == [*shown, f"{record.entries:,}"]
    heads, tails = (line.split() for line in lines[2:4])
    joined = [head + tail for head, tail in zip(heads, tails[1:], strict=False)]
    assert (tuple(joined), tails[0], tails[-1]) == (NUMBERS, "stage", "entries")
    rest = "\n".join(lines[4 + len(found) :])
    assert f"stalls at {found.stall_length}" in rest
    assert number(found.multiplier, 8) in rest
    assert "normed_input: not known: " in rest
    assert "power of two" in str(varprop.precision(d_head=64))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--dtype", "float32"], "dtype"),
        (["--dtype", "\x1b[31m" * 1000], "dtype"),
        (["--entries", "0"], "entries"),
        (["--entries", "1e3"], "entries"),
        (["--entries", "9" * 5000], "entries"),
        (["--d-model", "512.0"], "d_model"),
        (["--embedding", "normal(std=-1)"], "embedding"),
        (["bert"], "bert"),
        (["--dtpye", "float16"], "--dtpye"),
    ],
)
def test_misuse_is_refused_in_one_line(run, arguments, named):
    status, out, error = run(*arguments)
    assert (status, out) == (2, "")
    assert error.startswith("Error: ")
    assert error.count("\n") == 1
    assert error.removesuffix("\n").isprintable()
    assert len(error) < 300
    assert named in error


def test_every_field_is_an_option_and_the_examples_of_the_help_run(run):
    command = cli.group.get_command(click.Context(cli.group), "precision")
    flags = {flag for parameter in command.params for flag in parameter.opts}
    assert {f"--{field.replace('_', '-')}" for field in READERS} < flags
    calls = [line for line in command.help.splitlines() if line.strip().startswith("varprop ")]
    assert len(calls) >= 2
    for call in calls:
        assert run(*shlex.split(call)[2:])[0] == 0
    status, out, error = run("--help")
    assert (status, error) == (0, "")
    assert out.count("  varprop ") >= 2
