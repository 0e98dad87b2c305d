"""Ready problems, one file each, with classical reference solvers beside them."""

from __future__ import annotations

from collections.abc import Mapping
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


def find(origin: Mapping[str, Any]) -> Problem | None:
    """The problem of the catalogue that the record of a run names, if it names one."""
    if origin.get("catalogue") not in ENTRIES:
        return None
    return problem(origin["catalogue"], bool(origin.get("paper", False)), **origin.get("parameters", {}))


def equation(origin: Mapping[str, Any]) -> str | None:
    """The equation of the problem that a record names, as it is written here."""
    name = origin.get("catalogue")
    return ENTRIES[name].equation if isinstance(name, str) and name in ENTRIES else None


def problem(name: str, paper: bool = False, **parameters: Any) -> Problem:
    """A problem of the catalogue: ``problem("burgers", nu=0.01)``; `paper` selects the paper's setting."""
    return entry(name).problem(paper, **parameters)
