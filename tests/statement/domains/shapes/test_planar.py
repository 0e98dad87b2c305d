"""Every shape in the plane: its charts fill it, its normals point out of it, its points are found."""

import numpy as np
import pytest

import anagram as ag
from statement.domains.shapes.planes import SHAPES, around, gear, inside, moment_by_green, square, star
from tolerances import ACCUMULATED, assert_close


@pytest.fixture(scope="module", params=list(SHAPES))
def shape(request):
    return SHAPES[request.param]()


def test_charts_fill_the_shape(shape):
    """Integrals over charts are those of Green's theorem, which knows the boundary alone."""
    x, weight = inside(shape, 32)
    assert_close(weight.sum(), moment_by_green(shape, 0, 0), ACCUMULATED)
    for n, m in ((1, 0), (0, 1), (2, 1), (0, 4)):
        assert_close(
            weight @ (x[:, 0] ** n * x[:, 1] ** m),
            moment_by_green(shape, n, m),
            ACCUMULATED,
            scale=np.abs(x).max() ** 6,
        )


def test_normals_are_unit_and_outward(shape):
    x, normal, weight = around(shape)
    assert_close(np.linalg.norm(normal, axis=1), np.ones(len(x)))
    assert_close(weight @ normal, np.zeros(2), ACCUMULATED, scale=weight.sum())
    step = 1e-5 * shape.edge.size
    # A point beside a corner or in a cusp may be on either side.
    assert np.mean(shape.contains(x - step * normal)) > 0.9
    assert np.mean(shape.contains(x + step * normal)) < 0.1


def test_rules_integrate(shape):
    """What a user draws: weights of means, as many points on a patch as it is large."""
    cloud = shape.draw(ag.GaussLegendre(30), np.random.default_rng(0))
    assert len(cloud.x) < 3 * 30**2
    middle = np.array([moment_by_green(shape, 1, 0), moment_by_green(shape, 0, 1)]) / shape.measure
    assert_close(cloud.weight @ cloud.x, middle, 1e-4, scale=shape.edge.size)


def test_points_of_charts_lie_inside_and_in_the_box_around(shape):
    x, _ = inside(shape)
    assert shape.contains(x).all()
    low, high = shape.bounds
    everything = np.concatenate([x, around(shape)[0]])
    assert np.all(everything >= low - 1e-12)
    assert np.all(everything <= high + 1e-12)
    assert shape.contains(around(shape)[0]).all()
    shape.refuse_outside(everything, "points")


def test_containment_is_that_of_a_fine_polygon(shape):
    """Against the polylines of pictures, by the angle that they turn around a point."""
    rng = np.random.default_rng(1)
    low, high = shape.bounds
    x = rng.uniform(low - 0.1, high + 0.1, (300, 2))
    turns, nearest = np.zeros(len(x)), np.full(len(x), np.inf)
    for _, line in shape.outline(3000):
        z = (line[:, 0] + 1j * line[:, 1]) - (x[:, :1] + 1j * x[:, 1:])
        turns += np.angle(z[:, 1:] / z[:, :-1]).sum(axis=1)
        nearest = np.minimum(nearest, np.abs(z).min(axis=1)) if len(line) > 2 else nearest
    sure = nearest > 1e-4
    assert np.array_equal(shape.contains(x)[sure], (turns > np.pi)[sure])


def test_few_patches(shape):
    assert len(shape.patches) <= 2 * max(4, sum(len(loop) for loop in shape.loops()))


@pytest.mark.parametrize("name", ["disk", "ellipse", "star", "annulus", "off centre", "frame of a star", "thin"])
def test_smooth_loops_need_one_patch(name):
    assert len(SHAPES[name]().patches) == 1


def test_patches_of_polygons_are_mostly_pairs_of_triangles():
    assert len(ag.Polygon(gear(50)).patches) <= 30
    assert len(square().as_shape().patches) == 1


def test_nan_is_nowhere():
    shape = SHAPES["plate"]()
    x = np.array([[np.nan, 0.5], [np.inf, 0.5], [0.9, 0.9]])
    assert shape.contains(x).tolist() == [False, False, True]
    assert shape.contains(np.zeros((0, 2))).tolist() == []


def test_outline_follows_parts():
    plate = square(-1, 1) - ag.Disk(radius=0.4, name="hole")
    outline = plate.outline(100)
    assert [name for name, _ in outline] == ["y=-1", "x=1", "y=1", "x=-1", "hole"]
    assert_close(np.linalg.norm(outline[-1][1], axis=1), np.full(len(outline[-1][1]), 0.4))
    assert len(outline[-1][1]) > 90
    assert outline[0][1].tolist() == [[-1, -1], [1, -1]]


