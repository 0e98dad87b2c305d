"""Points that crowd at corners: cells that are halved towards them again and again, alike at all distances."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from anagram.errors import SettingError
from anagram.statement.domains.intervals import Intervals, Periodic, placed_in
from anagram.statement.domains.rules import Draw, GaussLegendre, PointRule, refuse_too_many

NEAREST = 3e-7  # of the shape: cells smaller than this are not halved
MOST_ROUNDS = 40
LOOKED_AT = 5  # places along an axis of a cell, by which it is told how near a corner is

Array = np.ndarray


class Graded(PointRule):
    """Gauss–Legendre points in cells that are halved towards corners: ``Graded(40, order=4, corners=[(0, 0)])``.

    Args:
        count: how many points there would be along each axis of a shape as long as the domain, without corners.
        order: how many points each cell has along an axis.
        corners: the places towards which cells are halved.
    """

    def __init__(self, count: int, order: int = 4, corners: Sequence[Sequence[float]] = ()) -> None:
        for name, value in (("count", count), ("order", order)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise SettingError(f"Graded needs a positive whole number as its {name}, not {value!r}")
        try:
            found = np.asarray(corners, dtype=float)
        except (TypeError, ValueError):
            found = np.zeros(0)
        if found.ndim != 2 or found.shape[1:] != (2,) or not np.all(np.isfinite(found)):
            raise SettingError(f"Graded needs corners as pairs of numbers, as in corners=[(0, 0)], not {corners!r}")
        self.count, self.order = int(count), int(order)
        self.corners: Float[np.ndarray, "corners 2"] = found
        self.cells_along = self.count / self.order
        self.leaves_out = False  # the cells at the corners themselves

    def on(self, chart: Any, size: float) -> Draw:
        """Parameters of points on a piece of a shape of some size, and weights for its box of parameters."""
        return self._points(lambda s: chart(s).x, chart.lengths / size, size)

    def in_box(self, intervals: Intervals, held: Mapping[str, float]) -> Draw:
        """Points of a box in the plane, or of one of its faces, where an axis is held: coordinates along the others."""
        closed = [axis for axis, interval in intervals.items() if isinstance(interval, Periodic)]
        if closed:
            raise SettingError(f"{self!r} is for places in a plane, and '{closed[0]}' is periodic")
        if len(intervals) != 2:
            raise SettingError(f"{self!r} is for domains in the plane, not for one with {len(intervals)} axes")
        free = {axis: interval for axis, interval in intervals.items() if axis not in held}
        lengths = np.array([high - low for low, high in free.values()])
        size = max(high - low for low, high in intervals.values())

        def place(s: Array) -> Array:
            columns = {
                **dict(zip(free, placed_in(free, s).T, strict=True)),
                **{a: np.full(len(s), held[a]) for a in held},
            }
            return np.stack([columns[axis] for axis in intervals], axis=1)

        s, weight = self._points(place, lengths / size, size)
        return placed_in(free, s), weight

    def _points(self, place: Callable[[Array], Array], lengths: Array, size: float) -> Draw:
        """Points of the unit box, in cells by where these are placed, and weights that sum to one."""
        low, high = self._cells(place, lengths, size)
        nodes, weights = np.polynomial.legendre.leggauss(self.order)
        dimension = low.shape[1]
        refuse_too_many(len(low) * self.order**dimension, self)
        unit = _product([(nodes + 1) / 2] * dimension)
        weight = np.prod(_product([weights / 2] * dimension), axis=1)
        s = low[:, None] + (high - low)[:, None] * unit[None]
        volumes = np.prod(high - low, axis=1)
        return s.reshape(-1, dimension), (volumes[:, None] * weight[None]).ravel()

    def _cells(self, place: Callable[[Array], Array], lengths: Array, size: float) -> tuple[Array, Array]:
        """The lower and upper corners of the cells in the unit box."""
        sides = [max(1, round(self.cells_along * length)) for length in lengths]
        refuse_too_many(math.prod(sides) * self.order ** len(sides), self)
        edges = [np.linspace(0, 1, n + 1) for n in sides]
        low, high = _product([e[:-1] for e in edges]), _product([e[1:] for e in edges])
        for _ in range(MOST_ROUNDS):
            away, across = self._looked_at(place, low, high)
            # Small beside its distance to every corner it may stay, and where it is as small as nothing.
            split = (across > away) & (across > NEAREST * size)
            if not split.any():
                break
            parts = low[split], high[split]
            for axis in range(low.shape[1]):
                parts = _halved(*parts, axis)
            low, high = np.concatenate([low[~split], parts[0]]), np.concatenate([high[~split], parts[1]])
        if self.leaves_out:
            away, across = self._looked_at(place, low, high)
            low, high = low[across <= away], high[across <= away]
        return low, high

    def _looked_at(self, place: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array]:
        """How far each cell is from the nearest corner, and how large it is."""
        places = _product([np.linspace(0, 1, LOOKED_AT)] * low.shape[1])
        s = low[:, None] + (high - low)[:, None] * places[None]
        x = place(s.reshape(-1, low.shape[1])).reshape(len(low), len(places), -1)
        away = np.linalg.norm(x[:, :, None] - self.corners, axis=-1).min(axis=(1, 2))
        return away, np.linalg.norm(np.ptp(x, axis=1), axis=-1) / np.sqrt(2)

    def draw(
        self, intervals: Intervals, rng: np.random.Generator, *, closed: bool, fixed: Mapping[str, float] | None = None
    ) -> Draw:
        return GaussLegendre(self.count).draw(intervals, rng, closed=closed, fixed=fixed)

    def share(self, fraction: float) -> PointRule:
        return self  # a piece has as many points as it is large

    def between(self) -> Graded:
        """Other points in the same cells, without those at the corners themselves, where nothing is known."""
        other = Graded(self.count, self.order + 1, [(x, y) for x, y in self.corners.tolist()])
        other.cells_along, other.leaves_out = self.cells_along, True
        return other

    def __repr__(self) -> str:
        return f"Graded({self.count}, order={self.order}, {len(self.corners)} corners)"


def _product(columns: Sequence[Array]) -> Float[np.ndarray, "points axes"]:
    return np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, len(columns))


def _halved(low: Array, high: Array, axis: int) -> tuple[Array, Array]:
    """All cells cut in two along an axis."""
    middle = (low[:, axis] + high[:, axis]) / 2
    upper, lower = low.copy(), high.copy()
    upper[:, axis], lower[:, axis] = middle, middle
    return np.concatenate([low, upper]), np.concatenate([lower, high])
