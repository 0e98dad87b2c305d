"""The command ``anagram``. Each of its commands is a module of `anagram.commands`."""

from __future__ import annotations

import typer

from anagram.commands.doctor import doctor
from anagram.commands.export import export
from anagram.commands.kernels import kernels
from anagram.commands.listing import list_problems
from anagram.commands.repeat import repeat
from anagram.commands.report import report
from anagram.commands.reproduce import reproduce
from anagram.commands.solve import solve
from anagram.commands.sweep import sweep

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
