"""``anagram solve``: a run, from its beginning or from its last checkpoint."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anagram.programs.clock import Clock
from anagram.programs.commands.common import (
    NUMERICAL_FAILURE,
    err,
    escape,
    out,
    read_key_value,
    read_names,
    show_warning,
    wrong_input,
)
from anagram.programs.commands.options import ASKED, print_options
from anagram.programs.commands.summary import print_summary
from anagram.training.interrupts import STOPPED_AT_ONCE, Interrupts

if TYPE_CHECKING:
    from anagram.solution import Solution
    from anagram.training.case import Case

ESTIMATE_AT_MOST = 3000  # parameters; above, an estimate takes longer than many runs
TOL_HELP = (
    "The relative error that is wanted: networks of growing size are tried until the estimated error is below it; 0 "
    "goes on to rounding. 1e-6 if nothing is said of model, points, method and steps."
)

STRETCHES_HELP = "Solve an evolution in so many stretches of time, or in those between these moments."
EXAMPLES = "\n\n".join(
    [
        "Examples:",
        "anagram solve heat",
        "anagram solve burgers --set nu=0.01 --tol 1e-4 --seconds 60",
        "anagram solve my_problem.py --tol 1e-8 --out first",
        "anagram solve my_file.py:second --method auto --set width=32 --set points=2000",
        "anagram solve my_problem.py --resume first --tol 1e-10",
        "anagram solve heat --set help",
    ]
)


def solve(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME_OR_FILE.py[:problem]", help="A problem of the catalogue, or a Python file that states one."
        ),
    ] = None,
    method: Annotated[str | None, typer.Option(help="The method; see `anagram list`.")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="The paper's network, points, cutoff and steps.")] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="An option of the problem, model, points or method, such as width=64, points=4000 or nu=0.001; may be "
            "repeated. --set help lists them all.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="For initial parameters and random points; 0 by default.")] = None,
    steps: Annotated[int | None, typer.Option(help="At most so many steps; with --tol, of each network.")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="At most so much training time, compilation not counted.")
    ] = None,
    tol: Annotated[float | None, typer.Option(help=TOL_HELP)] = None,
    stretches: Annotated[str | None, typer.Option(metavar="N|T1,T2,...", help=STRETCHES_HELP)] = None,
    early_stopping: Annotated[
        int | None, typer.Option(help="Stop when the loss on fresh points has had no new minimum for so many steps.")
    ] = None,
    keep: Annotated[str | None, typer.Option(help="Parameters best on fresh points (the default), or last.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Where the run is written; runs/<problem>-<time> by default.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a run that is in the folder.")] = False,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="DIR",
            help="Go on with the run in this folder; that of a file of yours with anagram solve FILE.py --resume DIR.",
        ),
    ] = None,
    checkpoint: Annotated[float, typer.Option(help="Seconds between checkpoints.")] = 30.0,
    log: Annotated[str, typer.Option(help="tensorboard also writes events for TensorBoard.")] = "",
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the summary to this file as JSON.")] = None,
    estimate: Annotated[
        bool, typer.Option(help="Estimate the error at the end; a run to a tolerance does so in any case.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Solve a problem; write its solution, numbers and pictures. Ctrl-C stops and saves, --resume goes on."""
    warnings.showwarning = show_warning
    if any(text.strip() in ASKED for text in set_ or ()):
        print_options(target, method)
        return
    limits = {"steps": steps, "seconds": seconds, "tol": tol}
    with wrong_input():
        _check_logs(read_names(log))
        fixed = {
            "--method": method,
            "--paper": paper or None,
            "--set": set_ or None,
            "--seed": seed,
            "--out": folder,
            "--keep": keep,
            "--early-stopping": early_stopping,
            "--stretches": stretches,
        }
        if resume is not None:
            planned = plan_resume(target, resume, [name for name, value in fixed.items() if value is not None], limits)
        else:
            more = {
                "overwrite": overwrite,
                "seed": seed or 0,
                "keep": keep or ("last" if paper else "best"),
                "early_stopping": early_stopping,
                "stretches": None if stretches is None else _read_stretches(stretches),
                **limits,
            }
            planned = plan_run(target, method, paper, set_ or [], folder, more)
        _check_json_path(json_path)
        with removed_if_empty(planned.folder):
            solution = carry_out(planned, checkpoint, read_names(log), json_path, estimate=estimate, quiet=quiet)
    if not quiet:
        print_summary(solution.summary, solution.folder or planned.folder)
    if solution.stopped_because == "interrupted":
        (out if not quiet else err).print(f"Go on with:  {escape(planned.command)}")
        raise typer.Exit(STOPPED_AT_ONCE)
    if planned.steps is not None and steps_in_all(solution.summary) == planned.steps and not quiet:
        further = "a smaller --tol" if "rungs" in solution.summary else "--steps"
        out.print(f"There was nothing left to do; {further} takes it further.")
    if solution.failed:
        err.print(f"[bold red]error:[/] the run {escape(solution.stopped_because)}")
        raise typer.Exit(NUMERICAL_FAILURE)


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


