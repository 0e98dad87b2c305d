"""``anagram repeat``: a run again, and whether it came to the same numbers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from anagram.programs.commands.common import Trust, escape, out, show_warning, wrong_input

DIFFERENT = 1


def repeat(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")],
    trust: Trust = False,
    to: Annotated[Path | None, typer.Option("--out", help="Keep the repetition in this folder.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Do a run again from its record; exit status 1 if it came to other numbers."""
    from anagram.errors import SettingError
    from anagram.keeping.runfolder import PROBLEM
    from anagram.programs.loading import case_of_folder, is_of_file
    from anagram.repeat import repeat as run_again

    warnings.showwarning = show_warning
    with wrong_input():
        if is_of_file(folder) and not trust:
            raise SettingError(
                f"to repeat this run the Python file {folder / PROBLEM} must be executed: look at it, and say --trust"
            )
        solution, comparison = run_again(folder, case_of_folder(folder), to, progress=not quiet)
    if not quiet:
        table = Table("", "then", "now", box=None, header_style="bold", pad_edge=False)
        table.add_row("loss", *("not finite" if v is None else f"{v:.16e}" for v in comparison.losses))
        if None not in comparison.errors:
            table.add_row("L² error", *(f"{v:.16e}" for v in comparison.errors))
        for name, pair in comparison.versions.items():
            table.add_row(name, *(escape(str(v)) for v in pair))
        out.print(table)
        rungs = solution.rungs
        networks = f" of {len(rungs)} network{'s' if len(rungs) > 1 else ''}" if rungs else ""
        steps = solution.summary.get("total_steps", solution.summary["steps"])
        out.print(f"{steps} steps{networks}: {escape(comparison.in_words())}")
    if not comparison.identical:
        raise typer.Exit(DIFFERENT)
