"""Polygons, with holes and in several pieces."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.box import Box
from anagram.statement.domains.shape import SPACE
from anagram.statement.domains.shapes.curves import Line
from anagram.statement.domains.shapes.outlines import Loop, Outline, Piece
from anagram.statement.domains.shapes.planar import Planar
from anagram.statement.domains.shapes.polygon_files import MOST_VERTICES, Rings, from_geojson, from_mapping, from_wkt
from anagram.statement.domains.shapes.rings import crossing, signed_area

FLAT = 1e-12  # of its length: how wide a ring must be to have an area
LARGEST = 1e100  # coordinate; squares of larger ones are none


class Polygon(Planar):
    """A polygon: ``Polygon([(0, 0), (2, 0), (2, 1)])``.

    Its boundary is the part `name`; single edges are ``name.0``, ``name.1`` in the order of the vertices, those of
    holes after those of the outer ring.

    Args:
        vertices: corners, in either order; the last one is joined to the first one.
        holes: vertices of rings that are cut out.
        name: of its boundary.
        edges: a name for each edge of the outer ring, the first of them from the first vertex to the second.
        axes: names of the coordinates.
    """

    def __init__(
        self,
        vertices: Sequence[Sequence[float]] | np.ndarray,
        holes: Sequence[Any] = (),
        *,
        name: str = "polygon",
        edges: Sequence[str] | None = None,
        axes: Sequence[str] = SPACE[:2],
    ) -> None:
        super().__init__(axes)
        self.name = str(name)
        self.pieces = (_checked_piece(vertices, holes, self.name),)
        self.edges = self._edge_names(edges)
        self._refuse_crossings()

    @classmethod
    def _of_pieces(cls, pieces: Rings, name: str, axes: Sequence[str]) -> Polygon:
        """A polygon of several pieces, each an outer ring and its holes."""
        polygon = cls(*pieces[0], name=name, axes=axes)
        if len(pieces) > 1:
            polygon.pieces = tuple(_checked_piece(outer, holes, name) for outer, holes in pieces)
            polygon._refuse_crossings()
        return polygon

    @classmethod
    def from_shapely(cls, shape: Any, *, name: str = "polygon", axes: Sequence[str] = SPACE[:2]) -> Polygon:
        """A polygon of shapely, or of another package that speaks ``__geo_interface__``; also one of several pieces."""
        described = getattr(shape, "__geo_interface__", None)
        if described is None:
            raise ProblemError(f"from_shapely needs a Polygon or MultiPolygon of shapely, not {shape!r}")
        return cls._of_pieces(from_mapping(described), name, axes)

    @classmethod
    def from_wkt(cls, text: str, *, name: str = "polygon", axes: Sequence[str] = SPACE[:2]) -> Polygon:
        """A polygon from well-known text: ``Polygon.from_wkt("POLYGON ((0 0, 2 0, 2 1, 0 0))")``."""
        return cls._of_pieces(from_wkt(text), name, axes)

    @classmethod
    def from_geojson(
        cls, source: str | PathLike[str], *, name: str = "polygon", axes: Sequence[str] = SPACE[:2]
    ) -> Polygon:
        """A polygon from a file of GeoJSON, or from its text.

        It may hold a Polygon, a MultiPolygon, or Features of these; all of them together are one shape. Coordinates
        are taken as they are: degrees stay degrees.
        """
        return cls._of_pieces(from_geojson(source), name, axes)

    @classmethod
    def of_box(cls, box: Box) -> Polygon:
        """A rectangle; its edges have the names of the faces of the box, as in ``x=0``."""
        if not len(box.axes) == len(box.axes_with_ends) == 2:
            raise ProblemError(f"{box!r} is no rectangle: sets of shapes in the plane need boxes of two axes with ends")
        (a, b), (c, d) = box.intervals.values()
        x, y = box.axes
        edges = (f"{y}={c:g}", f"{x}={b:g}", f"{y}={d:g}", f"{x}={a:g}")
        return cls([(a, c), (b, c), (b, d), (a, d)], name="box", edges=edges, axes=box.axes)

    def _edge_names(self, edges: Sequence[str] | None) -> tuple[str, ...] | None:
        if edges is None:
            return None
        count, names = len(self.pieces[0][0]), (edges,) if isinstance(edges, str) else tuple(edges)
        if len(names) != count or not all(isinstance(n, str) and n for n in names):
            raise ProblemError(
                f"edges= of the polygon '{self.name}' needs {count} names, one for each edge, not {edges!r}"
            )
        return names

    def _refuse_crossings(self) -> None:
        rings = [ring for outer, holes in self.pieces for ring in (outer, *holes)]
        if sum(map(len, rings)) > MOST_VERTICES:
            raise ProblemError(
                f"the polygon '{self.name}' has {sum(map(len, rings))} vertices: at most {MOST_VERTICES} can be "
                "covered by patches; simplify it first"
            )
        place = crossing(rings)
        if place is not None:
            raise ProblemError(
                f"the polygon '{self.name}' crosses or touches itself near ({place[0]:.6g}, {place[1]:.6g}): "
                "its edges may meet at common vertices alone; pieces that share an edge are joined by |"
            )
        # A hole lies in its own outer ring; no other ring lies inside of a piece. As no edges cross, one place tells.
        middles = [(ring[0] + ring[1]) / 2 for ring in rings]
        first = 0
        for outer, holes in self.pieces:
            mine = slice(first, first + 1 + len(holes))
            first += 1 + len(holes)
            own, others = np.array(middles[mine]), np.array(middles[: mine.start] + middles[mine.stop :]).reshape(-1, 2)
            if not Outline([_lines(outer)]).contains(own[1:], 0.0).all():
                raise ProblemError(f"a hole of the polygon '{self.name}' lies outside of it")
            if Outline([_lines(outer), *map(_lines, holes)]).contains(others, 0.0).any():
                raise ProblemError(f"two pieces of the polygon '{self.name}' overlap")
            if any(
                Outline([_lines(hole)]).contains(np.delete(own[1:], k, 0), 0.0).any() for k, hole in enumerate(holes)
            ):
                raise ProblemError(f"two holes of the polygon '{self.name}' overlap")

    def loops(self) -> list[Loop]:
        return self._loops

    @functools.cached_property
    def _loops(self) -> list[Loop]:
        loops, number = [], 0
        for outer, holes in self.pieces:
            for ring, wanted in ((outer, 1.0), *((hole, -1.0) for hole in holes)):
                labels = [f"{self.name}.{number + k}" for k in range(len(ring))]
                number += len(ring)
                lines = _lines(ring)
                named = self.edges is not None and ring is self.pieces[0][0]
                pieces = [
                    Piece(line.curve, self.edges[k] if named and self.edges else self.name, (self.name, label))
                    for k, (line, label) in enumerate(zip(lines, labels, strict=True))
                ]
                if signed_area(ring) * wanted < 0:
                    pieces = [piece.reversed() for piece in reversed(pieces)]
                loops.append(pieces)
        return loops

    def __repr__(self) -> str:
        count = sum(len(ring) for outer, holes in self.pieces for ring in (outer, *holes))
        if len(self.pieces) == 1 and not self.pieces[0][1] and count <= 6:
            return f"Polygon([{', '.join(f'({x:g}, {y:g})' for x, y in self.pieces[0][0])}])"
        return f"Polygon('{self.name}', {count} vertices)"


def _lines(ring: np.ndarray) -> list[Piece]:
    return [Piece(Line(a, b), "") for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True)]


def _checked_piece(vertices: Any, holes: Any, name: str) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    return _checked(vertices, f"the polygon '{name}'"), tuple(
        _checked(hole, f"hole {k} of the polygon '{name}'") for k, hole in enumerate(holes)
    )


def _checked(vertices: Any, what: str) -> np.ndarray:
    """The vertices (n, 2) of a ring, without the first one at the end again."""
    try:
        ring = np.array(vertices, dtype=float)
    except (TypeError, ValueError, OverflowError):
        ring = np.zeros(0)
    if ring.ndim != 2 or ring.shape[-1] != 2:
        raise ProblemError(f"{what} needs vertices of two numbers each, as in [(0, 0), (1, 0), (0, 1)]")
    if not np.all(np.isfinite(ring)):
        raise ProblemError(f"{what} has a vertex that is not finite")
    if len(ring) > 1 and np.array_equal(ring[0], ring[-1]):
        ring = ring[:-1]
    if len(ring) < 3:
        raise ProblemError(f"{what} needs at least three vertices, not {len(ring)}")
    size, largest = np.ptp(ring, axis=0).max(), np.abs(ring).max()
    if largest > LARGEST:
        raise ProblemError(f"{what} has a vertex at {largest:g}: take other units")
    repeated = np.flatnonzero(np.linalg.norm(ring - np.roll(ring, -1, axis=0), axis=1) <= 1e-12 * size)
    if len(repeated) and size > 0:
        k = int(repeated[0])
        raise ProblemError(f"{what} has the vertex ({ring[k][0]:g}, {ring[k][1]:g}) twice in a row: leave one out")
    spread = np.linalg.svd((ring - ring.mean(axis=0)) / max(size, 1e-300), compute_uv=False)
    if not spread[1] > FLAT * spread[0]:
        raise ProblemError(f"{what} has no area: all of its vertices lie on a line")
    return ring
