"""Pictures of kernels: NTK, NNTK and Green's function around sixteen reference points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from scipy.ndimage import distance_transform_edt

from anagram.errors import SettingError
from anagram.showing.report.maps import draw_section
from anagram.showing.report.style import BLUE, GREY, STYLE, finish
from anagram.showing.sections import Section, sections
from anagram.statement.domains import Domain, Interval
from anagram.statement.domains.intervals import even_places, placed_along
from anagram.statement.problem import Problem
from anagram.tangent import TangentSpace

KINDS = {"ntk": "NTK", "nntk": "NNTK", "green": "Green's function"}
SIDE = 4  # reference points along an axis
FINE = 81
RED = "#d62728"


def reference_points(domain: Domain) -> np.ndarray:
    """Sixteen points: four along each of the two axes shown; the other axes are held where the picture is.

    Of a shape, four layers with as much of it in each, and four points in each layer.
    """
    if domain.dimension == 1:
        return _middles(domain.intervals[domain.axes[0]], SIDE * SIDE)[:, None]
    plane = shown_plane(domain)
    if domain.is_box:
        grids = np.meshgrid(*(_middles(domain.intervals[axis], SIDE) for axis in plane.axes))
        return plane.points(np.stack([g.ravel() for g in grids], axis=1))
    columns = [domain.axes.index(axis) for axis in plane.axes]
    if plane.inside.sum() < SIDE * SIDE:
        raise SettingError(f"{domain!r} is too thin for a picture of kernels: too few points of a grid lie in it")
    groups = [group for layer in _split(plane.x, columns[1]) for group in _split(layer, columns[0])]
    # Points of their groups, so that they lie inside whatever the shape.
    return np.array([group[np.argmin(np.sum((group - group.mean(axis=0)) ** 2, axis=1))] for group in groups])


def _split(x: np.ndarray, column: int) -> list[np.ndarray]:
    """Points in as many parts as there are reference points along an axis, equally many in each."""
    return np.array_split(x[np.argsort(x[:, column], kind="stable")], SIDE)


def shown_plane(domain: Domain) -> Section:
    """The plane in which kernels are drawn; of an evolution on a shape, that of the middle instant."""
    planes = sections(domain, FINE)
    return planes[len(planes) // 2]


def _middles(interval: Interval, count: int) -> np.ndarray:
    """The middles of equal stretches of an interval."""
    return placed_along(interval, (np.arange(count) + 0.5) / count)


def kernel_values(space: TangentSpace, kind: str, x: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """k(x_i, c_j) of a kind, between points of the first condition that holds inside the domain.

    For several unknowns or components the first of each is taken.
    """
    if kind not in KINDS:
        raise SettingError(f"there is no kernel '{kind}'; choose from {', '.join(KINDS)}")
    condition = inner_condition(space.problem)
    components = space.problem.rows(condition)
    if kind == "green":
        unknowns = sum(u.components for u in space.problem.unknowns)
        return space.green(x, condition, centres)[::unknowns, ::components]
    function = space.ntk if kind == "ntk" else space.nntk
    return function(condition, x, condition, centres)[::components, ::components]


def inner_condition(problem: Problem) -> str:
    """The condition whose points fill the domain."""
    for key in problem.conditions:
        if problem.region(key).dimension == problem.domain.dimension:
            return key
    raise SettingError("no condition holds inside the domain: there is no kernel to show")


def what_is_shown(problem: Problem, kind: str) -> str:
    """Which part of a system a picture has; nothing for one equation and one unknown."""
    condition = inner_condition(problem)
    parts = []
    if kind == "green" and sum(u.components for u in problem.unknowns) > 1:
        parts.append(f"of {problem.unknowns[0].name}")
    if problem.rows(condition) > 1:
        parts.append(f"first component of {condition}")
    return f" ({', '.join(parts)})" if parts else ""


def spread(domain: Domain, x: np.ndarray, centres: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How far each kernel reaches: the root mean square distance from its centre, weighed with k².

    Lengths of axes count as one. A kernel that is the same everywhere on a square has 0.4 to 0.7, depending on its
    centre; the sharper it is localised, the smaller.
    """
    distance = np.sum(((x[:, None] - centres[None]) / domain.lengths) ** 2, axis=2)
    weight = values**2
    total = weight.sum(axis=0)
    return np.sqrt((distance * weight).sum(axis=0) / np.where(total > 0, total, 1.0))


