"""Whether triangles bound a solid, and which of them make up a smooth piece of its surface."""

from __future__ import annotations

from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.region import WITHIN
from anagram.statement.domains.rules import Kronecker
from anagram.statement.domains.shapes.meshes.surface import Surface

MOST_FACES = 2_000_000
TRIED = 2048  # points at which it is seen whether a surface overlaps itself
WELD = 1e-6  # of the size: corners so near to each other are one where the surface would be open otherwise
LARGEST = 1e60  # coordinate: its powers up to the volume, and products of them, are numbers
SHARP = np.cos(np.deg2rad(30.0))


def sound_surface(vertices: Any, faces: Any, what: str) -> Surface:
    """A closed surface, oriented outward, of given triangles; an error that says what is wrong with them."""
    corners, triangles = _arrays(vertices, faces, what)
    size = float(np.linalg.norm(np.ptp(corners[triangles.ravel()], axis=0)))
    corners, triangles = _welded(corners, triangles, corners)
    if _unpaired(triangles)[0].any():
        near = _welded(corners, triangles, np.round(corners / (WELD * size)))
        corners, triangles = near if len(near[1]) and not _unpaired(near[1])[0].any() else (corners, triangles)
    _refuse_open(corners, triangles, what)
    surface = Surface(corners, triangles, WITHIN * size)
    if abs(surface.volume) <= 1e-12 * size**3:
        raise ProblemError(f"{what} encloses no volume: its triangles are flat, or cancel each other")
    if surface.volume < 0:
        surface = Surface(corners, triangles[:, ::-1].copy(), WITHIN * size)
    _refuse_overlaps(surface, what)
    return surface


def _arrays(vertices: Any, faces: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        corners, triangles = np.array(vertices, dtype=float), np.asarray(faces)
    except (TypeError, ValueError):
        raise ProblemError(f"{what} needs numbers as its vertices and faces") from None
    if corners.ndim != 2 or corners.shape[1] != 3 or triangles.ndim != 2 or triangles.shape[1] != 3:
        raise ProblemError(
            f"{what} needs vertices (v, 3) and triangles (f, 3) as its faces, not {corners.shape} and {triangles.shape}"
        )
    if len(triangles) > MOST_FACES:
        raise ProblemError(f"{what} has {len(triangles)} triangles, more than {MOST_FACES}: make it coarser")
    if not np.issubdtype(triangles.dtype, np.integer):
        raise ProblemError(f"{what} needs whole numbers as its faces: those of the vertices of each triangle, from 0")
    if triangles.size and (triangles.min() < 0 or triangles.max() >= len(corners)):
        raise ProblemError(f"{what} has faces with vertices that are not there: their numbers go from 0")
    if len(triangles) < 4:
        raise ProblemError(f"{what} has {len(triangles)} triangles, and no closed surface has fewer than 4")
    if not np.all(np.isfinite(corners[triangles.ravel()])):
        raise ProblemError(f"{what} has coordinates that are not finite")
    if np.max(np.abs(corners[triangles.ravel()])) > LARGEST:
        raise ProblemError(f"{what} is too large for its volume to be a number")
    return corners, triangles.astype(np.int64)


def _welded(corners: np.ndarray, triangles: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices with equal keys made one, triangles that are none any more left out."""
    used, triangles = np.unique(triangles, return_inverse=True)
    keys = keys[used]
    order = np.lexsort(keys.T)
    new = np.append(True, np.any(keys[order[1:]] != keys[order[:-1]], axis=1))
    number = np.empty(len(used), dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    triangles = number[triangles.reshape(-1, 3)]
    a, b, c = triangles.T
    return corners[used[order[new]]], triangles[(a != b) & (b != c) & (c != a)]


def _edges(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The edges of triangles, as lower · count + upper vertex (3 f,), the direction of each (±1), and that count."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    count = int(triangles.max(initial=0)) + 1
    return edges.min(axis=1) * count + edges.max(axis=1), np.where(edges[:, 0] < edges[:, 1], 1, -1), count


def _unpaired(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every edge whether it has an odd number of triangles, how often more one way than the other, and itself."""
    edges, direction, count = _edges(triangles)
    each, number = np.unique(edges, return_inverse=True)
    ends = np.stack([each // count, each % count], axis=1)
    return np.bincount(number) % 2 == 1, np.bincount(number, weights=direction), ends


def _refuse_open(corners: np.ndarray, triangles: np.ndarray, what: str) -> None:
    if len(triangles) < 4:
        raise ProblemError(f"{what} has fewer than 4 triangles that are not points or lines")
    odd, turns, edges = _unpaired(triangles)
    if odd.any():
        where = _in_words(corners[edges[np.argmax(odd)]].mean(axis=0))
        raise ProblemError(
            f"{what} is not closed: {int(odd.sum())} edges belong to one triangle alone, one of them at {where}. "
            "Fill its holes, in a CAD program or by trimesh.repair.fill_holes"
        )
    if np.any(turns != 0):
        where = _in_words(corners[edges[np.argmax(turns != 0)]].mean(axis=0))
        raise ProblemError(
            f"{what} is not oriented: beside {int(np.sum(turns != 0))} edges the triangles have different sides "
            f"outward, one of them at {where}. Turn them, in a CAD program or by trimesh.repair.fix_normals"
        )


def _refuse_overlaps(surface: Surface, what: str) -> None:
    """An error where a surface goes around a point more than once; crossings that no trial point sees are not found."""
    low, extent = surface.vertices.min(axis=0), np.ptp(surface.vertices, axis=0)
    x = low + extent * Kronecker(TRIED).unit(3, np.random.default_rng(0))
    winding = surface.winding(x)
    wrong = (winding != 0) & (winding != 1)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ProblemError(
            f"{what} overlaps itself: its surface goes {winding[first]} times around {_in_words(x[first])}. Join the "
            "parts that overlap, by ag.Mesh(...) | ag.Mesh(...), and turn the surfaces of cavities inward"
        )


def smooth_groups(surface: Surface) -> list[np.ndarray]:
    """The faces of each smooth piece: neighbours whose normals differ by less than 30° belong together."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(surface.faces)
    edges, _, _ = _edges(surface.faces)
    face = np.tile(np.arange(count), 3)
    order = np.lexsort((face, edges))
    same = edges[order[1:]] == edges[order[:-1]]
    one, other = face[order[:-1][same]], face[order[1:][same]]
    size = np.linalg.norm(surface.area_vectors, axis=1)
    cosine = np.einsum("ni,ni->n", surface.area_vectors[one], surface.area_vectors[other])
    # A triangle without area has no direction of its own, and joins what it lies between in one plane only by chance.
    smooth = (cosine >= SHARP * size[one] * size[other]) & (size[one] * size[other] > 0)
    graph = coo_array((np.ones(int(smooth.sum())), (one[smooth], other[smooth])), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    label = np.where(size > 0, label, -1)
    numbers, first = np.unique(label, return_index=True)
    return [
        np.flatnonzero(label == n) for n, _ in sorted(zip(numbers, first, strict=True), key=lambda p: p[1]) if n >= 0
    ]


def _in_words(point: np.ndarray) -> str:
    return f"({', '.join(f'{value:.4g}' for value in point)})"
