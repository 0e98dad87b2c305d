"""Curves in the plane, and the charts that they bound."""

from __future__ import annotations

import abc
import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from anagram.statement.domains.chart import AROUND, UNIT, Chart, Placed

TURN = np.pi / 12  # by which a curve turns between two of its edges, at most
DEEPEST = 24  # times that a curve is halved where it turns
ALIKE = 1e-11  # relative difference of two paths that are one


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

    @abc.abstractmethod
    def piece(self, begin: float, end: float) -> Curve:
        """The part between two parameters, the other way round if the first is larger.

        Parameters of closed curves go on beyond 1.
        """

    @abc.abstractmethod
    def same_path(self, other: Curve) -> bool:
        """Whether both are parts of one line, ellipse or closed curve, up to rounding."""

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of its parameter."""
        return AROUND if self.closed else UNIT

    @property
    def straight(self) -> bool:
        """Whether it is a piece of a line."""
        return False

    def opened(self) -> Curve:
        """A closed curve as one that has a corner where its ends meet."""
        curve = copy.copy(self)
        curve.closed = False
        return curve

    def reversed(self) -> Curve:
        """The same curve from its end to its beginning."""
        curve = self.piece(1.0, 0.0)
        return curve if self.closed else curve.opened()

    @functools.cached_property
    def edges(self) -> np.ndarray:
        """Parameters from 0 to 1 between which the curve turns by little: it is a function over each chord."""
        if self.straight:
            return np.array([0.0, 1.0])
        t = np.linspace(0, 1, 9)
        for _ in range(DEEPEST):
            fine = np.sort(np.concatenate([t, (t[1:] + t[:-1]) / 2]))
            slope = self.slope(fine)
            turn = np.abs(_turns(slope[:-1], slope[1:]))
            sharp = np.maximum(turn[0::2], turn[1::2]) > TURN / 2
            if not sharp.any():
                break
            t = np.sort(np.concatenate([t, fine[1::2][sharp]]))
        return t

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights that integrate smooth functions of its parameter to rounding."""
        x, w = np.polynomial.legendre.leggauss(2 if self.straight else 16)
        low, step = self.edges[:-1, None], np.diff(self.edges)[:, None]
        return (low + step * (x + 1) / 2).ravel(), (step * w / 2).ravel()

    def area_from(self, point: np.ndarray) -> float:
        """The area between a point p and the curve: ½ ∫ (x − p) × dx."""
        t, weight = self._nodes()
        at, slope = self.at(t) - point, self.slope(t)
        return float(0.5 * weight @ (at[:, 0] * slope[:, 1] - at[:, 1] * slope[:, 0]))

    @functools.cached_property
    def area(self) -> float:
        """What it adds to the area that a loop encloses."""
        return self.area_from(np.zeros(2))

    @functools.cached_property
    def length(self) -> float:
        """Its length."""
        t, weight = self._nodes()
        return float(weight @ np.linalg.norm(self.slope(t), axis=1))

    @functools.cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper corner of the box around it."""
        turning = [np.array([0.0, 1.0])]
        for k in (0, 1):
            slope = self.slope(self.edges)[:, k]
            change = np.flatnonzero(slope[1:] * slope[:-1] < 0)
            low, high, sign = self.edges[change], self.edges[change + 1], np.sign(slope[change])
            for _ in range(60 if len(change) else 0):
                middle = (low + high) / 2
                before = np.sign(self.slope(middle)[:, k]) == sign
                low, high = np.where(before, middle, low), np.where(before, high, middle)
            turning.append(high)
        x = self.at(np.concatenate([*turning, self.edges]))
        return x.min(axis=0), x.max(axis=0)


def _turns(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The angles from directions (n, 2) to others, counterclockwise."""
    return np.arctan2(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], np.sum(a * b, axis=1))


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

    @property
    def straight(self) -> bool:
        return True

    def piece(self, begin: float, end: float) -> Line:
        start, stop = self.at(np.array([begin, end]))
        return Line(start, stop)

    def same_path(self, other: Curve) -> bool:
        if not isinstance(other, Line):
            return False
        along = self.end - self.start
        length = np.linalg.norm(along)
        away = np.array([other.start, other.end]) - self.start
        size = max(length, np.abs(away).max(), np.abs(self.start).max())
        return bool(np.all(np.abs(away @ [-along[1], along[0]]) <= 10 * ALIKE * size * length))


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

    def piece(self, begin: float, end: float) -> Arc:
        sweep = self.end - self.begin
        return Arc(self.center, self.matrix, self.begin + begin * sweep, self.begin + end * sweep)

    def same_path(self, other: Curve) -> bool:
        if not isinstance(other, Arc):
            return False
        mine, theirs = self.matrix @ self.matrix.T, other.matrix @ other.matrix.T
        size = np.sqrt(np.abs(mine).max())
        near = np.abs(self.center - other.center).max() <= ALIKE * max(size, np.abs(self.center).max())
        return bool(near and np.abs(mine - theirs).max() <= ALIKE * size**2)


