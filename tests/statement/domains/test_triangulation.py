"""Shapes as triangles and tetrahedra that fit together."""

import itertools
import math

import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains.triangulation import triangulate
from solids import HalfBall
from tolerances import assert_close


def volumes(nodes, cells):
    edges = nodes[cells[:, 1:]] - nodes[cells[:, :1]]
    return np.linalg.det(edges) / math.factorial(nodes.shape[1])


def sides(cells):
    """How many cells each side of a cell belongs to."""
    corners = cells.shape[1]
    every = [np.sort(cells[:, list(kept)], axis=1) for kept in itertools.combinations(range(corners), corners - 1)]
    return np.unique(np.concatenate(every), axis=0, return_counts=True)


@pytest.mark.parametrize(
    ("shape", "spacing"), [(ag.Disk(), 0.2), (ag.Ellipse((1, 0), (2, 0.5), 0.3), 0.2), (HalfBall(), 0.25)], ids=repr
)
def test_cells_fill_the_shape_and_fit_together(shape, spacing):
    whole = shape.measure
    gaps = []
    for finer in (1, 2):
        nodes, cells = triangulate(shape.charts(), spacing / finer)
        sizes = volumes(nodes, cells)
        assert sizes.min() > 0
        gaps.append(whole - sizes.sum())
        assert shape.contains(nodes).all()
        _, counts = sides(cells)
        assert set(counts) == {1, 2}  # of the boundary, and between two cells
    assert 3 < gaps[0] / gaps[1] < 5  # of second order: chords of curves
    on_the_edge = np.unique(sides(cells)[0][counts == 1])
    distance = np.min([p.distance(nodes[on_the_edge]) for p in shape.boundary().parts], axis=0)
    assert_close(distance, np.zeros(len(distance)), 1e-6, scale=1)


def test_too_many_cells_are_refused():
    with pytest.raises(ag.ProblemError, match="too many"):
        triangulate(ag.Disk().charts(), 1e-6)
