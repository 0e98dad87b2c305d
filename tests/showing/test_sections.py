"""Planes through domains: which are shown, where their edges run, what is drawn between grid and edge."""

import numpy as np
import pytest

import anagram as ag
from anagram.showing.contours import contours, triangles
from anagram.showing.sections import Section, sections
from anagram.statement.domains.outline import signed_area
from solids import HalfBall
from tolerances import assert_close

LINE = np.linspace(-1, 1, 61)


def ring(x):
    radius = np.hypot(*x.T)
    return (radius <= 0.9) & (radius >= 0.4)


def test_contours_are_found_to_rounding_of_the_halving():
    outer, hole = sorted(contours(ring, LINE, LINE), key=signed_area, reverse=True)
    for loop, radius, turn in ((outer, 0.9, 1), (hole, 0.4, -1)):
        assert_close(np.hypot(*loop.T), np.full(len(loop), radius), 1e-7)
        assert_close(signed_area(loop), turn * np.pi * radius**2, 2e-3)


def test_a_set_that_touches_the_grid_and_one_of_two_parts_have_closed_contours():
    disk = ag.Disk()
    (loop,) = contours(disk.contains, LINE, LINE)
    assert_close(signed_area(loop), np.pi, 2e-3)
    two = contours(lambda x: np.abs(np.abs(x[:, 0]) - 0.5) + np.abs(x[:, 1]) <= 0.4, LINE, LINE)
    assert_close([signed_area(loop) for loop in two], [0.32, 0.32], 1e-2)


@pytest.mark.parametrize("count", [21, 61])
def test_triangles_of_a_ring_fit_together(count):
    line = np.linspace(-1, 1, count)
    nodes, cells = triangles(ring, line, line)
    edges = nodes[cells[:, 1:]] - nodes[cells[:, :1]]
    areas = np.linalg.det(edges) / 2
    assert areas.min() > 0
    assert_close(areas.sum(), np.pi * (0.81 - 0.16), 4 / count**2)
    pairs = np.sort(np.concatenate([cells[:, [0, 1]], cells[:, [1, 2]], cells[:, [0, 2]]]), axis=1)
    sides, counts = np.unique(pairs, axis=0, return_counts=True)
    assert counts.max() == 2
    assert len(nodes) - len(sides) + len(cells) == 0  # a hole


def test_sections_of_boxes_go_through_the_centre_with_time_across():
    (plane,) = sections(ag.Box(x=(0, 1), y=(0, 3), t=(0, 2)), 5)
    assert (plane.axes, plane.held, plane.edges) == (("t", "x"), {"y": 1.5}, [])
    assert plane.inside.all()


def test_sections_of_shapes_meet_them():
    planes = sections(ag.Box(t=(0, 1)) * ag.Disk((2, 0), 0.5), 21)
    assert [(p.axes, p.held) for p in planes] == [(("x", "y"), {"t": t}) for t in (0.0, 0.5, 1.0)]
    (loop,) = planes[0].edges
    assert_close(np.hypot(*(loop - [2, 0]).T), np.full(len(loop), 0.5))
    (plane,) = sections(HalfBall(), 41)
    height = plane.held["z"]
    assert 0 < height < 1
    (loop,) = plane.edges
    assert_close(np.hypot(*loop.T), np.full(len(loop), np.sqrt(1 - height**2)), 1e-6)


def test_a_plane_along_time_has_the_edge_of_a_product():
    plane = Section(ag.Box(t=(0, 2)) * ag.Disk(), ("t", "x"), {"y": 0.6}, 41)
    (loop,) = plane.edges
    assert_close(loop.max(axis=0), [2, 0.8], 1e-6)
    assert_close(loop.min(axis=0), [0, -0.8], 1e-6, scale=1)
    turned = Section(ag.Ellipse((0, 0), (2, 1)), ("y", "x"), {}, 21)
    assert_close(turned.edges[0].max(axis=0), [1, 2], 1e-3)


def test_pictures_go_on_outside_with_the_nearest_value_inside():
    (plane,) = sections(ag.Disk(), 21)
    values = plane.x[:, 0] + 10 * plane.x[:, 1]
    picture = plane.spread(values)
    assert np.isfinite(picture).all()
    assert_close(picture.ravel()[plane.inside], values)
    assert_close(picture[0, 0], -7.7)  # of (-0.7, -0.7)
