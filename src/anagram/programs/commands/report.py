"""``anagram report``: runs as a page for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anagram.programs.commands.common import Trust, escape, out, wrong_input

ALONE, TOGETHER = "report.html", "comparison.html"


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="The folder of a run, or of several.")],
    path: Annotated[
        Path | None,
        typer.Option(
            "--out", help=f"The page to write; DIR/{ALONE} by default, {TOGETHER} for several runs.", show_default=False
        ),
    ] = None,
    trust: Trust = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Write one run, or several side by side, as a page that needs nothing but a browser."""
    from anagram.keeping.runfolder import PROBLEM
    from anagram.programs.loading import is_of_file
    from anagram.programs.page import write_page

    target = path or (folders[0] / ALONE if len(folders) == 1 else Path(TOGETHER))
    with wrong_input():
        written = write_page(folders, target, trust=trust)
        untold = [] if trust else [folder for folder in folders if is_of_file(folder)]
    if untold and not quiet:
        named = ", ".join(str(folder / PROBLEM) for folder in untold)
        out.print(
            f"The page has no residuals, and no errors at points: for these {escape(named)} must be executed. Look at "
            "it, and say --trust."
        )
    if not quiet:
        out.print(f"{escape(str(written))}  ({written.stat().st_size / 1e6:.1f} MB; open it in a browser)")
