"""The page of runs, with what the catalogue knows of their problems."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anagram import catalogue
from anagram.programs.loading import case_of_folder
from anagram.showing.report import page
from anagram.showing.report.page.runs import Source
from anagram.solution import Solution, load


def write_page(sources: Source | Iterable[Source], path: str | Path, *, trust: bool = False) -> Path:
    """Write the page of one run, or of several side by side.

    Args:
        sources: solutions or folders of runs, one or several.
        path: the file to write.
        trust: execute problems that are stated in files of the folders. Without it the errors and residuals of their
            solutions are not known.

    The page needs no network and no other file.
    """

    def read(folder: Path) -> Solution:
        case = case_of_folder(folder) if trust else None
        return load(folder, problem=None if case is None else case.problem)

    return page.write_page(sources, path, read, catalogue.equation)
