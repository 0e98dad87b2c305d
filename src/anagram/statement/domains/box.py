"""Boxes with named axes, their faces, and products of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from anagram.errors import ProblemError
from anagram.statement.arguments import bind_axes, broadcast_columns
from anagram.statement.domains.region import Cloud, PointSet, Region, Union
from anagram.statement.domains.rules import PointRule
from anagram.statement.domains.slices import Slice
from anagram.statement.evaluation import FunctionSource
from anagram.statement.expressions import Leaf
from anagram.statement.fields import Field, Frame, coordinate

OTHER_UNITS = 1e3  # axes whose lengths differ by more than this factor are taken to be in different units


class Box(Region):
    """A product of named intervals: ``Box(t=(0, 1), x=(-1, 1))``."""

    def __init__(self, *unnamed: Any, **intervals: tuple[float, float]) -> None:
        if unnamed:
            raise ProblemError("the axes of a box have names, as in Box(x=(0, 1))")
        if not intervals:
            raise ProblemError("a box needs at least one axis, as in Box(x=(0, 1))")
        self.intervals: dict[str, tuple[float, float]] = {}
        for axis, interval in intervals.items():
            try:
                low, high = (float(v) for v in interval)
            except (TypeError, ValueError, OverflowError):
                raise ProblemError(f"the axis '{axis}' needs two ends, as in {axis}=(0, 1), not {interval!r}") from None
            if not (low < high and np.isfinite(high - low)):
                raise ProblemError(f"the axis '{axis}' needs finite ends, the lower first, not ({low:g}, {high:g})")
            self.intervals[axis] = (low, high)
        self.axes = tuple(self.intervals)

    @property
    def dimension(self) -> int:
        return len(self.axes)

    @property
    def lengths(self) -> np.ndarray:
        """The length of every axis."""
        return np.array([high - low for low, high in self.intervals.values()])

    @property
    def measure(self) -> float:
        return float(np.prod(self.lengths))

    @property
    def has_normal(self) -> bool:
        return False

    @property
    def low(self) -> np.ndarray:
        """The lower ends."""
        return np.array([low for low, _ in self.intervals.values()])

    @property
    def high(self) -> np.ndarray:
        """The upper ends."""
        return np.array([high for _, high in self.intervals.values()])

    def lies_in(self, box: Box) -> bool:
        return self.axes == box.axes and bool(np.all(self.low >= box.low) and np.all(self.high <= box.high))

    def contains(self, x: np.ndarray) -> np.ndarray:
        return np.all((x >= self.low) & (x <= self.high), axis=1)

    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        x, weight = rule.draw(self.intervals, rng, closed=False)
        return Cloud(x, weight, None)

    # -- the boundary -----------------------------------------------------------------------------------
    def face(self, **end: float) -> Face:
        """One face, named by the axis and the end it lies at: ``box.face(t=0)``."""
        if len(end) != 1:
            raise ProblemError("a face is named by one axis and its end, as in face(t=0)")
        ((axis, value),) = end.items()
        low, high = self._interval(axis)
        if value not in (low, high):
            raise ProblemError(f"there is no face {axis}={value:g}: the axis '{axis}' ends at {low:g} and {high:g}")
        return Face(self, axis, upper=value == high)

    def faces(self, *axes: str) -> Union:
        """Both ends of each of the named axes, as one region: ``box.faces("x")``."""
        if not axes:
            raise ProblemError("name the axes whose faces are meant, as in faces('x'); boundary() has them all")
        for axis in axes:
            self._interval(axis)
        return Union(tuple(Face(self, axis, upper) for axis in axes for upper in (False, True)))

    def boundary(self) -> Union:
        """All faces, ∂Ω."""
        return self.faces(*self.axes)

    def slice(self, **held: float) -> Slice:
        """The points with some coordinates held: ``box.slice(x=0.5)``, an interface between two materials.

        With one coordinate held it has a normal, towards larger values.
        """
        if not held:
            raise ProblemError("a slice is named by the coordinates that are held, as in slice(x=0.5)")
        for axis, value in held.items():
            low, high = self._interval(axis)
            if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low <= value <= high:
                raise ProblemError(f"a slice holds {axis} between {low:g} and {high:g}, not at {value!r}")
        return Slice(self, held)

    def points(self, **coordinates: Any) -> PointSet:
        """Given points of the box, by axis name; a number is repeated: ``box.points(t=0.5, x=data)``."""
        extra, missing = set(coordinates) - set(self.axes), set(self.axes) - set(coordinates)
        if extra or missing:
            raise ProblemError(f"points need exactly the coordinates {', '.join(self.axes)}")
        x = np.stack([c.ravel() for c in broadcast_columns(coordinates, self.axes)], axis=1)
        if len(x) == 0:
            raise ProblemError("the set of points is empty")
        for k, (axis, (low, high)) in enumerate(self.intervals.items()):
            if not np.all((x[:, k] >= low) & (x[:, k] <= high)):  # NaN is nowhere
                raise ProblemError(f"some points lie outside [{low:g}, {high:g}] on the axis '{axis}'")
        return PointSet(self.axes, x)

    # -- fields -----------------------------------------------------------------------------------------
    @property
    def frame(self) -> Frame:
        """The frame of unknown fields over this box."""
        return Frame(self.axes, True, self)

    def coordinate(self, axis: str) -> Field:
        """The field x ↦ x_axis, for operators with variable coefficients."""
        return coordinate(axis, Frame(self.axes))

    def field(self, function: Callable[..., Any]) -> Field:
        """A known function of the point as a field: ``box.field(lambda t, x: jnp.exp(-t) * x)``."""
        call = bind_axes(function, self.axes, "the function of a field")
        name = getattr(function, "__name__", "f")
        source = FunctionSource(lambda x: jnp.asarray(call(x)), "f" if "<" in name else name)
        return Field(Leaf(source, "", (0,) * len(self.axes)), Frame(self.axes))

    def _interval(self, axis: str) -> tuple[float, float]:
        if axis not in self.intervals:
            raise ProblemError(f"there is no axis '{axis}'; the axes are {', '.join(self.axes)}")
        return self.intervals[axis]

    def __mul__(self, other: Box) -> Box:
        """The product of two boxes, for example of time and space."""
        if not isinstance(other, Box):
            return NotImplemented
        shared = set(self.axes) & set(other.axes)
        if shared:
            raise ProblemError(f"both boxes have the axis '{min(shared)}': axes of a product need different names")
        return Box(**self.intervals, **other.intervals)

    def __repr__(self) -> str:
        return "Box(" + ", ".join(f"{a}=({low:g}, {high:g})" for a, (low, high) in self.intervals.items()) + ")"


class Face(Region):
    """One end of one axis of a box, with its outward normal."""

    def __init__(self, box: Box, axis: str, upper: bool) -> None:
        self.box, self.axis, self.upper = box, axis, upper
        self.axes = box.axes
        self.value = box.intervals[axis][int(upper)]

    @property
    def dimension(self) -> int:
        return self.box.dimension - 1

    @property
    def measure(self) -> float:
        low, high = self.box.intervals[self.axis]
        return self.box.measure / (high - low)

    @property
    def has_normal(self) -> bool:
        return True

    @property
    def share(self) -> float:
        # Lengths in different units cannot be compared: then all faces of a box count the same, as on a cube.
        lengths = self.box.lengths
        return 1.0 if lengths.max() > OTHER_UNITS * lengths.min() else self.measure

    def lies_in(self, box: Box) -> bool:
        return self.box.lies_in(box)

    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        rest = {a: i for a, i in self.box.intervals.items() if a != self.axis}
        inside, weight = rule.draw(rest, rng, closed=True, fixed={self.axis: self.value})
        x = np.insert(inside, self.axes.index(self.axis), self.value, axis=1)
        return Cloud(x, weight, self.normal_at(x))

    def normal_at(self, x: np.ndarray) -> np.ndarray:
        normal = np.zeros((len(x), len(self.axes)))
        normal[:, self.axes.index(self.axis)] = 1.0 if self.upper else -1.0
        return normal

    def distance(self, x: np.ndarray) -> np.ndarray:
        return np.abs(x[:, self.axes.index(self.axis)] - self.value)

    def __repr__(self) -> str:
        return f"face({self.axis}={self.value:g})"
