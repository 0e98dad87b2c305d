"""``anagram solve``: a run, from its beginning or from its last checkpoint."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from anagram.programs.commands.carrying import carry_out
from anagram.programs.commands.common import (
    NUMERICAL_FAILURE,
    err,
    escape,
    out,
    read_names,
    show_warning,
    wrong_input,
)
from anagram.programs.commands.machines import (
    COORDINATOR_HELP,
    DEVICES_HELP,
    PROCESS_HELP,
    PROCESSES_HELP,
    on_the_devices,
    with_others,
)
from anagram.programs.commands.options import ASKED, print_options
from anagram.programs.commands.planned import plan_resume, plan_run, steps_in_all
from anagram.programs.commands.summary import print_summary
from anagram.training.interrupts import STOPPED_AT_ONCE

TOL_HELP = (
    "The relative error that is wanted: networks of growing size are tried until the estimated error is below it; 0 "
    "goes on to rounding. 1e-6 if nothing is said of model, points, method and steps."
)

STRETCHES_HELP = "Solve an evolution in so many stretches of time, or in those between these moments; a family: nu=4."
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
    devices: Annotated[str | None, typer.Option(metavar="all|N", help=DEVICES_HELP)] = None,
    coordinator: Annotated[str | None, typer.Option(metavar="HOST:PORT", help=COORDINATOR_HELP)] = None,
    processes: Annotated[str | None, typer.Option(metavar="N|auto", help=PROCESSES_HELP)] = None,
    process: Annotated[int | None, typer.Option(metavar="K", help=PROCESS_HELP)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Solve a problem; write its solution, numbers and pictures. Ctrl-C stops and saves, --resume goes on."""
    from anagram.compound.processes import is_first

    warnings.showwarning = show_warning
    if any(text.strip() in ASKED for text in set_ or ()):
        print_options(target, method)
        return
    limits = {"steps": steps, "seconds": seconds, "tol": tol}
    with wrong_input(), with_others(coordinator, processes, process) as others, on_the_devices(devices):
        quiet = quiet or not is_first()
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
        others.begin(planned.command, first=is_first())
        _check_json_path(json_path)
        with removed_if_empty(planned.folder):
            solution = carry_out(planned, checkpoint, read_names(log), json_path, estimate=estimate, quiet=quiet)
    if not quiet:
        print_summary(solution.summary, solution.folder or planned.folder)
    if solution.stopped_because == "interrupted":
        if is_first():
            (out if not quiet else err).print(f"Go on with:  {escape(planned.command)}")
        raise typer.Exit(STOPPED_AT_ONCE)
    if planned.steps is not None and steps_in_all(solution.summary) == planned.steps and not quiet:
        further = "a smaller --tol" if "rungs" in solution.summary else "--steps"
        out.print(f"There was nothing left to do; {further} takes it further.")
    if solution.failed:
        err.print(f"[bold red]error:[/] the run {escape(solution.stopped_because)}")
        raise typer.Exit(NUMERICAL_FAILURE)


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


def _read_stretches(text: str) -> Any:
    """A number of stretches, or the moments between them; for another axis than time with its name before it."""
    from anagram.errors import SettingError

    axis, named, rest = text.partition("=")
    if named:
        return {axis.strip(): _read_stretches(rest)}
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
