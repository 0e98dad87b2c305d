"""Balls and ellipsoids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anagram.statement.domains.chart import AROUND, UNIT, Chart, Placed
from anagram.statement.domains.region import WITHIN
from anagram.statement.domains.shape import SPACE
from anagram.statement.domains.shapes.solid import Solid, checked_length, checked_point, checked_radii


def on_sphere(s: np.ndarray) -> np.ndarray:
    """Points of the unit sphere (n, 3) by height and angle, s (n, 2) in the unit square: equal areas are equal."""
    # 2 √(v (1 − v)) is √(1 − z²) without the cancellation near the poles.
    across, angle = 2 * np.sqrt(np.maximum(0, s[:, 0] * (1 - s[:, 0]))), 2 * np.pi * s[:, 1]
    return np.stack([across * np.cos(angle), across * np.sin(angle), 2 * s[:, 0] - 1], axis=1)


class Round(Chart):
    """The inside of an ellipsoid: distance from the centre, height, angle."""

    intervals = (UNIT, UNIT, AROUND)

    def __init__(self, center: np.ndarray, radii: np.ndarray) -> None:
        self.center, self.radii = center, radii

    @property
    def measure(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 4 / 3 * np.pi * float(np.prod(self.radii))

    def __call__(self, s: np.ndarray) -> Placed:
        density = 4 * np.pi * float(np.prod(self.radii)) * s[:, 0] ** 2
        return Placed(self.center + self.radii * s[:, :1] * on_sphere(s[:, 1:]), density, None)


class RoundSurface(Chart):
    """The surface of an ellipsoid: height and angle."""

    intervals = (UNIT, AROUND)

    def __init__(self, center: np.ndarray, radii: np.ndarray) -> None:
        self.center, self.radii = center, radii

    def __call__(self, s: np.ndarray) -> Placed:
        return self._placed(on_sphere(s))

    def _placed(self, unit: np.ndarray) -> Placed:
        # A unit of area with the normal n becomes cof(M) n.
        area = np.prod(self.radii) / self.radii * unit
        size = np.linalg.norm(area, axis=1)
        return Placed(self.center + self.radii * unit, 4 * np.pi * size, area / size[:, None])

    def nearest(self, x: np.ndarray) -> Placed:
        """Those on the way out from the centre; exact for points on the surface, and for all of them on a sphere."""
        ray = (x - self.center) / self.radii
        length = np.linalg.norm(ray, axis=1, keepdims=True)
        ray = np.where(length > 0, ray / np.where(length > 0, length, 1), [0.0, 0.0, 1.0])
        return self._placed(ray)


class Ellipsoid(Solid):
    """An ellipsoid with its inside: ``Ellipsoid(center=(0, 0, 0), radii=(3, 2, 1))``.

    Args:
        center: its centre.
        radii: its half-axes, along the three axes.
        name: of its boundary.
        axes: names of the coordinates.
    """

    kind = "an ellipsoid"

    def __init__(
        self,
        center: Sequence[float],
        radii: Sequence[float],
        *,
        name: str = "ellipsoid",
        axes: Sequence[str] = SPACE,
    ) -> None:
        super().__init__(axes)
        self.center = checked_point(center, f"the centre of {self.kind}")
        self.radii = checked_radii(radii, self.kind)
        self.name = name

    def charts(self) -> list[Round]:
        return [Round(self.center, self.radii)]

    def boundary_charts(self) -> dict[str, Sequence[RoundSurface]]:
        return {self.name: [RoundSurface(self.center, self.radii)]}

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return self.center - self.radii, self.center + self.radii

    def contains(self, x: np.ndarray) -> np.ndarray:
        return np.linalg.norm((x - self.center) / self.radii, axis=1) <= 1 + WITHIN

    def __repr__(self) -> str:
        return f"Ellipsoid(center={in_words(self.center)}, radii={in_words(self.radii)})"


class Ball(Ellipsoid):
    """A ball: ``Ball(center=(0, 0, 0), radius=1)``.

    Args:
        center: its centre.
        radius: its radius.
        name: of its boundary.
        axes: names of the coordinates.
    """

    kind = "a ball"

    def __init__(
        self,
        center: Sequence[float] = (0.0, 0.0, 0.0),
        radius: float = 1.0,
        *,
        name: str = "sphere",
        axes: Sequence[str] = SPACE,
    ) -> None:
        super().__init__(center, (checked_length(radius, "the radius of a ball"),) * 3, name=name, axes=axes)

    def __repr__(self) -> str:
        return f"Ball(center={in_words(self.center)}, radius={self.radii[0]:g})"


def in_words(point: np.ndarray) -> str:
    """Coordinates as they are written down."""
    return f"({', '.join(f'{value:g}' for value in point)})"
