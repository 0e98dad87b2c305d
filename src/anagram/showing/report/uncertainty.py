"""Pictures of what noisy data leave open: bands of fields, intervals and correlations of coefficients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from anagram.showing.report.maps import draw_section
from anagram.showing.report.style import BLUE, GREY, ORANGE, STYLE, finish
from anagram.showing.sections import sections
from anagram.statement.domains import Domain, PointSet
from anagram.statement.expressions import Unknown as Symbol
from anagram.statement.problem import Problem
from anagram.tangent.uncertainty import Uncertainty

FINE, CURVE = 81, 301  # points along an axis of a map, and of a curve
WIDTH, HEIGHT = 4.2, 3.2  # of a panel, in inches
MANY = 12  # coefficients whose correlations are still written as numbers


def uncertainty_figure(solution: Any, path: str | Path | None = None) -> Figure:
    """Each unknown with its 95 % band (one axis) or beside its standard error (more axes), and the coefficients."""
    found: Uncertainty = solution.uncertainty()
    with mpl.rc_context(STYLE):
        sought = solution.model.sought
        rows = len(sought.unknowns)
        has_coefficients = bool(found.names)
        heights = [HEIGHT] * rows + [min(HEIGHT, 1.4 + 0.35 * len(found.names))] * has_coefficients
        figure = Figure(figsize=(2 * WIDTH, sum(heights) + 0.3), layout="constrained")
        parts = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        for part, unknown in zip(parts, sought.unknowns, strict=False):
            domain = unknown.box(sought.domain)
            own = unknown.along or domain.axes
            if len(own) == 1:
                _band(part, solution, unknown, domain, own[0])
            else:
                _maps(part, solution, unknown, domain)
        if has_coefficients:
            _coefficients(parts[-1], found)
        figure.suptitle(f"{solution.summary['problem']}: by the noise of the data", fontsize=10)
        return finish(figure, path)


def _of(values: Any, name: str) -> Any:
    return values[name] if isinstance(values, dict) else values


def _band(figure: Any, solution: Any, unknown: Any, domain: Domain, axis: str) -> None:
    """An unknown of one axis; the others, on which it does not depend, are held."""
    name, along = unknown.name, np.linspace(*domain.intervals[axis], CURVE)
    x = np.tile((domain.low + domain.high) / 2, (CURVE, 1))
    x[:, domain.axes.index(axis)] = along
    value, error = np.real(_of(solution(x), name)), _of(solution.std(x), name)
    low, high = (np.real(end) for end in _of(solution.band(x), name))
    left, right = figure.subplots(1, 2)
    left.fill_between(along, low, high, color=BLUE, alpha=0.25, lw=0, label="95 %")
    left.plot(along, value, color=BLUE, lw=1.6, label=name)
    for places, values in _measured(solution, name):
        left.plot(places[:, domain.axes.index(axis)], values, ".", color=GREY, ms=3.5, zorder=1, label="data")
    left.legend()
    right.plot(along, error, color=ORANGE, lw=1.4)
    right.set(title=f"standard error of {name}", ylim=(0, None))
    for ax in (left, right):
        ax.set_xlabel(axis)


def _maps(figure: Any, solution: Any, unknown: Any, domain: Domain) -> None:
    plane, name = sections(domain, FINE)[0], unknown.name
    left, right = figure.subplots(1, 2)
    held = ", ".join(f"{axis} = {place:.3g}" for axis, place in plane.held.items())
    shown = (
        (left, name, np.real(_of(solution(plane.x), name)), "viridis"),
        (right, f"standard error of {name}", _of(solution.std(plane.x), name), "magma"),
    )
    for ax, title, values, colours in shown:
        image = draw_section(ax, plane, values, cmap=colours, shading="nearest")
        figure.colorbar(image, ax=ax, pad=0.02)
        ax.set(title=title, xlabel=plane.axes[0] + (f"   (at {held})" if held else ""), ylabel=plane.axes[1])
    if plane.held:
        return
    for places, _ in _measured(solution, name):
        columns = [places[:, solution.domain.axes.index(axis)] for axis in plane.axes]
        right.plot(*columns, ".", color="white", ms=2, alpha=0.6)


def _measured(solution: Any, name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Points and values of data that are the unknown itself."""
    problem: Problem | None = solution.problem
    found: list[tuple[np.ndarray, np.ndarray]] = []
    if problem is None:
        return found
    for key in problem.measured:
        nodes, region = problem.expressions[key], problem.region(key)
        plain = len(nodes) == 1 and isinstance(nodes[0], Symbol) and nodes[0].name == name and not any(nodes[0].index)
        values = np.asarray(problem.conditions[key].equals)
        if plain and isinstance(region, PointSet) and values.shape == (len(region.x),):
            found.append((region.x, np.real(values)))
    return found


def _coefficients(figure: Any, found: Uncertainty) -> None:
    left, right = figure.subplots(1, 2)
    places = np.arange(len(found.names))[::-1]
    for place, name in zip(places, found.names, strict=True):
        size = abs(found.values[name]) or 1.0
        low, high = (100 * (end - found.values[name]) / size for end in found.interval(name))
        left.plot([low, high], [place, place], color=BLUE, lw=3, solid_capstyle="butt")
        left.plot(0, place, "o", color=BLUE, ms=6)
    labels = [f"{name} = {found.values[name]:.5g}" for name in found.names]
    left.set_yticks(places, labels)
    left.set(title="95 % intervals", xlabel="% of the value", ylim=(-0.6, len(places) - 0.4))
    left.axvline(0, color="0.85", lw=0.8, zorder=0)
    if len(found.names) < 2:
        right.set_axis_off()
        return
    image = right.imshow(found.correlation, vmin=-1, vmax=1, cmap="RdBu_r")
    right.set_xticks(range(len(places)), found.names)
    right.set_yticks(range(len(places)), found.names)
    right.set_title("correlations")
    figure.colorbar(image, ax=right, pad=0.02)
    if len(places) <= MANY:
        for (row, column), value in np.ndenumerate(found.correlation):
            right.text(column, row, f"{value:.2f}", ha="center", va="center", color="w" if abs(value) > 0.6 else "k")
