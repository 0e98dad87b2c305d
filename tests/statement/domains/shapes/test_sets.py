"""Unions, intersections and differences: areas by inclusion and exclusion, points by logic, names kept."""

import numpy as np
import pytest

import anagram as ag
from statement.domains.shapes.planes import around, inside, moment_by_green, random_shape, square, star
from tolerances import ACCUMULATED, ROUNDING, assert_close

LOGIC = {"|": lambda a, b: a | b, "&": lambda a, b: a & b, "-": lambda a, b: a & ~b}


def combined(a, how, b):
    return a | b if how == "|" else a & b if how == "&" else a - b


def area(shape):
    return sum(piece.curve.area for loop in shape.loops() for piece in loop)


def area_or_none(a, how, b):
    try:
        return area(combined(a, how, b))
    except ag.ProblemError as error:
        if "is empty" not in str(error):
            raise
        return 0.0


@pytest.mark.parametrize("seed", range(16))
def test_random_sets(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.8, 1.8, (1000, 2))
    shape = random_shape(rng)
    expected = shape.contains(x)
    for how in rng.choice(list("|&-|-"), 3):
        other = random_shape(rng)
        assert_close(area_or_none(shape, "|", other) + area_or_none(shape, "&", other), area(shape) + area(other))
        assert_close(area_or_none(shape, "-", other) + area_or_none(shape, "&", other), area(shape))
        new = LOGIC[how](expected, other.contains(x))
        if new.any():
            shape, expected = combined(shape, how, other), new
            assert np.array_equal(shape.contains(x), expected)
    y, weight = inside(shape, 32)
    for n, m in ((0, 0), (1, 2)):
        assert_close(weight @ (y[:, 0] ** n * y[:, 1] ** m), moment_by_green(shape, n, m), 1e-6, scale=1.0)
    _, normal, weight = around(shape)
    assert_close(weight @ normal, np.zeros(2), ACCUMULATED, scale=weight.sum())


CASES = {
    "crossing": (ag.Disk((0, 0), 0.5), 1 + 3 * np.pi / 16, np.pi / 16),
    "touching from inside": (ag.Disk((0.5, 0.5), 0.5), 1, np.pi / 4),
    "touching from outside": (ag.Disk((1.5, 0.5), 0.5), 1 + np.pi / 4, 0),
    "side by side": (ag.Box(x=(1, 2), y=(0, 1)), 2, 0),
    "side by side, shifted": (ag.Box(x=(1, 2), y=(0.5, 2)), 2.5, 0),
    "touching at a corner": (ag.Box(x=(1, 2), y=(1, 2)), 2, 0),
    "overlapping": (ag.Box(x=(0.5, 2), y=(0.5, 2)), 3, 0.25),
    "in a corner": (ag.Box(x=(0, 0.5), y=(0, 0.5)), 1, 0.25),
    "along an edge": (ag.Box(x=(0.25, 0.75), y=(0, 0.5)), 1, 0.25),
    "the same": (square(), 1, 1),
    "around": (ag.Disk((0.5, 0.5), 5), 25 * np.pi, 1),
    "within": (ag.Disk((0.5, 0.5), 0.25), 1, np.pi / 16),
    "apart": (ag.Disk((5, 5), 1), 1 + np.pi, 0),
    "through corners": (ag.Polygon([(0, 0), (1, 1), (-1, 1)]), 1.5, 0.5),
    "through all corners": (ag.Disk((0.5, 0.5), np.sqrt(0.5)), np.pi / 2, 1),
}


@pytest.mark.parametrize("case", list(CASES))
def test_known_areas(case):
    other, union, common = CASES[case]
    shape = square()
    assert_close(area_or_none(shape, "|", other), union)
    assert_close(area_or_none(shape, "&", other), common, scale=1.0)
    assert_close(area_or_none(shape, "-", other), 1 - common, scale=1.0)
    if common < 1:
        assert_close((shape - other).measure, 1 - common, ROUNDING)
    assert_close((shape | other).measure, union, ROUNDING)


def test_a_shared_edge_is_gone():
    union = square() | ag.Box(x=(1, 2), y=(0, 1))
    assert_close(union.boundary().measure, 6)
    assert_close(union.boundary("y=0").measure, 2)
    assert "x=1" not in union.boundaries
    assert union.contains(np.array([[1.0, 0.5]])).all()


