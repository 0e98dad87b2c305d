"""Disks and ellipses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.region import WITHIN
from anagram.statement.domains.shape import SPACE, Shape
from anagram.statement.domains.shapes.curves import Arc, Edge, Fan


class Ellipse(Shape):
    """An ellipse with its inside: ``Ellipse(center=(0, 0), radii=(2, 1))``.

    Args:
        center: its centre.
        radii: its two half-axes.
        angle: by which it is turned, counterclockwise, in radians.
        name: of its boundary.
        axes: names of the coordinates.
    """

    def __init__(
        self,
        center: Sequence[float],
        radii: Sequence[float],
        angle: float = 0.0,
        *,
        name: str = "ellipse",
        axes: Sequence[str] = SPACE[:2],
    ) -> None:
        super().__init__(axes)
        self.center, self.radii = np.asarray(center, dtype=float), np.asarray(radii, dtype=float)
        self.angle, self.name = float(angle), name
        if self.center.shape != (2,) or not np.all(np.isfinite(self.center)):
            raise ProblemError(f"the centre of {self.kind} needs two finite coordinates, not {center!r}")
        if self.radii.shape != (2,) or not np.all((self.radii > 0) & np.isfinite(self.radii)):
            raise ProblemError(f"{self.kind} needs positive radii, not {radii!r}")
        turn = np.array([[np.cos(self.angle), -np.sin(self.angle)], [np.sin(self.angle), np.cos(self.angle)]])
        self.matrix = turn * self.radii

    kind = "an ellipse"

    @property
    def _curve(self) -> Arc:
        return Arc(self.center, self.matrix, 0.0, 2 * np.pi)

    def charts(self) -> list[Fan]:
        return [Fan(self.center, self._curve)]

    def boundary_charts(self) -> dict[str, Sequence[Edge]]:
        return {self.name: [Edge(self._curve)]}

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        reach = np.linalg.norm(self.matrix, axis=1)
        return self.center - reach, self.center + reach

    def contains(self, x: np.ndarray) -> np.ndarray:
        return np.linalg.norm(np.linalg.solve(self.matrix, (x - self.center).T), axis=0) <= 1 + WITHIN

    def __repr__(self) -> str:
        (a, b), (x, y) = self.radii, self.center
        return f"Ellipse(center=({x:g}, {y:g}), radii=({a:g}, {b:g}), angle={self.angle:g})"


class Disk(Ellipse):
    """A disk: ``Disk(center=(0, 0), radius=1)``.

    Args:
        center: its centre.
        radius: its radius.
        name: of its boundary.
        axes: names of the coordinates.
    """

    kind = "a disk"

    def __init__(
        self,
        center: Sequence[float] = (0.0, 0.0),
        radius: float = 1.0,
        *,
        name: str = "disk",
        axes: Sequence[str] = SPACE[:2],
    ) -> None:
        super().__init__(center, (radius, radius), name=name, axes=axes)

    def __repr__(self) -> str:
        return f"Disk(center=({self.center[0]:g}, {self.center[1]:g}), radius={self.radii[0]:g})"
