"""The command line: one name per subcommand, errors in one line, imports when needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import click

COMMANDS = {
    "predict": ("varprop.command.commands:predict", "Predict every moment, exactly."),
    "measure": (
        "varprop.command.commands:measure",
        "Simulate the same moments, with standard errors.",
    ),
    "check": ("varprop.command.commands:check", "Compare prediction and simulation."),
    "precision": (
        "varprop.command.precision:precision",
        "What half precision does to every stage.",
    ),
    "claims": ("varprop.claims.command:command", "Decide the claims of two documents."),
    "derive": ("varprop.report.derive:command", "Write the derivations, or check them."),
}
"""Name of each subcommand, where it is defined, and its line in the help."""

LONGEST = 290
"""Characters of an error message."""


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is called, and none to list them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that defines a subcommand."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """How large every quantity at the front of a Transformer is, before anything is trained.

    \b
    varprop predict                                 the 2017 base model
    varprop predict --d-model 768 --n-heads 12 --embedding "normal(std=0.02)"
    varprop predict --formula logits.variance       the closed form
    varprop check --replicates 300                  prediction against simulation
    varprop COMMAND --help                          everything a command takes
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0, 1 if a check fails, 2 for bad input, 130 if interrupted."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        status = group.main(given or ["--help"], prog_name="varprop", standalone_mode=False)
    except (click.ClickException, ValueError, TypeError) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        _complain(text)
        sys.exit(2)
    except click.Abort:
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


def _complain(text: str) -> None:
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * LONGEST]).split())
    click.echo(f"Error: {line if len(line) <= LONGEST else line[: LONGEST - 3] + '...'}", err=True)