def test_the_same_curves_run_together():
    disk, wave = ag.Disk(name="a"), star()
    assert len((disk | ag.Disk(name="b")).loops()) == 1
    assert_close(area(wave & star()), area(wave))
    half = disk - ag.Box(x=(-2, 2), y=(-2, 0))
    assert_close(area(half | disk), np.pi)
    assert_close(area(disk - half), np.pi / 2)
    assert_close(area((disk - half) | half), np.pi)


def test_names_survive():
    plate = ag.Polygon([(0, 0), (2, 0), (2, 1), (0, 1)], name="frame") - ag.Disk((1, 0.5), 0.2, name="hole")
    assert list(plate.boundaries) == ["frame", "hole"]
    assert_close(plate.boundary("frame").measure, 6)
    assert_close(plate.boundary("hole").measure, 0.4 * np.pi)
    assert_close(plate.boundary("frame.0").measure, 2)
    assert_close(plate.boundary("frame.1", "frame.3").measure, 2)
    cut = plate - ag.Disk((1, 0), 0.25, name="bite")
    assert_close(cut.boundary("frame.0").measure, 1.5)  # the edge has two pieces now, and is still the first one
    assert_close(cut.boundary("bite").measure, 0.25 * np.pi)
    assert_close(cut.boundary("frame").measure, 5.5)
    with pytest.raises(ag.ProblemError, match=r"has no part 'lid': its parts are 'frame', 'bite', 'hole', 'frame\.0'"):
        cut.boundary("lid")


def test_order_of_boxes_and_shapes_does_not_matter_to_python():
    disk = ag.Disk((0.5, 0.5), 0.25)
    assert_close((square() - disk).measure, 1 - np.pi / 16)
    assert_close((square() | disk).measure, 1)
    assert_close((disk & square()).measure, np.pi / 16)
    assert_close((disk | square()).measure, 1)
    with pytest.raises(ag.ProblemError, match="is empty"):
        disk - square()


def test_regions_are_still_joined_by_bars():
    plate = square() - ag.Disk((0.5, 0.5), 0.25)
    assert_close((plate.boundary("x=0") | plate.boundary("disk")).measure, 1 + np.pi / 2)
    assert_close((ag.Box(x=(0, 1)) | ag.Box(x=(2, 3))).measure, 2)
    box = ag.Box(t=(0, 1), x=(0, 1))
    assert_close((box.face(t=0) | box.face(x=0)).measure, 2)


def test_printed_as_it_is_written():
    shape = square() - (ag.Disk() | ag.Disk((1, 0)))
    disks = "Disk(center=(0, 0), radius=1) | Disk(center=(1, 0), radius=1)"
    assert repr(shape) == f"Polygon([(0, 0), (1, 0), (1, 1), (0, 1)]) - ({disks})"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ag.Disk() & ag.Disk((5, 0)), r"the intersection Disk.* & Disk.* is empty"),
        (lambda: ag.Disk() - ag.Disk(radius=2), "the difference .* is empty"),
        (lambda: ag.Disk() | ag.Disk(axes=("x", "z")), "both need the same axes"),
        (lambda: ag.Disk() - ag.Box(x=(0, 1)), "is no rectangle"),
        (lambda: ag.Box(x=(0, 1), y=(0, 1), z=(0, 1)) - ag.Ball(), r"trimesh.creation.box.*ag.extrude or ag.revolve"),
        (lambda: ag.Box(x=(0, 1), y=(0, 1), z=(0, 1)) & ag.Ball(), "needs two closed surface meshes"),
        (lambda: ag.Disk() - ag.Box(x=(0, 1), y=ag.periodic(0, 1)), "is no rectangle"),
        (lambda: ag.Disk() | ag.Disk().boundary(), "sets of shapes in the plane are made of such shapes alone"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(ag.ProblemError, match=message):
        make()


def test_far_from_the_origin_and_small():
    for size, shift in ((1e-6, 0.0), (1.0, 1e5), (1e6, 0.0)):
        a = ag.Disk((shift, shift), size)
        b = ag.Disk((shift + size, shift), size)
        lens = (2 * np.pi / 3 - np.sqrt(3) / 2) * size**2
        assert_close((a & b).measure, lens, 1e-8 if shift else ACCUMULATED)
