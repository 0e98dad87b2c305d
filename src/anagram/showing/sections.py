"""Planes through a domain: which of them are shown, what of them lies inside, and where its edge runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import distance_transform_edt

from anagram.statement.domains import Domain
from anagram.statement.domains.outline import closed_loops

INSTANTS = 3  # of an evolution on a shape that are shown
PLACES = 9  # along an axis that are tried for one whose plane meets a shape well
MEETS = 0.5  # of the largest section: a plane with as much of the shape is good enough
ROUNDS = 24  # of halving, to find where an edge is crossed
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
        horizontal, vertical = (np.linspace(*self.domain.intervals[axis], self.size) for axis in self.axes)
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
    first two axes, where it meets the shape; if it evolves, at several instants.
    """
    middle = {axis: (low + high) / 2 for axis, (low, high) in domain.intervals.items()}
    if not domain.space:
        axes = sorted(domain.axes, key=lambda a: a != "t")[:2]
        return [Section(domain, (axes[0], axes[1]), {a: m for a, m in middle.items() if a not in axes}, size)]
    axes = (domain.space[0], domain.space[1])
    held = {a: m for a, m in middle.items() if a not in axes}
    for axis in domain.space[2:]:
        held[axis] = _good_place(domain, axes, held, axis)
    if "t" not in held or "t" in domain.space:
        return [Section(domain, axes, held, size)]
    instants = np.linspace(*domain.intervals["t"], INSTANTS)
    return [Section(domain, axes, {**held, "t": float(t)}, size) for t in instants]


def _good_place(domain: Domain, axes: tuple[str, str], held: Mapping[str, float], axis: str) -> float:
    """A place along an axis where the plane meets much of the shape, as near to the middle as can be."""
    low, high = domain.intervals[axis]
    places = low + (high - low) * (np.arange(PLACES) + 0.5) / PLACES
    places = places[np.argsort(np.abs(places - (low + high) / 2), kind="stable")]
    areas = np.array([Section(domain, axes, {**held, axis: place}, 41).inside.mean() for place in places])
    return float(places[np.argmax(areas >= MEETS * areas.max())])


def contours(
    contains: Callable[[np.ndarray], np.ndarray], horizontal: np.ndarray, vertical: np.ndarray
) -> list[np.ndarray]:
    """The edges of a set as closed polylines, by marching squares; where they cross the grid is found by halving."""
    # A rim of points outside closes the loops.
    lines = [
        np.concatenate([c[:1] - (c[1] - c[0]) / 8, c, c[-1:] + (c[-1] - c[-2]) / 8]) for c in (horizontal, vertical)
    ]
    across, up = np.meshgrid(*lines)
    nodes = np.stack([across.ravel(), up.ravel()], axis=1)
    inside = contains(nodes).reshape(across.shape)
    index = np.arange(inside.size).reshape(inside.shape)
    pairs = np.concatenate(
        [
            np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], axis=1),
            np.stack([index[:-1].ravel(), index[1:].ravel()], axis=1),
        ]
    )
    flat = inside.ravel()
    pairs = pairs[flat[pairs[:, 0]] != flat[pairs[:, 1]]]
    within, beyond = (np.where(flat[pairs[:, 0]] == want, *pairs.T) for want in (True, False))
    low, high = nodes[within], nodes[beyond]
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        here = contains(middle)[:, None]
        low, high = np.where(here, middle, low), np.where(here, high, middle)
    crossing = {tuple(sorted(pair)): place for pair, place in zip(pairs.tolist(), low, strict=True)}
    return _joined(_segments(inside, index), crossing)


Pair = tuple[int, int]


def _segments(inside: np.ndarray, index: np.ndarray) -> dict[Pair, list[Pair]]:
    """By crossed edge of the grid, the crossed edges that the contour goes to: two for each."""
    found: dict[Pair, list[Pair]] = {}
    corners = np.stack([inside[:-1, :-1], inside[:-1, 1:], inside[1:, 1:], inside[1:, :-1]], axis=-1)
    mixed = corners.any(axis=-1) & ~corners.all(axis=-1)
    for j, i in np.argwhere(mixed):
        around = [int(index[at]) for at in ((j, i), (j, i + 1), (j + 1, i + 1), (j + 1, i))]
        here = corners[j, i]
        crossed = [
            (min(around[k], around[(k + 1) % 4]), max(around[k], around[(k + 1) % 4]))
            for k in range(4)
            if here[k] != here[(k + 1) % 4]
        ]
        # Where two corners inside stand across from each other, each of them is cut off by itself.
        if len(crossed) == 4 and here[0]:
            crossed = [crossed[3], crossed[0], crossed[1], crossed[2]]
        for one, other in zip(crossed[::2], crossed[1::2], strict=True):
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return found


def _joined(segments: dict[Pair, list[Pair]], places: Mapping[Pair, np.ndarray]) -> list[np.ndarray]:
    """Segments as closed polylines."""
    loops, left = [], dict.fromkeys(segments)
    while left:
        here, loop = next(iter(left)), []
        while here is not None:
            loop.append(places[here])
            del left[here]
            here = next((other for other in segments[here] if other in left), None)
        loops.append(np.array([*loop, loop[0]]))
    return closed_loops([("", loop) for loop in loops if len(loop) > 3])
