"""Pictures of solutions and of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from anagram.errors import FileError
from anagram.showing.components import real_parts
from anagram.showing.report.rungs import ShownRung, shown_rungs, tolerance_of
from anagram.statement.domains import Box
from anagram.training.reached import Reached

STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "legend.frameon": False,
    "savefig.dpi": 160,
    "image.cmap": "viridis",
    "axes.grid": False,
}
BLUE, ORANGE, GREEN, GREY = "#20639b", "#e07a1f", "#3a8f5c", "#7f7f7f"
FINE = 161  # pixels along an axis


def solution_figure(solution: Reached, path: str | Path | None = None) -> Figure:
    """The solution; beside it the error if a solution is known, and the residual of the first condition.

    One axis gives curves, two give maps, more give the plane through the centre along the first two axes.
    """
    with mpl.rc_context(STYLE):
        shown = shown_axes(solution.domain)
        figure = _lines(solution) if len(shown) == 1 else _maps(solution, shown)
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
                ax.semilogy(of_step, _positive(steps["loss"]), color=BLUE, lw=1.6, label="loss")
            ax.semilogy(
                of_block,
                _positive(history.column("validation_loss")),
                "--",
                color=ORANGE,
                lw=1.4,
                label="loss on fresh points",
            )
            error = history.column("l2_error")
            if np.isfinite(error).any():
                ax.semilogy(of_block, _positive(error), color=GREEN, lw=1.6, label="L² error")
            ax.set_xlabel(label)
            ax.grid(visible=True, which="major", color="0.9", lw=0.6)
        upper[0].set_ylabel("loss, error")
        upper[0].legend()
        upper[0].set_title(_kept_in_words(solution, len(rungs)) if rungs else title, loc="left")
        _trace(lower[0], count, steps, (("rank", "rank"), ("damping", "damping λ")))
        _trace(lower[1], count, steps, (("step_length", "step length η"), ("step_norm", "step norm")))
        return finish(figure, path)


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
    return values if name == "spent" else _positive(values)


def shown_axes(domain: Box) -> tuple[str, ...]:
    """The first two axes, or the only one; time lies horizontally."""
    return tuple(sorted(domain.axes, key=lambda a: a != "t")[:2])


def _trace(ax: Any, count: np.ndarray, steps: dict[str, np.ndarray], choices: tuple[tuple[str, str], ...]) -> None:
    for key, label in choices:
        if key in steps and len(steps[key]):
            values = np.asarray(steps[key], dtype=float)
            ax.plot(count, values if key == "rank" else _positive(values), color=GREY, lw=1.0)
            if key != "rank":
                ax.set_yscale("log")
            ax.set_ylabel(label)
            ax.set_xlabel("step")
            return
    ax.set_axis_off()


def _lines(solution: Reached) -> Figure:
    (axis,) = solution.domain.axes
    low, high = solution.domain.intervals[axis]
    x = np.linspace(low, high, 401)[:, None]
    fields = _components(solution, x)
    exact = _exact_components(solution, x)
    residual = _residual(solution, x)
    figure = Figure(figsize=(9.5, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    colours = (BLUE, ORANGE, GREEN, GREY)
    for k, (name, values) in enumerate(fields.items()):
        left.plot(x[:, 0], values, color=colours[k % 4], lw=1.8, label=name)
        if name in exact:
            left.plot(x[:, 0], exact[name], ":", color="black", lw=1.2, label="exact" if k == 0 else None)
            right.semilogy(
                x[:, 0], _positive(np.abs(values - exact[name])), color=colours[k % 4], lw=1.2, label=f"error of {name}"
            )
    if residual is not None:
        right.semilogy(x[:, 0], _positive(residual[1]), color=GREY, lw=1.0, label=f"residual of {residual[0]}")
    right.set_ylabel("magnitude")
    figure.suptitle(_title(solution), fontsize=10)
    for ax in (left, right):
        ax.set_xlabel(axis)
        if ax.get_legend_handles_labels()[0]:
            ax.legend()
    return figure


def _maps(solution: Reached, axes: tuple[str, ...]) -> Figure:
    x, horizontal, vertical = _plane(solution, axes)
    fields = _components(solution, x)
    exact = _exact_components(solution, x)
    residual = _residual(solution, x)
    columns = 1 + bool(exact) + (residual is not None)
    figure = Figure(figsize=(4.0 * columns + 0.2, 3.3 * len(fields) + 0.25), layout="constrained")
    grid = figure.subplots(len(fields), columns, squeeze=False)
    for row, (name, values) in enumerate(fields.items()):
        panels: list[tuple[str, np.ndarray, bool]] = [(name, values, False)]
        if exact:
            panels.append((f"|error of {name}|", np.abs(values - exact.get(name, np.nan)), True))
        if residual is not None:
            panels.append((f"|residual of {residual[0]}|", residual[1], True))
        for ax, (title, data, magnitude) in zip(grid[row], panels, strict=True):
            image = _image(ax, horizontal, vertical, data.reshape(FINE, FINE), magnitude)
            figure.colorbar(image, ax=ax, pad=0.02)
            ax.set(title=title, xlabel=_axis_names(solution, axes)[0], ylabel=_axis_names(solution, axes)[1])
    figure.suptitle(_title(solution), fontsize=10)
    return figure


def _image(ax: Any, horizontal: np.ndarray, vertical: np.ndarray, data: np.ndarray, magnitude: bool) -> Any:
    if magnitude:
        positive = data[np.isfinite(data) & (data > 0)]
        top = positive.max() if positive.size else 1.0
        low = np.percentile(positive, 1) if positive.size else 0.1
        norm = LogNorm(max(min(low, top / 10), top * 1e-6, np.finfo(float).tiny), top)
        # Exact zeros would be holes in a logarithmic picture.
        return ax.pcolormesh(
            horizontal,
            vertical,
            np.maximum(data, norm.vmin or 0.0),
            norm=norm,
            cmap="magma",
            shading="nearest",
            rasterized=True,
        )
    finite = data[np.isfinite(data)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    if low < 0 < high and min(-low, high) > 0.1 * (high - low):
        # A field of both signs: white is zero.
        reach = max(-low, high)
        return ax.pcolormesh(
            horizontal, vertical, data, cmap="RdBu_r", vmin=-reach, vmax=reach, shading="nearest", rasterized=True
        )
    return ax.pcolormesh(horizontal, vertical, data, shading="nearest", rasterized=True)


def _plane(solution: Reached, axes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of the plane through the centre."""
    domain = solution.domain
    horizontal, vertical = (np.linspace(*domain.intervals[a], FINE) for a in axes)
    h, v = np.meshgrid(horizontal, vertical)
    columns = [np.full(h.size, sum(interval) / 2) for interval in domain.intervals.values()]
    columns[domain.axes.index(axes[0])] = h.ravel()
    columns[domain.axes.index(axes[1])] = v.ravel()
    return np.stack(columns, axis=1), horizontal, vertical


