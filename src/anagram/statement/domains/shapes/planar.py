"""Shapes in the plane, by the closed loops of curves that bound them."""

from __future__ import annotations

import abc
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.box import Box
from anagram.statement.domains.chart import Chart
from anagram.statement.domains.domain import Corner
from anagram.statement.domains.region import WITHIN, Region
from anagram.statement.domains.shape import Shape
from anagram.statement.domains.shapes.curves import Curve, Edge
from anagram.statement.domains.shapes.outlines import Loop, Outline

SMOOTH = 1e-7  # radians by which a boundary may turn at once where it has no corner


def _turn(a: np.ndarray, b: np.ndarray) -> float:
    """The angle from one direction to another, counterclockwise."""
    return float(np.arctan2(a[0] * b[1] - a[1] * b[0], a @ b))


def _turn_nearby(before: Curve, after: Curve) -> float:
    """To which side a boundary turns at a cusp, seen at the same distance from it on both curves."""
    reach = 1e-3 * min(before.length, after.length)
    a = np.diff(before.at(np.array([1 - reach / before.length, 1.0])), axis=0)[0]
    b = np.diff(after.at(np.array([0.0, reach / after.length])), axis=0)[0]
    return _turn(a, b)


class Planar(Shape):
    """A set in the plane that is bounded by closed loops of smooth curves, each with the set to its left.

    Sets of them are sets again, and keep the curves and the names of their boundaries: ``a | b`` is what lies in one of
    two, ``a & b`` what lies in both, ``a - b`` what lies in the first alone.
    """

    @abc.abstractmethod
    def loops(self) -> list[Loop]:
        """The closed loops of its boundary."""

    def charts(self) -> Sequence[Chart]:
        from anagram.statement.domains.shapes.covering import cover

        return cover(self.loops(), self)

    @functools.cached_property
    def edge(self) -> Outline:
        """Its boundary, as what finds points inside and on it."""
        return Outline(self.loops())

    def boundary_charts(self) -> dict[str, Sequence[Edge]]:
        found: dict[str, list[Edge]] = {}
        for loop in self.loops():
            for piece in loop:
                found.setdefault(piece.part, []).append(Edge(piece.curve, piece.labels))
        return dict(found)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return self.edge.bounds

    def contains(self, x: np.ndarray) -> np.ndarray:
        return self.edge.contains(np.asarray(x, dtype=float), WITHIN * self.edge.size)

    def outline(self, points: int = 200) -> list[tuple[str, np.ndarray]]:
        """Polylines along its boundary, for pictures: the name of a part and points (k, 2), for each curve.

        Args:
            points: on each loop, about; a straight piece has its two ends alone.
        """
        found = []
        for loop in self.loops():
            lengths = [piece.curve.length for piece in loop]
            for piece, length in zip(loop, lengths, strict=True):
                count = 2 if piece.curve.straight else max(9, round(points * length / sum(lengths)) + 1)
                found.append((piece.part, piece.curve.at(np.linspace(0, 1, count))))
        return found

    def corners(self) -> list[Corner]:
        """The places where its boundary turns at once, with the angles inside of it."""
        found = []
        for loop in self.loops():
            for before, after in zip([loop[-1], *loop[:-1]], loop, strict=True):
                turn = _turn(before.curve.slope(np.ones(1))[0], after.curve.slope(np.zeros(1))[0])
                if np.pi - abs(turn) < SMOOTH:
                    turn = np.copysign(np.pi, _turn_nearby(before.curve, after.curve))
                if abs(turn) > SMOOTH:
                    (along,) = after.curve.slope(np.zeros(1))
                    start = float(np.arctan2(along[1], along[0]))
                    point = after.curve.at(np.zeros(1))[0]
                    found.append(Corner(point, float(np.pi - turn), (before.part, after.part), start))
        return found

    # -- sets -------------------------------------------------------------------------------------------
    def _combined(self, how: str, other: Any, mine_first: bool = True) -> Any:
        from anagram.statement.domains.shapes.sets import Combined

        if isinstance(other, Box):
            other = other.as_shape()
        if not isinstance(other, Planar):
            if isinstance(other, Region):
                raise ProblemError(
                    f"{self!r} {how} {other!r}: sets of shapes in the plane are made of such shapes alone"
                )
            return NotImplemented
        return Combined(self, how, other) if mine_first else Combined(other, how, self)

    def __or__(self, other: Any) -> Any:
        return self._combined("|", other)

    def __ror__(self, other: Any) -> Any:
        return self._combined("|", other, mine_first=False)

    def __and__(self, other: Any) -> Any:
        return self._combined("&", other)

    def __rand__(self, other: Any) -> Any:
        return self._combined("&", other, mine_first=False)

    def __sub__(self, other: Any) -> Any:
        return self._combined("-", other)

    def __rsub__(self, other: Any) -> Any:
        return self._combined("-", other, mine_first=False)
