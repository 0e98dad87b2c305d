"""Surfaces made of triangles: what lies inside of one, and how far it is to it."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

CHUNK = 2**20  # pairs of a point and a triangle that are looked at together
MOST_PAIRS = 64  # of a column and a triangle near it, for each triangle, on average
# A turn about which nothing is special: no ray along the third axis runs through an edge of a mesh drawn by hand.
_ANGLES = (0.71372, 1.23971, 0.38317)


def _rotation() -> np.ndarray:
    turn = np.eye(3)
    for axis, angle in enumerate(_ANGLES):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        step = np.eye(3)
        step[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
        turn = turn @ step
    return turn


class Surface:
    """A closed surface of triangles; seen from outside, their corners run counterclockwise.

    Args:
        vertices: the corners (v, 3).
        faces: the numbers of the corners of every triangle (f, 3).
        slack: how near to it a point lies on it.
    """

    def __init__(self, vertices: np.ndarray, faces: np.ndarray, slack: float) -> None:
        self.vertices, self.faces, self.slack = vertices, faces, slack

    @functools.cached_property
    def corners(self) -> np.ndarray:
        """The corners of the triangles (f, 3, 3)."""
        return self.vertices[self.faces]

    @functools.cached_property
    def area_vectors(self) -> np.ndarray:
        """The outward normal of every triangle, as long as its area (f, 3)."""
        a, b, c = self.corners.transpose(1, 0, 2)
        return np.cross(b - a, c - a) / 2

    @functools.cached_property
    def volume(self) -> float:
        """What it encloses, by the divergence theorem."""
        middle = (self.vertices.min(axis=0) + self.vertices.max(axis=0)) / 2
        return float(np.sum((self.corners[:, 0] - middle) * self.area_vectors)) / 3

    # -- columns ----------------------------------------------------------------------------------------
    @functools.cached_property
    def _columns(self) -> _Columns:
        return _Columns(self.vertices @ _rotation().T, self.faces, self.slack)

    def winding(self, x: np.ndarray) -> np.ndarray:
        """How many times it goes around points (n, 3): 0 outside and 1 inside of a surface that does not cross itself.

        The triangles above a point are counted, with a sign for their side. Triangles that share an edge decide from
        the same number on which side of it a ray goes by, so that none slips through between them.
        """
        columns, turned = self._columns, x @ _rotation().T
        found = np.zeros(len(x), dtype=int)
        for point, face in columns.pairs(turned):
            above, side = columns.above(turned, point, face)
            np.add.at(found, above, side)
        return found

    def touches(self, x: np.ndarray) -> np.ndarray:
        """Whether points (n, 3) lie on it."""
        columns, turned = self._columns, x @ _rotation().T
        found = np.zeros(len(x), dtype=bool)
        for point, face in columns.pairs(turned):
            height = turned[point, 2]
            close = (height >= columns.lowest[face] - self.slack) & (height <= columns.highest[face] + self.slack)
            here = x[point[close]]
            nearest = closest_points(here, self.corners[face[close]])
            found[point[close][np.linalg.norm(nearest - here, axis=1) <= self.slack]] = True
        return found

    def contains(self, x: np.ndarray) -> np.ndarray:
        """Whether points (n, 3) lie inside of it or on it. NaN is nowhere."""
        found = np.zeros(len(x), dtype=bool)
        real = np.flatnonzero(np.all(np.isfinite(x), axis=1))
        found[real] = self.winding(x[real]) != 0
        outside = real[~found[real]]
        found[outside] = self.touches(x[outside])
        return found


class _Columns:
    """Triangles sorted into square columns along the third axis."""

    def __init__(self, vertices: np.ndarray, faces: np.ndarray, slack: float) -> None:
        corners = vertices[faces]
        self.corner = corners[:, 0]
        self.normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        # Edges from the vertex with the lower number to that with the higher one: the same for both triangles.
        following = np.roll(faces, -1, axis=1)
        self.forward = faces < following
        start, end = vertices[np.minimum(faces, following), :2], vertices[np.maximum(faces, following), :2]
        self.start, self.edge = start.transpose(2, 0, 1).copy(), (end - start).transpose(2, 0, 1).copy()
        self.lowest, self.highest = corners[..., 2].min(axis=1), corners[..., 2].max(axis=1)
        low, high = corners[..., :2].min(axis=1) - slack, corners[..., :2].max(axis=1) + slack
        self.low = low.min(axis=0)
        extent = np.maximum(high.max(axis=0) - self.low, 1e-300)
        self.count = int(np.clip(2 * np.sqrt(len(faces)), 8, max(256, np.sqrt(len(faces)))))
        while True:
            self.width = extent / self.count
            first, last = self._cells(low), self._cells(high)
            wide, tall = (last - first + 1).T
            if self.count == 1 or np.sum(wide * tall) <= min(MOST_PAIRS * len(faces) + 10**4, 2 * 10**7):
                break
            self.count //= 2
        many = wide * tall
        face = np.repeat(np.arange(len(faces)), many)
        inner = np.arange(len(face)) - np.repeat(np.cumsum(many) - many, many)
        place = np.stack([first[face, 0] + inner // tall[face], first[face, 1] + inner % tall[face]], axis=1)
        near = self._near(corners[..., :2], face, self.low + (place + 0.5) * self.width, slack)
        face, cell = face[near], (place @ np.array([self.count, 1]))[near]
        order = np.argsort(cell, kind="stable")
        self.face = face[order]
        self.begin = np.searchsorted(cell[order], np.arange(self.count**2 + 1))

    def _near(self, corners: np.ndarray, face: np.ndarray, middle: np.ndarray, slack: float) -> np.ndarray:
        """Whether no edge of a triangle parts it from a column."""
        near = np.ones(len(face), dtype=bool)
        turn = np.where(self.normal[:, 2] >= 0, 1.0, -1.0)
        for k in range(3):
            edge = (corners[:, (k + 1) % 3] - corners[:, k]) * turn[:, None]
            # How far the column reaches across the edge, and a little more.
            reach = 1.001 * (np.abs(edge) @ self.width[::-1] / 2 + slack * np.abs(edge).sum(axis=1))
            away = middle - corners[face, k]
            near &= edge[face, 0] * away[:, 1] - edge[face, 1] * away[:, 0] >= -reach[face]
        return near

    def _cells(self, x: np.ndarray) -> np.ndarray:
        return np.clip(np.floor((x - self.low) / self.width), 0, self.count - 1).astype(int)

    def pairs(self, x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Points and the triangles in their columns, a bounded number of pairs at a time."""
        place = (x[:, :2] - self.low) / self.width
        there = np.flatnonzero(np.all((place >= 0) & (place <= self.count), axis=1))
        cell = self._cells(x[there, :2]) @ np.array([self.count, 1])
        many = self.begin[cell + 1] - self.begin[cell]
        ends, start = np.cumsum(many), 0
        while start < len(there):
            done = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + CHUNK, side="right")))
            these = many[start:stop]
            point = np.repeat(there[start:stop], these)
            inner = np.arange(len(point)) - np.repeat(np.cumsum(these) - these, these)
            yield point, self.face[np.repeat(self.begin[cell[start:stop]], these) + inner]
            start = stop

    def above(self, x: np.ndarray, point: np.ndarray, face: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of pairs, the points with the triangle above them, and whether they see it from inside, 1, or outside, −1."""
        across, along = x[point, 0, None], x[point, 1, None]
        right, up = self.edge[0][face], self.edge[1][face]
        left = (right * (along - self.start[1][face]) - up * (across - self.start[0][face]) >= 0) == self.forward[face]
        count = left.sum(axis=1)
        hit = (count == 0) | (count == 3)
        point, face, side = point[hit], face[hit], np.where(count[hit] == 3, 1, -1)
        # The plane lies above the point where n · (a − x) has the sign of the third component of n.
        height = np.einsum("ni,ni->n", self.normal[face], self.corner[face] - x[point])
        return point[side * height > 0], side[side * height > 0]


def closest_points(x: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The points of triangles (n, 3, 3) nearest to points (n, 3), pair by pair."""
    a, b, c = corners.transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    square = np.einsum("ni,ni->n", normal, normal)
    flat = square > 0
    square = np.where(flat, square, 1)
    best = x - (np.einsum("ni,ni->n", x - a, normal) / square)[:, None] * normal
    for one, other in ((a, b), (b, c), (c, a)):
        flat &= np.einsum("ni,ni->n", np.cross(other - one, best - one), normal) >= 0
    distance = np.where(flat, np.linalg.norm(best - x, axis=1), np.inf)
    for one, other in ((a, b), (b, c), (c, a)):
        edge = other - one
        length = np.einsum("ni,ni->n", edge, edge)
        t = np.clip(np.einsum("ni,ni->n", x - one, edge) / np.where(length > 0, length, 1), 0, 1)
        point = one + t[:, None] * edge
        new = np.linalg.norm(point - x, axis=1)
        best = np.where((new < distance)[:, None], point, best)
        distance = np.minimum(distance, new)
    return best
