"""Shapes in space: their integrals, normals and names."""

import itertools

import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains import Disk, Ellipse, Kronecker
from anagram.statement.domains.rules import Fejer
from anagram.statement.domains.shape import Shape
from anagram.statement.domains.shapes.curves import Arc, Edge, Fan, Line
from tolerances import ACCUMULATED, assert_close


class HalfDisk(Shape):
    """A planar shape with a straight edge on the axis x = 0."""

    _arc = Arc(np.zeros(2), np.eye(2), -np.pi / 2, np.pi / 2)
    bounds = (np.array([0.0, -1.0]), np.array([1.0, 1.0]))

    def charts(self):
        return [Fan(np.zeros(2), self._arc)]

    def boundary_charts(self):
        return {"arc": [Edge(self._arc)], "axis": [Edge(Line(np.array([0.0, 1]), np.array([0.0, -1])))]}

    def contains(self, x):
        return (x[:, 0] >= -1e-12) & (np.linalg.norm(x, axis=1) <= 1 + 1e-9)


SOLIDS = {
    "revolved half disk": ag.revolve(HalfDisk(("x", "y"))),
    "extruded half disk": ag.extrude(HalfDisk(("x", "y")), z=(-1, 0.5)),
    "ball": ag.Ball((0.3, -0.2, 1.0), 0.7),
    "ellipsoid": ag.Ellipsoid((1.0, 0.0, -1.0), (1.2, 1.0, 0.8)),
    "cylinder": ag.Cylinder((0.1, 0.2, -0.5), 0.6, 1.5),
    "elliptic cylinder": ag.extrude(Ellipse((0.5, 0), (1, 0.6), 0.4), z=(1, 2)),
    "torus": ag.revolve(Disk((2, 0.3), 0.5)),
    "torus about x": ag.revolve(Disk((2, 0.3), 0.5), axis="x"),
}
VOLUMES = {
    "revolved half disk": 4 / 3 * np.pi,
    "extruded half disk": 0.75 * np.pi,
    "ball": 4 / 3 * np.pi * 0.7**3,
    "ellipsoid": 4 / 3 * np.pi * 1.2 * 0.8,
    "cylinder": np.pi * 0.36 * 1.5,
    "elliptic cylinder": np.pi * 0.6,
    "torus": 2 * np.pi**2 * 2 * 0.25,
    "torus about x": 2 * np.pi**2 * 2 * 0.25,
}
POWERS = [p for p in itertools.product(range(4), repeat=3) if sum(p) <= 4]


@pytest.fixture(params=SOLIDS, scope="module")
def name(request):
    return request.param


def powers(x, p):
    return np.prod(x ** np.array(p), axis=1)


def divergence_gaps(solid, rule=ag.GaussLegendre):
    """∫ ∂_k xᵖ dV − ∫ xᵖ n_k dS, for all powers and axes."""
    rng = np.random.default_rng(0)
    inside, boundary = solid.draw(rule(14), rng), solid.boundary().draw(rule(20), rng)
    for p, k in itertools.product(POWERS, range(3)):
        lowered = np.array(p) - np.eye(3, dtype=int)[k]
        slope = p[k] * powers(inside.x, np.maximum(lowered, 0))
        yield (
            solid.measure * (inside.weight @ slope)
            - solid.boundary().measure * (boundary.weight @ (powers(boundary.x, p) * boundary.normal[:, k]))
        )


def test_volumes(name):
    assert_close(SOLIDS[name].measure, VOLUMES[name])


@pytest.mark.parametrize("rule", [ag.GaussLegendre, Fejer])
def test_divergence_theorem(name, rule):
    solid = SOLIDS[name]
    scale = solid.measure * float(np.max(np.abs(solid.bounds))) ** 4
    assert_close(np.array(list(divergence_gaps(solid, rule))), np.zeros(3 * len(POWERS)), ACCUMULATED, scale=scale)


