"""Shapes as triangles or tetrahedra: the grids of their charts, cut and joined where they meet."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.chart import Chart

MOST_CELLS = 20_000_000
MERGED = 1e-9  # of the size of a shape: nodes nearer to each other are one


class Triangulation(NamedTuple):
    """Nodes (n, d) and the numbers of the nodes of each cell (m, k + 1): triangles for k = 2, tetrahedra for k = 3."""

    nodes: np.ndarray
    cells: np.ndarray


def triangulate(charts: Sequence[Chart], spacing: float) -> Triangulation:
    """Cells of about the given spacing, from even grids on all charts.

    All charts have as many nodes along a parameter: where two of them meet along an edge on which their parameters
    run alike, their nodes are the same.
    """
    dimension = len(charts[0].intervals)
    longest = np.max([chart.lengths for chart in charts], axis=0)
    counts = [max(1, math.ceil(length / spacing)) for length in longest]
    total = len(charts) * math.factorial(dimension) * math.prod(counts)
    if total > MOST_CELLS:
        raise ProblemError(f"{total:.2g} cells are too many: take fewer points for the grid")
    unit = np.stack(np.meshgrid(*(np.linspace(0, 1, n + 1) for n in counts), indexing="ij"), axis=-1)
    places = np.concatenate([chart(unit.reshape(-1, dimension)).x for chart in charts])
    local = _cut_cubes(counts)
    cells = np.concatenate([local + k * math.prod(n + 1 for n in counts) for k in range(len(charts))])
    nodes, number = _merged(places)
    cells = number[cells]
    # Where a chart shrinks to a point, as in the middle of a disk, cells lose a side.
    whole = np.all(np.diff(np.sort(cells, axis=1), axis=1) > 0, axis=1)
    return Triangulation(nodes, _oriented(nodes, cells[whole]))


def _cut_cubes(counts: Sequence[int]) -> np.ndarray:
    """The cells of a grid, each cut into k! simplices along its diagonal; neighbours are cut alike."""
    dimension = len(counts)
    index = np.arange(math.prod(n + 1 for n in counts)).reshape([n + 1 for n in counts])
    found = []
    for order in itertools.permutations(range(dimension)):
        corner, corners = [0] * dimension, []
        corners.append(tuple(corner))
        for axis in order:
            corner[axis] = 1
            corners.append(tuple(corner))
        shifted = [index[tuple(slice(c, c + n) for c, n in zip(at, counts, strict=True))] for at in corners]
        found.append(np.stack([part.ravel() for part in shifted], axis=1))
    return np.concatenate(found)


def _merged(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places without those that are there twice, and the number that each one has now."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree

    pairs = KDTree(places).query_pairs(MERGED * float(np.max(np.ptp(places, axis=0))), output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(places), len(places)))
    _, group = connected_components(links, directed=False)
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    return places[first], number


def _oriented(nodes: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Cells with positive volume, without those that are flat."""
    edges = nodes[cells[:, 1:]] - nodes[cells[:, :1]]
    volume = np.linalg.det(edges)
    cells = cells.copy()
    cells[volume < 0] = cells[volume < 0][:, [1, 0, *range(2, cells.shape[1])]]
    return cells[np.abs(volume) > 1e-14 * np.abs(volume).max()]
