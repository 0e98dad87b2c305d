"""Pictures of fields over two axes; of a shape, the shape and nothing outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Curve
from matplotlib.ticker import NullFormatter

from anagram.showing.components import part_names
from anagram.showing.report.quantities import components, exact_components, residual_of, title_of
from anagram.showing.report.style import INK
from anagram.showing.sections import Section, sections
from anagram.statement.domains import Domain, Region
from anagram.statement.domains.intervals import is_log
from anagram.statement.unknowns import Unknown
from anagram.training.reached import Reached

FINE = 161  # pixels along an axis
WIDTH, HEIGHT = 4.0, 3.3  # of a panel, in inches
DECADES = 100.0  # what the colours of magnitudes span at least: two powers of ten to label
ROOM = 0.12  # above and below panels, in inches
MANY_HELD = 3  # axes at one value; more of them are named together
NARROW, WIDE = 0.45, 1.35  # how much higher or lower panels of shapes may be


def map_figure(solution: Reached) -> Figure:
    """Solution, error and residual beside each other; a row for each unknown and each instant that is shown.

    An unknown that lives on a part of the domain is shown there.
    """
    sets = [
        shown for region, unknowns in solution.model.sought.by_region for shown in _shown(solution, region, unknowns)
    ]
    if not sets:
        figure = Figure(figsize=(2 * WIDTH, 0.6), layout="constrained")
        figure.suptitle(f"{title_of(solution)}\nThe shape is too thin for a picture.", fontsize=10)
        return figure
    rows = [row for _, rows in sets for row in rows]
    columns = 1 + bool(rows[0].exact) + all(row.residual is not None for row in rows)
    heights = [_height(row.plane) for row in rows]
    # Panels of equal scales are laid out before their size is known: without some room, labels are cut off.
    layout = ConstrainedLayoutEngine(h_pad=ROOM)
    figure = Figure(figsize=(WIDTH * columns + 0.2, sum(heights) + 0.25 + 2 * ROOM), layout=layout)
    grid = iter(figure.subplots(len(rows), columns, squeeze=False, height_ratios=heights))
    for name, rows_of_name in sets:
        shown = [row.panels(name)[:columns] for row in rows_of_name]
        looks = [_colours([panels[column] for panels in shown]) for column in range(columns)]
        for row, panels in zip(rows_of_name, shown, strict=True):
            for ax, (title, values, _), (norm, colours) in zip(next(grid), panels, looks, strict=True):
                image = draw_section(ax, row.plane, values, norm=norm, cmap=colours, shading="nearest")
                bar = figure.colorbar(image, ax=ax, pad=0.02)
                if isinstance(norm, LogNorm):
                    bar.ax.yaxis.set_minor_formatter(NullFormatter())  # powers of ten are enough
                ax.set(title=title, xlabel=_horizontal_name(row.plane), ylabel=row.plane.axes[1])
                for scale, axis in zip((ax.set_xscale, ax.set_yscale), row.plane.axes, strict=True):
                    if is_log(row.plane.domain.intervals[axis]):
                        scale("log")
    figure.suptitle(title_of(solution, figure.get_figwidth()), fontsize=10)
    return figure


def _shown(solution: Reached, region: Region, unknowns: Sequence[Unknown]) -> list[tuple[str, list[_Row]]]:
    """The real parts of unknowns that live on a set, each with what is known in all planes through that set."""
    domain = region if isinstance(region, Domain) else solution.domain
    rows = [_Row(solution, plane, unknowns[0].on) for plane in sections(domain, FINE) if plane.inside.any()]
    names = [part for u in unknowns for part in part_names(u.name, u.is_complex)]
    return [(name, rows) for name in names if rows]


class _Row:
    """What is known in one plane through the set on which unknowns live."""

    def __init__(self, solution: Reached, plane: Section, on: Region | None) -> None:
        x = plane.x
        self.plane = plane
        self.fields, self.exact = components(solution, x), exact_components(solution, x)
        self.residual = residual_of(solution, x, on)

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
        return LogNorm(max(min(low, top / DECADES), top * 1e-6, np.finfo(float).tiny), top), "magma"
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
    """The name of the axis, and where the others are held: in one word where many are held at one value."""
    parts: list[str] = []
    for place, held in groupby(plane.held, lambda axis: f"{plane.held[axis]:.4g}"):
        axes = list(held)
        names = [f"{axes[0]} … {axes[-1]}"] if len(axes) > MANY_HELD else axes
        parts += [f"{name} = {place}" for name in names]
    return f"{plane.axes[0]}   (at {', '.join(parts)})" if parts else plane.axes[0]
