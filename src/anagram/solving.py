"""solve() and resume(): a run from its beginning, or from its last checkpoint."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anagram import catalogue
from anagram.climbing import TrainedRungs, find
from anagram.climbing.climb import STEPS, TrainRung
from anagram.climbing.settled import settle
from anagram.compound import processes
from anagram.compound.batch import Points, checked_seed
from anagram.compound.layout import on_devices
from anagram.errors import AnagramError, FileError, ProcessError, RunWarning, SettingError
from anagram.keeping import checkpoint
from anagram.keeping.following import folder_of
from anagram.keeping.runfolder import EVERY, RunFolder
from anagram.keeping.runrecord import how_to_go_on, read_record, versions
from anagram.keeping.snapshot import (
    START,
    Snapshot,
    data_of,
    fingerprint,
    refuse_another,
    restore,
)
from anagram.keeping.solutions import save
from anagram.methods import Method
from anagram.models import Chebyshev, Features, ModelSpec, Waves, corners_seen
from anagram.solution import Solution
from anagram.statement.problem import Problem
from anagram.statement.stretches import checked_stretches, stretch_edges
from anagram.training.budget import Budget
from anagram.training.case import Case, case_of
from anagram.training.configuration import Configuration, configuration_from_json
from anagram.training.defaults import complete
from anagram.training.interrupts import Interrupts
from anagram.training.rungs import Rung
from anagram.training.setting import Setting
from anagram.training.trainer import Monitor, Trainer
from anagram.training.watch import SpectrumWatch

TOLERANCE = 1e-6  # relative, where the size of the model is left to the program


def solve(
    problem: Problem | Case,
    model: Any = None,
    method: str | Method | None = None,
    *,
    points: Points = None,
    steps: int | None = None,
    seconds: float | None = None,
    tol: float | None = None,
    stretches: int | Sequence[float] | Mapping[str, Any] | None = None,
    seed: int = 0,
    start: Solution | None = None,
    patience: int = 100,
    early_stopping: int | None = None,
    keep: str = "best",
    folder: str | Path | None = None,
    overwrite: bool = False,
    checkpoint_every: float = EVERY,
    progress: bool = True,
    monitors: Sequence[Monitor] = (),
    options: Mapping[str, Any] | None = None,
    devices: int | str | None = None,
) -> Solution:
    """Solve a problem by training a model with a method.

    Args:
        problem: the conditions to satisfy; or a case, which has a setting of its own.
        model: `MLP(...)`, `Fourier(...)`, `Polynomial(...)`, an equinox module, or these by unknown.
        method: a name (see `anagram.methods.METHODS`) or a method object.
        points: rules or a number of points, see `anagram.compound.batch.sample`.
        steps: the largest number of steps.
        seconds: the largest training time. Steps and moves of points count; stating the problem, compiling, looking
            at the run, estimating errors and drawing do not (the command line shows all of them).
        tol: the relative error that is wanted, for every unknown and coefficient; 0 for as small as it gets. Networks
            of growing size are tried until the estimated error is below it, and `solution.reached` says whether it is.
            1e-6 if nothing is said of model, method and steps; otherwise the run goes on until these end it.
        stretches: for evolutions: into how many stretches of time they are cut, or the edges between them. Each is
            solved by a ladder of its own, from where the last one ended; the solution is one function of all of time.
            Families are cut along a parameter by its name, ``{"nu": 4}``. The tolerance is 1e-6 unless it is given.
        seed: for the model's first parameters and for random points.
        start: a solution of the same model to go on from, in place of fresh parameters.
        patience: stop after this many steps without progress.
        early_stopping: stop when the loss on fresh points has had no new minimum for so many steps.
        keep: ``best`` returns the parameters with the least loss on fresh points, ``last`` those at the end.
        folder: where the run is kept: its record, metrics, checkpoints and in the end its solution.
        overwrite: whether a run that is in the folder already may be replaced.
        checkpoint_every: seconds between checkpoints.
        progress: show a progress bar (plain lines where the output is no terminal).
        monitors: functions called with the record of every block, and with the run if they take two arguments (it has
            ``solution()``); one that returns True stops the run.
        options: options of the method when it is given by name.
        devices: over how many devices the points are spread; by default ``all`` that JAX sees.

    What is left out comes from the setting of the problem or from defaults. Ctrl-C stops after the current block
    and returns what was reached. A run with a folder goes on with `resume`, to the same numbers.
    """
    if start is not None:
        if model is not None:
            raise SettingError("give either model= or start=: a run that goes on has the model of its start")
        model = start.model.spec
    case = case_of(problem)
    begun = start is not None or case.problem.guess is not None
    setting = _setting(case, model, method, points, steps, options, continued=begun)
    cut = None
    if stretches is not None:
        cut = _checked_stretches(case.problem, setting, stretches, continued=start is not None)
    climbs = start is None and (tol or chooses_size(setting) or cut is not None)
    if climbs:
        wanted = TOLERANCE if tol is None else tol
        limit = Budget(setting.steps or STEPS, seconds, wanted, patience, early_stopping=early_stopping)
        configuration = Configuration(setting, limit, checked_seed(seed), keep, climbs=True, stretches=cut)
        setting.make_method()  # refused before anything is done
    else:
        setting = complete(setting, case.problem)
        budget = Budget(setting.steps or 0, seconds, tol, patience, early_stopping=early_stopping)
        configuration = Configuration(setting, budget, seed, keep)
    with on_devices(devices):
        return begin(
            case, configuration, start, folder, checkpoint_every, monitors, overwrite=overwrite, progress=progress
        )


def _checked_stretches(problem: Problem, setting: Setting, stretches: Any, *, continued: bool) -> Any:
    """Stretches that were asked for; what is wrong with them is said before anything is done."""
    if continued:
        raise SettingError("give either stretches= or start=: a solution to go on from is one of all of time")
    if setting.model is not None and not isinstance(setting.model, ModelSpec):
        raise SettingError(
            f"stretches= needs a model that can be built for each of them, a recipe such as MLP(32, 32), not "
            f"{setting.model!r}"
        )
    stretch_edges(problem, stretches)
    return checked_stretches(stretches)


def chooses_size(setting: Setting) -> bool:
    """Whether the size of the model is left to the program: nothing is said of model, method or steps."""
    return setting.model is None and setting.method == "auto" and setting.steps is None


def begin(
    case: Case,
    configuration: Configuration,
    start: Any = None,
    folder: str | Path | None = None,
    checkpoint_every: float = EVERY,
    monitors: Sequence[Monitor] = (),
    *,
    overwrite: bool = False,
    progress: bool = True,
) -> Solution:
    """A run of a configuration from its beginning."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(Interrupts())  # compilation takes its time, and cannot be interrupted
        processes.agree("problem or setting", f"{case.problem.name} {configuration.as_json()}")
        kept = None
        if folder is not None and processes.is_first():
            kept = RunFolder(folder, checkpoint_every, source=case.source, overwrite=overwrite)
            stack.enter_context(kept)
        if configuration.climbs:
            return climbed(stack, case.problem, configuration, kept, monitors, progress=progress)
        trainer = _trainer(case.problem, configuration, start)
        if kept is not None:
            kept.begin(trainer, configuration)
        run = _compiled(stack, trainer, configuration, monitors, progress=progress)
        if kept is not None:
            kept.compiled(trainer)
        return run.finish(kept)


