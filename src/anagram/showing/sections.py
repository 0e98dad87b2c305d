"""Planes through a domain: which of them are shown, what of them lies inside, and where its edge runs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import distance_transform_edt

from anagram.showing.contours import contours
from anagram.statement.domains import Domain
from anagram.statement.domains.intervals import even_places
from anagram.statement.domains.outline import closed_loops

INSTANTS = 3  # of an evolution on a shape that are shown
MEMBERS = 3  # of a family that are shown
PLACES = 9  # along an axis that are tried for one whose plane meets a shape well
MEETS = 0.5  # of the largest section: a plane with as much of the shape is good enough
CURVE = 400  # points of an outline


@dataclass(frozen=True)
class Section:
    """The plane of two axes through a domain, the others held, with a grid on it.

    Attributes:
        domain: what is cut.
        axes: the horizontal and the vertical one.
        held: where the others are held.
        size: points along both axes.
    """

    domain: Domain
    axes: tuple[str, str]
    held: Mapping[str, float]
    size: int

    @functools.cached_property
    def lines(self) -> tuple[np.ndarray, np.ndarray]:
        """The coordinates along both axes."""
        horizontal, vertical = (even_places(self.domain.intervals[axis], self.size) for axis in self.axes)
        return horizontal, vertical

    @functools.cached_property
    def grid(self) -> np.ndarray:
        """All points of the grid (size², d), the horizontal axis fastest."""
        across, up = np.meshgrid(*self.lines)
        return self.points(np.stack([across.ravel(), up.ravel()], axis=1))

    def points(self, places: np.ndarray) -> np.ndarray:
        """Points of the domain from places (n, 2) of the plane."""
        columns = {axis: np.full(len(places), place) for axis, place in self.held.items()}
        columns |= dict(zip(self.axes, places.T, strict=True))
        return np.stack([columns[axis] for axis in self.domain.axes], axis=1)

    @functools.cached_property
    def inside(self) -> np.ndarray:
        """Which points of the grid lie in the domain."""
        return np.ones(len(self.grid), dtype=bool) if self.domain.is_box else self.domain.contains(self.grid)

    @property
    def x(self) -> np.ndarray:
        """The points of the grid that lie in the domain."""
        return self.grid[self.inside]

    @property
    def in_space(self) -> bool:
        """Whether both axes belong to a shape: lengths along them are the same."""
        return set(self.axes) <= set(self.domain.space)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values at the points inside as a picture (size, size); outside, those of the nearest point inside.

        A picture is cut off at the edge of the domain, which runs between points: those just outside count.
        """
        if len(values) == len(self.grid):
            return values.reshape(self.size, self.size)
        mask = self.inside.reshape(self.size, self.size)
        picture = np.full(mask.shape, np.nan, dtype=values.dtype)
        picture[mask] = values
        nearest = distance_transform_edt(~mask, return_distances=False, return_indices=True)
        return picture[tuple(np.asarray(nearest))]

    @functools.cached_property
    def edges(self) -> list[np.ndarray]:
        """The edge of the domain in this plane, as closed polylines (k, 2); nothing where it fills the picture."""
        if self.domain.is_box or self.inside.all():
            return []
        outline = self.domain.outline(CURVE)
        if outline and set(self.axes) == set(self.domain.space):
            swapped = self.axes != self.domain.space
            return [loop[:, ::-1] if swapped else loop for loop in closed_loops(outline)]
        return contours(lambda places: self.domain.contains(self.points(places)), *self.lines)


def sections(domain: Domain, size: int) -> list[Section]:
    """The planes that pictures show of a domain of two axes or more.

    Of a box, the one through its centre along the first two axes, time horizontally. Of a shape, the plane of its
    first two axes, where it meets the shape; if it evolves, at several instants. Of a family, several members, at the
    end of time if they evolve on a shape; parameters are axes of a plane only where nothing else is left.
    """
    middle = dict(zip(domain.axes, domain.middle.tolist(), strict=True))
    if not domain.space:
        first, second = sorted(domain.axes, key=lambda a: (a in domain.parameter_axes, a != "t"))[:2]
        held = {a: m for a, m in middle.items() if a not in (first, second)}
        return _members(Section(domain, (first, second), held, size))
    axes = (domain.space[0], domain.space[1])
    held = {a: m for a, m in middle.items() if a not in axes}
    for axis in domain.space[2:]:
        held[axis] = _good_place(domain, axes, held, axis)
    if domain.parameter_axes and "t" in held:
        held["t"] = domain.intervals["t"][1]
        return _members(Section(domain, axes, held, size))
    if "t" not in held or "t" in domain.space:
        return _members(Section(domain, axes, held, size))
    instants = np.linspace(*domain.intervals["t"], INSTANTS)
    return [Section(domain, axes, {**held, "t": float(t)}, size) for t in instants]


def _members(plane: Section) -> list[Section]:
    """The same plane for several values of the first parameter that is held; the plane itself if none is."""
    axis = next((a for a in plane.domain.parameter_axes if a in plane.held), None)
    if axis is None:
        return [plane]
    values = even_places(plane.domain.intervals[axis], MEMBERS).tolist()
    return [replace(plane, held={**plane.held, axis: value}) for value in values]


def _good_place(domain: Domain, axes: tuple[str, str], held: Mapping[str, float], axis: str) -> float:
    """A place along an axis where the plane meets much of the shape, as near to the middle as can be."""
    low, high = domain.intervals[axis]
    places = low + (high - low) * (np.arange(PLACES) + 0.5) / PLACES
    places = places[np.argsort(np.abs(places - (low + high) / 2), kind="stable")]
    areas = np.array([Section(domain, axes, {**held, axis: place}, 41).inside.mean() for place in places])
    return float(places[np.argmax(areas >= MEETS * areas.max())])