def carry_out(
    planned: Planned,
    checkpoint: float,
    logs: list[str],
    json_path: Path | None,
    *,
    estimate: bool,
    quiet: bool,
) -> Solution:
    """Run, estimate, write pictures."""
    from anagram.keeping.atomic import json_text, write_atomically

    clock = Clock()
    monitors, close = _loggers(logs, planned)
    Interrupts.last_words.append(lambda: _last_words(planned))
    try:
        solution = planned.start(checkpoint_every=checkpoint, progress=not quiet, monitors=monitors)
    finally:
        Interrupts.last_words.clear()
        close()
    climbed = "rungs" in solution.summary
    if not (climbed and planned.resumed):  # rungs of before took their time then
        clock.note("compile and estimate" if climbed else "compile", solution.summary["compile_seconds"])
    clock.note("train", None if planned.resumed else solution.summary["seconds"])
    where = solution.folder or planned.folder
    if solution.stopped_because != "interrupted":
        if not climbed:
            with clock.timed("estimate"):
                if estimate and not solution.failed:
                    solution.summary["error_estimate"] = _estimate(solution)
        with clock.timed("pictures"):
            solution.plot_convergence(where / "convergence.png")
            solution.plot(where / "solution.png")
        solution.summary["wall_seconds"] = clock.read()
        solution.save(where)
    if json_path is not None:
        write_atomically(json_path, lambda p: p.write_text(json_text(solution.summary), encoding="utf-8"))
    return solution


@contextlib.contextmanager
def removed_if_empty(folder: Path) -> Iterator[None]:
    """A run whose input is refused leaves no empty folder behind."""
    from anagram.errors import AnagramError

    try:
        yield
    except AnagramError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise


def _last_words(planned: Planned) -> None:
    """What is said when a second Ctrl-C ends the program at once."""
    from anagram.keeping.runrecord import RECORD

    if (planned.folder / RECORD).exists():
        err.print(f"Stopped at once; the last checkpoint stands. Go on with:  {escape(planned.command)}")
    else:
        err.print("Stopped before the first step; there is nothing to keep.")


def _loggers(names: list[str], planned: Planned) -> tuple[list[Any], Callable[[], None]]:
    """Monitors for other programs, and what closes them."""
    if not names:
        return [], lambda: None
    from anagram.errors import FileError
    from anagram.keeping.runfolder import RUNGS
    from anagram.showing.report.figures import solution_figure
    from anagram.showing.report.tensorboard import TensorBoard

    events = planned.folder / "tensorboard"
    if events.is_symlink():  # a run folder may come from someone else
        raise FileError(f"'{events}' is a link to another place: remove it first")
    writer = TensorBoard(events)

    def remember(_: dict[str, Any], run: Any) -> None:
        # Every network of a climb begins at step 0: from the second on they have folders of their own.
        done = sum(1 for _ in (planned.folder / RUNGS).glob("*/run.json"))
        writer.move_to(events / f"rung-{done + 1}" if done else events)
        writer.picture = lambda: solution_figure(run.solution())

    return [remember, writer], writer.close


def _read_stretches(text: str) -> int | list[float]:
    """A number of stretches, or the moments between them."""
    from anagram.errors import SettingError

    try:
        return int(text) if text.strip().isdecimal() else [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"--stretches takes a number, or moments as in 0.25,0.5, not '{text}'") from None


def _check_logs(names: list[str]) -> None:
    from anagram.errors import SettingError

    if names not in ([], ["tensorboard"]):
        raise SettingError(f"--log takes tensorboard, not '{','.join(names)}'")


def _check_json_path(path: Path | None) -> None:
    from anagram.errors import FileError, SettingError
    from anagram.keeping.atomic import refuse_unwritable

    if path is not None:
        try:
            refuse_unwritable(path)
        except FileError as error:
            raise SettingError(f"--json needs the name of a file: {error}") from error


def _estimate(solution: Solution) -> dict[str, Any]:
    """The estimated error for the summary, or why there is none."""
    from anagram.errors import AnagramError

    if solution.model.parameters > ESTIMATE_AT_MOST:
        return {"value": None, "reasons": ["the model is large; solution.estimate_error() takes the time for it"]}
    try:
        found = solution.estimate_error()
    except AnagramError as error:
        return {"value": None, "reasons": [str(error)]}
    solution.note_worst_members(found)
    return found.as_json()


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
