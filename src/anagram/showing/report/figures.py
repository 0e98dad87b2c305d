"""Pictures of solutions and of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from anagram.showing.report.maps import map_figure
from anagram.showing.report.quantities import components, exact_components, residual_of, title_of
from anagram.showing.report.rungs import ShownRung, shown_rungs, tolerance_of
from anagram.showing.report.stages import beginnings, sketches, stretch_ends
from anagram.showing.report.style import BLUE, COLOURS, GREEN, GREY, ORANGE, STYLE, finish, positive
from anagram.statement.domains.intervals import even_places, is_log
from anagram.training.reached import Reached


def solution_figure(solution: Reached, path: str | Path | None = None) -> Figure:
    """The solution; beside it the error if a solution is known, and the residual of the first condition.

    One axis gives curves, two give maps, more give the plane through the centre along the first two axes. Of a shape
    nothing is drawn outside of it; a solid is cut where the plane meets it, an evolution is shown at several instants.
    """
    with mpl.rc_context(STYLE):
        figure = _lines(solution) if solution.domain.dimension == 1 else map_figure(solution)
        return finish(figure, path)


def convergence_figure(solution: Reached, path: str | Path | None = None) -> Figure:
    """Losses and error against steps and against training time; rank and step length below.

    Of a climb, above them: the estimated errors of its rungs against the size of the networks and the time spent.
    """
    with mpl.rc_context(STYLE):
        steps, history = solution.history.steps, solution.history
        rungs = shown_rungs(solution.summary)
        heights = (2, 2, 1) if rungs else (2, 1)
        figure = Figure(figsize=(9.5, 9.2 if rungs else 6.2), layout="constrained")
        *first, upper, lower = figure.subplots(len(heights), 2, height_ratios=heights)
        title = f"{solution.summary['problem']}: method {solution.summary['method']}, seed {solution.summary['seed']}"
        if rungs:
            _ladder(first[0], rungs, tolerance_of(solution.summary))
            first[0][0].set_title(title, loc="left")
        count = np.arange(1, history.count + 1)
        for ax, of_step, of_block, label in (
            (upper[0], count, history.column("step"), "step"),
            (upper[1], steps.get("seconds", count), history.column("seconds"), "training time (s)"),
        ):
            if history.count:
                ax.semilogy(of_step, positive(steps["loss"]), color=BLUE, lw=1.6, label="loss")
            ax.semilogy(
                of_block,
                positive(history.column("validation_loss")),
                "--",
                color=ORANGE,
                lw=1.4,
                label="loss on fresh points",
            )
            error = history.column("l2_error")
            if np.isfinite(error).any():
                ax.semilogy(of_block, positive(error), color=GREEN, lw=1.6, label="L² error")
            _mark_stages(ax, solution, np.concatenate([[0.0], of_step]))
            ax.set_xlabel(label)
            ax.grid(visible=True, which="major", color="0.9", lw=0.6)
        upper[0].set_ylabel("loss, error")
        upper[0].xaxis.get_major_locator().set_params(integer=True)  # steps are counted
        upper[0].legend()
        upper[0].set_title(_kept_in_words(solution, len(rungs)) if rungs else title, loc="left")
        _trace(lower[0], count, steps, (("rank", "rank"), ("damping", "damping λ")))
        _trace(lower[1], count, steps, (("step_length", "step length η"), ("step_norm", "step norm")))
        return finish(figure, path)


def _mark_stages(ax: Any, solution: Reached, places: np.ndarray) -> None:
    """Shade sketches, and draw lines where the curves jump; `places` are those after 0, 1, 2, … steps."""
    history = solution.history
    for k, (start, end) in enumerate(sketches(history)):
        ax.axvspan(
            places[start], places[end], color="0.93", lw=0, zorder=0, label=None if k else "sketch, then a new start"
        )
    for steps, name, dashes in (
        (beginnings(history), "goes back", ":"),
        (stretch_ends(history, solution.summary), "next stretch", "--"),
    ):
        for k, step in enumerate(step for step in steps if step < len(places)):
            ax.axvline(places[step], color=GREY, lw=0.9, ls=dashes, zorder=1, label=None if k else name)


def _ladder(axes: Any, rungs: list[ShownRung], tol: float | None) -> None:
    """Residuals, estimates and true errors of rungs: against parameters as points, against time as a way."""
    columns = {
        "residual on fresh points": (_rung_column(rungs, "residual"), GREY, "s", 4.5),
        "estimated relative error": (_rung_column(rungs, "estimate"), ORANGE, "o", 6.5),
        "true relative error": (_rung_column(rungs, "error"), GREEN, "x", 6.0),
    }
    trusted = np.array([r.trusted for r in rungs])
    for ax, places, label in (
        (axes[0], _rung_column(rungs, "parameters"), "parameters"),
        (axes[1], _rung_column(rungs, "spent"), "training time of all rungs (s)"),
    ):
        joined = "-" if ax is axes[1] else ""
        for name, (values, colour, marker, size) in columns.items():
            if not np.isfinite(values).any():
                continue
            look: Any = {"color": colour, "marker": marker, "ms": size, "lw": 0.8, "ls": joined, "mew": 1.4}
            if name.startswith("estimated"):
                ax.plot(places, np.where(trusted, values, np.nan), **look, label=name)
                if not trusted[np.isfinite(values)].all():
                    doubted = np.where(trusted, np.nan, values)
                    ax.plot(places, doubted, **{**look, "ls": ""}, mfc="white", label="the same, in doubt")
            else:
                ax.plot(places, values, **look, label=name, zorder=1.5 if marker == "s" else 3)
        if tol is not None:
            ax.axhline(tol, color=BLUE, lw=1.2, ls="--", label=f"tolerance {tol:g}")
        ax.set_yscale("log")
        ax.set_xlabel(label)
        ax.margins(x=0.06, y=0.08)
        ax.set_axisbelow(True)
        ax.grid(visible=True, which="major", color="0.9", lw=0.6)
    axes[0].set_ylabel("relative error, residual")
    axes[1].set_xlim(left=-0.03 * max(r.spent for r in rungs) - 1e-9)  # the first rung lies near the edge
    _plain_log_axis(axes[0], _rung_column(rungs, "parameters"))
    if axes[1].get_legend_handles_labels()[0]:
        axes[1].legend(fontsize=8.5)


def _plain_log_axis(ax: Any, sizes: np.ndarray) -> None:
    """A logarithmic axis of sizes with the sizes themselves as labels, as far as there is room for them."""
    known = np.unique(sizes[sizes > 0])
    if not known.size:
        return
    ax.set_xscale("log")
    ax.set_xlim(known[0] / 1.25, known[-1] * 1.25)
    room = np.log(known[-1] / known[0] * 1.6) / 9
    shown = [known[-1]]
    for size in known[-2::-1]:
        if np.log(shown[-1] / size) >= room:
            shown.append(size)
    ax.set_xticks(shown, [f"{int(size)}" for size in shown])
    ax.set_xticks([], minor=True)


def _kept_in_words(solution: Reached, count: int) -> str:
    """Of which network the curves below the ladder are."""
    size = f"{solution.summary.get('parameters', solution.model.parameters)} parameters"
    stretches = solution.summary.get("stretches")
    if isinstance(stretches, list) and len(stretches) > 2:
        return f"{len(stretches) - 1} stretches one after the other, {size}"
    return f"the network with {size}" if count > 1 else size


def _rung_column(rungs: list[ShownRung], name: str) -> np.ndarray:
    values = np.array([getattr(r, name) for r in rungs], dtype=float)
    return values if name == "spent" else positive(values)


def _trace(ax: Any, count: np.ndarray, steps: dict[str, np.ndarray], choices: tuple[tuple[str, str], ...]) -> None:
    for key, label in choices:
        if key in steps and len(steps[key]):
            values = np.asarray(steps[key], dtype=float)
            ax.plot(count, values if key == "rank" else positive(values), color=GREY, lw=1.0)
            if key != "rank":
                ax.set_yscale("log")
            ax.set_ylabel(label)
            ax.set_xlabel("step")
            ax.xaxis.get_major_locator().set_params(integer=True)
            return
    ax.set_axis_off()


def _lines(solution: Reached) -> Figure:
    (axis,) = solution.domain.axes
    interval = solution.domain.intervals[axis]
    x = even_places(interval, 401)[:, None]
    fields = components(solution, x)
    exact = exact_components(solution, x)
    residual = residual_of(solution, x)
    figure = Figure(figsize=(9.5, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, (name, values) in enumerate(fields.items()):
        left.plot(x[:, 0], values, color=COLOURS[k % 4], lw=1.8, label=name)
        if name in exact:
            left.plot(x[:, 0], exact[name], ":", color="black", lw=1.2, label="exact" if k == 0 else None)
            right.semilogy(
                x[:, 0], positive(np.abs(values - exact[name])), color=COLOURS[k % 4], lw=1.2, label=f"error of {name}"
            )
    if residual is not None:
        right.semilogy(x[:, 0], positive(residual[1]), color=GREY, lw=1.0, label=f"residual of {residual[0]}")
    right.set_ylabel("magnitude")
    figure.suptitle(title_of(solution), fontsize=10)
    for ax in (left, right):
        ax.set_xlabel(axis)
        if is_log(interval):
            ax.set_xscale("log")
        if ax.get_legend_handles_labels()[0]:
            ax.legend()
    return figure
