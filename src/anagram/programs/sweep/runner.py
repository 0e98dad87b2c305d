"""Running a study: one folder for each run; what has ended is kept, what was interrupted goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
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
LOOK = 0.5  # seconds between two looks at the keyboard while runs are carried out elsewhere


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


def run_study(
    study: Study,
    out: Path,
    tell: Callable[[Outcome, int, bool], None] | None = None,
    executor: Executor | None = None,
) -> list[Outcome]:
    """All runs of a study that are not there yet; stops at an interrupt.

    Args:
        study: what to run.
        out: the folder of the study.
        tell: called with every outcome, the number of those before it, and whether it was there already.
        executor: with the interface of `concurrent.futures`, whose workers see the same folder; the runs are carried
            out there, with the same results.
    """
    path = prepare_folder(out)
    cases = {c: _stated(study, c) for c in study.grid}  # what is wrong is said before anything runs
    _remember(study, path)
    with Interrupts() as interrupts:
        if executor is not None:
            return _run_elsewhere(study, path.resolve(), cases, tell, executor, interrupts)
        return _run_all(study, path, cases, tell)


def check_study(study: Study, path: Path) -> None:
    """Say what is wrong with a study, and write down what is common to its runs."""
    for combination in study.grid:
        _stated(study, combination)
    _remember(study, path)


def run_one(study: Study, out: Path, number: int) -> Outcome:
    """One run of a study, counted from 0 in the order in which they would be carried out."""
    if not 0 <= number < study.size:
        raise SettingError(f"the study has {study.size} runs, from 0 to {study.size - 1}; there is no {number}")
    path = prepare_folder(out)
    combination, seed = _runs(study)[number]
    case, folder = _stated(study, combination), path / combination.folder(seed)
    _remember(study, path)
    with Interrupts():
        return _run(study, combination, seed, folder, case, _ended(folder))


def _runs(study: Study) -> list[tuple[Combination, int]]:
    return [(combination, seed) for combination in study.grid for seed in study.seeds]


def _run_elsewhere(
    study: Study,
    path: Path,
    cases: dict[Combination, Case],
    tell: Callable[[Outcome, int, bool], None] | None,
    executor: Executor,
    interrupts: Interrupts,
) -> list[Outcome]:
    """Hand runs out, and read what came of them; after an interrupt no other one is begun."""
    found: dict[tuple[Combination, int], Outcome] = {}

    def note(combination: Combination, seed: int, failure: str | None, *, there: bool) -> None:
        folder = path / combination.folder(seed)
        outcome = Outcome(combination, seed, folder, None, failure)
        if failure is None:
            try:
                outcome = replace(outcome, solution=load(folder, problem=cases[combination].problem))
            except AnagramError as error:
                outcome = replace(outcome, failure=str(error))
        if tell is not None:
            tell(outcome, len(found), there)
        found[combination, seed] = outcome

    runs = _runs(study)
    ended = [(c, s) for c, s in runs if _ended(path / c.folder(s))]
    for combination, seed in ended:
        note(combination, seed, None, there=True)
    futures = {executor.submit(_carried_out, study, path, runs.index(run)): run for run in runs if run not in ended}
    left = set(futures)
    while left:
        done, left = wait(left, timeout=LOOK, return_when=FIRST_COMPLETED)
        for future in done:
            note(*futures[future], _failure_of(future), there=False)
        if interrupts.seen:
            left = {future for future in left if not future.cancel()}  # what has begun stops by itself
    return [found[run] for run in runs if run in found]


def _failure_of(future: Future[Any]) -> str | None:
    """Why a run elsewhere has no solution."""
    if future.cancelled():
        return "not begun: the study was interrupted"
    error = future.exception()
    return future.result() if error is None else f"its worker failed: {type(error).__name__}: {error}"


def _carried_out(study: Study, path: Path, number: int) -> str | None:
    """One run, in a worker; says why there is no solution."""
    try:
        return run_one(study, path, number).failure
    except AnagramError as error:
        return str(error)


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
