"""``anagram repeat``: a run again, and whether it came to the same numbers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from anagram.programs.commands.common import escape, out, show_warning, wrong_input

if TYPE_CHECKING:
    from anagram.training.case import Case

DIFFERENT = 1


def repeat(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")],
    trust: Annotated[
        bool, typer.Option("--trust", help="Execute the problem file in the folder; only if you know where it is from.")
    ] = False,
    to: Annotated[Path | None, typer.Option("--out", help="Keep the repetition in this folder.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Do a run again from its record; exit status 1 if it came to other numbers."""
    from anagram.repeat import repeat as run_again

    warnings.showwarning = show_warning
    with wrong_input():
        solution, comparison = run_again(folder, _case(folder, trust), to, progress=not quiet)
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


def _case(folder: Path, trust: bool) -> Case | None:
    """The problem of a file in the folder, if the user trusts it; None for the catalogue's."""
    from anagram.errors import SettingError
    from anagram.keeping.runfolder import PROBLEM
    from anagram.keeping.runrecord import read_record
    from anagram.programs.loading import case_again

    origin: Any = read_record(folder).get("origin")
    if not isinstance(origin, dict) or "file" not in origin:
        return None
    if not trust:
        raise SettingError(
            f"to repeat this run the Python file {folder / PROBLEM} must be executed: look at it, and say --trust"
        )
    return case_again(str(folder / PROBLEM), origin, folder)
