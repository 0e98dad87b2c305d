"""Shapes as unstructured grids of VTK: triangles in the plane, tetrahedra in space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anagram.showing.contours import triangles
from anagram.showing.export.grid import TensorGrid
from anagram.statement.domains import Domain
from anagram.statement.domains.outline import Outlined, inside_loops
from anagram.statement.domains.shape import Product, Shape
from anagram.statement.domains.triangulation import Triangulation, triangulate


@dataclass(frozen=True)
class ShapeGrid:
    """The cells of a shape at one place of the box that it is multiplied with.

    Attributes:
        domain: the shape, or its product with a box.
        cells: of the shape.
        coordinates: places along an axis that varies besides the shape: moments of time.
        fixed: where the other axes of the box are held.
    """

    domain: Domain
    cells: Triangulation
    coordinates: dict[str, np.ndarray]
    fixed: dict[str, float]

    @property
    def points(self) -> np.ndarray:
        """The nodes as points of the domain."""
        columns = {axis: np.full(len(self.cells.nodes), place) for axis, place in self.fixed.items()}
        columns |= dict(zip(self.domain.space, self.cells.nodes.T, strict=True))
        return np.stack([columns[axis] for axis in self.domain.axes], axis=1)

    def held(self, axis: str, place: float) -> ShapeGrid:
        """The same cells with an axis held at a place."""
        rest = {a: c for a, c in self.coordinates.items() if a != axis}
        return ShapeGrid(self.domain, self.cells, rest, self.fixed | {axis: place})


def shape_grid(domain: Domain, grid: Any, points: TensorGrid, time: str | None) -> ShapeGrid | None:
    """The cells of a shape, about as fine as the tensor grid that was asked for; None where that grid is meant itself.

    It is meant where coordinates are given one by one, where an axis of the shape is held, or where more varies than
    the shape and time.
    """
    space = domain.space
    if not space or not set(space) <= set(points.coordinates):
        return None
    given = [grid[axis] for axis in space] if isinstance(grid, Mapping) else [grid]
    others = {a: c for a, c in points.coordinates.items() if a not in space}
    if not all(isinstance(count, int | np.integer) for count in given) or set(others) - {time}:
        return None
    cells = _cells(domain, [points.coordinates[axis] for axis in space])
    return None if cells is None else ShapeGrid(domain, cells, others, points.fixed)


def _cells(domain: Domain, lines: list[np.ndarray]) -> Triangulation | None:
    """From the charts of a shape, or from its outline if that is all that is known."""
    shape = domain.shape if isinstance(domain, Product) else domain
    if isinstance(shape, Shape):
        return triangulate([patch.chart for patch in shape.patches], float(min(c[1] - c[0] for c in lines)))
    if isinstance(domain, Outlined) and domain.loops:
        return triangles(lambda places: inside_loops(domain.loops, places), *lines)
    return None
