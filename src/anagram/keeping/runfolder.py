"""The folder of a run while it goes: its record, its metrics line by line, and checkpoints every so many seconds.

A run never ends because its folder cannot be written to: it warns, goes on and tries again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Protocol

from anagram.errors import FileError, RunWarning, SettingError
from anagram.keeping import checkpoint
from anagram.keeping.atomic import json_text, prepare_folder, write_atomically
from anagram.keeping.runrecord import (
    FORMAT,
    RECORD,
    description,
    how_to_go_on,
    read_record,
    refuse_foreign,
    write_record,
)
from anagram.keeping.snapshot import OTHER_POINTS, Resumable, fingerprint, take
from anagram.keeping.solutions import ARRAYS, METRICS, save, write_metrics
from anagram.models import ParametricModel
from anagram.statement.problem import Problem
from anagram.training.configuration import Configuration
from anagram.training.history import History
from anagram.training.reached import Reached

EVERY = 30.0  # seconds between checkpoints
SHARE = 0.05  # of the time of a run at most goes into writing them
PROBLEM, LOCK, RUNGS = "problem.py", ".lock", "rungs"


class Kept(Resumable, Protocol):
    """A run that a folder can keep."""

    problem: Problem
    model: ParametricModel
    history: History


class RunFolder:
    """Where a run is kept: a monitor of the run.

    Args:
        folder: its path; it is made if it is not there.
        every: seconds between checkpoints.
        source: the text of the file that states the problem, kept beside the run.
        go_on: whether a run that is there already is to be continued; otherwise it is refused.
        overwrite: whether it may be replaced.
    """

    def __init__(
        self,
        folder: str | Path,
        every: float = EVERY,
        *,
        source: str | None = None,
        go_on: bool = False,
        overwrite: bool = False,
    ) -> None:
        if isinstance(every, bool) or not isinstance(every, int | float) or not every >= 0:
            raise SettingError(f"the seconds between checkpoints must be a number that is not negative, not {every!r}")
        self.path = prepare_folder(folder)
        refuse_foreign(self.path / RECORD)
        if not go_on and not overwrite:
            _refuse_another(self.path)
        self.every, self.source = every, source
        self._lock = _take_lock(self.path)
        if not go_on:
            shutil.rmtree(self.path / RUNGS, ignore_errors=True)
        self._last = time.monotonic()
        self._cost = 0.0
        self._metrics: IO[str] | None = None
        self._warned = False
        self._record: dict[str, Any] = {}
        self._before: dict[str, Any] | None = None
        self.data: str | None = None  # what tells the problem of a climb from others

    @property
    def writes(self) -> bool:
        """Whether this process keeps the run."""
        return True

    # -- the life of a run ----------------------------------------------------------------------------
    def begin(self, run: Kept, configuration: Configuration, rung: int | None = None) -> None:
        """A new run, or a rung of it, before it is compiled: write what it is, and take the place of what has ended."""
        if not rung:
            shutil.rmtree(self.path / RUNGS, ignore_errors=True)
        self.configuration = {
            **configuration.as_json(),
            **({} if rung is None else {"rung": rung, "data": self.data}),
            "fingerprint": fingerprint(run),
            "continued": run.run_state().start is not None,
        }
        self._record = {
            "format": FORMAT,
            "status": "running",
            "summary": None,
            **description(run.model, run.problem),
            "configuration": self.configuration,
        }
        for name in (*checkpoint.NAMES, ARRAYS, METRICS, PROBLEM):
            (self.path / name).unlink(missing_ok=True)
        self._write_start()

    def compiled(self, run: Kept) -> None:
        """The run is compiled, and its first loss known."""
        self.configuration["fingerprint"] = fingerprint(run)
        with self.guarded("the record"):
            write_record(self.path, self._record)

    def go_on(self, run: Kept, record: dict[str, Any]) -> None:
        """A run that was stopped: its metrics may be ahead of its checkpoint."""
        self.takes_up(record)
        self.continues(run)

    def continues(self, run: Kept) -> None:
        """Write the metrics that belong to the step a run goes on from."""
        with self.guarded("the metrics"):
            write_metrics(self.path, run.history)

    def takes_up(self, record: dict[str, Any]) -> None:
        """A run goes on: what is in the folder is behind it until it ends."""
        self._before = read_record(self.path)
        self._record, self.configuration = record, record["configuration"]
        with self.guarded("the record"):
            write_record(self.path, {**record, "status": "running"})

    def puts_back(self) -> None:
        """A run was refused before it went on: its record is what it was, so that it can go on as it was begun."""
        if self._before is not None:
            with self.guarded("the record"):
                write_record(self.path, self._before)

    def refuse_other_data(self, then: Any) -> None:
        """A climb goes on with the problem it was begun with, also where all of its rungs are done."""
        if then is not None and then != self.data:
            self.puts_back()
            raise FileError(f"the run in '{self.path}' cannot go on with this problem: {OTHER_POINTS}")

    def __call__(self, record: dict[str, Any], run: Kept) -> None:
        """As a monitor, after every block: a line of metrics, and a checkpoint if it is time for one."""
        with self.guarded("the metrics"):
            self._make_again()
            if self._metrics is None or not (self.path / METRICS).exists():
                self._open_metrics(run)
            else:
                self._metrics.write(json_text(record, indent=None) + "\n")
                self._metrics.flush()
        now = time.monotonic()
        if now - self._last >= max(self.every, self._cost / SHARE):
            self.write_checkpoint(run)
            self._last = time.monotonic()
            self._cost = self._last - now

    def write_checkpoint(self, run: Kept) -> bool:
        """Write the state; say so, once, if that does not work."""
        with self.guarded("the checkpoint"):
            self._make_again()
            checkpoint.write(self.path, take(run))
            self._warned = False
            return True
        return False

    def lost(self, run: Kept) -> None:
        """Another process of the run has gone: keep what was reached, if it is known to be whole."""
        blocks = run.history.blocks
        if blocks and blocks[-1]["step"] == run.history.count:
            self.write_checkpoint(run)

    def finish(self, run: Kept, solution: Reached) -> Path:
        """The last checkpoint and the solution; elsewhere if the folder cannot be written to. Returns where."""
        self._close_metrics()
        solution.configuration = self.configuration
        self.write_checkpoint(run)
        try:
            return save(solution, self.path)
        except (FileError, OSError) as error:
            spare = Path(tempfile.mkdtemp(prefix="anagram-"))
            save(solution, spare)
            message = f"the solution cannot be written to '{self.path}' ({error}): it was saved in '{spare}'"
            warnings.warn(message, RunWarning, stacklevel=2)
            return spare

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_metrics()
        if self._lock is not None:
            with contextlib.suppress(OSError):
                (self.path / LOCK).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    # -- inside ---------------------------------------------------------------------------------------
    def _make_again(self) -> None:
        """A folder that has gone is made anew."""
        if not (self.path / RECORD).exists():
            self.path.mkdir(parents=True, exist_ok=True)
            self._write_start()

    def _write_start(self) -> None:
        source = self.source
        if source is not None:
            write_atomically(self.path / PROBLEM, lambda p: p.write_text(source, encoding="utf-8"))
        write_record(self.path, self._record)

    def _open_metrics(self, run: Kept) -> None:
        self._close_metrics()
        write_metrics(self.path, run.history)
        self._metrics = (self.path / METRICS).open("a", encoding="utf-8")

    def _close_metrics(self) -> None:
        if self._metrics is not None:
            with contextlib.suppress(OSError):
                self._metrics.close()
            self._metrics = None

    @contextlib.contextmanager
    def guarded(self, what: str) -> Iterator[None]:
        """What cannot be written is said once, and tried again."""
        try:
            yield
        except (FileError, OSError) as error:
            self._close_metrics()
            if not self._warned:
                message = f"{what} of the run cannot be written: {error}. The run goes on and tries again."
                warnings.warn(message, RunWarning, stacklevel=4)
            self._warned = True


def _refuse_another(path: Path) -> None:
    """A run is not to be replaced by accident."""
    if not (path / RECORD).exists():
        return
    record = read_record(path)
    ended = record.get("status", "finished") in ("finished", "failed")
    state = "holds a run already" if ended else "holds a run that has not ended"
    raise FileError(
        f"'{path}' {state}: go on with it ({how_to_go_on(path, record)}), choose another folder, or say --overwrite "
        "(overwrite=True)"
    )


def _take_lock(path: Path) -> int | None:
    """Only one process works in a folder; the system gives the lock back when that ends, however it does."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return None
    try:
        # Not through a link: in a folder from someone else it may lead elsewhere.
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise FileError(f"another process is at work in '{path}': wait for it, or choose another folder") from None
    except OSError:  # a file system without locks
        os.close(descriptor)
        return None
    for leftover in path.glob(".*.tmp*"):
        with contextlib.suppress(OSError):
            leftover.unlink()
    return descriptor
