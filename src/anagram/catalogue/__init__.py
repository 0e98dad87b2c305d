"""Ready problems, one file each, with classical reference solvers beside them."""

from __future__ import annotations

from typing import Any

from anagram.catalogue import allen_cahn, burgers, heat, laplace_2d, laplace_5d
from anagram.catalogue.entry import Entry
from anagram.errors import SettingError
from anagram.statement.problem import Problem

ENTRIES: dict[str, Entry] = {
    entry.name: entry for entry in (laplace_2d.ENTRY, heat.ENTRY, laplace_5d.ENTRY, allen_cahn.ENTRY, burgers.ENTRY)
}

__all__ = ["ENTRIES", "Entry", "names", "problem"]


def names() -> list[str]:
    """The names of all problems."""
    return list(ENTRIES)


def entry(name: str) -> Entry:
    """One entry."""
    if name not in ENTRIES:
        raise SettingError(f"there is no problem '{name}' in the catalogue; there are {', '.join(ENTRIES)}")
    return ENTRIES[name]


def problem(name: str, paper: bool = False, **parameters: Any) -> Problem:
    """A problem of the catalogue: ``problem("burgers", nu=0.01)``; `paper` selects the paper's setting."""
    return entry(name).problem(paper, **parameters)
