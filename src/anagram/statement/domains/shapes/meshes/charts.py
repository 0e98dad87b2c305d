"""Charts of many triangles at once, and of what they enclose."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.polynomial.legendre import leggauss

from anagram.statement.domains.chart import UNIT, Chart, Placed
from anagram.statement.domains.rules import Draw, Kronecker
from anagram.statement.domains.shapes.meshes.moments import Moments
from anagram.statement.domains.shapes.meshes.surface import Surface, closest_points

FEWEST = 8  # nodes
FEWEST_EACH = 3  # nodes along an edge of a triangle, if each of them has its own
PAIRS = 2**20  # of a point and a triangle that are looked at together


class Rough(Chart):
    """A chart that is not smooth: it has quadrature nodes of its own."""

    def __init__(self) -> None:
        self._nodes: dict[int, Draw] = {}

    @property
    def is_smooth(self) -> bool:
        return False

    def own_nodes(self, counts: Sequence[int]) -> Draw:
        """Nodes spread evenly, with weights that integrate polynomials exactly."""
        count = max(FEWEST, int(np.prod(counts)))
        if count not in self._nodes:
            s = self._spread(count)
            found = self(s)
            self._nodes[count] = s, self._moments(count).weights(found.x, found.normal, self.measure)
        return self._nodes[count]

    def _spread(self, count: int) -> np.ndarray:
        """Parameters of so many points, as many in every unit of volume."""
        tried = 1.1 * count * self.densest / self.measure + 16
        while True:
            s = Kronecker(int(tried)).unit(len(self.intervals), np.random.default_rng(count))
            s = s[self(s).density > 0]
            if len(s) >= count:
                return s[:count]
            tried *= 1.5

    def _moments(self, count: int) -> Moments:
        """The integrals that weights of so many points shall give."""
        raise NotImplementedError


class Triangles(Rough):
    """Triangles of a surface, side by side along the first parameter, each as long as its area.

    Neighbours along the parameter are neighbours in space, so that parameters spread evenly are points spread evenly.
    """

    intervals = (UNIT, UNIT)

    def __init__(self, surface: Surface, faces: np.ndarray) -> None:
        super().__init__()
        self.surface = surface
        faces = faces[np.argsort(_along_a_curve(surface.corners[faces].mean(axis=1)), kind="stable")]
        area = np.linalg.norm(surface.area_vectors[faces], axis=1)
        self.faces, self.area = faces[area > 0], area[area > 0]
        self.ends = np.cumsum(self.area)

    @property
    def measure(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return float(self.ends[-1])

    densest = measure  # pyright: ignore[reportAssignmentType]

    @property
    def lengths(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return np.full(2, np.sqrt(self.measure))

    @functools.cached_property
    def normals(self) -> np.ndarray:
        """The normals of its triangles."""
        return self.surface.area_vectors[self.faces] / self.area[:, None]

    @functools.cached_property
    def corners(self) -> np.ndarray:
        """The corners of its triangles."""
        return self.surface.corners[self.faces]

    def __call__(self, s: np.ndarray) -> Placed:
        place = s[:, 0] * self.measure
        which = np.minimum(np.searchsorted(self.ends, place, side="right"), len(self.ends) - 1)
        # Equal areas of the square are equal areas of the triangle.
        u = np.sqrt(np.clip(1 - (self.ends[which] - place) / self.area[which], 0, 1))
        local = np.stack([1 - u, u * (1 - s[:, 1]), u * s[:, 1]], axis=1)
        x = np.einsum("nc,nci->ni", local, self.corners[which])
        return Placed(x, np.full(len(s), self.measure), self.normals[which])

    def own_nodes(self, counts: Sequence[int]) -> Draw:
        """Those of Gauss and Legendre in every triangle, where there are few triangles."""
        order = int(np.sqrt(np.prod(counts) / len(self.faces)))
        if order < FEWEST_EACH:
            return super().own_nodes(counts)
        (u, w), begin = leggauss(order), self.ends - self.area
        u, w = (u + 1) / 2, w / 2
        # The first parameter is the square of the distance from a corner.
        place = (begin[:, None] + self.area[:, None] * u**2) / self.measure
        every = (*place.shape, order)
        s = np.stack([np.broadcast_to(place[..., None], every), np.broadcast_to(u, every)])
        weight = (self.area / self.measure)[:, None, None] * (2 * u * w)[None, :, None] * w
        return s.reshape(2, -1).T, weight.ravel()

    def _moments(self, count: int) -> Moments:
        return Moments(self.corners, self.surface.area_vectors[self.faces], count, solid=False)

    def where(self, holds: Callable[[np.ndarray], np.ndarray]) -> list[Chart]:
        """The triangles in whose middle a predicate is true."""
        here = holds(self.corners.mean(axis=1))
        return [self] if here.all() else [Triangles(self.surface, self.faces[here])] if here.any() else []

    def nearest(self, x: np.ndarray) -> Placed:
        best, which = np.full(x.shape, np.inf), np.zeros(len(x), dtype=int)
        for point, triangle in self._candidates(x):
            found = closest_points(x[point], self.corners[triangle])
            distance = np.linalg.norm(found - x[point], axis=1)
            order = np.lexsort((distance, point))
            first = order[np.unique(point[order], return_index=True)[1]]
            best[point[first]], which[point[first]] = found[first], triangle[first]
        return Placed(best, np.full(len(x), self.measure), self.normals[which])

    def _candidates(self, x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Points with triangles, some of which must be the nearest; all pairs of one point come together."""
        from scipy.spatial import KDTree

        middle = self.corners.mean(axis=1)
        reach = float(np.max(np.linalg.norm(self.corners - middle[:, None], axis=2)))
        tree = KDTree(middle)
        radius = np.asarray(tree.query(x)[0]) * (1 + 1e-12) + reach
        step = max(1, PAIRS // len(middle))
        for start in range(0, len(x), step):
            these = np.arange(start, min(len(x), start + step))
            lists = tree.query_ball_point(x[these], radius[these])
            yield np.repeat(these, [len(found) for found in lists]), np.concatenate(lists).astype(int)


class Enclosed(Rough):
    """What a closed surface encloses: the box around it, with a density that is zero outside."""

    intervals = (UNIT, UNIT, UNIT)

    def __init__(self, surface: Surface) -> None:
        super().__init__()
        self.surface = surface
        self.low, self.extent = surface.vertices.min(axis=0), np.ptp(surface.vertices, axis=0)

    @property
    def measure(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.surface.volume

    @property
    def densest(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return float(np.prod(self.extent))

    @property
    def lengths(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.extent * (self.measure / self.densest) ** (1 / 3)

    def __call__(self, s: np.ndarray) -> Placed:
        x = self.low + s * self.extent
        return Placed(x, np.where(self.surface.winding(x) != 0, self.densest, 0.0), None)

    def _moments(self, count: int) -> Moments:
        return Moments(self.surface.corners, self.surface.area_vectors, count, solid=True)


def _along_a_curve(x: np.ndarray) -> np.ndarray:
    """Where points lie along a curve that fills space (Morton's): near on it is near in space."""
    low, extent = x.min(axis=0), np.maximum(np.ptp(x, axis=0).max(), 1e-300)
    whole = np.clip((x - low) / extent * 2**20, 0, 2**20 - 1).astype(np.uint64)
    code = np.zeros(len(x), dtype=np.uint64)
    for bit in range(20):
        for axis in range(3):
            code |= ((whole[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(3 * bit + axis)
    return code
