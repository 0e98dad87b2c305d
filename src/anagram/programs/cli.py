"""The command ``anagram``. Each of its commands is a module of `anagram.programs.commands`."""

from __future__ import annotations

import typer

from anagram.programs.commands.doctor import doctor
from anagram.programs.commands.export import export
from anagram.programs.commands.kernels import kernels
from anagram.programs.commands.listing import list_problems
from anagram.programs.commands.repeat import repeat
from anagram.programs.commands.report import report
from anagram.programs.commands.reproduce import reproduce
from anagram.programs.commands.solve import solve
from anagram.programs.commands.sweep import sweep

app = typer.Typer(
    help="Solve differential equations with neural networks trained by natural gradient.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("list")(list_problems)
app.command()(solve)
app.command()(report)
app.command()(sweep)
app.command()(repeat)
app.command()(export)
app.command()(kernels)
app.command()(reproduce)
app.command()(doctor)


@app.callback()
def main() -> None:
    """Solve differential equations with neural networks trained by natural gradient."""


if __name__ == "__main__":
    app()
