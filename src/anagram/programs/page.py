"""The page of runs, with what the catalogue knows of their problems."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anagram import catalogue
from anagram.showing.report import page
from anagram.showing.report.page.runs import Source
from anagram.solution import load


def write_page(sources: Source | Iterable[Source], path: str | Path) -> Path:
    """Write the page of one run, or of several side by side.

    Args:
        sources: solutions or folders of runs, one or several.
        path: the file to write.

    The page needs no network and no other file.
    """
    return page.write_page(sources, path, load, catalogue.equation)