def test_moments_of_a_ball():
    cloud = ag.Ball((0, 0, 0), 2.0).draw(ag.GaussLegendre(8), np.random.default_rng(0))
    assert_close(cloud.weight @ cloud.x**2, np.full(3, 4 / 5))  # ∫x² / |B| = R²/5
    assert_close(cloud.weight @ cloud.x**4, np.full(3, 3 / 35 * 16))


def test_random_points_are_evenly_spread(name):
    solid = SOLIDS[name]
    exact = solid.draw(ag.GaussLegendre(16), np.random.default_rng(0))
    drawn = solid.draw(Kronecker(4000), np.random.default_rng(1))
    assert len(drawn.x) == 4000
    assert np.all(solid.contains(drawn.x))
    spread = np.sqrt(exact.weight @ (exact.x - exact.weight @ exact.x) ** 2)
    # Ten times closer than independent points would be at 1.6 %, or nearly.
    assert np.max(np.abs(drawn.weight @ drawn.x - exact.weight @ exact.x) / spread) < 0.01


def test_boundaries_lie_on_the_boundary(name):
    solid = SOLIDS[name]
    cloud = solid.boundary().draw(ag.Sobol(200), np.random.default_rng(0))
    assert_close(np.linalg.norm(cloud.normal, axis=1), np.ones(len(cloud.x)))
    step = 1e-5 * np.max(solid.lengths)
    assert np.all(solid.contains(cloud.x))
    assert np.all(solid.contains(cloud.x - step * cloud.normal))
    assert not np.any(solid.contains(cloud.x + step * cloud.normal))
    assert np.all((cloud.x >= solid.low - 1e-12) & (cloud.x <= solid.high + 1e-12))


def test_normals_at_given_points(name):
    solid = SOLIDS[name]
    cloud = solid.boundary().draw(ag.Uniform(60), np.random.default_rng(3))
    assert_close(solid.boundary().normal_at(cloud.x), cloud.normal, 1e-6)
    chosen = ag.Chosen(**dict(zip(solid.axes, cloud.x.T, strict=True)))
    assert len(solid.boundary().draw(chosen, np.random.default_rng(0)).x) == len(cloud.x)


def test_names_of_parts():
    assert set(ag.Ball().boundaries) == {"sphere"}
    assert set(ag.Cylinder().boundaries) == {"side", "bottom", "top"}
    pipe = ag.extrude(Disk(name="wall", axes=("y", "z")), names=("inlet", "outlet"), x=(0, 3))
    assert pipe.axes == ("y", "z", "x")
    assert set(pipe.boundaries) == {"wall", "inlet", "outlet"}
    inlet = pipe.boundary("inlet").draw(ag.GaussLegendre(6), np.random.default_rng(0))
    assert_close(inlet.normal, np.tile([0.0, 0.0, -1.0], (len(inlet.x), 1)))
    assert_close(pipe.boundary("wall").measure, 6 * np.pi)
    assert_close(ag.revolve(Disk((2, 0), 0.5)).boundary("disk").measure, 4 * np.pi**2)


def test_an_edge_on_the_axis_vanishes():
    assert set(SOLIDS["revolved half disk"].boundaries) == {"arc"}
    assert set(SOLIDS["extruded half disk"].boundaries) == {"arc", "axis", "bottom", "top"}


@pytest.mark.parametrize("direction", [(0, 0, 1), (1, 0, 0), (0.6, 0.0, -0.8), (0.48, 0.6, 0.64)])
def test_parts_by_predicate(direction):
    """Caps of a sphere, cut off by planes: areas, centres, and normals."""
    ball, rng = ag.Ball(), np.random.default_rng(0)
    a, b, c = direction
    cap = ball.boundary(lambda x, y, z: a * x + b * y + c * z > 0.3)
    rest = ball.boundary(lambda x, y, z: a * x + b * y + c * z <= 0.3)
    assert_close(cap.measure, 2 * np.pi * 0.7, 5e-3)
    assert_close(cap.measure + rest.measure, 4 * np.pi, 5e-3)
    for rule in (ag.Sobol(300), ag.GaussLegendre(20)):
        cloud = cap.draw(rule, rng)
        assert np.all(cloud.x @ direction > 0.3 - 1e-9)
        assert_close(cloud.normal, cloud.x)
        assert_close(cloud.weight @ cloud.x, 0.65 * np.array(direction), 0.05)  # heights are uniform on (0.3, 1)
    sphere = cap | rest
    assert_close(sphere.normal_at(cloud.x), cloud.x, 1e-9)
    chosen = ag.Chosen(**dict(zip("xyz", np.concatenate([cloud.x, -cloud.x]).T, strict=True)))
    assert len(cap.draw(chosen, rng).x) == len(cloud.x)


