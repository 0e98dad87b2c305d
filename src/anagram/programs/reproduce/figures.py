"""Figures: errors and losses against steps and time, medians with their quartiles; Burgers' losses and profiles."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.interpolate import PchipInterpolator

from anagram.catalogue import ENTRIES
from anagram.errors import FileError
from anagram.keeping.atomic import prepare_folder
from anagram.programs.reproduce.plan import METHODS, PROBLEMS
from anagram.programs.reproduce.results import Results, Run, of_problem
from anagram.showing.report.style import STYLE

COLOURS = {
    "anagram": "#d1495b",
    "engd": "#7b4fa3",
    "gd": "#7f7f7f",
    "adam": "#e0a11f",
    "lbfgs": "#3a8f5c",
    "auto": "#20639b",
}
PRINT = {**STYLE, "pdf.fonttype": 42, "font.size": 8, "axes.labelsize": 8, "legend.fontsize": 8}
SMALLEST = 1e-34  # what is shown of a loss that has vanished
DASHES = ("-", (0, (4, 1.5)), ":")  # one for each machine


def draw(results: list[Results], folder: Path) -> list[Path]:
    """Every figure that the results allow, as PDF and PNG."""
    paths = []
    with mpl.rc_context(PRINT):
        for problem in PROBLEMS:
            rows = list(of_problem(results, problem))
            if not rows:
                continue
            if problem == "burgers":
                paths += _write(burgers_losses(rows), folder / "burgers-losses")
                paths += _write(burgers_profiles(rows), folder / "burgers-profiles")
            else:
                paths += _write(comparison(problem, rows), folder / problem)
    return paths


def comparison(problem: str, rows: list[Results]) -> Figure:
    """Error and test loss, against steps and against time."""
    figure = Figure(figsize=(6.8, 4.6), layout="constrained")
    axes = figure.subplots(2, 2, sharey="row")
    machines = sorted({run.machine for row in rows for run in row.chosen()})
    for row in rows:
        runs, method = row.chosen(), row.experiment.method
        for line, quantity in enumerate(("l2_error", "test_loss")):
            _band(axes[line, 0], runs, "steps", quantity, method)
            _band(axes[line, 1], runs, "seconds", quantity, method, DASHES[machines.index(runs[0].machine) % 3])
    if len(machines) > 1:
        # Times of different machines say nothing about each other.
        lines = [Line2D([], [], color="0.3", lw=1.2, ls=DASHES[k % 3]) for k in range(len(machines))]
        axes[1, 1].legend(lines, machines, loc="lower left", fontsize=7, handlelength=2.6)
    for ax in axes.ravel():
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.grid(visible=True, which="major", color="0.92", lw=0.6)
    axes[0, 0].set_ylabel("L² error")
    axes[1, 0].set_ylabel("test loss")
    axes[1, 0].set_xlabel("step")
    axes[1, 1].set_xlabel("training time for each seed (s)")
    axes[0, 0].set_title(ENTRIES[problem].title, loc="left")
    counts = sorted({len(row.chosen()) for row in rows})
    if counts[-1] > 1:
        seeds = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        axes[0, 1].set_title(f"median and quartiles of {seeds} seeds", loc="right", fontsize=8, color="0.4")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _band(ax, runs: list[Run], unit: str, quantity: str, method: str, dashes: object = "-") -> None:
    """The median over the seeds and the band between the quartiles, on common steps or times."""
    ends = [getattr(run, unit)[-1] for run in runs]
    starts = [getattr(run, unit)[1] if len(run.steps) > 1 else getattr(run, unit)[0] for run in runs]
    at = np.geomspace(max(min(starts), 1e-4), max([*ends, 1e-3]), 200)
    values = []
    for run in runs:
        known = np.asarray(getattr(run, unit))
        # The last value that was known at the time: what was reached, not what lies between.
        index = np.maximum(0, np.searchsorted(known, at, side="right") - 1)
        values.append(np.maximum(np.asarray(run.curves[quantity])[index], SMALLEST))
    low, middle, high = np.nanquantile(values, (0.25, 0.5, 0.75), axis=0)
    ax.fill_between(at, low, high, color=COLOURS[method], alpha=0.18, lw=0)
    ax.plot(at, middle, color=COLOURS[method], lw=1.4, ls=dashes, label=METHODS[method])


def burgers_losses(rows: list[Results]) -> Figure:
    """Train and test losses for each viscosity."""
    figure = Figure(figsize=(6.8, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    shades = mpl.colormaps["viridis"](np.linspace(0, 0.85, len(rows)))
    for row, colour in zip(rows, shades, strict=True):
        (run,) = row.chosen()[:1]
        for ax, quantity in ((left, "loss"), (right, "test_loss")):
            ax.semilogy(
                run.steps,
                np.maximum(run.curves[quantity], SMALLEST),
                color=colour,
                lw=1.4,
                label=f"ν = {row.experiment.viscosity:g}",
            )
    left.set_title("train loss", loc="left")
    right.set_title("test loss", loc="left")
    for ax in (left, right):
        ax.set_xlabel("step")
        ax.grid(visible=True, which="major", color="0.92", lw=0.6)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def burgers_profiles(rows: list[Results]) -> Figure:
    """The solution along x at some times, with the reference."""
    figure = Figure(figsize=(6.8, 4.6), layout="constrained")
    axes = np.ravel(figure.subplots(2, 2, sharex=True, sharey=True))
    for ax, row in zip(axes, rows, strict=False):
        (run,) = row.chosen()[:1]
        if run.profile is None:
            continue
        times, x = run.profile["times"], np.asarray(run.profile["x"])
        # The points crowd around the shock; between the others the curves are smooth.
        fine = np.union1d(x, np.linspace(-1, 1, 401))
        for (time, lines), colour in zip(
            times.items(), mpl.colormaps["plasma"](np.linspace(0, 0.85, len(times))), strict=True
        ):
            ax.plot(fine, PchipInterpolator(x, lines["u"])(fine), color=colour, lw=1.4, label=f"t = {time}")
            ax.plot(fine, PchipInterpolator(x, lines["exact"])(fine), ":", color="black", lw=0.9)
        ax.set_title(f"ν = {row.experiment.viscosity:g}", loc="left")
        ax.set_xticks([-1, -0.5, 0, 0.5, 1])
        ax.grid(visible=True, which="major", color="0.92", lw=0.6)
    for ax in axes[2:]:
        ax.set_xlabel("x")
    for ax in axes[::2]:
        ax.set_ylabel("u")
    for ax in axes[len(rows) :]:
        ax.set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    dotted = Line2D([], [], color="black", ls=":", lw=0.9)
    figure.legend(
        [*handles, dotted], [*labels, "reference"], loc="outside lower center", ncols=len(labels) + 1, frameon=False
    )
    return figure


def _write(figure: Figure, stem: Path) -> list[Path]:
    FigureCanvasAgg(figure)
    prepare_folder(stem.parent)
    paths = [stem.with_name(stem.name + suffix) for suffix in (".pdf", ".png")]
    for path in paths:
        try:
            figure.savefig(path, dpi=200)
        except OSError as error:
            raise FileError(f"cannot write the picture '{path}': {error}") from error
    return paths
