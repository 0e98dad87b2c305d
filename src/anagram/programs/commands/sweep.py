"""``anagram sweep``: a problem over a grid of options, methods and seeds."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from anagram.programs.commands.common import (
    Target,
    err,
    escape,
    out,
    read_names,
    read_seeds,
    read_value,
    show_warning,
    wrong_input,
)

if TYPE_CHECKING:
    from anagram.programs.sweep import Outcome, Study

SOME_FAILED = 3
ONLY_HELP = "The K-th run alone, from 0: what a job of an array does."
ON_HELP = (
    "Where the runs are carried out: processes:N, dask, dask:ADDRESS, ray, ray:ADDRESS; slurm writes a file for "
    "sbatch. In this process by default."
)


def sweep(
    target: Target,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE,...", help="Values of an option, as in width=16,32; may be repeated."),
    ] = None,
    method: Annotated[str, typer.Option(help="Methods, separated by commas.")] = "auto",
    seed: Annotated[str, typer.Option(help="Seeds: 4 or 0,4,5 for those, 0:10 for a range.")] = "0",
    paper: Annotated[bool, typer.Option("--paper", help="The paper's network, points, cutoff and steps.")] = False,
    steps: Annotated[int | None, typer.Option(help="At most so many steps.")] = None,
    seconds: Annotated[float | None, typer.Option(help="At most so much training time for each run.")] = None,
    tol: Annotated[
        float | None, typer.Option(help="Stop each run when its estimated relative error is below this.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="The folder of the study; sweeps/<problem> by default.")
    ] = None,
    on: Annotated[str | None, typer.Option(metavar="WHERE", help=ON_HELP)] = None,
    only: Annotated[int | None, typer.Option(metavar="K", help=ONLY_HELP)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Solve a problem for every combination of options, methods and seeds. The same command goes on after a stop."""
    warnings.showwarning = show_warning
    with wrong_input():
        study, where = _study(target, set_ or [], method, seed, paper, folder)
        study.limits.update({"steps": steps, "seconds": seconds, "tol": tol})
        if on == "slurm":
            _write_jobs(study, where, set_ or [], seed, quiet)
            return
        outcomes = _carry_out(study, where, on, only, quiet)
        if only is None:
            _write_report(study, outcomes, where)
    if not quiet and only is None:
        _print_table(outcomes)
        out.print(f"\nTable: {where}/table.md    figures: {where}/errors.png, convergence.png")
        if len(outcomes) < study.size or _interrupted(outcomes[-1]):
            out.print(f"{len(outcomes)} of {study.size} runs; the same command goes on.")
    failed = [o for o in outcomes if o.solution is None or o.solution.failed]
    if failed:
        first = failed[0].failure or (failed[0].solution.stopped_because if failed[0].solution else "")
        err.print(f"[bold red]error:[/] {len(failed)} of {len(outcomes)} runs failed; the first: {escape(first)}")
        raise typer.Exit(SOME_FAILED)


def read_values(text: str) -> tuple[str, list[Any]]:
    """`width=16,32` or `widths=(16,16),(32,32)`: a key and its values; brackets hold together."""
    from anagram.errors import SettingError

    key, equals, rest = text.partition("=")
    if not equals or not key.strip() or not rest.strip():
        raise SettingError(f"--set needs key=value or key=value,value,..., not '{text}'")
    pieces, depth = [""], 0
    for character in rest:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    if depth != 0 or not all(piece.strip() for piece in pieces):
        raise SettingError(f"--set {text}: a value is missing, or brackets do not match")
    return key.strip(), [read_value(piece) for piece in pieces]


def _study(
    target: str, changes: list[str], methods: str, seeds: str, paper: bool, folder: Path | None
) -> tuple[Study, Path]:
    from anagram.errors import SettingError
    from anagram.programs.sweep import Study, combinations

    values: dict[str, list[Any]] = {}
    for text in changes:
        key, given = read_values(text)
        if key in values:
            raise SettingError(f"--set {key} is given twice: list its values in one")
        values[key] = given
    # A single number is that seed, as in `solve`.
    chosen = read_seeds(seeds if ":" in seeds or "," in seeds else f"{seeds},", "--seed")
    study = Study(target, combinations(read_names(methods), values), chosen, paper)
    name = Path(target.partition(".py")[0]).name
    return study, folder if folder is not None else Path("sweeps") / name


