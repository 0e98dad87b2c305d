"""Shapes: domains that are not boxes, covered by patches, with named boundary parts; and their products with boxes."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.arguments import bind_predicate
from anagram.statement.domains.box import Box
from anagram.statement.domains.chart import Chart
from anagram.statement.domains.domain import Corner, Domain, Outline
from anagram.statement.domains.intervals import Interval
from anagram.statement.domains.patch import Held, Patch, Patches
from anagram.statement.domains.region import Cloud, Region, Union
from anagram.statement.domains.rules import PointRule

SPACE = ("x", "y", "z")
SHOWN = 12  # names of pieces of a boundary that a message lists


class Patched(Domain):
    """A domain that is covered by patches.

    Subclasses say which: `patches` inside and `boundaries` by name.
    """

    @property
    @abc.abstractmethod
    def patches(self) -> tuple[Patch, ...]:
        """The pieces that it is made of; they do not overlap."""

    @property
    @abc.abstractmethod
    def boundaries(self) -> dict[str, tuple[Patch, ...]]:
        """The pieces of its boundary, by the names of its parts."""

    @property
    def parts(self) -> tuple[Region, ...]:
        return self.patches

    @property
    def measure(self) -> float:
        return sum(patch.measure for patch in self.patches)

    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        return Patches(self.patches, repr(self), self).scatter(rule, rng)

    def lies_in(self, box: Any) -> bool:
        return box is self or (self.axes == box.axes and all(patch.lies_in(box) for patch in self.patches))

    def boundary(self, *parts: str | Callable[..., Any]) -> Patches:
        """∂Ω, or parts of it: by their names, or where a function of the point is true.

        ``shape.boundary("hole")``, ``shape.boundary(lambda x, y: x > 1)``.
        """
        found: list[Patch] = []
        for part in parts or tuple(self.boundaries):
            new = self._where(part) if callable(part) else self._named(part)
            found += [patch for patch in new if patch not in found]
        label = ", ".join("..." if callable(part) else f"'{part}'" for part in parts)
        return Patches(found, f"boundary({label})", self)

    def _named(self, name: Any) -> tuple[Patch, ...]:
        known = self.boundaries
        if name in known:
            return known[name]
        every = [patch for patches in known.values() for patch in patches]
        labelled = tuple(patch for patch in every if name in patch.chart.labels)
        if labelled:
            return labelled
        # A part of several pieces has them by number: "frame.0", "frame.1".
        whole, _, number = str(name).rpartition(".")
        if whole in known and number.isdecimal() and int(number) < len(known[whole]):
            return (known[whole][int(number)],)
        others = sorted({label for patch in every for label in patch.chart.labels if label not in known})
        pieces = "".join(f", '{key}.0' to '{key}.{len(p) - 1}'" for key, p in known.items() if len(p) > 1)
        raise ProblemError(
            f"the boundary of {self!r} has no part {name!r}: its parts are "
            f"{', '.join(map(repr, (*known, *others[:SHOWN])))}{pieces if not others else ', ...'}"
        )

    def _where(self, predicate: Callable[..., Any]) -> list[Patch]:
        patches = [patch for patches in self.boundaries.values() for patch in patches]
        holds = bind_predicate(predicate, patches[0].space, "the function that chooses a part of the boundary")
        found = [part for patch in patches for part in patch.where(holds)]
        if not found:
            raise ProblemError(f"the function that chooses a part of the boundary of {self!r} is true nowhere on it")
        return found

    def face(self, **end: float) -> Region:
        """One face of the box that a shape is multiplied with."""
        raise ProblemError(f"{self!r} has no faces: its boundary has the parts {', '.join(map(repr, self.boundaries))}")

    def faces(self, *axes: str) -> Region:
        """The faces of the box that a shape is multiplied with."""
        return self.face()

    def __mul__(self, other: Any) -> Product:
        return Product(self, other) if isinstance(other, Box | Patched) else NotImplemented

    def __rmul__(self, other: Any) -> Product:
        return Product(other, self) if isinstance(other, Box) else NotImplemented


class Shape(Patched):
    """A set in the plane or in space; subclasses give the charts that cover it and its boundary.

    Args:
        axes: the names of its coordinates.
    """

    in_space = 2  # the dimension of the space it lies in

    def __init__(self, axes: Sequence[str]) -> None:
        self.axes = checked_axes(axes, self.in_space)

    @abc.abstractmethod
    def charts(self) -> Sequence[Chart]:
        """The charts of its inside."""

    @abc.abstractmethod
    def boundary_charts(self) -> Mapping[str, Sequence[Chart]]:
        """The charts of its boundary, by the names of its parts."""

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper corner of the box around it."""

    @property
    def space(self) -> tuple[str, ...]:
        return self.axes

    def outline(self, points: int = 200) -> Outline:
        if self.in_space != 2:
            return []
        places = np.linspace(0, 1, points + 1)[:, None]
        return [(name, chart(places).x) for name, charts in self.boundary_charts().items() for chart in charts]

    @functools.cached_property
    def intervals(self) -> dict[str, Interval]:  # pyright: ignore[reportIncompatibleVariableOverride]
        low, high = self.bounds
        return {a: (float(lower), float(upper)) for a, lower, upper in zip(self.axes, low, high, strict=True)}

    @functools.cached_property
    def patches(self) -> tuple[Patch, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        charts = list(self.charts())
        size = sum(chart.measure for chart in charts) ** (1 / self.in_space)
        return tuple(Patch(chart, self.axes, size) for chart in charts)

    @functools.cached_property
    def boundaries(self) -> dict[str, tuple[Patch, ...]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        size = self.patches[0].size
        return {
            name: tuple(Patch(chart, self.axes, size) for chart in charts)
            for name, charts in self.boundary_charts().items()
        }


def checked_axes(axes: Sequence[str] | str, count: int) -> tuple[str, ...]:
    """The names of coordinates; an error if they are not as many as needed, or not different."""
    names = tuple(axes.split()) if isinstance(axes, str) and " " in axes else tuple(axes)
    if (
        len(names) != count
        or len(set(names)) != count
        or not all(isinstance(n, str) and n.isidentifier() for n in names)
    ):
        raise ProblemError(f"axes= needs {count} different names, as in axes={SPACE[:count]}, not {axes!r}")
    return names


class Product(Patched):
    """A shape times a box: for all times, or for all values of parameters. Axes are in the order of the factors.

    Its faces are those of the box; its boundary is that of the shape, for all points of the box.
    """

    def __init__(self, *factors: Box | Patched) -> None:
        shapes = [s for f in factors for s in (f.factors if isinstance(f, Product) else (f,))]
        if sum(isinstance(f, Shape) for f in shapes) != 1:
            raise ProblemError("a product has one shape and boxes; other shapes in space are made by ag.extrude")
        names = [axis for factor in shapes for axis in factor.axes]
        if len(set(names)) < len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise ProblemError(f"two factors have the axis '{twice}': axes of a product need different names")
        self.factors: tuple[Box | Patched, ...] = tuple(shapes)
        self.shape: Shape = next(f for f in shapes if isinstance(f, Shape))
        self.box = Box(**{a: i for f in shapes if isinstance(f, Box) for a, i in f.intervals.items()})
        self.axes = tuple(names)
        self.intervals = {a: i for f in shapes for a, i in f.intervals.items()}

    @functools.cached_property
    def patches(self) -> tuple[Patch, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return tuple(patch.times(self.axes, self.box.intervals) for patch in self.shape.patches)

    @functools.cached_property
    def boundaries(self) -> dict[str, tuple[Patch, ...]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return {
            name: tuple(patch.times(self.axes, self.box.intervals) for patch in patches)
            for name, patches in self.shape.boundaries.items()
        }

    def contains(self, x: np.ndarray) -> np.ndarray:
        of = [[self.axes.index(a) for a in factor.axes] for factor in (self.box, self.shape)]
        return self.box.contains(x[:, of[0]]) & self.shape.contains(x[:, of[1]])

    @property
    def space(self) -> tuple[str, ...]:
        return self.shape.axes

    def outline(self, points: int = 200) -> Outline:
        return self.shape.outline(points)

    def corners(self) -> list[Corner]:
        return self.shape.corners()

    def face(self, **end: float) -> Patches:
        """One face of the box, named by the axis and the end it lies at: ``domain.face(t=0)``."""
        if end and next(iter(end)) in self.shape.axes:
            raise ProblemError(
                f"'{next(iter(end))}' is an axis of {self.shape!r}, which has no faces: "
                f"its boundary has the parts {', '.join(map(repr, self.boundaries))}"
            )
        face = self.box.face(**end)
        held = Held(face.axis, face.value, face.upper)
        patches = [patch.times(self.axes, self.box.intervals, held) for patch in self.shape.patches]
        return Patches(patches, repr(face), self)

    def faces(self, *axes: str) -> Union:
        """Both ends of each of the named axes of the box, as one region."""
        ends = [part.end for part in self.box.faces(*(axes or self.box.axes_with_ends)).parts]
        faces = [self.face(**{end[0]: self.box.intervals[end[0]][int(end[1])]}) for end in ends if end is not None]
        return Union(tuple(patch for face in faces for patch in face.parts))

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.factors))