def resume(
    folder: str | Path,
    problem: Problem | Case | None = None,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    tol: float | None = None,
    model: Any = None,
    method: Method | None = None,
    points: Points = None,
    checkpoint_every: float = EVERY,
    progress: bool = True,
    monitors: Sequence[Monitor] = (),
    devices: int | str | None = None,
) -> Solution:
    """Go on with a run that was stopped, or take one that has ended further, from its last checkpoint.

    On the same machine it comes to the same numbers, bit for bit, as if it had never been interrupted. On another
    number of devices sums are added up in another order, and the numbers are the same to rounding.

    Args:
        folder: the folder of the run.
        problem: the problem; those of the catalogue are found by name.
        steps: the largest number of steps in all, in place of the old one; the same for `seconds` and `tol`.
        seconds: the largest training time in all.
        tol: the relative error that is wanted.
        model: the module, if it is of your own; the same for `method` and `points`.
        method: the method object, if it is of your own.
        points: the rule for points, if it is of your own.
        checkpoint_every: seconds between checkpoints.
        progress: show a progress bar.
        monitors: as in `solve`.
        devices: as in `solve`.
    """
    path = Path(folder)
    record = read_record(path)
    configuration = read_configuration(path, record, model, method, points)
    given = {"steps": steps, "seconds": seconds, "tol": tol}
    budget = replace(configuration.budget, **{k: v for k, v in given.items() if v is not None})
    configuration = replace(configuration, budget=budget)
    if configuration.climbs and steps is not None:
        configuration = replace(configuration, setting=replace(configuration.setting, steps=steps))
    case = case_of(problem or problem_of_record(path, record))
    with contextlib.ExitStack() as stack:
        stack.enter_context(on_devices(devices))
        warn_of_other_versions(record, f"the run in '{path}' goes on")
        stack.enter_context(Interrupts())
        processes.agree("run", f"{configuration.as_json()} {record['configuration'].get('fingerprint')}")
        options = {"every": checkpoint_every, "source": case.source, "go_on": True}
        kept = stack.enter_context(folder_of(path, processes.is_first(), **options))
        known = {**record["configuration"], "budget": budget.as_json()}
        if configuration.climbs:
            told = {**known, "steps": configuration.setting.steps}
            kept.takes_up({**record, "configuration": told})
            return climbed(stack, case.problem, configuration, kept, monitors, progress=progress, goes_on=told)
        snapshot = _last_snapshot(path)
        start = None if snapshot is None else snapshot.arrays.get(START)
        if snapshot is None and record["configuration"].get("continued"):
            raise FileError(
                f"the run in '{path}' was stopped before its first step, and the solution it was to start from is not "
                "in its folder: begin it again"
            )
        run = _compiled(stack, _trainer(case.problem, configuration, start), configuration, monitors, progress=progress)
        now = fingerprint(run.trainer)
        refuse_another(path, now, record["configuration"].get("fingerprint"))
        if snapshot is not None:
            restore(run.trainer, snapshot)
        kept.go_on(run.trainer, {**record, "configuration": known if snapshot else {**known, "fingerprint": now}})
        return run.finish(kept)


