"""``anagram kernels``: pictures of the tangent space."""

from __future__ import annotations

import statistics
import warnings
from pathlib import Path
from typing import Annotated

import typer

from anagram.programs.commands.common import Target, escape, out, read_names, show_warning, wrong_input


def kernels(
    target: Target,
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
    warnings.showwarning = show_warning
    with wrong_input():
        _draw_kernels(target, read_names(kind), read_names(at), paper, seed, steps, boundary_weight, folder)


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
    from anagram.compound.batch import checked_seed
    from anagram.keeping.atomic import file_name, prepare_folder
    from anagram.programs.loading import find_case
    from anagram.showing.report.kernels import KINDS, inner_condition, kernel_figure, what_is_shown
    from anagram.tangent.space import with_boundary_weight
    from anagram.training.defaults import complete

    for name, given, known in (("--kind", kinds, tuple(KINDS)), ("--at", stages, ("start", "end"))):
        if not given or not set(given) <= set(known):
            raise ag.SettingError(f"{name} takes {', '.join(known)}, not '{','.join(given)}'")
    case = find_case(target, paper, {})
    problem = case.problem
    inner_condition(problem)  # or there is nothing to draw
    recipe = complete(case.setting, problem).model
    model = ag.ParametricModel(problem.sought, recipe, checked_seed(seed))
    where = prepare_folder(folder)
    for stage in dict.fromkeys(stages):
        theta = None
        if stage == "end":
            theta = ag.solve(problem, steps=steps, seed=seed).theta
        space = ag.TangentSpace(with_boundary_weight(problem, weight), model, theta)
        words = "first parameters" if stage == "start" else "after training"
        for kind in dict.fromkeys(kinds):
            path = where / f"{file_name(problem.name)}-{kind}-{stage}.png"
            title = f"{KINDS[kind]} of {problem.name}{what_is_shown(problem, kind)}, {words}"
            _, spreads = kernel_figure(space, kind, title, path)
            out.print(
                f"{KINDS[kind]:17} {stage:5}  spread {spreads.min():.2f} to {spreads.max():.2f}, "
                f"median {statistics.median(spreads):.2f}   {escape(str(path))}"
            )
        share = f"{100 * space.orthogonal_share:.2g} %"
        out.print(
            f"tangent space: {space.dimension} dimensions of {model.parameters} parameters; {share} of the residual "
            "is orthogonal to it"
        )
