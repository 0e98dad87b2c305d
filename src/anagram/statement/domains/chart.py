"""Charts: maps from a box of parameters onto a piece of a shape, or of its boundary."""

from __future__ import annotations

import abc
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anagram.statement.domains.intervals import Periodic
from anagram.statement.domains.rules import Draw, GaussLegendre, PointRule

UNIT = (0.0, 1.0)
AROUND = Periodic(0.0, 1.0)
COARSE = 12  # nodes an axis on which lengths are measured
MOST_ALONG, MOST_IN_ALL = 2048, 2**20  # nodes on an axis, and together, with which an integral is measured
MANY = 512  # places of a curve at which a predicate is tried


class Placed(NamedTuple):
    """Points of a chart: where they lie, how much the parameters are stretched there, and normals on a boundary."""

    x: np.ndarray
    density: np.ndarray
    normal: np.ndarray | None


class Chart(abc.ABC):
    """A map from a box of parameters, [0, 1]^k, onto a piece of R^d that is smooth up to the boundary of the box.

    Attributes:
        intervals: `UNIT` or, where the chart is periodic in a parameter, `AROUND`, for each parameter.
        labels: names by which a piece of a boundary is found, beside that of the part it belongs to.
    """

    intervals: tuple[tuple[float, float], ...]
    labels: tuple[str, ...] = ()

    @abc.abstractmethod
    def __call__(self, s: np.ndarray) -> Placed:
        """The points (n, d) at parameters (n, k).

        The density is √det(∂xᵀ∂x), the volume that a unit of parameters has there; on pieces of a boundary there are
        unit normals (n, d), outward.
        """

    def implicit(self) -> Callable[[Any], Any] | None:
        """On a boundary, a function of points in space that vanishes on the piece and what it is a part of.

        It grows like the distance, with one sign on each side; None where no such function is known.
        """
        return None

    @functools.cached_property
    def measure(self) -> float:
        """Length, area or volume: the integral of the density."""
        return settled_integral(lambda s: self(s).density, self.intervals)

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """How long it is along each parameter, on average; the product is its measure."""
        s, weight = draw_unit(GaussLegendre(COARSE), self.intervals)
        mean = weight * self(s).density
        step, found = 1e-3, []
        for k in range(len(self.intervals)):
            ahead, behind = s.copy(), s.copy()
            ahead[:, k], behind[:, k] = np.minimum(1, s[:, k] + step), np.maximum(0, s[:, k] - step)
            chord = np.linalg.norm(self(ahead).x - self(behind).x, axis=1)
            found.append(mean @ (chord / (ahead - behind)[:, k]) / mean.sum())
        found = np.array(found)
        return found * (self.measure / np.prod(found)) ** (1 / len(found))

    @functools.cached_property
    def densest(self) -> float:
        """The largest density, about."""
        s, _ = draw_unit(GaussLegendre(2 * COARSE), self.intervals)
        corners = np.stack(np.meshgrid(*[[0.0, 0.5, 1.0]] * len(self.intervals), indexing="ij"), axis=-1)
        return 1.05 * float(np.max(self(np.concatenate([s, corners.reshape(-1, s.shape[1])])).density))

    def nearest(self, x: np.ndarray) -> Placed:
        """Its points nearest to given ones (n, d)."""
        return self(nearest_parameters(self, x))

    def where(self, holds: Callable[[np.ndarray], np.ndarray]) -> list[Chart]:
        """Its pieces where a predicate of points (n, d) is true."""
        return chart_where(self, holds)

    def own_nodes(self, counts: Sequence[int]) -> Draw | None:
        """Nodes in its parameters, about as many as the product of counts, and weights with the density in them.

        None where those of the box of parameters will do, as they do on every chart that is smooth.
        """
        return None

    @property
    def is_smooth(self) -> bool:
        """Whether rules for boxes integrate over it as they do over a box."""
        return True


def settled_integral(density: Callable[[np.ndarray], np.ndarray], intervals: Sequence[tuple[float, float]]) -> float:
    """The integral of a smooth function of parameters (n, k), with nodes doubled until it no longer changes."""
    count, old = 8, np.nan
    while True:
        s, weight = draw_unit(GaussLegendre(count), intervals)
        new = float(weight @ density(s))
        # Sums of so many terms differ in their last digit for ever.
        if abs(new - old) <= 1e-14 * abs(new) or 2 * count > MOST_ALONG or (2 * count) ** len(intervals) > MOST_IN_ALL:
            return new
        count, old = 2 * count, new


