"""Running a study: one folder for each run; what has ended is kept, what was interrupted goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anagram.errors import AnagramError, FileError, SettingError
from anagram.keeping.atomic import json_text, prepare_folder, write_atomically
from anagram.keeping.runrecord import RECORD, read_record
from anagram.programs.loading import find_case, problem_parameters
from anagram.programs.sweep.grid import Combination
from anagram.solution import Solution, load
from anagram.solving import resume, solve
from anagram.training.case import Case
from anagram.training.defaults import complete
from anagram.training.interrupts import Interrupts

PLAN = "sweep.json"


@dataclass(frozen=True)
class Study:
    """A problem, the grid over which it is solved, and what is the same for all runs."""

    target: str
    grid: Sequence[Combination]
    seeds: Sequence[int]
    paper: bool = False
    limits: dict[str, Any] = field(default_factory=dict)  # steps, seconds, tol and the like, for `solve`

    @property
    def size(self) -> int:
        """How many runs there are."""
        return len(self.grid) * len(self.seeds)


@dataclass(frozen=True)
class Outcome:
    """One run of a study."""

    combination: Combination
    seed: int
    folder: Path
    solution: Solution | None
    failure: str | None = None  # why there is no solution


def run_study(study: Study, out: Path, tell: Callable[[Outcome, int, bool], None] | None = None) -> list[Outcome]:
    """All runs of a study that are not there yet; stops at an interrupt.

    Args:
        study: what to run.
        out: the folder of the study.
        tell: called with every outcome, the number of those before it, and whether it was there already.
    """
    path = prepare_folder(out)
    cases = {c: _stated(study, c) for c in study.grid}  # what is wrong is said before anything runs
    _remember(study, path)
    with Interrupts():
        return _run_all(study, path, cases, tell)


def _run_all(
    study: Study,
    path: Path,
    cases: dict[Combination, Case],
    tell: Callable[[Outcome, int, bool], None] | None,
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for combination in study.grid:
        for seed in study.seeds:
            folder = path / combination.folder(seed)
            there = _ended(folder)
            outcome = _run(study, combination, seed, folder, cases[combination], there)
            if tell is not None:
                tell(outcome, len(outcomes), there)
            outcomes.append(outcome)
            if outcome.solution is not None and outcome.solution.stopped_because == "interrupted":
                return outcomes
    return outcomes


def _stated(study: Study, combination: Combination) -> Case:
    """The problem with its setting, one for all seeds so that they share what is compiled."""
    options = dict(combination.options)
    of_problem = {k: options.pop(k) for k in problem_parameters(study.target) if k in options}
    case = find_case(study.target, study.paper, of_problem)
    setting = case.setting.with_method(combination.method)
    try:
        setting = complete(setting, case.problem).with_changes(options)
        setting.make_method()
    except SettingError as error:
        raise SettingError(f"{combination.label}: {error}") from error
    return replace(case, setting=setting)


def _run(study: Study, combination: Combination, seed: int, folder: Path, case: Case, there: bool) -> Outcome:
    try:
        if there:
            solution = load(folder, problem=case.problem)
        elif (folder / RECORD).exists():
            solution = resume(folder, case, progress=False)
        else:
            solution = solve(case, seed=seed, folder=folder, progress=False, **study.limits)
    except AnagramError as error:
        return Outcome(combination, seed, folder, None, str(error))
    return Outcome(combination, seed, folder, solution)


def _ended(folder: Path) -> bool:
    """Whether there is nothing left to do in a folder."""
    try:
        return read_record(folder).get("status") in ("finished", "failed")
    except FileError:
        return False


def _remember(study: Study, path: Path) -> None:
    """Write down what is common to all runs; a folder with another study is left alone."""
    plan = {"target": study.target, "paper": study.paper, "limits": study.limits}
    file = path / PLAN
    if file.exists():
        try:
            before = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise FileError(f"cannot read '{file}': {error}") from error
        if before != json.loads(json_text(plan)):
            raise FileError(f"'{path}' holds another study ({file}): choose another folder, or give the same options")
    else:
        write_atomically(file, lambda p: p.write_text(json_text(plan), encoding="utf-8"))
