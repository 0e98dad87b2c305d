"""Boxes with named axes, their faces, and products of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.domain import Domain
from anagram.statement.domains.graded import Graded
from anagram.statement.domains.intervals import Interval, Parameter, Periodic, checked, ends_in_words
from anagram.statement.domains.region import WITHIN, Cloud, Region, Union, unit_normals
from anagram.statement.domains.rules import GaussLegendre, PointRule
from anagram.statement.domains.slices import Slice

OTHER_UNITS = 1e3  # axes whose lengths differ by more than this factor are taken to be in different units


class Box(Domain):
    """A product of named intervals: ``Box(t=(0, 1), x=(-1, 1))``.

    An axis that closes on itself, ``Box(t=(0, 1), x=periodic(-1, 1))``, has no faces, and models are periodic along it.
    Nor has one that is a parameter, ``Box(nu=parameter(0.01, 1), x=(-1, 1))``: conditions hold for all its values.
    """

    def __init__(self, *unnamed: Any, **intervals: Interval) -> None:
        if unnamed:
            raise ProblemError("the axes of a box have names, as in Box(x=(0, 1))")
        if not intervals:
            raise ProblemError("a box needs at least one axis, as in Box(x=(0, 1))")
        self.intervals = {}
        for axis, interval in intervals.items():
            self.intervals[axis] = checked(axis, interval)
        self.axes = tuple(self.intervals)

    @property
    def measure(self) -> float:
        return float(np.prod(self.lengths))

    @property
    def is_box(self) -> bool:
        return True

    def contains(self, x: np.ndarray) -> np.ndarray:
        slack = WITHIN * self.lengths
        return np.all((x >= self.low - slack) & (x <= self.high + slack), axis=1)

    def lies_in(self, box: Domain) -> bool:
        if not isinstance(box, Box):
            corners = np.stack(np.meshgrid(*self.intervals.values(), indexing="ij"), axis=-1)
            inside = self.draw(GaussLegendre(5), np.random.default_rng(0)).x
            return self.axes == box.axes and bool(
                np.all(box.contains(np.concatenate([corners.reshape(-1, len(self.axes)), inside])))
            )
        return self.axes == box.axes and all(
            mine == theirs or _is_part(mine, theirs)
            for mine, theirs in zip(self.intervals.values(), box.intervals.values(), strict=True)
        )

    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        graded = isinstance(rule, Graded)
        x, weight = rule.in_box(self.intervals, {}) if graded else rule.draw(self.intervals, rng, closed=False)
        return Cloud(x, weight, None)

    # -- the boundary -----------------------------------------------------------------------------------
    def face(self, **end: float) -> Face:
        """One face, named by the axis and the end it lies at: ``box.face(t=0)``."""
        if len(end) != 1:
            raise ProblemError("a face is named by one axis and its end, as in face(t=0)")
        ((axis, value),) = end.items()
        low, high = self._with_ends(axis)
        if value not in (low, high):
            raise ProblemError(f"there is no face {axis}={value:g}: the axis '{axis}' ends at {low:g} and {high:g}")
        return Face(self, axis, upper=value == high)

    def faces(self, *axes: str) -> Union:
        """Both ends of each of the named axes, as one region: ``box.faces("x")``."""
        if not axes:
            raise ProblemError("name the axes whose faces are meant, as in faces('x'); boundary() has them all")
        for axis in axes:
            self._with_ends(axis)
        return Union(tuple(Face(self, axis, upper) for axis in axes for upper in (False, True)))

    def boundary(self, *parts: Any) -> Union:
        """All faces, ∂Ω; periodic axes and parameters have none."""
        if parts:
            raise ProblemError("parts of the boundary of a box are its faces, as in box.face(x=0) or box.faces('x')")
        if not self.axes_with_ends:
            raise ProblemError(f"{self!r} has no boundary: all of its axes are periodic or parameters")
        return self.faces(*self.axes_with_ends)

    @property
    def axes_with_ends(self) -> tuple[str, ...]:
        """The axes that have faces: all but those that are periodic or parameters."""
        return tuple(axis for axis in self.axes if axis not in (*self.periodic_axes, *self.parameter_axes))

    def slice(self, **held: float) -> Slice:
        """The points with some coordinates held: ``box.slice(x=0.5)``, an interface between two materials.

        With one coordinate held it has a normal, towards larger values. A parameter that is held, as in
        ``box.slice(nu=0.1)``, is one member of the family.
        """
        if not held:
            raise ProblemError("a slice is named by the coordinates that are held, as in slice(x=0.5)")
        for axis, value in held.items():
            low, high = self._interval(axis)
            if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low <= value <= high:
                raise ProblemError(f"a slice holds {axis} between {low:g} and {high:g}, not at {value!r}")
        return Slice(self, held)

    def _interval(self, axis: str) -> Interval:
        if axis not in self.intervals:
            raise ProblemError(f"there is no axis '{axis}'; the axes are {', '.join(self.axes)}")
        return self.intervals[axis]

    def _with_ends(self, axis: str) -> Interval:
        interval = self._interval(axis)
        if isinstance(interval, Periodic):
            raise ProblemError(
                f"the axis '{axis}' is periodic and has no faces: its ends are one place and need no condition"
            )
        if isinstance(interval, Parameter):
            raise ProblemError(
                f"'{axis}' is a parameter and has no faces: conditions hold for all of its values; one of them alone "
                f"is slice({axis}=...)"
            )
        return interval

    def __mul__(self, other: Box) -> Box:
        """The product of two boxes, for example of time and space."""
        if not isinstance(other, Box):
            return NotImplemented
        shared = set(self.axes) & set(other.axes)
        if shared:
            raise ProblemError(f"both boxes have the axis '{min(shared)}': axes of a product need different names")
        return Box(**self.intervals, **other.intervals)

    # -- sets -------------------------------------------------------------------------------------------
    def as_shape(self) -> Any:
        """The same set as a shape, which can be joined with others, cut and cut out."""
        from anagram.statement.domains.shapes.polygon import Polygon

        return Polygon.of_box(self)

    def __or__(self, other: Any) -> Any:
        # Intervals and other boxes are joined as regions, like faces; rectangles as the sets that they are.
        rectangle = len(self.axes) == len(self.axes_with_ends) == 2
        return self.as_shape() | other if rectangle and isinstance(other, Domain) else super().__or__(other)

    def __and__(self, other: Any) -> Any:
        self._refuse_in_space("&", other)
        return self.as_shape() & other if isinstance(other, Domain) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        self._refuse_in_space("-", other)
        return self.as_shape() - other if isinstance(other, Domain) else NotImplemented

    def _refuse_in_space(self, sign: str, other: Any) -> None:
        """Boxes of three axes are cut only as meshes."""
        if isinstance(other, Domain) and len(self.axes) == len(other.axes) == 3:
            from anagram.statement.domains.shapes.solid import refuse_in_space

            refuse_in_space(self, sign, other)

    def __repr__(self) -> str:
        return "Box(" + ", ".join(f"{a}={ends_in_words(i)}" for a, i in self.intervals.items()) + ")"


def _is_part(mine: Interval, theirs: Interval) -> bool:
    """Whether an interval is a part of another one; coordinates and parameters are no parts of each other."""
    if isinstance(mine, Periodic) or isinstance(mine, Parameter) != isinstance(theirs, Parameter):
        return False
    return theirs[0] <= mine[0] and mine[1] <= theirs[1]


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
        parameters = self.box.parameter_axes
        lengths = np.array([high - low for a, (low, high) in self.box.intervals.items() if a not in parameters])
        return 1.0 if lengths.max() > OTHER_UNITS * lengths.min() else self.measure

    def lies_in(self, box: Domain) -> bool:
        return self.box.lies_in(box)

    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        rest = {a: i for a, i in self.box.intervals.items() if a != self.axis}
        held = {self.axis: self.value}
        graded = isinstance(rule, Graded)
        inside, weight = (
            rule.in_box(self.box.intervals, held) if graded else rule.draw(rest, rng, closed=True, fixed=held)
        )
        x = np.insert(inside, self.axes.index(self.axis), self.value, axis=1)
        return Cloud(x, weight, self.normal_at(x))

    @property
    def end(self) -> tuple[str, bool]:
        return self.axis, self.upper

    def goes_around(self, axis: str) -> bool:
        return self.box.goes_around(axis)

    def normal_at(self, x: np.ndarray) -> np.ndarray:
        return unit_normals(len(x), self.axes, self.axis, upper=self.upper)

    def distance(self, x: np.ndarray) -> np.ndarray:
        return np.abs(x[:, self.axes.index(self.axis)] - self.value)

    def __repr__(self) -> str:
        return f"face({self.axis}={self.value:g})"
