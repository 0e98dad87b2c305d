"""Solids that a planar shape sweeps over: extrusions, cylinders, and solids of revolution."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.chart import AROUND, UNIT, Chart, Placed, draw_unit, settled_integral
from anagram.statement.domains.intervals import Parameter, Periodic, checked
from anagram.statement.domains.region import WITHIN
from anagram.statement.domains.rules import GaussLegendre
from anagram.statement.domains.shape import SPACE, Shape, checked_axes
from anagram.statement.domains.shapes.balls import in_words
from anagram.statement.domains.shapes.round import Disk
from anagram.statement.domains.shapes.solid import Solid, checked_length, checked_point


class Lifted(Chart):
    """A chart in the plane, and all heights above it."""

    def __init__(self, chart: Chart, low: float, high: float) -> None:
        self.chart, self.low, self.high = chart, low, high
        self.intervals = (*chart.intervals, UNIT)

    @functools.cached_property
    def measure(self) -> float:
        return self.chart.measure * (self.high - self.low)

    def __call__(self, s: np.ndarray) -> Placed:
        return self._at(self.chart(s[:, :-1]), self.low + s[:, -1] * (self.high - self.low))

    def nearest(self, x: np.ndarray) -> Placed:
        return self._at(self.chart.nearest(x[:, :2]), np.clip(x[:, 2], self.low, self.high))

    def _at(self, planar: Placed, height: np.ndarray) -> Placed:
        normal = None if planar.normal is None else np.column_stack([planar.normal, np.zeros(len(height))])
        return Placed(np.column_stack([planar.x, height]), planar.density * (self.high - self.low), normal)


class Lid(Chart):
    """A chart in the plane at one height, as a piece of a boundary."""

    def __init__(self, chart: Chart, height: float, upper: bool) -> None:
        self.chart, self.height, self.upper = chart, height, upper
        self.intervals = chart.intervals

    @functools.cached_property
    def measure(self) -> float:
        return self.chart.measure

    def __call__(self, s: np.ndarray) -> Placed:
        return self._at(self.chart(s))

    def nearest(self, x: np.ndarray) -> Placed:
        return self._at(self.chart.nearest(x[:, :2]))

    def _at(self, planar: Placed) -> Placed:
        one = np.ones(len(planar.x))
        normal = np.column_stack([0 * one, 0 * one, one if self.upper else -one])
        return Placed(np.column_stack([planar.x, self.height * one]), planar.density, normal)


class Extruded(Solid):
    """A planar shape and all heights above it; it is made by `extrude`."""

    def __init__(self, shape: Shape, axis: str, interval: Any, names: Sequence[str] = ("bottom", "top")) -> None:
        if not isinstance(shape, Shape) or shape.in_space != 2:
            raise ProblemError(f"only a shape in the plane can be extruded, such as ag.Disk(), not {shape!r}")
        super().__init__((*shape.axes, axis))
        found = checked(axis, interval)
        if isinstance(found, Periodic | Parameter):
            raise ProblemError(f"a shape is extruded along an interval with two ends, not {found!r}: take a product")
        self.shape, (self.floor, self.ceiling) = shape, found
        self.names = tuple(names)
        parts = [*shape.boundary_charts(), *self.names]
        if len(self.names) != 2 or len(set(parts)) < len(parts):
            raise ProblemError(
                f"the two ends of an extruded shape need names of their own, as in names=('floor', 'ceiling'), not "
                f"{self.names!r} beside {', '.join(map(repr, parts[:-2]))}"
            )

    def charts(self) -> list[Lifted]:
        return [Lifted(chart, self.floor, self.ceiling) for chart in self.shape.charts()]

    def boundary_charts(self) -> dict[str, Sequence[Chart]]:
        sides = {
            name: [Lifted(chart, self.floor, self.ceiling) for chart in charts]
            for name, charts in self.shape.boundary_charts().items()
        }
        ends = {
            name: [Lid(chart, height, upper) for chart in self.shape.charts()]
            for name, height, upper in zip(self.names, (self.floor, self.ceiling), (False, True), strict=True)
        }
        return {**sides, **ends}

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = self.shape.bounds
        return np.append(low, self.floor), np.append(high, self.ceiling)

    def contains(self, x: np.ndarray) -> np.ndarray:
        slack = WITHIN * (self.ceiling - self.floor)
        return self.shape.contains(x[:, :2]) & (x[:, 2] >= self.floor - slack) & (x[:, 2] <= self.ceiling + slack)

    def __repr__(self) -> str:
        return f"extrude({self.shape!r}, {self.axes[2]}=({self.floor:g}, {self.ceiling:g}))"


def extrude(shape: Shape, *, names: Sequence[str] = ("bottom", "top"), **axis: Sequence[float]) -> Extruded:
    """A planar shape and all heights above it: ``extrude(ag.Disk(), z=(0, 1))``.

    The parts of its boundary are those of the shape, by their names, and the two ends.

    Args:
        shape: in the plane.
        names: of the lower and the upper end.
        axis: the third axis, by its name, and the interval along it.
    """
    if len(axis) != 1:
        raise ProblemError("extrude needs one axis with its interval, as in ag.extrude(shape, z=(0, 1))")
    return Extruded(shape, *next(iter(axis.items())), names)


class Cylinder(Extruded):
    """A circular cylinder: ``Cylinder(base=(0, 0, 0), radius=1, height=2)``. Its boundary is side, bottom and top.

    Args:
        base: the centre of its lower end.
        radius: its radius.
        height: its height, along the third axis.
        names: of its side, its lower and its upper end.
        axes: names of the coordinates.
    """

    def __init__(
        self,
        base: Sequence[float] = (0.0, 0.0, 0.0),
        radius: float = 1.0,
        height: float = 1.0,
        *,
        names: Sequence[str] = ("side", "bottom", "top"),
        axes: Sequence[str] = SPACE,
    ) -> None:
        if len(names) != 3:
            raise ProblemError(f"a cylinder needs three names, of its side, its bottom and its top, not {names!r}")
        x, y, z = checked_point(base, "the base of a cylinder")
        self.base, self.radius = np.array([x, y, z]), checked_length(radius, "the radius of a cylinder")
        self.height = checked_length(height, "the height of a cylinder")
        *across, along = checked_axes(axes, 3)
        disk = Disk((x, y), self.radius, name=names[0], axes=across)
        super().__init__(disk, along, (z, z + self.height), names[1:])

    def __repr__(self) -> str:
        return f"Cylinder(base={in_words(self.base)}, radius={self.radius:g}, height={self.height:g})"


class Turned(Chart):
    """A chart in the plane of r and z, turned once around the axis r = 0.

    Args:
        chart: in the plane; its first coordinate is the distance from the axis.
        order: where x, y and z of a turn about the third axis go.
    """

    def __init__(self, chart: Chart, order: Sequence[int]) -> None:
        self.chart, self.order = chart, list(order)
        self.intervals = (*chart.intervals, AROUND)

    @functools.cached_property
    def measure(self) -> float:
        def around(s: np.ndarray) -> np.ndarray:
            found = self.chart(s)
            return 2 * np.pi * np.abs(found.x[:, 0]) * found.density

        return settled_integral(around, self.chart.intervals)

    def __call__(self, s: np.ndarray) -> Placed:
        return self._at(self.chart(s[:, :-1]), 2 * np.pi * s[:, -1])

    def nearest(self, x: np.ndarray) -> Placed:
        x, y, z = x[:, self.order].T
        return self._at(self.chart.nearest(np.column_stack([np.hypot(x, y), z])), np.arctan2(y, x))

    def _at(self, planar: Placed, angle: np.ndarray) -> Placed:
        normal = None if planar.normal is None else self._turned(planar.normal, angle)
        return Placed(self._turned(planar.x, angle), 2 * np.pi * np.abs(planar.x[:, 0]) * planar.density, normal)

    def _turned(self, planar: np.ndarray, angle: np.ndarray) -> np.ndarray:
        around, space = np.column_stack([np.cos(angle), np.sin(angle)]), np.empty((len(planar), 3))
        space[:, self.order] = np.column_stack([planar[:, :1] * around, planar[:, 1]])
        return space


class Revolved(Solid):
    """What a planar shape sweeps over when it is turned about an axis; it is made by `revolve`."""

    def __init__(self, shape: Shape, axis: str = "z", axes: Sequence[str] = SPACE) -> None:
        if not isinstance(shape, Shape) or shape.in_space != 2:
            raise ProblemError(f"only a shape in the plane can be revolved, such as ag.Disk((2, 0)), not {shape!r}")
        super().__init__(axes)
        if axis not in self.axes:
            raise ProblemError(f"a shape is revolved about one of the axes {', '.join(self.axes)}, not {axis!r}")
        low, high = shape.bounds
        if low[0] < -WITHIN * (high[0] - low[0]):
            raise ProblemError(
                f"{shape!r} crosses the axis that it is revolved about: its first coordinate is the distance from that "
                f"axis, at least 0, and it goes down to {low[0]:g}"
            )
        self.shape, self.axis = shape, axis
        about = self.axes.index(axis)
        self.order = [(about + 1) % 3, (about + 2) % 3, about]

    def charts(self) -> list[Turned]:
        return [Turned(chart, self.order) for chart in self.shape.charts()]

    def boundary_charts(self) -> dict[str, Sequence[Chart]]:
        reach = WITHIN * float(np.max(np.abs(self.shape.bounds)))
        turned: Mapping[str, list[Chart]] = {
            name: [Turned(chart, self.order) for chart in charts if _leaves_axis(chart, reach)]
            for name, charts in self.shape.boundary_charts().items()
        }
        return {name: charts for name, charts in turned.items() if charts}

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = self.shape.bounds
        corners = np.array([[-high[0], -high[0], low[1]], [high[0], high[0], high[1]]])
        bounds = np.empty((2, 3))
        bounds[:, self.order] = corners
        return bounds[0], bounds[1]

    def contains(self, x: np.ndarray) -> np.ndarray:
        x, y, z = x[:, self.order].T
        return self.shape.contains(np.column_stack([np.hypot(x, y), z]))

    def __repr__(self) -> str:
        return f"revolve({self.shape!r}, axis='{self.axis}')"


def _leaves_axis(chart: Chart, reach: float) -> bool:
    """Whether a curve is more than a piece of the axis, which vanishes when it is turned."""
    s, _ = draw_unit(GaussLegendre(16), chart.intervals)
    return bool(np.any(np.abs(chart(s).x[:, 0]) > reach))


def revolve(shape: Shape, axis: str = "z", *, axes: Sequence[str] = SPACE) -> Revolved:
    """What a planar shape sweeps over when it is turned about an axis: ``revolve(ag.Disk((2, 0), 0.5))`` is a torus.

    The first coordinate of the shape is the distance from the axis, the second one runs along it. The parts of its
    boundary keep their names; an edge on the axis is no longer there.

    Args:
        shape: in the plane, where its first coordinate is not negative.
        axis: about which it is turned.
        axes: names of the coordinates.
    """
    return Revolved(shape, axis, axes)
