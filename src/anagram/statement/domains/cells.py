"""Cells: a box cut into smaller ones, with Gauss–Legendre points in each, that can be cut anew where it matters.

The points of all cells together are one quadrature rule, so that the loss is the same integral however the
cells lie. The number of cells never changes: for every cell that is halved, two halves elsewhere are joined.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import numpy as np

from anagram.errors import SettingError
from anagram.statement.domains.intervals import Intervals, placed_in
from anagram.statement.domains.rules import MOST_POINTS, Draw, PointRule, refuse_too_many

HIGHEST_ORDER = 100  # points along an axis of a cell
COARSEST = 4.0  # times as large as at the start a cell may become


class Mesh:
    """The leaves of a binary tree of cells over [0, 1]^d.

    Cells are known by numbers; `low` and `high` hold the corners of all that ever were, `leaves` the numbers of
    those in use.
    """

    def __init__(self, dimension: int, count: int) -> None:
        self.low = np.zeros((1, dimension))
        self.high = np.ones((1, dimension))
        self.parent = np.array([-1])
        self.leaves = np.array([0])
        # However quiet it is somewhere, a few points stay there to notice when it no longer is.
        self.largest = COARSEST / count
        while len(self.leaves) < count:
            longest = np.argmax(np.round(self.high[self.leaves] - self.low[self.leaves], 12), axis=1)
            size = self.volumes
            # Largest first; cells of equal size are halved together unless the count is reached.
            order = np.argsort(-size, kind="stable")[: count - len(self.leaves)]
            order = order[size[order] > 0.75 * size.max()]
            self._halve(self.leaves[order], longest[order])

    @property
    def dimension(self) -> int:
        """The number of axes."""
        return self.low.shape[1]

    @property
    def volumes(self) -> np.ndarray:
        """The volumes of the leaves; they sum to one."""
        return np.prod(self.high[self.leaves] - self.low[self.leaves], axis=1)

    def points(self, order: int) -> Draw:
        """`order` Gauss–Legendre points per axis in every leaf, leaf after leaf, with weights that sum to one."""
        nodes, weights = np.polynomial.legendre.leggauss(order)
        unit = np.stack(np.meshgrid(*[(nodes + 1) / 2] * self.dimension, indexing="ij"), axis=-1)
        unit = unit.reshape(-1, self.dimension)
        weight = np.prod(np.stack(np.meshgrid(*[weights / 2] * self.dimension, indexing="ij"), axis=-1), axis=-1)
        low, length = self.low[self.leaves], (self.high - self.low)[self.leaves]
        x = low[:, None] + length[:, None] * unit[None]
        return x.reshape(-1, self.dimension), (self.volumes[:, None] * weight.ravel()[None]).ravel()

    def improve(self, indicator: np.ndarray, axis: np.ndarray, *, share: float, gain: float) -> int:
        """Halve the leaves with the largest indicators, each along its axis, and join the quietest pairs.

        Args:
            indicator: how badly each leaf is resolved.
            axis: the axis along which each leaf would be halved.
            share: at most this fraction of the leaves is halved.
            gain: a leaf is halved only if its indicator is so many times that of the pair joined for it.

        Returns the number of leaves halved.
        """
        value = dict(zip(self.leaves.tolist(), indicator.tolist(), strict=True))
        along = dict(zip(self.leaves.tolist(), axis.tolist(), strict=True))
        halves: dict[int, list[int]] = {}
        for leaf in self.leaves.tolist():
            halves.setdefault(int(self.parent[leaf]), []).append(leaf)
        pairs = [
            (value[pair[0]] + value[pair[1]], node)
            for node, pair in halves.items()
            if len(pair) == 2 and self._volume(node) <= self.largest
        ]
        heapq.heapify(pairs)
        loud = sorted(value, key=lambda leaf: -value[leaf])[: int(share * len(self.leaves))]
        chosen: set[int] = set()
        done = 0
        for leaf in loud:
            while pairs and chosen & set(halves[pairs[0][1]]):
                heapq.heappop(pairs)
            if not pairs or value[leaf] <= gain * pairs[0][0]:
                break
            _, node = pairs[0]
            if leaf in halves[node]:
                break
            heapq.heappop(pairs)
            chosen.add(leaf)
            self._join(node, halves[node])
            self._halve(np.array([leaf]), np.array([along[leaf]]))
            done += 1
        return done

    def _volume(self, node: int) -> float:
        return float(np.prod(self.high[node] - self.low[node]))

    def _halve(self, leaves: np.ndarray, axes: np.ndarray) -> None:
        """Halve leaves, each along its axis; the two halves of one stand side by side."""
        middle = 0.5 * (self.low[leaves, axes] + self.high[leaves, axes])
        low, high = np.repeat(self.low[leaves], 2, axis=0), np.repeat(self.high[leaves], 2, axis=0)
        lower = 2 * np.arange(len(leaves))
        high[lower, axes] = low[lower + 1, axes] = middle
        first = len(self.low)
        self.low, self.high = np.concatenate([self.low, low]), np.concatenate([self.high, high])
        self.parent = np.append(self.parent, np.repeat(leaves, 2))
        self.leaves = np.append(self.leaves[~np.isin(self.leaves, leaves)], np.arange(first, first + 2 * len(leaves)))

    def _join(self, node: int, halves: list[int]) -> None:
        self.leaves = np.append(self.leaves[~np.isin(self.leaves, halves)], node)


class Cells(PointRule):
    """About `count` points in cells of `order` Gauss–Legendre points per axis; the cells adapt to the residual.

    While a model trains, cells move to where the residual on fresh points is largest (see `anagram.training.adaptive`).
    """

    def __init__(self, count: int, order: int = 4) -> None:
        for name, value in (("count", count), ("order", order)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise SettingError(f"Cells needs a positive whole number as its {name}, not {value!r}")
        for name, value, most in (("count", count, MOST_POINTS), ("order", order, HIGHEST_ORDER)):
            if value > most:
                raise SettingError(f"Cells takes at most {most:g} as its {name}")
        self.count, self.order = int(count), int(order)

    def mesh(self, dimension: int) -> Mesh:
        """The cells at the start, all of about the same size."""
        refuse_too_many(max(self.count, self.order**dimension), self)
        return Mesh(dimension, max(1, round(self.count / self.order**dimension)))

    def draw(
        self, intervals: Intervals, rng: np.random.Generator, *, closed: bool, fixed: Mapping[str, float] | None = None
    ) -> Draw:
        if not intervals:
            return np.zeros((1, 0)), np.ones(1)
        return place(self.mesh(len(intervals)).points(self.order), intervals)

    def share(self, fraction: float) -> PointRule:
        return Cells(max(1, round(self.count * fraction)), self.order)

    def __repr__(self) -> str:
        return f"Cells({self.count}, order={self.order})"


class Fixed(PointRule):
    """Points and weights that were computed elsewhere, for one product of intervals."""

    def __init__(self, points: Draw) -> None:
        self.points = points

    def draw(
        self, intervals: Intervals, rng: np.random.Generator, *, closed: bool, fixed: Mapping[str, float] | None = None
    ) -> Draw:
        return place(self.points, intervals)

    def __repr__(self) -> str:
        return f"Fixed({len(self.points[0])} points)"


def place(points: Draw, intervals: Intervals) -> Draw:
    """Points of the unit cube, moved to the intervals."""
    x, weight = points
    return placed_in(intervals, x), weight
