"""Outlines: joined to loops, asked what lies inside, written down and read again."""

import json

import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains.outline import closed_loops, inside_loops, signed_area, straightened
from anagram.statement.domains.written import MOST, domain_from_json, domain_to_json, look_the_same
from solids import HalfBall
from tolerances import assert_close

TILTED = ag.Ellipse((1, -2), (2, 0.5), 0.7)
EVOLVING = ag.Box(t=(0, 1)) * TILTED


def arc(radius, begin, end, points=101):
    angle = np.linspace(begin, end, points)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def written_and_read(domain):
    return domain_from_json(json.loads(json.dumps(domain_to_json(domain))))


def test_pieces_in_any_order_and_direction_become_loops_around_the_set():
    outer = [arc(2, 0, 1), arc(2, 3, 1)[:], arc(2, 3, 2 * np.pi)]
    hole = [arc(1, 0, np.pi), arc(1, 2 * np.pi, np.pi)]
    island = [arc(0.5, 0, -2 * np.pi)]
    pieces = [("", piece) for piece in (outer[2], hole[1], island[0], outer[0], hole[0], outer[1])]
    areas = sorted(signed_area(loop) for loop in closed_loops(pieces))
    assert_close(areas, [-np.pi, np.pi / 4, 4 * np.pi], 2e-3)


def test_points_inside_of_loops_are_those_of_the_shape():
    loops = closed_loops([("", arc(2, 0, 2 * np.pi, 2001)), ("", arc(1, 0, 2 * np.pi, 2001))])
    x = np.random.default_rng(0).uniform(-2.2, 2.2, (4000, 2))
    radius = np.hypot(*x.T)
    clear = np.minimum(np.abs(radius - 1), np.abs(radius - 2)) > 1e-5
    assert np.array_equal(inside_loops(loops, x)[clear], ((radius > 1) & (radius < 2))[clear])
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    edge = np.array([[0.5, 0.0], [1.0, 0.3], [0.0, 0.0], [1.0, 1.0], [1.0 + 1e-10, 0.5], [1.1, 0.5]])
    assert inside_loops([square], edge, 1e-9).tolist() == [True] * 5 + [False]


def test_straight_pieces_are_written_with_few_points():
    line = np.stack([np.linspace(0, 3, 50), np.linspace(1, 7, 50)], axis=1)
    assert_close(straightened(line), [[0, 1], [3, 7]])
    assert len(straightened(arc(1, 0, 3))) == 101


@pytest.mark.parametrize("domain", [TILTED, EVOLVING], ids=["ellipse", "evolving"])
def test_a_shape_that_is_written_down_is_known_by_its_outline(domain):
    read = written_and_read(domain)
    assert (read.axes, read.intervals, read.space, repr(read)) == (
        domain.axes, domain.intervals, domain.space, repr(domain)
    )  # fmt: skip
    assert not read.is_box
    assert look_the_same(read, domain)
    x = np.random.default_rng(1).uniform(domain.low - 0.1, domain.high + 0.1, (3000, domain.dimension))
    assert np.mean(read.contains(x) != domain.contains(x)) < 2e-3
    on_the_edge = domain.boundary().draw(ag.Uniform(500), np.random.default_rng(2)).x
    assert read.contains(on_the_edge).all()  # between the points of the outline, too
    for asked in (lambda: read.draw(ag.Uniform(3), np.random.default_rng(0)), read.boundary, lambda: read.measure):
        with pytest.raises(ag.ProblemError, match=r"Ellipse.*its outline was read from a file and nothing else"):
            asked()


def test_of_a_solid_its_box_is_known_and_its_name():
    read = written_and_read(ag.Box(t=(0, 2)) * HalfBall())
    assert (read.space, read.outline(), repr(read)) == (("x", "y", "z"), [], "Box(t=(0, 2)) * HalfBall()")
    assert read.contains(np.array([[1, 0.9, 0.9, 0.9], [1, 0, 0, -0.1]])).tolist() == [True, False]


def test_boxes_are_written_as_ever_and_keep_what_is_periodic():
    box = ag.Box(t=(0, 1), x=ag.periodic(-1, 1))
    assert written_and_read(box).intervals == box.intervals
    assert domain_to_json(ag.Box(x=(0, 2))) == {"axes": {"x": [0.0, 2.0]}}


def test_other_shapes_in_the_same_box_are_told_apart():
    other = ag.Disk((0, 0), 1)
    assert look_the_same(other, ag.Disk())
    assert not look_the_same(ag.Ellipse((0, 0), (1, 1 + 1e-3)), other)
    assert not look_the_same(ag.Box(x=(-1, 1), y=(-1, 1)), other)


AXES = {"x": [-1, 1], "y": [-1, 1]}
GOOD = {"axes": ["x", "y"], "name": "Disk()", "outline": [["disk", [0, 0, 1, 0, 1, 1]]]}
DAMAGED = {
    "one axis": ({"axes": ["x"]}, "two or three of the axes"),
    "an axis twice": ({"axes": ["x", "x"]}, "two or three of the axes"),
    "other axes": ({"axes": ["x", "w"]}, "two or three of the axes"),
    "no name": ({"name": ""}, "no line of text"),
    "a name of many lines": ({"name": "a\nb"}, "no line of text"),
    "a name that is a number": ({"name": 3}, "no line of text"),
    "a long name": ({"name": "a" * 1000}, "no line of text"),
    "no list": ({"outline": "disk"}, "list of pieces"),
    "half a point": ({"outline": [["disk", [0, 0, 1, 0, 1]]]}, "no list of points"),
    "one point": ({"outline": [["disk", [0, 0]]]}, "no list of points"),
    "texts": ({"outline": [["disk", ["0", 0, 1, 1]]]}, "no list of points"),
    "not finite": ({"outline": [["disk", [0, 0, float("nan"), 1]]]}, "outside of the axes"),
    "elsewhere": ({"outline": [["disk", [0, 0, 5, 1]]]}, "outside of the axes"),
    "a part without a name": ({"outline": [[None, [0, 0, 1, 1]]]}, "has no name"),
    "too many points": ({"outline": [["disk", [0] * (2 * MOST + 2)]]}, "more than"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_what_no_shape_is_written_as_is_refused(case):
    domain_from_json({"axes": AXES, "shape": GOOD})
    changes, words = DAMAGED[case]
    with pytest.raises(ag.ProblemError, match=words):
        domain_from_json({"axes": AXES, "shape": GOOD | changes})
