"""Regions: the sets on which conditions hold."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from anagram.errors import ProblemError, SettingError
from anagram.statement.domains.rules import PointRule

WITHIN = 1e-9  # of the size of a domain: how far outside a point may lie by rounding


class Cloud(NamedTuple):
    """Points of a region with weights that sum to one and, on faces, outward normals."""

    x: np.ndarray
    weight: np.ndarray
    normal: np.ndarray | None


def unit_normals(count: int, axes: Sequence[str], axis: str, *, upper: bool) -> np.ndarray:
    """So many normals along one axis, towards its upper or its lower end."""
    normal = np.zeros((count, len(axes)))
    normal[:, axes.index(axis)] = 1.0 if upper else -1.0
    return normal


class Region(abc.ABC):
    """A set of points with named axes and a measure."""

    axes: tuple[str, ...]

    @property
    @abc.abstractmethod
    def dimension(self) -> int:
        """The dimension of the set itself: a face of a square has dimension 1."""

    @property
    @abc.abstractmethod
    def measure(self) -> float:
        """Length, area, volume; the number of points for isolated ones."""

    @property
    @abc.abstractmethod
    def has_normal(self) -> bool:
        """Whether an outward normal exists at every point."""

    @abc.abstractmethod
    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        """Points drawn by the rule, with weights that need not be normalised yet."""

    @abc.abstractmethod
    def lies_in(self, box: Any) -> bool:
        """Whether the region belongs to a domain."""

    def draw(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        """Points drawn by the rule, with weights that sum to one."""
        cloud = self.scatter(rule, rng)
        if len(cloud.x) == 0:
            raise SettingError(f"{rule!r} has no points on {self!r}")
        return cloud._replace(weight=cloud.weight / cloud.weight.sum())

    def normal_at(self, x: np.ndarray) -> np.ndarray | None:
        """The outward normals at points (n, d) of the region, or None if it has none."""
        return None

    def contains(self, x: np.ndarray) -> np.ndarray:
        """Which of the points (n, d) lie in it, by their coordinates; sets that cannot tell have them all."""
        return np.ones(len(x), dtype=bool)

    @property
    def parts(self) -> tuple[Region, ...]:
        """The pieces this region is made of."""
        return (self,)

    @property
    def share(self) -> float:
        """How much it counts beside other parts of a region: its measure, in units in which parts can be compared."""
        return self.measure

    @property
    def fractions(self) -> list[float]:
        """How much each of its parts counts; they sum to one."""
        whole = sum(part.share for part in self.parts)
        return [part.share / whole for part in self.parts]

    @property
    def takes_cells(self) -> bool:
        """Whether it can be cut into cells with a quadrature rule in each."""
        return all(part.takes_cells for part in self.parts if part is not self)

    @property
    def end(self) -> tuple[str, bool] | None:
        """The axis at one of whose ends it lies, and whether that is the upper one; None if it is no face."""
        return None

    def goes_around(self, axis: str) -> bool:
        """Whether it has all points along a periodic axis."""
        return False

    def called_in(self, domain: Any) -> str:
        """How it is called beside a domain: a boundary of something else says of what."""
        return repr(self)

    def distance(self, x: np.ndarray) -> np.ndarray:
        """How far points lie from a face; other regions do not need it."""
        return np.zeros(len(x))

    def __or__(self, other: Region) -> Union:
        return Union((*self.parts, *other.parts))


class Union(Region):
    """Several regions taken as one, for example both ends of an axis."""

    def __init__(self, parts: tuple[Region, ...]) -> None:
        if not parts:
            raise ProblemError("this set is empty: a condition needs at least one face or region to hold on")
        if len({p.axes for p in parts}) != 1:
            raise ProblemError("regions of different domains cannot be joined: their axes differ")
        if len({p.dimension for p in parts}) != 1:
            raise ProblemError("regions of different dimension cannot be joined: state one condition for each")
        self._parts = parts
        self.axes = parts[0].axes

    @property
    def parts(self) -> tuple[Region, ...]:
        return self._parts

    @property
    def dimension(self) -> int:
        return self._parts[0].dimension

    @property
    def measure(self) -> float:
        return sum(p.measure for p in self._parts)

    @property
    def has_normal(self) -> bool:
        return all(p.has_normal for p in self._parts)

    def lies_in(self, box: Any) -> bool:
        return all(p.lies_in(box) for p in self._parts)

    def normal_at(self, x: np.ndarray) -> np.ndarray | None:
        if not self.has_normal:
            return None
        distances = np.stack([p.distance(x) for p in self._parts])
        normals = np.stack([np.asarray(p.normal_at(x)) for p in self._parts])
        return normals[np.argmin(distances, axis=0), np.arange(len(x))]

    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        fractions = self.fractions
        clouds = [p.scatter(rule.share(f), rng) for p, f in zip(self._parts, fractions, strict=True)]
        # Weights of a rule integrate over one part; those of chosen points are meant as they are.
        factors = [1.0 if rule.weights_are_final else f for f in fractions]
        normals = [c.normal for c in clouds if c.normal is not None]
        return Cloud(
            np.concatenate([c.x for c in clouds]),
            np.concatenate([f * c.weight for f, c in zip(factors, clouds, strict=True)]),
            np.concatenate(normals) if self.has_normal else None,
        )

    def __repr__(self) -> str:
        return " | ".join(map(repr, self._parts))


class PointSet(Region):
    """A finite set of points: where data were measured, or where a value is pinned."""

    def __init__(self, axes: tuple[str, ...], x: np.ndarray) -> None:
        self.axes = axes
        self.x = x

    @property
    def dimension(self) -> int:
        return 0

    @property
    def measure(self) -> float:
        return float(len(self.x))

    @property
    def has_normal(self) -> bool:
        return False

    def lies_in(self, box: Any) -> bool:
        return self.axes == box.axes and bool(np.all(box.contains(self.x)))

    def scatter(self, rule: Any, rng: Any) -> Cloud:
        return Cloud(self.x, np.full(len(self.x), 1.0 / len(self.x)), None)

    def __repr__(self) -> str:
        return f"{len(self.x)} points"
