"""Runs that can start: new ones, and those that go on, with everything checked that can be checked beforehand."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anagram.programs.commands.common import read_key_value

if TYPE_CHECKING:
    from anagram.solution import Solution
    from anagram.training.case import Case


@dataclass(frozen=True)
class Planned:
    """A run that can start: its case, its folder, and the function that carries it out."""

    case: Case
    folder: Path
    start: Callable[..., Solution]
    command: str
    resumed: bool = False
    steps: int | None = None  # that were taken before, if it had ended


def plan_run(
    target: str | None,
    method: str | None,
    paper: bool,
    changes: list[str],
    folder: Path | None,
    options: dict[str, Any],
) -> Planned:
    """A new run, with everything checked that can be checked beforehand."""
    import anagram as ag
    from anagram.compound import processes
    from anagram.keeping.atomic import prepare_folder
    from anagram.programs.loading import find_case, problem_parameters
    from anagram.solving import chooses_size
    from anagram.training.defaults import complete
    from anagram.training.setting import MODEL_KEYS

    if target is None:
        raise ag.SettingError("name a problem of the catalogue (see: anagram list) or a Python file that states one")
    given = dict(read_key_value(text) for text in changes)
    of_problem = {k: given.pop(k) for k in problem_parameters(target) if k in given}
    case = find_case(target, paper, of_problem)
    setting = case.setting if method is None else case.setting.with_method(method)
    fixed = method is not None or options.get("early_stopping") or {*given} & {*MODEL_KEYS, "points", "steps"}
    said = fixed or (options["steps"] is not None and not options["tol"])
    if said or not chooses_size(setting):
        setting = complete(setting, case.problem)
    case = replace(case, setting=setting.with_changes(given))
    case.setting.make_method()  # refused before there is a folder
    if not processes.is_first():  # another process makes the folder
        where = folder or Path("runs")
    else:
        where = prepare_folder(folder) if folder is not None else new_folder(case.problem.name)

    def start(**more: Any) -> Solution:
        return ag.solve(case, folder=where, **options, **more)

    return Planned(case, where, start, _resume_command(target, case, where))


def plan_resume(target: str | None, folder: Path, fixed: list[str], limits: dict[str, Any]) -> Planned:
    """A run to go on with."""
    import anagram as ag
    from anagram.keeping.runrecord import read_record
    from anagram.programs.loading import case_again
    from anagram.solving import problem_of_record
    from anagram.training.case import case_of

    if fixed:
        raise ag.SettingError(f"{', '.join(fixed)} cannot be changed: the run in '{folder}' has its own, leave it out")
    record = read_record(folder)
    if target is None:
        case = case_of(problem_of_record(folder, record))
    else:
        case = case_again(target, record.get("origin"), folder)

    def start(**more: Any) -> Solution:
        return ag.resume(folder, case, **limits, **more)

    summary = record.get("summary")
    taken = steps_in_all(summary) if isinstance(summary, dict) else None
    return Planned(case, folder, start, _resume_command(target, case, folder), resumed=True, steps=taken)


def steps_in_all(summary: dict[str, Any]) -> Any:
    """The steps of a run; of a climb, those of all its rungs."""
    return summary.get("total_steps", summary.get("steps"))


def _resume_command(target: str | None, case: Case, folder: Path) -> str:
    """What to type to go on; the program is named, because a file is executed only if it is."""
    named = f" {target}" if target is not None and "file" in case.problem.origin else ""
    return f"anagram solve{named} --resume {folder}"


def new_folder(name: str) -> Path:
    """A folder that no other run has, also when several start in the same second."""
    from anagram.keeping.atomic import file_name, prepare_folder

    base = prepare_folder("runs") / f"{file_name(name)}-{time.strftime('%Y%m%d-%H%M%S')}"
    candidate, count = base, 1
    while True:
        try:
            candidate.mkdir()
            return candidate
        except FileExistsError:
            count += 1
            candidate = base.with_name(f"{base.name}-{count}")
