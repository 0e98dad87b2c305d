"""What every program is asked on the command line, and what it answers: one JSON line for each look at its error.

    python bench/peers/with_NAME.py PROBLEM --seed 0 --seconds 30

Lines with `seconds` (of training, without compilation and without the looks), `error` (relative, L²) and `wall`
(seconds since the process was started, without the looks). The last line has `done` and what belongs to the whole run.
NumPy only.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common_problems import coefficient_error, evaluation_points, exact_values, relative_error

STATES: dict[str, Callable[..., Any]] = {}  # the problems that a script states
NOT_POSSIBLE = "not possible: "  # how the note of a run begins that a program has no way for


def states(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark the function that states a problem: its lines are counted as a user's."""

    def marked(function: Callable[..., Any]) -> Callable[..., Any]:
        STATES[name] = function
        return function

    return marked


def user_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that a user has to write besides the statement, for any of the problems."""
    return function


def say(**record: Any) -> None:
    """One line of the answer."""
    print("\n" + json.dumps(record), flush=True)


class TimeIsUp(Exception):  # noqa: N818  (no error)
    """Raised by a look where a program has no other way to be stopped."""


class Watch:
    """The clock of a run. It stands still while errors are measured, and while `paused`."""

    def __init__(self, problem: str, seconds: float) -> None:
        self.problem, self.limit = problem, seconds
        self.points, self.exact = evaluation_points(problem), exact_values(problem)
        self.began_process = float(os.environ.get("PEERS_BEGAN", time.time()))
        self.away = 0.0  # seconds spent looking, since the start of the process
        self.began: float | None = None
        self.next_look = 0.0
        self.best = np.inf
        self.compile_seconds = 0.0

    def begin(self, compile_seconds: float = 0.0) -> None:
        """Training begins now."""
        self.compile_seconds += compile_seconds
        self.began, self.away_before = time.perf_counter(), self.away

    @property
    def seconds(self) -> float:
        """Of training so far."""
        if self.began is None:
            return 0.0
        return time.perf_counter() - self.began - (self.away - self.away_before)

    @property
    def is_over(self) -> bool:
        return self.seconds >= self.limit

    def look(self, values: Callable[[], Any], coefficients: dict[str, float] | None = None, *, always=False) -> bool:
        """Measure the error, if it is time to; true if the run may go on."""
        seconds, now = self.seconds, time.perf_counter()
        if not (always or seconds >= self.next_look or seconds >= self.limit):
            return True
        wall = time.time() - self.began_process - self.away
        self.report(seconds, wall, values(), coefficients)
        self.next_look = max(1.07 * seconds, seconds + 0.01)
        self.away += time.perf_counter() - now
        return seconds < self.limit

    def report(self, seconds: float, wall: float, values: Any, coefficients: dict[str, float] | None = None) -> None:
        """Say how large the error is."""
        error = max(relative_error(values, self.exact), coefficient_error(self.problem, coefficients or {}))
        self.best = min(self.best, error)
        say(seconds=round(seconds, 4), error=error, wall=round(wall, 3))


def main(run: Callable[[str, int, Watch], dict[str, Any] | None], *packages: str) -> None:
    """Read the command line, run, and say how it ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("problem")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--option", default="", help="what the script may have besides, such as an optimiser")
    asked = parser.parse_args()
    versions = {name: importlib.metadata.version(name) for name in packages}
    if asked.problem not in STATES:
        say(done=True, note=NOT_POSSIBLE + "not written", versions=versions)
        return
    if STATES[asked.problem].__doc__ and STATES[asked.problem].__doc__.startswith(NOT_POSSIBLE):
        say(done=True, note=STATES[asked.problem].__doc__, versions=versions)
        return
    watch = Watch(asked.problem, asked.seconds)
    arguments = {"option": asked.option} if asked.option else {}
    told = run(asked.problem, asked.seed, watch, **arguments) or {}
    measured = {
        "done": True,
        "seconds": round(watch.seconds, 4),
        "wall": round(time.time() - watch.began_process - watch.away, 3),
        "compile_seconds": round(watch.compile_seconds, 3),
        "best": watch.best,
        "peak_megabytes": round(peak_bytes() / 2**20),
        "versions": versions,
    }
    say(**{**measured, **told})


def peak_bytes() -> int:
    """The most memory that this process had at any time, that of the process which started it left out."""
    status = Path("/proc/self/status")
    if status.exists():
        told = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        return 1024 * int(told.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
