"""Outlines: the boundary of a planar domain as closed polylines, and domains of which nothing else is known."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.domain import Domain, Outline
from anagram.statement.domains.intervals import Interval, checked
from anagram.statement.domains.region import WITHIN, Cloud, Region
from anagram.statement.domains.rules import PointRule

SMOOTH = 0.3  # radians: a smaller turn between two pieces of a polyline is that of a curve, a larger one is a corner
TOUCHING = 1e-6  # of the size of an outline: how near the ends of two pieces are that belong together


def closed_loops(outline: Outline) -> list[np.ndarray]:
    """The pieces of an outline joined to closed polylines (k, 2), the last point of each beside its first.

    Loops around the set run counterclockwise, those around holes clockwise: they can be filled by either rule.
    """
    pieces = [np.asarray(points, dtype=float) for _, points in outline if len(points) > 1]
    if not pieces:
        return []
    near = TOUCHING * float(np.max(np.ptp(np.concatenate(pieces), axis=0)))
    ends = np.array([[piece[0], piece[-1]] for piece in pieces])
    left = np.ones(len(pieces), dtype=bool)
    loops = []
    while left.any():
        first = int(np.argmax(left))
        loop, left[first] = [pieces[first]], False
        while left.any() and np.linalg.norm(loop[0][0] - loop[-1][-1]) > near:
            gaps = np.where(left[:, None], np.linalg.norm(ends - loop[-1][-1], axis=2), np.inf)
            following, end = np.unravel_index(np.argmin(gaps), gaps.shape)
            if gaps[following, end] > near:
                break
            loop.append(pieces[following][:: -1 if end else 1])
            left[following] = False
        # Where a piece ends the next one begins.
        loops.append(np.concatenate([loop[0][:1], *(piece[1:] for piece in loop)]))
    loops = [loop[:-1] if np.linalg.norm(loop[0] - loop[-1]) <= near else loop for loop in loops]
    begins = np.array([loop[0] for loop in loops])
    around = np.stack([inside_loops([loop], begins) for loop in loops])
    np.fill_diagonal(around, val=False)
    depths = around.sum(axis=0)
    return [
        loop if (signed_area(loop) > 0) == (depth % 2 == 0) else loop[::-1]
        for loop, depth in zip(loops, depths, strict=True)
    ]


def signed_area(loop: np.ndarray) -> float:
    """The area of a closed polyline; negative if it runs clockwise."""
    x, y = (loop - loop[0]).T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


def inside_loops(loops: Sequence[np.ndarray], x: np.ndarray, slack: float = 0.0) -> np.ndarray:
    """Whether points (n, 2) lie inside of closed polylines, or nearer to one of them than the slack."""
    inside, near = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=bool)
    # Sorted by height, the points that a straight piece can have to do with are a range.
    order = np.argsort(x[:, 1], kind="stable")
    x = x[order]
    for loop in loops:
        for start, end in zip(loop, np.roll(loop, -1, axis=0), strict=True):
            low, high = sorted((start[1], end[1]))
            first, last = np.searchsorted(x[:, 1], (low, high))
            there = x[first:last]
            if len(there):
                slope = (end[0] - start[0]) / (end[1] - start[1])
                inside[first:last] ^= there[:, 0] < start[0] + (there[:, 1] - start[1]) * slope
            if slack > 0:
                first, last = np.searchsorted(x[:, 1], (low - slack, high + slack))
                near[first:last] |= _within(x[first:last], start, end, slack)
    found = np.empty(len(x), dtype=bool)
    found[order] = inside | near
    return found


def _within(x: np.ndarray, start: np.ndarray, end: np.ndarray, slack: float) -> np.ndarray:
    """Whether points lie nearer to a straight piece than the slack."""
    along = end - start
    share = np.clip((x - start) @ along / max(float(along @ along), np.finfo(float).tiny), 0, 1)
    return np.sum((x - start - share[:, None] * along) ** 2, axis=1) <= slack**2


def straightened(points: np.ndarray) -> np.ndarray:
    """A polyline without the points that lie, up to rounding, on the straight line between their neighbours."""
    before, after = points[1:-1] - points[:-2], points[2:] - points[1:-1]
    turn = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])
    bends = turn > 1e-10 * np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    return points[np.concatenate([[True], bends, [True]])]


def _bulge(loop: np.ndarray) -> float:
    """How far a curve may lie outside of the polyline that stands for it."""
    edges = np.roll(loop, -1, axis=0) - loop
    lengths = np.linalg.norm(edges, axis=1)
    angles = np.unwrap(np.arctan2(edges[:, 1], edges[:, 0]))
    turns = np.abs((np.roll(angles, -1) - angles + np.pi) % (2 * np.pi) - np.pi)
    turns[turns > SMOOTH] = 0.0
    return float(np.max(lengths * np.maximum(turns, np.roll(turns, 1)), initial=0.0)) / 6


class Outlined(Domain):
    """A planar shape, alone or times a box, of which its outline is known and nothing else; it was read from a file.

    Solutions are evaluated, drawn and exported on it. A problem needs the shape itself.

    Args:
        intervals: by axis, the box around it.
        space: the two axes in which the outline lies; for shapes in space, the three axes of the shape.
        outline: its pieces by the names of the parts; without one everything in the box is taken for inside.
        name: how it was written where it was stated.
    """

    def __init__(self, intervals: Mapping[str, Interval], space: Sequence[str], outline: Outline, name: str) -> None:
        self.intervals = {axis: checked(axis, interval) for axis, interval in intervals.items()}
        self.axes = tuple(self.intervals)
        self._space, self._outline, self.name = tuple(space), list(outline), name
        self.loops = closed_loops(self._outline)
        self._slack = max((_bulge(loop) for loop in self.loops), default=0.0)

    @property
    def space(self) -> tuple[str, ...]:
        return self._space

    def outline(self, points: int = 0) -> Outline:
        return self._outline

    def between(self, axis: str, low: float, high: float) -> Outlined:
        """The part between two values of an axis that is none of the outline."""
        other = copy.copy(self)
        other.intervals = {**self.intervals, axis: checked(axis, (low, high))}
        return other

    def contains(self, x: np.ndarray) -> np.ndarray:
        slack = WITHIN * self.lengths
        inside = np.all((x >= self.low - slack) & (x <= self.high + slack), axis=1)
        if not self.loops:
            return inside
        columns = [self.axes.index(axis) for axis in self._space]
        found = inside_loops(self.loops, x[inside][:, columns], max(self._slack, float(slack[columns].max())))
        inside[inside] = found
        return inside

    @property
    def measure(self) -> float:
        raise self._unknown()

    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        raise self._unknown()

    def lies_in(self, box: Any) -> bool:
        return False

    def boundary(self, *parts: Any) -> Region:
        raise self._unknown()

    def _unknown(self) -> ProblemError:
        return ProblemError(
            f"of {self.name} its outline was read from a file and nothing else: state the problem, and pass it to load"
        )

    def __repr__(self) -> str:
        return self.name
