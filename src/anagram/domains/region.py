"""Regions: the sets on which conditions hold."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import numpy as np

from anagram.domains.rules import PointRule
from anagram.errors import ProblemError


class Cloud(NamedTuple):
    """Points of a region with weights that sum to one and, on faces, outward normals."""

    x: np.ndarray
    weight: np.ndarray
    normal: np.ndarray | None


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
    def draw(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        """Points drawn by the rule."""

    @property
    def parts(self) -> tuple[Region, ...]:
        """The pieces this region is made of."""
        return (self,)

    @property
    def fixed_points(self) -> bool:
        """Whether the region is a finite set, which no rule can refine."""
        return False

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

    @property
    def fixed_points(self) -> bool:
        return all(p.fixed_points for p in self._parts)

    def draw(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        fractions = [p.measure / self.measure for p in self._parts]
        clouds = [p.draw(rule.share(f), rng) for p, f in zip(self._parts, fractions, strict=True)]
        normals = [c.normal for c in clouds if c.normal is not None]
        return Cloud(
            np.concatenate([c.x for c in clouds]),
            np.concatenate([f * c.weight for f, c in zip(fractions, clouds, strict=True)]),
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

    @property
    def fixed_points(self) -> bool:
        return True

    def draw(self, rule: Any, rng: Any) -> Cloud:
        return Cloud(self.x, np.full(len(self.x), 1.0 / len(self.x)), None)

    def __repr__(self) -> str:
        return f"{len(self.x)} points"
