"""Domains: the sets on which problems are stated. They have named axes and lie inside a box."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from anagram.errors import ProblemError
from anagram.statement.arguments import bind_axes, broadcast_columns
from anagram.statement.domains.intervals import Interval, Parameter, Periodic, middle_of
from anagram.statement.domains.region import WITHIN, PointSet, Region
from anagram.statement.evaluation import FunctionSource, takes_traced
from anagram.statement.expressions import Leaf
from anagram.statement.fields import Field, Frame, constant, coordinate

Outline = list[tuple[str, np.ndarray]]
OUTSIDE = ("raise", "nan", "extrapolate")  # what a solution may give at points outside of its domain


class Corner(NamedTuple):
    """A corner of a shape in the plane.

    Attributes:
        point: where it is (2,).
        angle: inside of the shape, in radians: below π where it sticks out, above where it is re-entrant.
        parts: the names of the parts of the boundary before and after it, with the set to the left.
        start: the direction of the side after it, in radians; the shape lies from there on, counterclockwise.
    """

    point: np.ndarray
    angle: float
    parts: tuple[str, str]
    start: float


class Domain(Region):
    """A set with an inside, on which a problem can be stated.

    Attributes:
        axes: the names of its coordinates.
        intervals: by axis, the smallest box around it.
    """

    axes: tuple[str, ...]
    intervals: dict[str, Interval]

    @property
    def dimension(self) -> int:
        return len(self.axes)

    @property
    def has_normal(self) -> bool:
        return False

    @property
    def periodic_axes(self) -> tuple[str, ...]:
        """The axes that close on themselves."""
        return tuple(axis for axis, interval in self.intervals.items() if isinstance(interval, Periodic))

    def goes_around(self, axis: str) -> bool:
        return axis in self.periodic_axes

    @property
    def parameter_axes(self) -> tuple[str, ...]:
        """The axes that are parameters of a family of problems, and no coordinates."""
        return tuple(axis for axis, interval in self.intervals.items() if isinstance(interval, Parameter))

    @property
    def middle(self) -> np.ndarray:
        """The middle of the box around it, by axis."""
        return np.array([middle_of(interval) for interval in self.intervals.values()])

    @property
    def low(self) -> np.ndarray:
        """The lower ends of the box around it."""
        return np.array([low for low, _ in self.intervals.values()])

    @property
    def high(self) -> np.ndarray:
        """The upper ends of the box around it."""
        return np.array([high for _, high in self.intervals.values()])

    @property
    def lengths(self) -> np.ndarray:
        """The lengths of the box around it."""
        return self.high - self.low

    @abc.abstractmethod
    def contains(self, x: np.ndarray) -> np.ndarray:
        """Whether points (n, d) lie in the set or, up to rounding, on its boundary. NaN is nowhere."""

    @abc.abstractmethod
    def boundary(self, *parts: Any) -> Region:
        """∂Ω, or the named parts of it."""

    def points(self, **coordinates: Any) -> PointSet:
        """Given points of the domain, by axis name; a number is repeated: ``box.points(t=0.5, x=data)``."""
        extra, missing = set(coordinates) - set(self.axes), set(self.axes) - set(coordinates)
        if extra or missing:
            raise ProblemError(f"points need exactly the coordinates {', '.join(self.axes)}")
        x = np.stack([c.ravel() for c in broadcast_columns(coordinates, self.axes)], axis=1)
        if len(x) == 0:
            raise ProblemError("the set of points is empty")
        self.refuse_outside(x, "some points")
        return PointSet(self.axes, x)

    def refuse_outside(self, x: np.ndarray, what: str) -> None:
        """An error that says which points (n, d) lie outside."""
        for k, (axis, (low, high)) in enumerate(self.intervals.items()):
            slack = WITHIN * (high - low)
            if not np.all((x[:, k] >= low - slack) & (x[:, k] <= high + slack)):  # NaN is nowhere
                raise ProblemError(f"{what} lie outside [{low:g}, {high:g}] on the axis '{axis}'")
        inside = self.contains(x)
        if not inside.all():
            first = ", ".join(f"{a}={v:.6g}" for a, v in zip(self.axes, x[np.argmin(inside)], strict=True))
            raise ProblemError(
                f"{what} lie outside of {self!r}: {int((~inside).sum())} of {len(x)}, the first one at ({first})"
            )

    def covers(self, x: np.ndarray) -> np.ndarray:
        """Whether what is looked for has a value at points (n, d): a periodic axis goes on for ever."""
        for axis in self.periodic_axes:
            k, (low, high) = self.axes.index(axis), self.intervals[axis]
            around = low + (x[:, k] - low) % (high - low)
            x = np.where(np.arange(x.shape[1]) == k, around[:, None], x)
        return self.contains(x)

    @property
    def is_box(self) -> bool:
        """Whether it fills the box around it."""
        return False

    # -- what it looks like -----------------------------------------------------------------------------
    @property
    def space(self) -> tuple[str, ...]:
        """The axes of the shape in it, without those of a box that it is multiplied with; a box has none."""
        return ()

    @property
    def plane(self) -> tuple[str, ...]:
        """The two axes of a planar shape, also in a product, or of a box that is one itself; none elsewhere."""
        axes = self.space or self.axes
        return axes if len(axes) == 2 else ()

    def outline(self, points: int = 200) -> Outline:
        """The boundary of a planar shape: its pieces as polylines (k, 2), with the names of the parts they belong to.

        Args:
            points: on each piece that is curved, about.

        Boxes and shapes in space have none.
        """
        return []

    def corners(self) -> list[Corner]:
        """The corners of a planar shape; boxes and shapes in space have none that matter here."""
        return []

    # -- fields -----------------------------------------------------------------------------------------
    @property
    def frame(self) -> Frame:
        """The frame of unknown fields over this domain."""
        return Frame(self.axes, True, self, self.parameter_axes)

    def coordinate(self, axis: str) -> Field:
        """The field x ↦ x_axis, for operators with variable coefficients."""
        return coordinate(axis, Frame(self.axes, parameters=self.parameter_axes))

    def field(self, function: Callable[..., Any]) -> Field:
        """A known function of the point as a field: ``box.field(lambda t, x: jnp.exp(-t) * x)``.

        It may be written with functions of ``jax.numpy`` or of ``numpy``.
        """
        call = bind_axes(function, self.axes, "the function of a field")
        if not takes_traced(call, (len(self.axes),)):
            return self._by_fields(call)
        name = getattr(function, "__name__", "f")
        source = FunctionSource(lambda x: jnp.asarray(call(x)), "f" if "<" in name else name)
        return Field(Leaf(source, "", (0,) * len(self.axes)), Frame(self.axes, parameters=self.parameter_axes))

    def _by_fields(self, call: Callable[[Any], Any]) -> Field:
        """A function of the point that is written with functions of NumPy: these act on the coordinates as fields."""
        try:
            found = call([self.coordinate(axis) for axis in self.axes])
        except Exception as error:
            raise ProblemError(
                f"the function of a field cannot be differentiated as it is written ({type(error).__name__}): write it "
                "with jax.numpy, as in jnp.sin(x) and jnp.where(x > 0, ..., ...)"
            ) from error
        return found if isinstance(found, Field) else constant(found, Frame(self.axes, parameters=self.parameter_axes))
