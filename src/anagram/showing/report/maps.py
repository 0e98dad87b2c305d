"""Pictures of fields over two axes; of a shape, the shape and nothing outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Curve

from anagram.showing.report.quantities import components, exact_components, residual_of, title_of
from anagram.showing.report.style import INK
from anagram.showing.sections import Section, sections
from anagram.training.reached import Reached

FINE = 161  # pixels along an axis
WIDTH, HEIGHT = 4.0, 3.3  # of a panel, in inches
NARROW, WIDE = 0.45, 1.35  # how much higher or lower panels of shapes may be


def map_figure(solution: Reached) -> Figure:
    """Solution, error and residual beside each other; a row for each unknown and each instant that is shown."""
    planes = [plane for plane in sections(solution.domain, FINE) if plane.inside.any()]
    if not planes:
        figure = Figure(figsize=(2 * WIDTH, 0.6), layout="constrained")
        figure.suptitle(f"{title_of(solution)}\nThe shape is too thin for a picture.", fontsize=10)
        return figure
    rows = [_Row(solution, plane) for plane in planes]
    names = list(rows[0].fields)
    columns = 1 + bool(rows[0].exact) + all(row.residual is not None for row in rows)
    count = len(names) * len(planes)
    figure = Figure(figsize=(WIDTH * columns + 0.2, _height(planes[0]) * count + 0.25), layout="constrained")
    grid = figure.subplots(count, columns, squeeze=False)
    for k, name in enumerate(names):
        shown = [row.panels(name)[:columns] for row in rows]
        for column in range(columns):
            norm, colours = _colours([panels[column] for panels in shown])
            for at, (plane, panels) in enumerate(zip(planes, shown, strict=True)):
                title, values, _ = panels[column]
                ax = grid[k * len(planes) + at, column]
                image = draw_section(ax, plane, values, norm=norm, cmap=colours, shading="nearest")
                figure.colorbar(image, ax=ax, pad=0.02)
                ax.set(title=title, xlabel=_horizontal_name(plane), ylabel=plane.axes[1])
    figure.suptitle(title_of(solution), fontsize=10)
    return figure


class _Row:
    """What is known in one plane."""

    def __init__(self, solution: Reached, plane: Section) -> None:
        x = plane.x
        self.fields, self.exact = components(solution, x), exact_components(solution, x)
        self.residual = residual_of(solution, x)

    def panels(self, name: str) -> list[tuple[str, np.ndarray, bool]]:
        """Titles, values at the points inside, and whether magnitudes are meant."""
        found = [(name, self.fields[name], False)]
        if self.exact:
            error = np.abs(self.fields[name] - self.exact.get(name, np.nan))
            found.append((f"|error of {name}|", error, True))
        if self.residual is not None:
            found.append((f"|residual of {self.residual[0]}|", self.residual[1], True))
        return found


def _height(plane: Section) -> float:
    """Of a panel: shapes keep their proportions."""
    if not plane.in_space:
        return HEIGHT
    (left, right), (low, high) = (plane.domain.intervals[axis] for axis in plane.axes)
    return HEIGHT * float(np.clip((high - low) / (right - left), NARROW, WIDE))


def _colours(panels: Sequence[tuple[str, np.ndarray, bool]]) -> tuple[Normalize, str]:
    """The same colours for a quantity at all instants."""
    data = np.concatenate([values for _, values, _ in panels])
    finite = data[np.isfinite(data)]
    if panels[0][2]:
        size = finite[finite > 0]
        top = size.max() if size.size else 1.0
        low = np.percentile(size, 1) if size.size else 0.1
        return LogNorm(max(min(low, top / 10), top * 1e-6, np.finfo(float).tiny), top), "magma"
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    if low < 0 < high and min(-low, high) > 0.1 * (high - low):
        # A field of both signs: white is zero.
        reach = max(-low, high)
        return Normalize(-reach, reach), "RdBu_r"
    return Normalize(low, high), "viridis"


def draw_section(ax: Any, plane: Section, values: np.ndarray, **look: Any) -> Any:
    """Values at the points of a plane that lie inside, as a picture that ends at the edge of the domain."""
    data = plane.spread(values)
    if isinstance(look.get("norm"), LogNorm):
        # Exact zeros would be holes in a logarithmic picture.
        data = np.where(np.isnan(data), np.nan, np.maximum(data, look["norm"].vmin))
    image = ax.pcolormesh(*plane.lines, data, rasterized=True, **look)
    if plane.edges:
        # An outline of many pieces is one path, so that holes stay holes.
        edge = Curve.make_compound_path(*(Curve(np.concatenate([e, e[:1]]), closed=True) for e in plane.edges))
        clip = PathPatch(edge, transform=ax.transData)
        image.set_clip_path(clip)
        ax.add_patch(PathPatch(edge, facecolor="none", edgecolor=INK, lw=1.0, clip_on=False))
        for side in ax.spines.values():
            side.set_visible(False)
    if plane.in_space:
        ax.set_aspect("equal")
    return image


def _horizontal_name(plane: Section) -> str:
    held = ", ".join(f"{axis} = {place:.4g}" for axis, place in plane.held.items())
    return f"{plane.axes[0]}   (at {held})" if held else plane.axes[0]