class Wave(Curve):
    """A piece of a closed curve, x + iy = Σ c_k exp(2πikτ), τ from one number to another.

    Args:
        harmonics: k.
        amplitudes: c_k.
        begin: where τ begins.
        end: where it ends; one more or less than at the beginning for the whole curve.
    """

    def __init__(self, harmonics: np.ndarray, amplitudes: np.ndarray, begin: float = 0.0, end: float = 1.0) -> None:
        self.harmonics, self.amplitudes = harmonics, amplitudes
        self.begin, self.end = float(begin), float(end)
        self.closed = bool(np.isclose(abs(self.end - self.begin), 1.0, rtol=1e-14))

    def at(self, t: np.ndarray) -> np.ndarray:
        return self._sum(t, self.amplitudes)

    def slope(self, t: np.ndarray) -> np.ndarray:
        return self._sum(t, 2j * np.pi * (self.end - self.begin) * self.harmonics * self.amplitudes)

    def _sum(self, t: np.ndarray, amplitudes: np.ndarray) -> np.ndarray:
        found = np.empty((len(t), 2))
        block = max(1, 2**20 // len(amplitudes))
        for first in range(0, len(t), block):
            phase = self.begin + t[first : first + block] * (self.end - self.begin)
            z = np.exp(2j * np.pi * np.outer(phase, self.harmonics)) @ amplitudes
            found[first : first + block] = np.stack([np.real(z), np.imag(z)], axis=1)
        return found

    def piece(self, begin: float, end: float) -> Wave:
        sweep = self.end - self.begin
        return Wave(self.harmonics, self.amplitudes, self.begin + begin * sweep, self.begin + end * sweep)

    def same_path(self, other: Curve) -> bool:
        return (
            isinstance(other, Wave)
            and np.array_equal(self.harmonics, other.harmonics)
            and np.array_equal(self.amplitudes, other.amplitudes)
        )


class Fan(Chart):
    """What lies between a point and a curve that is seen from it: (s, t) ↦ apex + s (x(t) − apex)."""

    def __init__(self, apex: np.ndarray, curve: Curve) -> None:
        self.apex, self.curve = np.asarray(apex, dtype=float), curve
        self.intervals = (UNIT, curve.interval)

    def __call__(self, s: np.ndarray) -> Placed:
        ray, slope = self.curve.at(s[:, 1]) - self.apex, self.curve.slope(s[:, 1])
        density = s[:, 0] * np.abs(ray[:, 0] * slope[:, 1] - ray[:, 1] * slope[:, 0])
        return Placed(self.apex + s[:, :1] * ray, density, None)

    @functools.cached_property
    def measure(self) -> float:
        return self.curve.area_from(self.apex)


class Edge(Chart):
    """A curve as a piece of a boundary; its normal points to its right, out of the set on its left."""

    def __init__(self, curve: Curve, labels: tuple[str, ...] = ()) -> None:
        self.curve, self.labels = curve, labels
        self.intervals = (curve.interval,)

    def __call__(self, s: np.ndarray) -> Placed:
        slope = self.curve.slope(s[:, 0])
        speed = np.linalg.norm(slope, axis=1)
        normal = np.stack([slope[:, 1], -slope[:, 0]], axis=1) / speed[:, None]
        return Placed(self.curve.at(s[:, 0]), speed, normal)

    def implicit(self) -> Callable[[Any], Any] | None:
        return self.curve.implicit()

    @functools.cached_property
    def measure(self) -> float:
        return self.curve.length
