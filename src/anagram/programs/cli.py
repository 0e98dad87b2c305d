"""The command ``anagram``. Each of its commands is a module of `anagram.programs.commands`."""

from __future__ import annotations

from typing import Annotated

import typer

from anagram.programs.commands.doctor import doctor
from anagram.programs.commands.export import export
from anagram.programs.commands.kernels import kernels
from anagram.programs.commands.listing import list_problems
from anagram.programs.commands.plan import plan
from anagram.programs.commands.repeat import repeat
from anagram.programs.commands.report import report
from anagram.programs.commands.reproduce import reproduce
from anagram.programs.commands.solve import EXAMPLES, solve
from anagram.programs.commands.sweep import sweep
from anagram.version import __version__

app = typer.Typer(
    help="Solve differential equations with neural networks trained by natural gradient.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("list")(list_problems)
app.command(epilog=EXAMPLES)(solve)
app.command()(report)
app.command()(plan)
app.command()(sweep)
app.command()(repeat)
app.command()(export)
app.command()(kernels)
app.command()(reproduce)
app.command()(doctor)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"anagram {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Solve differential equations with neural networks trained by natural gradient."""


if __name__ == "__main__":
    app()