def _axis_names(solution: Reached, axes: tuple[str, ...]) -> tuple[str, str]:
    rest = [a for a in solution.domain.axes if a not in axes]
    if not rest:
        return axes[0], axes[1]
    centre = ", ".join(f"{a} = {sum(solution.domain.intervals[a]) / 2:g}" for a in rest)
    return f"{axes[0]}   (at {centre})", axes[1]


def _components(solution: Reached, x: np.ndarray) -> dict[str, np.ndarray]:
    values = solution(x) if x.shape[1] > 1 else solution(x[:, 0])
    names = [u.name for u in solution.model.sought.unknowns]
    by_name = values if isinstance(values, dict) else {names[0]: values}
    return real_parts(by_name)


def _exact_components(solution: Reached, x: np.ndarray) -> dict[str, np.ndarray]:
    exact = solution.problem.exact(x) if solution.problem is not None else None
    return real_parts(exact or {})


def _residual(solution: Reached, x: np.ndarray) -> tuple[str, np.ndarray] | None:
    """|D(u) − f| of the first condition that holds on the whole domain, or else of those that hold on parts of it."""
    if solution.problem is None:
        return None
    problem = solution.problem
    whole = [key for key in problem.inside if problem.region(key) is problem.domain]
    shown = whole[:1] or problem.inside
    if not shown:
        return None
    try:
        parts = [solution.residual_inside(key, x) for key in shown]
    except Exception:  # a source may not be defined on the edge of the domain, where the picture ends
        return None
    return ", ".join(shown), np.fmax.reduce(parts)


def _title(solution: Reached) -> str:
    s = solution.summary
    error = f", L² error {s['l2_error']:.1e}" if s.get("l2_error") is not None else ""
    fresh = s.get("validation_loss")
    fresh = "" if fresh is None else f" ({fresh:.1e} on fresh points)"
    loss = "not finite" if s["loss"] is None else f"{s['loss']:.1e}"
    return f"{s['problem']}: {s['steps']} steps, loss {loss}{fresh}{error}"


def _positive(values: Any) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    return np.where(values > 0, values, np.nan)


def finish(figure: Figure, path: str | Path | None) -> Figure:
    """Write a picture if told where."""
    FigureCanvasAgg(figure)
    if path is not None:
        try:
            if Path(path).is_dir():
                raise IsADirectoryError(f"'{path}' is a folder")
            if Path(path).is_symlink():
                Path(path).unlink()  # a picture takes its place; in a folder from someone else it may lead anywhere
            figure.savefig(path)
        except (OSError, ValueError) as error:
            raise FileError(f"cannot write the picture '{path}': {error}") from error
    return figure
