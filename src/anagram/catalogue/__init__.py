"""Ready problems, one file each, with classical reference solvers beside them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from anagram.catalogue.entry import Entry
from anagram.errors import SettingError
from anagram.statement.problem import Problem

# In the order in which they are listed, kind by kind; each has a file of its name.
_NAMES = dict.fromkeys(
    (
        *("laplace-2d", "heat", "laplace-5d", "allen-cahn", "burgers"),
        *("lotka-volterra", "pendulum", "lorenz", "robertson", "three-body"),
        *("wave", "klein-gordon", "helmholtz", "maxwell-2d", "schrodinger", "nls"),
        *(
            "kdv",
            "kuramoto-sivashinsky",
            "burgers-2d",
            "gray-scott",
            "cahn-hilliard",
            "sine-gordon",
            "porous-medium",
            "bratu",
        ),
        *("kirsch", "beam", "plate", "stokes", "kovasznay", "taylor-green", "cavity", "boussinesq"),
        *("poisson-10d", "heat-10d", "black-scholes", "hjb-20d"),
        *("drum", "hydrogen"),
    )
)

__all__ = ["ENTRIES", "Entry", "names", "problem"]


class _Entries(Mapping[str, Entry]):
    """All entries by name. A file is read when its entry is first asked for: importing the package reads none."""

    def __getitem__(self, name: str) -> Entry:
        if name not in _NAMES:
            raise KeyError(name)
        return importlib.import_module(f"{__name__}.{name.replace('-', '_')}").ENTRY

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


ENTRIES: Mapping[str, Entry] = _Entries()


def names(*, paper: bool = False) -> list[str]:
    """The names of all problems, or of those with a setting of the paper."""
    return [name for name in ENTRIES if not paper or ENTRIES[name].paper is not None]


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