def kernel_figure(
    space: TangentSpace, kind: str, title: str, path: str | Path | None = None
) -> tuple[Figure, np.ndarray]:
    """Sixteen panels, one for each reference point (red cross), scaled by the largest value inside; and the spreads.

    Near the boundary, within a tenth of the sides, values may be larger and are cut off.
    """
    domain, centres = space.problem.domain, reference_points(space.problem.domain)
    plane = shown_plane(domain) if domain.dimension > 1 else None
    x = even_places(domain.intervals[domain.axes[0]], 401)[:, None] if plane is None else plane.x
    values = kernel_values(space, kind, x, centres)
    if not np.all(np.isfinite(values)):
        raise SettingError("the kernel is not finite at these parameters")
    spreads = spread(domain, x, centres, values)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.4, 6.4 if plane is None else 7.2), layout="constrained")
        panels = figure.subplots(SIDE, SIDE, sharex=True, sharey=True)
        inner = _inner(domain, plane, x)
        # The last row of reference points lies highest.
        for k, ax in enumerate(panels[::-1].ravel()):
            scaled = values[:, k] / (np.abs(values[inner, k]).max() or 1.0)
            if plane is None:
                _curve(ax, x[:, 0], scaled, centres[k, 0])
            else:
                draw_section(ax, plane, scaled, cmap="RdBu_r", vmin=-1, vmax=1, shading="gouraud")
                _cross(ax, centres[k, [domain.axes.index(axis) for axis in plane.axes]])
            ax.set_title(f"spread {spreads[k]:.2f}", fontsize=8, pad=3)
            ax.tick_params(labelsize=7)
        for ax in panels[-1]:
            ax.set_xlabel(domain.axes[0] if plane is None else plane.axes[0])
        for ax in panels[:, 0]:
            ax.set_ylabel("k / max |k| inside" if plane is None else plane.axes[1])
        if plane is not None:
            bar = ScalarMappable(Normalize(-1, 1), "RdBu_r")
            figure.colorbar(bar, ax=panels, shrink=0.6, aspect=30, label="k(·, x) / max |k(·, x)| inside")
        figure.suptitle(title, fontsize=11)
        return finish(figure, path), spreads


def _inner(domain: Domain, plane: Section | None, x: np.ndarray) -> np.ndarray:
    """Which points lie away from the boundary by a tenth of the sides."""
    if plane is None or domain.is_box:
        return np.all(np.abs((x - x.mean(axis=0)) / domain.lengths) < 0.4, axis=1)
    mask = np.pad(plane.inside.reshape(plane.size, plane.size), 1)
    depth = np.asarray(distance_transform_edt(mask))[1:-1, 1:-1].ravel()[plane.inside]
    return depth >= min(0.1 * plane.size, 0.5 * depth.max())


def _curve(ax: Any, x: np.ndarray, values: np.ndarray, centre: float) -> None:
    ax.plot(x, values, color=BLUE, lw=1.2)
    ax.axhline(0, color=GREY, lw=0.5)
    ax.set_ylim(-1.15, 1.15)
    ax.plot(centre, 0, "x", color=RED, ms=6, mew=1.6)


def _cross(ax: Any, centre: np.ndarray) -> None:
    ax.plot(*centre, "x", color=RED, ms=6, mew=1.8)
    ax.plot(*centre, "x", color="white", ms=6.6, mew=3.0, zorder=1.5)