def draw_unit(rule: PointRule, intervals: Sequence[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in a box of parameters, with weights that sum to one."""
    return rule.draw({str(k): i for k, i in enumerate(intervals)}, np.random.default_rng(0), closed=False)


class Restricted(Chart):
    """A chart on a smaller box of parameters."""

    def __init__(self, chart: Chart, low: np.ndarray, high: np.ndarray) -> None:
        self.chart, self.low, self.high = chart, low, high
        self.intervals = (UNIT,) * len(chart.intervals)

    def __call__(self, s: np.ndarray) -> Placed:
        found = self.chart(self.low + s * (self.high - self.low))
        return found._replace(density=found.density * float(np.prod(self.high - self.low)))

    def implicit(self) -> Callable[[Any], Any] | None:
        return self.chart.implicit()


def chart_where(chart: Chart, holds: Callable[[np.ndarray], np.ndarray]) -> list[Chart]:
    """The pieces of a chart where a predicate of points (n, d) is true.

    A curve is cut where it changes.
    """
    if len(chart.intervals) == 1:
        edges, inside = _changes(chart, holds)
        if len(inside) == 1:
            return [chart] if inside[0] else []
        return [
            Restricted(chart, np.array([a]), np.array([b]))
            for (a, b), here in zip(itertools.pairwise(edges), inside, strict=True)
            if here
        ]
    from anagram.statement.domains.parted import part_of_surface

    return part_of_surface(chart, holds)


def _changes(chart: Chart, holds: Callable[[np.ndarray], np.ndarray]) -> tuple[list[float], list[bool]]:
    """Where on a curve a predicate changes, with both ends, and whether it holds between."""
    t = (np.arange(MANY) + 0.5) / MANY

    def at(t: np.ndarray) -> np.ndarray:
        return holds(chart(t[:, None]).x)

    values = at(t)
    flips = np.flatnonzero(values[1:] != values[:-1])
    low, high = t[flips], t[flips + 1]
    for _ in range(60):
        middle = (low + high) / 2
        same = at(middle) == values[flips] if len(flips) else np.zeros(0, dtype=bool)
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    # A change at a round number, such as the corner x = 1, is meant to be there.
    edges = [0.0, *np.where(np.abs(high - np.round(high, 12)) < 1e-13, np.round(high, 12), high).tolist(), 1.0]
    return edges, [bool(values[0]), *(bool(v) for v in values[flips + 1])]


def nearest_parameters(chart: Chart, x: np.ndarray) -> np.ndarray:
    """The parameters of the points of a chart nearest to given points (n, d): the best of a grid, then Gauss–Newton."""
    from scipy.spatial import KDTree

    count = {1: 257, 2: 49}.get(len(chart.intervals), 17)
    lines = [np.linspace(low, high, count) for low, high in chart.intervals]
    grid = np.stack([g.ravel() for g in np.meshgrid(*lines, indexing="ij")], axis=1)
    s = grid[np.asarray(KDTree(chart(grid).x).query(x)[1])]
    around = np.array([isinstance(i, Periodic) for i in chart.intervals])
    step = 1e-6
    for _ in range(8):
        there = chart(s).x
        slopes = []
        for k in range(s.shape[1]):
            ahead, behind = s.copy(), s.copy()
            ahead[:, k] += step
            behind[:, k] -= step
            slopes.append((chart(ahead).x - chart(behind).x) / (2 * step))
        jacobian = np.stack(slopes, axis=2)
        metric = np.einsum("nik,nil->nkl", jacobian, jacobian)
        metric += 1e-14 * np.trace(metric, axis1=1, axis2=2)[:, None, None] * np.eye(s.shape[1])
        move = np.linalg.solve(metric, np.einsum("nik,ni->nk", jacobian, x - there)[..., None])[..., 0]
        new = s + np.clip(move, -0.1, 0.1)
        new = np.where(around, new % 1.0, np.clip(new, 0, 1))
        better = np.linalg.norm(chart(new).x - x, axis=1) <= np.linalg.norm(there - x, axis=1)
        s = np.where(better[:, None], new, s)
    return s
