"""Charts between curves: patches with four sides, and rings."""

from __future__ import annotations

import functools

import numpy as np

from anagram.statement.domains.chart import AROUND, UNIT, Chart, Placed
from anagram.statement.domains.shapes.curves import Curve


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a₁b₂ − a₂b₁ of vectors (n, 2)."""
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


class Sheet(Chart):
    """What lies between four curves that follow each other around it, counterclockwise (a Coons patch).

    The curves of opposite sides are blended linearly; what both blends have in common is taken away once.
    """

    def __init__(self, sides: tuple[Curve, Curve, Curve, Curve]) -> None:
        self.sides = sides
        self.bottom, self.right = sides[0], sides[1]
        self.top, self.left = sides[2].reversed(), sides[3].reversed()
        self.intervals = (UNIT, UNIT)
        ends = np.array([0.0, 1.0])
        (self.a, self.b), (self.d, self.c) = self.bottom.at(ends), self.top.at(ends)

    def __call__(self, s: np.ndarray) -> Placed:
        x, along, up = self.with_slopes(s)
        return Placed(x, np.abs(cross(along, up)), None)

    def with_slopes(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points (n, 2) at parameters (n, 2), and their derivatives along both."""
        u, v = s[:, :1], s[:, 1:]
        bottom, top, left, right = (
            curve.at(s[:, k]) for curve, k in ((self.bottom, 0), (self.top, 0), (self.left, 1), (self.right, 1))
        )
        x = (1 - v) * bottom + v * top + (1 - u) * left + u * right
        x -= (1 - u) * ((1 - v) * self.a + v * self.d) + u * ((1 - v) * self.b + v * self.c)
        along = (1 - v) * self.bottom.slope(s[:, 0]) + v * self.top.slope(s[:, 0]) + right - left
        along += (1 - v) * (self.a - self.b) + v * (self.d - self.c)
        up = (1 - u) * self.left.slope(s[:, 1]) + u * self.right.slope(s[:, 1]) + top - bottom
        up += (1 - u) * (self.a - self.d) + u * (self.b - self.c)
        return x, along, up

    @functools.cached_property
    def measure(self) -> float:
        return sum(side.area_from(self.a) for side in self.sides)


class Ring(Chart):
    """What lies between two closed curves that go round in the same direction: straight lines join them."""

    def __init__(self, inner: Curve, outer: Curve) -> None:
        self.inner, self.outer = inner, outer
        self.intervals = (UNIT, AROUND)

    def __call__(self, s: np.ndarray) -> Placed:
        x, along, up = self.with_slopes(s)
        return Placed(x, np.abs(cross(along, up)), None)

    def with_slopes(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points (n, 2) at parameters (n, 2), and their derivatives along both."""
        u, t = s[:, :1], s[:, 1]
        inner, outer = self.inner.at(t), self.outer.at(t)
        up = (1 - u) * self.inner.slope(t) + u * self.outer.slope(t)
        return (1 - u) * inner + u * outer, outer - inner, up

    @functools.cached_property
    def measure(self) -> float:
        center = self.inner.at(np.zeros(1))[0]
        return self.outer.area_from(center) - self.inner.area_from(center)
