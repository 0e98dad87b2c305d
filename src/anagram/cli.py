"""The command ``anagram``."""

from __future__ import annotations

import ast
import statistics
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer(
    help="Solve differential equations with neural networks trained by natural gradient.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)

WRONG_INPUT, NUMERICAL_FAILURE = 2, 3
ESTIMATE_AT_MOST = 3000  # parameters; above, an estimate takes longer than many runs


@app.callback()
def main() -> None:
    """Solve differential equations with neural networks trained by natural gradient."""


@app.command("list")
def list_problems() -> None:
    """List the problems of the catalogue and the methods."""
    from anagram import catalogue
    from anagram.methods import METHODS

    table = Table("problem", "equation", "parameters", box=None, header_style="bold", pad_edge=False)
    for entry in catalogue.ENTRIES.values():
        parameters = ", ".join(f"{k}={v:g}" for k, v in entry.parameters.items())
        table.add_row(entry.name, entry.equation, parameters)
    out.print(table)
    out.print(f"\nmethods: {', '.join(METHODS)}")


@app.command()
def solve(
    target: Annotated[
        str,
        typer.Argument(
            metavar="NAME_OR_FILE.py[:problem]", help="A problem of the catalogue, or a Python file that states one."
        ),
    ],
    method: Annotated[str | None, typer.Option(help="The method; see `anagram list`.")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="The paper's network, points, cutoff and steps.")] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="An option of the problem, model, points or method; may be repeated."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="For initial parameters and random points.")] = 0,
    steps: Annotated[int | None, typer.Option(help="At most so many steps.")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="At most so much training time, compilation not counted.")
    ] = None,
    tol: Annotated[float | None, typer.Option(help="Stop at this root mean square residual on fresh points.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Where the run is written; runs/<problem>-<time> by default.")
    ] = None,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the summary to this file as JSON.")] = None,
    estimate: Annotated[bool, typer.Option(help="Estimate the error of the solution on fresh points.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Solve a problem; write its solution, numbers and pictures."""
    from anagram.cache import enable_compilation_cache

    enable_compilation_cache()
    warnings.showwarning = _show_warning
    with _wrong_input():
        solution, where = _solve(
            target, method, paper, set_ or [], seed, steps, seconds, tol, folder, json_path, estimate, quiet
        )
    if not quiet:
        _print_summary(solution.summary, where)
    if solution.failed:
        err.print(f"[bold red]error:[/] the run {_escape(solution.stopped_because)}")
        raise typer.Exit(NUMERICAL_FAILURE)


@app.command()
def reproduce(
    problems: Annotated[
        str, typer.Option(help="Problems of the paper, separated by commas.")
    ] = "laplace-2d,heat,laplace-5d,allen-cahn,burgers",
    methods: Annotated[
        str, typer.Option(help="Methods of the paper, and auto, our default at the same setting.")
    ] = "anagram,engd,gd,adam,lbfgs,auto",
    seeds: Annotated[str, typer.Option(help="How many seeds (10), or which: 3:7 or 0,4,5.")] = "10",
    scale: Annotated[float, typer.Option(help="A factor for the numbers of steps; 0.1 is a quick look.")] = 1.0,
    folder: Annotated[Path, typer.Option("--out", help="Results, tables and figures; what is there is kept.")] = Path(
        "reproduction"
    ),
    only_report: Annotated[bool, typer.Option("--only-report", help="Run nothing; tables and figures only.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run the paper's experiments; tables and figures beside the paper's numbers."""
    from anagram.cache import enable_compilation_cache
    from anagram.reproduce.command import reproduce as run_plan

    enable_compilation_cache()
    warnings.showwarning = _show_warning
    with _wrong_input():
        _, done = run_plan(
            folder, _names(problems), _names(methods), _seeds(seeds), scale, only_report=only_report, quiet=quiet
        )
    if not quiet:
        if not done:
            out.print("Not all of it is there yet; the same command goes on where it stopped.")
        if (folder / "tables.md").exists():
            out.print(f"Tables: {folder / 'tables.md'}    figures: {folder / 'figures'}")


@app.command()
def kernels(
    target: Annotated[
        str,
        typer.Argument(
            metavar="NAME_OR_FILE.py[:problem]", help="A problem of the catalogue, or a Python file that states one."
        ),
    ],
    kind: Annotated[str, typer.Option(help="ntk, nntk or green; several separated by commas.")] = "ntk,nntk,green",
    at: Annotated[
        str, typer.Option(help="start (first parameters), end (after training), or both: start,end.")
    ] = "start",
    paper: Annotated[bool, typer.Option("--paper", help="The paper's network, points, method and steps.")] = False,
    seed: Annotated[int, typer.Option(help="For initial parameters and random points.")] = 0,
    steps: Annotated[int | None, typer.Option(help="At most so many steps of training.")] = None,
    boundary_weight: Annotated[
        float,
        typer.Option(help="How much more the boundary counts in the metric; large for Green's functions that obey it."),
    ] = 1.0,
    folder: Annotated[Path, typer.Option("--out", help="Where the pictures are written.")] = Path("kernels"),
) -> None:
    """Draw NTK, NNTK and Green's function around sixteen points; print how far they reach."""
    warnings.showwarning = _show_warning
    with _wrong_input():
        _draw_kernels(target, _names(kind), _names(at), paper, seed, steps, boundary_weight, folder)


def _draw_kernels(
    target: str,
    kinds: list[str],
    stages: list[str],
    paper: bool,
    seed: int,
    steps: int | None,
    weight: float,
    folder: Path,
) -> None:
    import anagram as ag
    from anagram.defaults import complete
    from anagram.files import prepare_folder
    from anagram.loading import find_problem
    from anagram.report.kernels import KINDS, kernel_figure
    from anagram.tangent.space import with_boundary_weight

    for name, given, known in (("--kind", kinds, tuple(KINDS)), ("--at", stages, ("start", "end"))):
        if not given or not set(given) <= set(known):
            raise ag.SettingError(f"{name} takes {', '.join(known)}, not '{','.join(given)}'")
    problem = find_problem(target, paper, {})
    model = ag.ParametricModel(problem.asked, complete(problem.setting or ag.Setting(), problem).model, seed)
    where = prepare_folder(folder)
    for stage in dict.fromkeys(stages):
        theta = None
        if stage == "end":
            theta = ag.solve(problem, steps=steps, seed=seed).theta
        space = ag.TangentSpace(with_boundary_weight(problem, weight), model, theta)
        words = "first parameters" if stage == "start" else "after training"
        for kind in dict.fromkeys(kinds):
            path = where / f"{problem.name}-{kind}-{stage}.png"
            _, spreads = kernel_figure(space, kind, f"{KINDS[kind]} of {problem.name}, {words}", path)
            out.print(
                f"{KINDS[kind]:17} {stage:5}  spread {spreads.min():.2f} to {spreads.max():.2f}, "
                f"median {statistics.median(spreads):.2f}   {path}"
            )
        share = f"{100 * space.orthogonal_share:.2g} %"
        out.print(
            f"tangent space: {space.dimension} dimensions of {model.parameters} parameters; {share} of the residual "
            "is orthogonal to it"
        )


@contextmanager
def _wrong_input() -> Iterator[None]:
    """What this package refuses is said in one line, and has an exit status of its own."""
    from anagram.errors import AnagramError

    try:
        yield
    except AnagramError as error:
        err.print(f"[bold red]error:[/] {_escape(str(error))}")
        raise typer.Exit(WRONG_INPUT) from None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _seeds(text: str) -> list[int]:
    """`10`, `3:7` or `0,4,5`."""
    from anagram.errors import SettingError

    try:
        if ":" in text:
            first, last = (int(part) for part in text.split(":"))
            seeds = list(range(first, last))
        elif "," in text:
            seeds = [int(part) for part in text.split(",")]
        else:
            seeds = list(range(int(text)))
    except ValueError:
        raise SettingError(f"--seeds needs a number of seeds, a range 3:7 or a list 0,4,5, not '{text}'") from None
    if not seeds or min(seeds) < 0:
        raise SettingError(f"--seeds {text} names no seeds, or negative ones")
    return seeds


def _solve(
    target: str,
    method: str | None,
    paper: bool,
    changes: list[str],
    seed: int,
    steps: int | None,
    seconds: float | None,
    tol: float | None,
    folder: Path | None,
    json_path: Path | None,
    estimate: bool,
    quiet: bool,
) -> tuple[Any, Path]:
    import anagram as ag
    from anagram.defaults import complete
    from anagram.files import json_text, prepare_folder, write_atomically
    from anagram.loading import find_problem, problem_parameters

    options = dict(_key_value(text) for text in changes)
    of_problem = {k: options.pop(k) for k in problem_parameters(target) if k in options}
    problem = find_problem(target, paper, of_problem)
    setting = problem.setting or ag.Setting()
    if method is not None:
        setting = setting.with_method(method)
    problem.setting = complete(setting, problem).with_changes(options)
    where = prepare_folder(folder) if folder is not None else _new_folder(problem.name)
    if json_path is not None:
        prepare_folder(json_path.parent)
        if json_path.is_dir():
            raise ag.SettingError(f"--json needs the name of a file; '{json_path}' is a folder")
    solution = ag.solve(problem, steps=steps, seconds=seconds, tol=tol, seed=seed, progress=not quiet)
    solution.summary["setting"] = {"paper": paper, "set": options | of_problem, "model": repr(problem.setting.model)}
    solution.save(where)
    if estimate and not solution.failed:
        solution.summary["error_estimate"] = _estimate(solution)
        solution.save(where)
    if json_path is not None:
        write_atomically(json_path, lambda p: p.write_text(json_text(solution.summary), encoding="utf-8"))
    solution.plot_convergence(where / "convergence.png")
    solution.plot(where / "solution.png")
    return solution, where


def _estimate(solution: Any) -> dict[str, Any]:
    """The estimated error for the summary, or why there is none."""
    from anagram.errors import AnagramError

    if solution.model.parameters > ESTIMATE_AT_MOST:
        return {"value": None, "reasons": ["the model is large; solution.estimate_error() takes the time for it"]}
    try:
        found = solution.estimate_error()
    except AnagramError as error:
        return {"value": None, "reasons": [str(error)]}
    return {
        "value": found.value,
        "relative": found.relative,
        "reliable": found.reliable,
        "reasons": list(found.reasons),
        "coefficients": found.coefficients,
    }


def _key_value(text: str) -> tuple[str, Any]:
    from anagram.errors import SettingError

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingError(f"--set needs key=value, not '{text}'")
    value = value.strip()
    if "," in value and not value.startswith(("(", "[")):
        value = f"({value})"
    try:
        read = ast.literal_eval({"true": "True", "false": "False"}.get(value.lower(), value))
    except (ValueError, SyntaxError):
        read = value
    whole = isinstance(read, float) and read.is_integer() and "." not in value  # 1e3 is a thousand
    return key.strip(), int(read) if whole else read


def _new_folder(name: str) -> Path:
    """A folder that no other run has, also when several start in the same second."""
    from anagram.files import prepare_folder

    base = prepare_folder("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    candidate, count = base, 1
    while True:
        try:
            candidate.mkdir()
            return candidate
        except FileExistsError:
            count += 1
            candidate = base.with_name(f"{base.name}-{count}")


def _print_summary(summary: dict[str, Any], where: Path) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    rows = [
        ("problem", f"{summary['problem']}  (method {summary['method']}, seed {summary['seed']})"),
        ("model", f"{summary['setting']['model']}, {summary['parameters']} parameters, {summary['points']} points"),
        (
            "steps",
            f"{summary['steps']} in {summary['seconds']:.2f} s (and {summary['compile_seconds']:.2f} s of compilation)",
        ),
        ("loss", f"{summary['loss']:.2e}  (on fresh points {summary['validation_loss']:.2e})"),
        ("", ", ".join(f"{k} {v:.1e}" for k, v in summary["condition_losses"].items()) + " on fresh points"),
    ]
    if summary["l2_error"] is not None:
        rows.append(
            ("L² error", f"{summary['l2_error']:.2e}  (relative {summary['relative_l2_error'] or float('nan'):.2e})")
        )
    else:
        rows.append(("L² error", "not known: the problem gives no exact solution or reference"))
    estimate = summary.get("error_estimate")
    if estimate is not None:
        rows.append(("estimated", _in_words(estimate)))
    errors = (estimate or {}).get("coefficients", {})
    rows += [
        (f"  {name}", f"{value:.10g}" + (f"  (estimated error {errors[name]:.1e})" if name in errors else ""))
        for name, value in summary["coefficients"].items()
    ]
    rows += [
        ("stopped", summary["stopped_because"]),
        ("pictures", f"{where}/solution.png, convergence.png"),
        ("solution", f"{where}/  (read it with anagram.load)"),
    ]
    for name, text in rows:
        table.add_row(f"[bold]{name}[/]", _escape(text))
    out.print(table)


def _in_words(estimate: dict[str, Any]) -> str:
    reasons = "; ".join(estimate["reasons"])
    if estimate["value"] is None:
        return f"not computed: {reasons}"
    doubt = "" if estimate["reliable"] else f"; not to be relied on: {reasons}"
    return f"{estimate['value']:.2e}  (from the residual on fresh points{doubt})"


def _show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    from anagram.errors import PointsWarning

    if issubclass(category, PointsWarning):
        err.print(f"[bold yellow]warning:[/] {_escape(str(message))}")


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


if __name__ == "__main__":
    app()
