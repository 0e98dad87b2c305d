"""The runs a page shows: read from their folders, and given names that tell them apart."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anagram.errors import AnagramError, FileError
from anagram.keeping.runrecord import read_record
from anagram.keeping.solutions import save
from anagram.training.reached import Reached

Source = Reached | str | Path


@dataclass(frozen=True)
class Run:
    """A solution, the record of its run, and how the page calls it."""

    solution: Reached
    record: dict[str, Any]
    folder: Path | None
    letter: str = ""  # nothing for a run that is alone
    label: str = ""
    equation: str | None = None  # as its problem is written where it was found

    @property
    def summary(self) -> dict[str, Any]:
        """What the run came to."""
        return self.solution.summary

    @property
    def name(self) -> str:
        """What it is called where several are shown."""
        return f"{self.letter}  {self.label}".strip()


def read_runs(
    sources: Source | Iterable[Source],
    read: Callable[[Path], Reached],
    equation_of: Callable[[Mapping[str, Any]], str | None],
) -> list[Run]:
    """Read all of them; if some cannot be read, an error names each of these."""
    given = [sources] if isinstance(sources, Reached | str | Path) else list(sources)
    if not given:
        raise FileError("there is nothing to report: give the folder of a run, or several")
    runs: list[Run] = []
    unreadable: list[str] = []
    for source in given:
        try:
            run = _read(source, read)
            origin = run.record.get("origin")
            known = equation_of(origin) if isinstance(origin, dict) else None
            runs.append(replace(run, equation=known or _first_equation(run.record)))
        except (AnagramError, OSError) as error:
            unreadable.append(str(error))
    if unreadable and len(given) > 1:
        raise FileError(f"{len(unreadable)} of {len(given)} runs cannot be read: {'; '.join(unreadable)}")
    if unreadable:
        raise FileError(unreadable[0])
    return _named(runs)


def _first_equation(record: dict[str, Any]) -> str | None:
    """The first condition of the problem, as its record writes it."""
    conditions = record.get("conditions")
    first = next(iter(conditions.values()), None) if isinstance(conditions, dict) else None
    equation = first.get("equation") if isinstance(first, dict) else None
    return equation if isinstance(equation, str) else None


def _read(source: Source, read: Callable[[Path], Reached]) -> Run:
    if isinstance(source, Reached):
        if source.folder is not None and (source.folder / "run.json").exists():
            return Run(source, read_record(source.folder), source.folder)
        with tempfile.TemporaryDirectory() as folder:  # a record is what saving writes
            return Run(source, read_record(save(source, folder)), None)
    folder = Path(source)
    if not folder.exists():
        raise FileError(f"there is no folder '{folder}'")
    solution = read(folder)
    record = read_record(folder)
    if not isinstance(record.get("summary"), dict):
        raise FileError(f"the run in '{folder}' has not ended: its record has no summary")
    return Run(solution, record, folder)


def _named(runs: Sequence[Run]) -> list[Run]:
    """A letter each, and what differs between them."""
    if len(runs) == 1:
        return [replace(runs[0], label=str(runs[0].summary["problem"]))]
    described = [
        {
            "problem": str(run.summary["problem"]),
            "method": str(run.summary["method"]),
            "seed": f"seed {run.summary['seed']}",
            "model": model_text(run),
            "points": f"{run.summary.get('points')} points",
        }
        for run in runs
    ]
    telling = _telling(described)
    return [
        replace(run, letter=_letter(k), label=", ".join(words[key] for key in telling))
        for k, (run, words) in enumerate(zip(runs, described, strict=True))
    ]


def _telling(described: Sequence[dict[str, str]]) -> list[str]:
    """As few keys as tell the runs apart as far as they can be."""
    keys: list[str] = []
    for key in described[0]:
        if _distinct(described, [*keys, key]) > _distinct(described, keys):
            keys.append(key)
    return keys or ["method", "seed"]


def _distinct(described: Sequence[dict[str, str]], keys: Sequence[str]) -> int:
    return len({tuple(words[key] for key in keys) for words in described})


def model_text(run: Run) -> str:
    """The model in words, wherever the record has them."""
    setting = run.summary.get("setting")
    of_setting = setting.get("model") if isinstance(setting, dict) else None
    return str(run.summary.get("model") or of_setting or repr(run.solution.model.spec))


def _letter(index: int) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return letters[index] if index < len(letters) else str(index + 1)