def test_corners_of_an_l():
    shape = square(0, 2) - ag.Box(x=(1, 3), y=(1, 3))
    found = {tuple(np.round(c.point, 12).tolist()): c.angle / np.pi for c in shape.corners()}
    assert found.keys() == {(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)}
    assert_close(found.pop((1, 1)), 1.5)
    assert_close(list(found.values()), [0.5] * 5)
    assert {c.parts for c in shape.corners() if c.angle > np.pi} == {("y=1", "x=1")}


def test_corners_where_disks_meet():
    corners = (ag.Disk(name="a") | ag.Disk((1, 0), name="b")).corners()
    assert_close([c.angle for c in corners], [4 * np.pi / 3] * 2)
    assert {c.parts for c in corners} == {("a", "b"), ("b", "a")}
    assert star().corners() == []
    assert_close([c.angle for c in SHAPES["cusp"]().corners()], [0.0, 0.0], 1e-12, scale=1.0)
    assert_close(sorted(c.angle for c in SHAPES["inscribed"]().corners()), [0.0] * 8 + [np.pi / 2] * 4)
    assert ag.Disk().corners() == []
    assert len((square() | ag.Box(x=(1, 2), y=(0, 1))).corners()) == 4  # straight joints are none


@pytest.mark.parametrize("name", ["cusp", "inscribed", "moon", "gear"])
def test_random_points_are_spread_evenly(name):
    shape = SHAPES[name]()
    x = shape.draw(ag.Sobol(4000), np.random.default_rng(0)).x
    middle = np.array([moment_by_green(shape, 1, 0), moment_by_green(shape, 0, 1)]) / shape.measure
    assert_close(x.mean(axis=0), middle, 0.01, scale=shape.edge.size)


@pytest.mark.parametrize("rule", [ag.Sobol(400), ag.Uniform(400), ag.LatinHypercube(400), ag.Grid(20), ag.Cells(400)])
def test_all_rules_have_points_everywhere(rule):
    shape = SHAPES["two holes"]()
    cloud = shape.draw(rule, np.random.default_rng(0))
    assert shape.contains(cloud.x).all()
    centres = [np.abs(cloud.x - corner).max(axis=1) < 0.25 for corner in ((0, 0), (1, 0), (0, 1), (1, 1))]
    assert all(here.sum() >= 4 for here in centres)


def test_times_a_box():
    domain = ag.Box(t=(0, 2)) * SHAPES["plate"]()
    assert_close(domain.measure, 2 * (4 - np.pi * 0.16))
    assert domain.boundary("box.0").measure == pytest.approx(4)
    assert domain.boundary("box").measure == pytest.approx(16)
    x = domain.boundary("disk").draw(ag.GaussLegendre(10), np.random.default_rng(0)).x
    assert_close(np.hypot(x[:, 1], x[:, 2]), np.full(len(x), 0.4))


def test_a_predicate_cuts_curves_where_it_changes():
    plate = SHAPES["plate"]()
    assert_close(plate.boundary(lambda x, y: x > 0).measure, 4 + 0.4 * np.pi, 1e-11)
    with pytest.raises(ag.ProblemError, match="is true nowhere"):
        plate.boundary(lambda x, y: x > 5)


@pytest.mark.parametrize("name", ["annulus", "two holes"])
def test_a_polynomial_is_found_by_its_equation(name):
    """The boundary and its normals are in the right places: a cubic solution comes out to rounding."""
    shape = SHAPES[name]()
    first, *others = shape.boundaries
    problem = ag.Problem(
        shape,
        equation=ag.Condition(lambda u: ag.laplacian(u), equals=lambda x, y: 2 * y + 6 * x),
        here=ag.Condition(lambda u: u, on=shape.boundary(first), equals=lambda x, y: x**2 * y + x**3),
        there=ag.Condition(
            lambda u: u.d("x") + u.d("y"),
            on=shape.boundary(*others) if others else shape.boundary(),
            equals=lambda x, y: 2 * x * y + 3 * x**2 + x**2,
        ),
        solution=lambda x, y: x**2 * y + x**3,
    )
    solution = ag.solve(problem, ag.Polynomial(4), points=ag.GaussLegendre(8), steps=5, progress=False)
    x = shape.draw(ag.Uniform(50), np.random.default_rng(0)).x
    assert_close(solution(x=x[:, 0], y=x[:, 1]), x[:, 0] ** 2 * x[:, 1] + x[:, 0] ** 3, 1e-8)
