"""``anagram reproduce``: the paper's experiments."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from anagram.programs.commands.common import escape, out, read_names, read_seeds, show_warning, wrong_input


def reproduce(
    problems: Annotated[
        str, typer.Option(help="Problems of the paper, separated by commas.")
    ] = "laplace-2d,heat,laplace-5d,allen-cahn,burgers",
    methods: Annotated[
        str, typer.Option(help="Methods of the paper, and auto, our default at the same setting.")
    ] = "anagram,engd,gd,adam,lbfgs,auto",
    seeds: Annotated[str, typer.Option(help="How many seeds (10), or which: 3:7 or 0,4,5.")] = "10",
    scale: Annotated[float, typer.Option(help="A factor for the numbers of steps; 0.1 is a quick look.")] = 1.0,
    folder: Annotated[Path, typer.Option("--out", help="Results, tables and figures; what is there is kept.")] = Path(
        "reproduction"
    ),
    only_report: Annotated[bool, typer.Option("--only-report", help="Run nothing; tables and figures only.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run the paper's experiments; tables and figures beside the paper's numbers."""
    from anagram.programs.reproduce.command import reproduce as run_plan

    warnings.showwarning = show_warning
    with wrong_input():
        _, done = run_plan(
            folder,
            read_names(problems),
            read_names(methods),
            read_seeds(seeds),
            scale,
            only_report=only_report,
            quiet=quiet,
        )
    if not quiet:
        if not done:
            out.print("Not all of it is there yet; the same command goes on where it stopped.")
        if (folder / "tables.md").exists():
            out.print(escape(f"Tables: {folder / 'tables.md'}    figures: {folder / 'figures'}"))
