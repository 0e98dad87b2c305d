"""The folder of a run as processes other than the first have it: they read what the first one writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anagram.errors import FileError
from anagram.keeping.runfolder import Kept, RunFolder
from anagram.training.configuration import Configuration
from anagram.training.reached import Reached


class Following(RunFolder):
    """A run folder that is read and never written to; another process keeps it.

    Args:
        folder: its path, the same place for all processes.
    """

    def __init__(self, folder: str | Path) -> None:
        self.path, self._lock, self._metrics = Path(folder), None, None
        self.configuration: dict[str, Any] = {}
        self.data: str | None = None

    def begin(self, run: Kept, configuration: Configuration, rung: int | None = None) -> None:
        """Nothing: the first process does it; and so for all that follows."""

    def compiled(self, run: Kept) -> None:
        pass

    def continues(self, run: Kept) -> None:
        pass

    def takes_up(self, record: dict[str, Any]) -> None:
        self.configuration = record["configuration"]

    def puts_back(self) -> None:
        pass

    def __call__(self, record: dict[str, Any], run: Kept) -> None:
        pass

    def write_checkpoint(self, run: Kept) -> bool:
        return False

    def finish(self, run: Kept, solution: Reached) -> Path:
        return self.path

    @contextlib.contextmanager
    def guarded(self, what: str) -> Iterator[None]:
        """Whatever is to be written here is left out."""
        yield

    @property
    def writes(self) -> bool:
        return False


def folder_of(path: Path, first: bool, **options: Any) -> RunFolder:
    """The folder of a run that goes on: to be written to by the first process, to be read by the others."""
    if first:
        return RunFolder(path, **options)
    if not path.is_dir():
        raise FileError(f"'{path}' is not there for all processes: a run goes on from a folder that all of them see")
    return Following(path)