def test_predicates_with_an_if_are_asked_point_by_point():
    cylinder = ag.Cylinder()
    assert_close(cylinder.boundary(lambda x, z: x > 0 and z > 0.5).measure, np.pi, 5e-3)
    assert_close(cylinder.boundary(lambda x, z: bool(z > 0.5)).measure, 2 * np.pi, 5e-3)


def test_a_part_of_the_side_of_a_torus():
    torus = SOLIDS["torus"]
    assert_close(torus.boundary(lambda z: z > 0.3).measure, torus.boundary().measure / 2, 1e-9)
    assert_close(torus.boundary(lambda x: x > 0).measure, torus.boundary().measure / 2, 1e-9)
    assert torus.boundary(lambda x: x > -9).parts == torus.boundary().parts
    with pytest.raises(ag.ProblemError, match="nowhere"):
        torus.boundary(lambda x: x > 9)


def test_times_a_box():
    domain = ag.Box(t=(0, 2)) * ag.Ball()
    assert domain.axes == ("t", "x", "y", "z")
    assert_close(domain.measure, 8 / 3 * np.pi)
    start = domain.face(t=0).draw(ag.Sobol(50), np.random.default_rng(0))
    assert np.all(start.x[:, 0] == 0)
    wall = domain.boundary("sphere").draw(ag.Sobol(50), np.random.default_rng(0))
    assert_close(np.linalg.norm(wall.x[:, 1:], axis=1), np.ones(50))
    assert_close(wall.normal[:, 1:], wall.x[:, 1:])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ag.Ball((0, 0)), "three finite coordinates"),
        (lambda: ag.Ball("abc"), "three finite coordinates"),
        (lambda: ag.Ball(radius=-1), "positive number"),
        (lambda: ag.Ball(radius=np.inf), "positive number"),
        (lambda: ag.Ball(axes=("x", "y")), "3 different names"),
        (lambda: ag.Ellipsoid((0, 0, 0), (1, 2)), "half-axes"),
        (lambda: ag.Cylinder(height=0), "positive number"),
        (lambda: ag.Cylinder(radius="a"), "positive number"),
        (lambda: ag.Cylinder(names=("a", "b")), "three names"),
        (lambda: ag.Cylinder(axes=("x", "y")), "3 different names"),
        (lambda: ag.extrude(ag.Ball(), w=(0, 1)), "in the plane"),
        (lambda: ag.extrude(Disk()), "one axis"),
        (lambda: ag.extrude(Disk(), z=(1, 0)), "lower first"),
        (lambda: ag.extrude(Disk(), z=ag.periodic(0, 1)), "two ends"),
        (lambda: ag.extrude(Disk(), x=(0, 1)), "different names"),
        (lambda: ag.extrude(Disk(name="top"), z=(0, 1)), "names of their own"),
        (lambda: ag.revolve(Disk()), "crosses the axis"),
        (lambda: ag.revolve(ag.Ball()), "in the plane"),
        (lambda: ag.revolve(Disk((2, 0)), axis="w"), "one of the axes"),
        (lambda: ag.Ball() - ag.Ball(), "surface meshes"),
        (lambda: ag.Ball() | ag.Ball(), "surface meshes"),
        (lambda: ag.Ball() & ag.Ball(), "surface meshes"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(ag.ProblemError, match=words):
        make()
