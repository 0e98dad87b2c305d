"""Doing a run again from its record, and saying whether it came to the same numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from anagram.climbing import TrainedRungs
from anagram.climbing.climb import INTERRUPTED
from anagram.climbing.trained import NOT_DONE, left_of
from anagram.compound.layout import on_devices
from anagram.errors import FileError
from anagram.keeping import checkpoint
from anagram.keeping.records import is_whole
from anagram.keeping.runrecord import read_record, versions
from anagram.keeping.snapshot import START
from anagram.showing.report.rungs import shown_rungs
from anagram.solution import Solution, load
from anagram.solving import begin, climbed, problem_of_record, read_configuration
from anagram.statement.problem import Problem
from anagram.training.budget import Budget
from anagram.training.case import Case, case_of
from anagram.training.configuration import Configuration
from anagram.training.interrupts import Interrupts
from anagram.training.setting import Setting


@dataclass(frozen=True)
class Comparison:
    """How far two runs agree."""

    identical: bool
    first_difference: int | None  # the first step whose losses differ
    largest: float  # difference of the parameters, relative to the largest of them
    losses: tuple[float, float]
    errors: tuple[float | None, float | None]
    versions: dict[str, tuple[Any, Any]]  # those that are not the same, then and now

    def in_words(self) -> str:
        """One sentence."""
        if self.identical:
            return "the same numbers, bit for bit"
        where = (
            "only in the last parameters" if self.first_difference is None else f"from step {self.first_difference} on"
        )
        others = ", ".join(f"{k} {then} → {now}" for k, (then, now) in self.versions.items())
        why = f"; other versions: {others}" if others else "; versions and device are the same"
        how = f"parameters differ by {self.largest:.1e}, relative" if np.isfinite(self.largest) else "another network"
        return f"other numbers {where} ({how}){why}"


def repeat(
    folder: str | Path,
    problem: Problem | Case | None = None,
    out: str | Path | None = None,
    *,
    model: Any = None,
    method: Any = None,
    points: Any = None,
    progress: bool = True,
) -> tuple[Solution, Comparison]:
    """Do a run again, with as many steps, and compare.

    Args:
        folder: the folder of a run that has ended.
        problem: the problem; those of the catalogue are found by name.
        out: where the repetition is kept; nowhere if left out.
        model: the module, if it is of your own; the same for `method` and `points`.
        method: the method object, if it is of your own.
        points: the rule for points, if it is of your own.
        progress: show a progress bar.
    """
    path = Path(folder)
    record = read_record(path)
    configuration = steps_of(read_configuration(path, record, model, method, points), record, path)
    if not configuration.climbs and record.get("model") != record["configuration"]["model"]:
        raise FileError(f"the record in '{path}' is damaged: its solution is not of the model of its configuration")
    case = case_of(problem or problem_of_record(path, record))
    before = load(path, problem=case.problem, model=model)
    start = None
    if checkpoint.exists(path):
        start = checkpoint.read(path)[0].arrays.get(START)
    with on_devices(None):
        if configuration.climbs and (before.stopped_because in NOT_DONE or _left(before)):
            again = _as_far(case.problem, configuration, before, progress=progress)
            if out is not None:
                again.save(out)
        else:
            again = begin(case, configuration, start, folder=out, progress=progress)
        return again, compare(before, again, record)


def steps_of(configuration: Configuration, record: dict[str, Any], path: Path) -> Configuration:
    """The configuration with the steps that were taken, and no limit of time; a climb takes its own."""
    summary = record.get("summary")
    steps = summary.get("steps") if isinstance(summary, dict) else None
    if not is_whole(steps):
        raise FileError(f"the run in '{path}' has not ended: there are no numbers to compare with")
    if configuration.climbs:
        return replace(configuration, budget=replace(configuration.budget, seconds=None))
    return replace(configuration, budget=replace(configuration.budget, steps=steps, seconds=None))


class _Limited:
    """Trains rungs as it was done before, for what depended on the clock: what was left is left again.

    With a number of steps for each rung the climb is interrupted after the last of these.
    """

    def __init__(self, rungs: TrainedRungs, steps: Sequence[int] | None, left: Sequence[list[Any]]) -> None:
        self.rungs, self.steps, self.left = rungs, steps, left

    def __call__(self, problem: Problem, setting: Setting, budget: Budget, goal: Any, start: Any = None) -> Solution:
        if self.steps is None:
            return self.rungs(problem, setting, budget, goal, start)
        number = self.rungs.count
        limit = Budget(min([budget.steps, *self.steps[number : number + 1]]))
        solution = self.rungs(problem, setting, limit, goal, start)
        if number + 1 >= len(self.steps):
            solution.summary["stopped_because"] = INTERRUPTED
        return solution

    @property
    def is_over(self) -> bool:
        """Whether there was no time left for another rung, wherever it would begin."""
        return self.steps is not None and self.rungs.count >= len(self.steps)

    def leaves(self, what: str, decide: Callable[[], bool]) -> bool:
        """Whether something was left before the next rung."""
        return [what, self.rungs.count] in self.left

    def prepare(self, problem: Problem, setting: Setting) -> None:
        if not self.is_over:
            self.rungs.prepare(problem, setting)


def _as_far(problem: Problem, configuration: Configuration, before: Solution, *, progress: bool) -> Solution:
    """A climb of which the clock or a hand decided: with as many rungs as there were, and as many steps in each."""
    stopped, left = before.stopped_because in NOT_DONE, _left(before)
    steps = [rung.steps for rung in shown_rungs(before.summary)] if stopped else None
    with contextlib.ExitStack() as stack:
        stack.enter_context(Interrupts())
        again = climbed(
            stack, problem, configuration, progress=progress, limited=lambda rungs: _Limited(rungs, steps, left)
        )
    if stopped:
        again.summary["stopped_because"] = before.stopped_because
    return again


def _left(before: Solution) -> list[list[Any]]:
    """What was left because it would have taken too long, with the numbers of the rungs that followed."""
    return left_of(before.summary.get("left", []))


def compare(before: Solution, again: Solution, record: dict[str, Any]) -> Comparison:
    """Two runs of the same configuration."""
    then = record.get("versions") if isinstance(record.get("versions"), dict) else {}
    others = {k: ((then or {}).get(k), v) for k, v in versions().items() if (then or {}).get(k) != v}
    old, new = before.history.steps.get("loss", np.zeros(0)), again.history.steps.get("loss", np.zeros(0))
    count = min(len(old), len(new))
    differing = np.flatnonzero(old[:count] != new[:count])
    first = int(differing[0]) + 1 if len(differing) else count + 1 if len(old) != len(new) else None
    scale = float(np.abs(before.theta).max()) or 1.0
    alike = before.theta.shape == again.theta.shape  # a climb may end with another network
    return Comparison(
        identical=first is None and np.array_equal(before.theta, again.theta),
        first_difference=first,
        largest=float(np.abs(before.theta - again.theta).max()) / scale if alike else float("inf"),
        losses=(before.loss, again.loss),
        errors=(before.l2_error, again.l2_error),
        versions=others,
    )
