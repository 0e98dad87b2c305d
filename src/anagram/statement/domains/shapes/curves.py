"""Curves in the plane, and the charts that they bound."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import numpy as np

from anagram.statement.domains.patch import AROUND, UNIT, Chart, Placed


class Curve(abc.ABC):
    """A smooth curve t ↦ x(t) in the plane, t in [0, 1]; the set that it bounds lies to its left.

    Attributes:
        closed: whether it is smooth through its ends, which are one point.
    """

    closed = False

    @abc.abstractmethod
    def at(self, t: np.ndarray) -> np.ndarray:
        """The points (n, 2) at parameters (n,)."""

    @abc.abstractmethod
    def slope(self, t: np.ndarray) -> np.ndarray:
        """Derivatives dx/dt (n, 2)."""

    def implicit(self) -> Callable[[Any], Any] | None:
        """A function of the point that vanishes on the curve and on what it is a part of; None if none is known."""
        return None

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of its parameter."""
        return AROUND if self.closed else UNIT


class Line(Curve):
    """A straight piece from one point to another."""

    def __init__(self, start: np.ndarray, end: np.ndarray) -> None:
        self.start, self.end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)

    def at(self, t: np.ndarray) -> np.ndarray:
        # Both ends come out exactly.
        return np.where(
            t[:, None] < 0.5,
            self.start + t[:, None] * (self.end - self.start),
            self.end - (1 - t[:, None]) * (self.end - self.start),
        )

    def implicit(self) -> Callable[[Any], Any]:
        along = (self.end - self.start) / np.linalg.norm(self.end - self.start)
        return lambda x: along[0] * (x[1] - self.start[1]) - along[1] * (x[0] - self.start[0])

    def slope(self, t: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.end - self.start, (len(t), 2))


class Arc(Curve):
    """A piece of an ellipse: centre + M (cos φ, sin φ), φ from one angle to another."""

    def __init__(self, center: np.ndarray, matrix: np.ndarray, begin: float, end: float) -> None:
        self.center, self.matrix = np.asarray(center, dtype=float), np.asarray(matrix, dtype=float)
        self.begin, self.end = float(begin), float(end)
        self.closed = bool(np.isclose(abs(self.end - self.begin), 2 * np.pi, rtol=1e-14))

    def at(self, t: np.ndarray) -> np.ndarray:
        angle = self.begin + t * (self.end - self.begin)
        return self.center + np.stack([np.cos(angle), np.sin(angle)], axis=1) @ self.matrix.T

    def slope(self, t: np.ndarray) -> np.ndarray:
        angle = self.begin + t * (self.end - self.begin)
        return (self.end - self.begin) * np.stack([-np.sin(angle), np.cos(angle)], axis=1) @ self.matrix.T

    def implicit(self) -> Callable[[Any], Any]:
        inverse = np.linalg.inv(self.matrix)
        size = np.sqrt(abs(np.linalg.det(self.matrix)))
        return lambda x: size * (1 - sum(v**2 for v in inverse @ (x - self.center))) / 2


class Fan(Chart):
    """What lies between a point and a curve that is seen from it: (s, t) ↦ apex + s (x(t) − apex)."""

    def __init__(self, apex: np.ndarray, curve: Curve) -> None:
        self.apex, self.curve = np.asarray(apex, dtype=float), curve
        self.intervals = (UNIT, curve.interval)

    def __call__(self, s: np.ndarray) -> Placed:
        ray, slope = self.curve.at(s[:, 1]) - self.apex, self.curve.slope(s[:, 1])
        density = s[:, 0] * np.abs(ray[:, 0] * slope[:, 1] - ray[:, 1] * slope[:, 0])
        return Placed(self.apex + s[:, :1] * ray, density, None)


class Edge(Chart):
    """A curve as a piece of a boundary; its normal points to its right, out of the set on its left."""

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        self.intervals = (curve.interval,)

    def __call__(self, s: np.ndarray) -> Placed:
        slope = self.curve.slope(s[:, 0])
        speed = np.linalg.norm(slope, axis=1)
        normal = np.stack([slope[:, 1], -slope[:, 0]], axis=1) / speed[:, None]
        return Placed(self.curve.at(s[:, 0]), speed, normal)

    def implicit(self) -> Callable[[Any], Any] | None:
        return self.curve.implicit()