def _carry_out(study: Study, where: Path, on: str | None, only: int | None, quiet: bool) -> list[Outcome]:
    from anagram.programs.sweep import executor_of, run_one, run_study

    def tell(outcome: Outcome, before: int, there: bool) -> None:
        text = f"[{before + 1}/{study.size}] {outcome.combination.label} seed {outcome.seed}: {_in_words(outcome)}"
        out.print(escape(text + (" (there already)" if there else "")), highlight=False)

    said = None if quiet else tell
    if only is not None:
        outcome = run_one(study, where, only)
        if said is not None:
            said(outcome, only, False)
        return [outcome]
    if on is None:
        return run_study(study, where, said)
    with executor_of(on) as executor:
        return run_study(study, where, said, executor)


def _write_jobs(study: Study, where: Path, changes: list[str], seeds: str, quiet: bool) -> None:
    """A file for ``sbatch``; afterwards the same command without --on reads what the jobs wrote."""
    from anagram.keeping.atomic import prepare_folder
    from anagram.programs.sweep import check_study, write_array

    check_study(study, prepare_folder(where))
    methods = ",".join(dict.fromkeys(combination.method for combination in study.grid))
    limits = {f"--{name}": value for name, value in study.limits.items() if value is not None}
    arguments = [study.target, "--method", methods, "--seed", seeds, "--out", str(where)]
    arguments += [word for change in changes for word in ("--set", change)]
    arguments += [word for name, value in limits.items() for word in (name, repr(value))]
    arguments += ["--paper"] if study.paper else []
    path = write_array(where, arguments, study.size, Path(study.target).stem)
    if not quiet:
        out.print(escape(f"{study.size} jobs:  sbatch {path}"), highlight=False)
        out.print("When they have ended, the same command without --on makes tables and figures of them.")


def _in_words(outcome: Outcome) -> str:
    if outcome.solution is None:
        return f"failed: {outcome.failure}"
    s = outcome.solution.summary
    error = "" if s["l2_error"] is None else f"error {s['l2_error']:.1e}, "
    fresh = "unknown" if s["validation_loss"] is None else f"{s['validation_loss']:.1e}"
    return f"{error}loss on fresh points {fresh}, {s['steps']} steps in {s['seconds']:.1f} s; {s['stopped_because']}"


def _interrupted(outcome: Outcome) -> bool:
    return outcome.solution is not None and outcome.solution.stopped_because == "interrupted"


def _write_report(study: Study, outcomes: list[Outcome], where: Path) -> None:
    from anagram.keeping.atomic import json_text, write_atomically
    from anagram.programs.sweep.report import convergence_figure, markdown, study_figure

    record = [
        {
            "method": o.combination.method,
            "options": dict(o.combination.options),
            "seed": o.seed,
            "folder": o.folder.name,
            "summary": None if o.solution is None else o.solution.summary,
            "failure": o.failure,
        }
        for o in outcomes
    ]
    text, table = json_text(record), markdown(outcomes)
    write_atomically(where / "results.json", lambda p: p.write_text(text, encoding="utf-8"))
    write_atomically(where / "table.md", lambda p: p.write_text(table, encoding="utf-8"))
    if any(o.solution is not None for o in outcomes):
        title = f"{study.target}: {len(outcomes)} runs"
        study_figure(outcomes, title, where / "errors.png")
        convergence_figure(outcomes, title, where / "convergence.png")


def _print_table(outcomes: list[Outcome]) -> None:
    from anagram.programs.sweep.report import cell, rows

    table = rows(outcomes)
    keys = list(dict.fromkeys(k for row in table for k in row))
    shown = Table(*keys, box=None, header_style="bold", pad_edge=False)
    for row in table:
        shown.add_row(*(escape(cell(row.get(k))) for k in keys))
    out.print()
    out.print(shown)
