"""Pictures of kernels: NTK, NNTK and Green's function around sixteen reference points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from anagram.errors import SettingError
from anagram.showing.report.figures import BLUE, GREY, STYLE, finish, shown_axes
from anagram.statement.domains import Domain
from anagram.statement.problem import Problem
from anagram.tangent import TangentSpace

KINDS = {"ntk": "NTK", "nntk": "NNTK", "green": "Green's function"}
SIDE = 4  # reference points along an axis
FINE = 81
RED = "#d62728"


def reference_points(domain: Domain) -> np.ndarray:
    """Sixteen points, four along each of the two axes shown; the other axes at their middle."""
    shown = shown_axes(domain)
    count = SIDE if len(shown) == 2 else SIDE * SIDE
    places = (np.arange(count) + 0.5) / count
    grids = np.meshgrid(*([places] * len(shown)), indexing="xy")
    return _points(domain, shown, [g.ravel() for g in grids])


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

    Near the boundary, in the outer tenth of each side, values may be larger and are cut off.
    """
    domain = space.problem.domain
    shown, centres = shown_axes(domain), reference_points(domain)
    lines = [np.linspace(*domain.intervals[a], FINE if len(shown) == 2 else 401) for a in shown]
    grids = np.meshgrid(*lines, indexing="xy")
    x = _points(domain, shown, [_unit(domain, a, g.ravel()) for a, g in zip(shown, grids, strict=True)])
    values = kernel_values(space, kind, x, centres)
    if not np.all(np.isfinite(values)):
        raise SettingError("the kernel is not finite at these parameters")
    spreads = spread(domain, x, centres, values)
    columns = [domain.axes.index(a) for a in shown]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.4, 7.2 if len(shown) == 2 else 6.4), layout="constrained")
        panels = figure.subplots(SIDE, SIDE, sharex=True, sharey=True)
        # The last row of reference points lies highest.
        inner = np.all(np.abs((x - x.mean(axis=0)) / domain.lengths) < 0.4, axis=1)
        for k, ax in enumerate(panels[::-1].ravel()):
            scaled = values[:, k] / (np.abs(values[inner, k]).max() or 1.0)
            _panel(ax, lines, scaled, centres[k, columns])
            ax.set_title(f"spread {spreads[k]:.2f}", fontsize=8, pad=3)
            ax.tick_params(labelsize=7)
        for ax in panels[-1]:
            ax.set_xlabel(shown[0])
        for ax in panels[:, 0]:
            ax.set_ylabel(shown[1] if len(shown) == 2 else "k / max |k| inside")
        if len(shown) == 2:
            bar = ScalarMappable(Normalize(-1, 1), "RdBu_r")
            figure.colorbar(bar, ax=panels, shrink=0.6, aspect=30, label="k(·, x) / max |k(·, x)| inside")
        figure.suptitle(title, fontsize=11)
        return finish(figure, path), spreads


def _panel(ax: Any, lines: list[np.ndarray], values: np.ndarray, centre: np.ndarray) -> None:
    if len(lines) == 1:
        ax.plot(lines[0], values, color=BLUE, lw=1.2)
        ax.axhline(0, color=GREY, lw=0.5)
        ax.set_ylim(-1.15, 1.15)
        ax.plot(centre[0], 0, "x", color=RED, ms=6, mew=1.6)
        return
    shape = (len(lines[1]), len(lines[0]))
    ax.pcolormesh(*lines, values.reshape(shape), cmap="RdBu_r", vmin=-1, vmax=1, shading="gouraud", rasterized=True)
    ax.plot(*centre, "x", color=RED, ms=6, mew=1.8)
    ax.plot(*centre, "x", color="white", ms=6.6, mew=3.0, zorder=1.5)


def _unit(domain: Domain, axis: str, values: np.ndarray) -> np.ndarray:
    low, high = domain.intervals[axis]
    return (values - low) / (high - low)


def _points(domain: Domain, shown: tuple[str, ...], units: list[np.ndarray]) -> np.ndarray:
    """Points from coordinates in [0, 1] of the axes shown; the others at their middle."""
    columns = []
    for axis, (low, high) in domain.intervals.items():
        unit = units[shown.index(axis)] if axis in shown else np.full_like(units[0], 0.5)
        columns.append(low + (high - low) * unit)
    return np.stack(columns, axis=1)