def read_configuration(
    path: Path, record: dict[str, Any], model: Any = None, method: Any = None, points: Any = None
) -> Configuration:
    """The configuration in the record of a run."""
    data = record.get("configuration")
    if not isinstance(data, dict):
        raise FileError(f"'{path}' says nothing of how its run was made: it cannot go on or be repeated")
    try:
        return configuration_from_json(data, model, method, points)
    except SettingError as error:
        raise FileError(f"the run in '{path}' cannot be set up again: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FileError(f"the configuration in '{path}' is damaged ({type(error).__name__}: {error})") from error


def problem_of_record(path: Path, record: dict[str, Any]) -> Problem:
    """The problem of a run, if it is one of the catalogue; files of someone else are never executed."""
    origin = record.get("origin")
    origin = origin if isinstance(origin, dict) else {}
    try:
        problem = catalogue.find(origin)
    except AnagramError as error:
        raise FileError(f"the problem of the run in '{path}' cannot be stated: {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise FileError(f"the record in '{path}' is damaged ({type(error).__name__}: {error})") from error
    if problem is not None:
        return problem
    if "file" in origin:
        raise FileError(
            f"the problem of the run in '{path}' is stated in a Python file, which is executed only if you name it: "
            f"{how_to_go_on(path, record)}"
        )
    raise FileError(
        f"the problem of the run in '{path}' is your own, stated in Python: give it again there, as in "
        f"anagram.resume('{path}', problem)"
    )


def warn_of_other_versions(record: dict[str, Any], what: str) -> list[str]:
    """Which programs or devices are others than those of a run; numbers then differ in their last digits."""
    then, now = record.get("versions"), versions()
    then = then if isinstance(then, dict) else {}
    others = [f"{k} {then.get(k)} → {v}" for k, v in now.items() if then.get(k) != v]
    if others:
        message = f"{what} with other versions ({', '.join(others)}): the numbers will not be the same bit for bit"
        warnings.warn(message, RunWarning, stacklevel=3)
    return others


@dataclass(frozen=True)
class _Run:
    """A trainer with its configuration and its monitors."""

    trainer: Trainer
    configuration: Configuration
    monitors: Sequence[Monitor]

    def finish(self, folder: RunFolder | None) -> Solution:
        """Train, and keep what came out of it."""
        # The folder comes last: what it writes has what other monitors add to records.
        monitors = self.monitors if folder is None else [SpectrumWatch(), *self.monitors, folder]
        try:
            reached = self.trainer.train(self.configuration.budget, monitors, keep=self.configuration.keep)
        except ProcessError:
            if folder is not None:
                folder.lost(self.trainer)
            raise
        solution = settle(Solution.of(reached), self.trainer.problem)
        solution.problem = self.trainer.problem.undeflated or self.trainer.problem
        solution.configuration = self.configuration.as_json()
        if folder is not None:
            solution.folder = folder.finish(self.trainer, solution)
        return solution


def _trainer(problem: Problem, configuration: Configuration, start: Any) -> Trainer:
    """A run that is not compiled yet; what is wrong with its input is said here."""
    seen = corners_seen(configuration.setting.model)
    problem = problem.restated(corners=seen) if seen else problem
    return Trainer(problem, configuration.setting, configuration.seed, start, result=Solution, compile_now=False)


def _compiled(
    stack: contextlib.ExitStack,
    trainer: Trainer,
    configuration: Configuration,
    monitors: Sequence[Monitor],
    *,
    progress: bool,
) -> _Run:
    """A run that can begin; the bar is there before it is compiled, which takes its time."""
    monitors = [monitors] if callable(monitors) else monitors
    if progress and processes.is_first():
        from anagram.showing.report.progress import Progress

        monitors = [*monitors, stack.enter_context(Progress(trainer.problem, configuration.budget))]
    trainer.compile()
    return _Run(trainer, configuration, monitors)


def climbed(
    stack: contextlib.ExitStack,
    problem: Problem,
    configuration: Configuration,
    kept: RunFolder | None = None,
    monitors: Sequence[Monitor] = (),
    *,
    progress: bool,
    goes_on: Mapping[str, Any] | None = None,
    limited: Callable[[TrainedRungs], TrainRung] = lambda rungs: rungs,
) -> Solution:
    """A climb to a tolerance, from its beginning or from the rungs and the checkpoint in its folder.

    `limited` may put something between the climb and what trains its rungs.
    """
    monitors = [monitors] if callable(monitors) else list(monitors)
    announce, told = (lambda _: None), (lambda _: None)
    if progress and processes.is_first():
        from anagram.showing.report.progress import Progress

        shown = stack.enter_context(Progress(problem, configuration.budget))
        monitors, announce, told = [*monitors, shown], shown.begins, shown.rung
    rungs = TrainedRungs(configuration, monitors, kept, announce)
    if kept is not None:
        kept.data = data_of(problem)
    if kept is not None and goes_on is not None:
        kept.refuse_other_data(goes_on.get("data"))
        if goes_on.get("rung") == rungs.known:
            rungs.go_on_from(rungs.known, _last_snapshot(kept.path), goes_on.get("fingerprint"))

    def tell(rung: Rung) -> None:
        rungs.note(rung)
        told(rung)

    budget = configuration.budget
    tol = TOLERANCE if budget.tol is None else budget.tol
    setting, stretches = configuration.setting, configuration.stretches
    found = find(problem, tol, configuration.seed, limited(rungs), budget.seconds, setting, tell, stretches)
    trained = found.solution.stated_problem()
    solution = settle(found.finished(problem), trained)
    if rungs.left:
        solution.summary["left"] = rungs.left
    solution.configuration = configuration.as_json()
    if kept is not None and rungs.last is not None:
        solution.folder = kept.finish(rungs.last, solution)
    elif kept is not None:  # all of it was there
        solution.configuration = kept.configuration
        solution.folder = save(solution, kept.path) if kept.writes else kept.path
    return solution


def _last_snapshot(path: Path) -> Snapshot | None:
    """The last checkpoint that is whole; None if the run was stopped before there was any."""
    if not checkpoint.exists(path):
        return None
    snapshot, damaged = checkpoint.read(path)
    for file, what in damaged.items():
        message = f"{what}. The run goes on from the other checkpoint, of step {snapshot.record.get('step')}."
        warnings.warn(message, RunWarning, stacklevel=3)
        with contextlib.suppress(OSError):
            file.unlink()  # or the next checkpoint might take the place of the one that is whole
    return snapshot


def _setting(case: Case, model: Any, method: Any, points: Any, steps: Any, options: Any, continued: bool) -> Setting:
    if method is None and isinstance(model, Chebyshev | Features | Waves):
        method = "newton"  # they are linear in their parameters
    setting = case.setting if method is None else case.setting.with_method(method)
    if continued and setting.method == "auto":
        # There is a solution to begin with, and nowhere else to go.
        options = {"sketch": 0, "restarts": 0, **(options or {})}
    if options:
        setting = replace(setting, options={**setting.options, **options})
    given = {"model": model, "points": points, "steps": steps}
    return replace(setting, **{k: v for k, v in given.items() if v is not None})
