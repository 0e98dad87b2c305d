"""Tensor grids: coordinates along named axes, with the other axes held at one place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anagram.environment import gigabytes, physical_memory
from anagram.errors import ProblemError
from anagram.statement.domains import Domain
from anagram.statement.domains.intervals import even_places

ROUNDING = 1e-9  # of the length of an axis; so far may coordinates lie outside


@dataclass(frozen=True)
class TensorGrid:
    """All combinations of coordinates along some axes of a domain; the other axes are held at one place.

    Attributes:
        axes: all axes of the domain, in its order.
        coordinates: increasing coordinates along the axes that vary, in the order of the domain.
        fixed: where the other axes are held.
    """

    axes: tuple[str, ...]
    coordinates: dict[str, np.ndarray]
    fixed: dict[str, float]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of points along each axis that varies."""
        return tuple(len(c) for c in self.coordinates.values())

    @property
    def size(self) -> int:
        """The number of points."""
        return math.prod(self.shape)

    def points(self, start: int, stop: int) -> np.ndarray:
        """Some of the points, (n, d); the last axis varies fastest, as in arrays of the grid's shape."""
        indices = np.unravel_index(np.arange(start, stop), self.shape)
        varying = {axis: self.coordinates[axis][k] for axis, k in zip(self.coordinates, indices, strict=True)}
        held = {axis: np.full(stop - start, place) for axis, place in self.fixed.items()}
        return np.stack([(varying | held)[axis] for axis in self.axes], axis=1)

    def held(self, axis: str, place: float) -> TensorGrid:
        """The same grid with one axis less: that axis is held at a place."""
        rest = {a: c for a, c in self.coordinates.items() if a != axis}
        return TensorGrid(self.axes, rest, self.fixed | {axis: place})


def make_grid(domain: Domain, grid: Any, at: Mapping[str, float] | None = None) -> TensorGrid:
    """A grid from what users give.

    Args:
        domain: the box whose axes are meant.
        grid: the number of points along each axis, ends included, or by axis a number or an array of coordinates. A
            periodic axis has both ends too, so that pictures close; values of a parameter with log=True are spread by
            their logarithms.
        at: axes that do not vary, and where they are held.
    """
    fixed = _fixed(domain, at)
    free = [axis for axis in domain.axes if axis not in fixed]
    if not free:
        raise ProblemError("at= holds every axis, and no grid is left: call the solution itself for a single point")
    if isinstance(grid, Mapping):
        _check_names(domain, grid, fixed, free)
        sought = {axis: grid[axis] for axis in free}
    else:
        sought = dict.fromkeys(free, grid)
    return TensorGrid(domain.axes, {a: _coordinates(domain, a, given) for a, given in sought.items()}, fixed)


def refuse_too_much(needed: int, what: str, remedy: str) -> None:
    """Say that something does not fit into memory, before any of it is allocated."""
    there = physical_memory()
    if there is not None and needed > there:
        raise ProblemError(
            f"{what} needs {gigabytes(needed)} GB of memory, this machine has {gigabytes(there)}: {remedy}"
        )


def _fixed(domain: Domain, at: Mapping[str, float] | None) -> dict[str, float]:
    if at is None:
        return {}
    if not isinstance(at, Mapping):
        raise ProblemError(f"at= holds axes at places, as in at={{'{domain.axes[0]}': 0.5}}, not {at!r}")
    _known_axes(domain, at, "at=")
    fixed: dict[str, float] = {}
    for axis, place in at.items():
        number = np.asarray(place)
        if number.ndim or not _is_real(number):
            raise ProblemError(f"at= needs one number for the axis '{axis}', not {place!r}")
        fixed[axis] = float(_inside(domain, axis, number))
    return {axis: fixed[axis] for axis in domain.axes if axis in fixed}


def _check_names(domain: Domain, grid: Mapping[str, Any], fixed: Mapping[str, float], free: list[str]) -> None:
    _known_axes(domain, grid, "the grid")
    twice = [axis for axis in grid if axis in fixed]
    if twice:
        raise ProblemError(f"the axis '{twice[0]}' is both in the grid and in at=: leave it out of one of them")
    missing = [axis for axis in free if axis not in grid]
    if missing:
        raise ProblemError(
            f"the grid says nothing about the axis '{missing[0]}': give its number of points or its coordinates, "
            f"or hold it by at={{'{missing[0]}': ...}}"
        )


def _known_axes(domain: Domain, names: Mapping[str, Any], what: str) -> None:
    for name in names:
        if name not in domain.axes:
            raise ProblemError(f"{what}: there is no axis '{name}'; the axes are {', '.join(domain.axes)}")


def _coordinates(domain: Domain, axis: str, given: Any) -> np.ndarray:
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if given < 2:
            raise ProblemError(
                f"the grid has {given} points along the axis '{axis}': it needs two or more, "
                f"or hold the axis by at={{'{axis}': ...}}"
            )
        refuse_too_much(8 * int(given), f"an axis '{axis}' with {given} points", "take fewer")
        return even_places(domain.intervals[axis], int(given))
    try:
        values = np.asarray(given)
    except (TypeError, ValueError):  # lists of unequal lengths
        values = np.asarray(None)
    if values.ndim != 1 or (values.size and not _is_real(values)):
        raise ProblemError(
            f"the axis '{axis}' of the grid needs a whole number of points or a list of coordinates, not {given!r}"
        )
    if not values.size:
        raise ProblemError(f"the grid is empty: the axis '{axis}' has no coordinates")
    values = _inside(domain, axis, values)
    if not np.all(np.diff(values) > 0):
        raise ProblemError(f"the coordinates along the axis '{axis}' must increase, each one once: sort them")
    return values


def _inside(domain: Domain, axis: str, values: np.ndarray) -> np.ndarray:
    """Coordinates as numbers of the domain; the model has learned nothing outside of it, unless it is periodic."""
    low, high = domain.intervals[axis]
    values = values.astype(float)
    slack = np.inf if axis in domain.periodic_axes else ROUNDING * (high - low)
    outside = ~((values >= low - slack) & (values <= high + slack) & np.isfinite(values))
    if outside.any():
        worst = float(values[outside].ravel()[0])
        raise ProblemError(
            f"{axis}={worst:g} lies outside of the domain, where the solution means nothing: "
            f"the axis '{axis}' goes from {low:g} to {high:g}"
        )
    return values


def _is_real(values: np.ndarray) -> bool:
    return np.issubdtype(values.dtype, np.integer) or np.issubdtype(values.dtype, np.floating)
