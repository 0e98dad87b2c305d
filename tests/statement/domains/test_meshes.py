"""Solids bounded by triangles: integrals, inside and outside, parts, what is refused, and unions."""

import itertools

import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains import Kronecker
from anagram.statement.domains.shapes.meshes.surface import closest_points
from tolerances import ACCUMULATED, assert_close

CUBE = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
CUBE_FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)


def tube(around, along, radius=0.4):
    """A torus about the z axis, its vertices and triangles."""
    i, j = (g.ravel() for g in np.meshgrid(np.arange(around), np.arange(along), indexing="ij"))
    a, b = 2 * np.pi * i / around, 2 * np.pi * j / along
    reach = 1 + radius * np.cos(b)
    number = lambda i, j: (i % around) * along + j % along
    corners = [number(i, j), number(i + 1, j), number(i + 1, j + 1), number(i, j + 1)]
    faces = np.concatenate([np.stack([corners[k] for k in t], axis=1) for t in ((0, 1, 2), (0, 2, 3))])
    return np.stack([reach * np.cos(a), reach * np.sin(a), radius * np.sin(b)], axis=1), faces


def cube(low=(0, 0, 0), size=1.0, **options):
    return ag.Mesh(np.array(low) + size * CUBE, CUBE_FACES, **options)


def hollow():
    """A cube with a cubic cavity."""
    inner = 0.25 + CUBE / 2
    return ag.Mesh(np.concatenate([CUBE, inner]), np.concatenate([CUBE_FACES, 8 + CUBE_FACES[:, ::-1]]))


MESHES = {"cube": cube((1, -2, 3), 1.5), "torus": ag.Mesh(*tube(18, 14)), "hollow": hollow()}


@pytest.fixture(params=MESHES, scope="module")
def mesh(request):
    return MESHES[request.param]


def fans(mesh, p):
    """∫ xᵖ over a mesh: the sum over signed tetrahedra between the triangles and a point, with nodes in each."""
    node, weight = np.polynomial.legendre.leggauss(4)
    a, b, c = (g.ravel() for g in np.meshgrid(*[(node + 1) / 2] * 3, indexing="ij"))
    w = np.prod(np.meshgrid(*[weight / 2] * 3, indexing="ij"), axis=0).ravel() * a**2 * b
    local = np.stack([a * (1 - b), a * b * (1 - c), a * b * c], axis=1)
    apex = mesh.vertices.mean(axis=0)
    edges = mesh.vertices[mesh.triangles] - apex
    x = apex + np.einsum("qk,fki->fqi", local, edges)
    return float(np.linalg.det(edges) @ (np.prod(x ** np.array(p), axis=2) @ w))


def test_volume_and_moments(mesh):
    cloud = mesh.draw(ag.GaussLegendre(10), np.random.default_rng(0))
    assert np.all(cloud.weight > 0)
    assert np.all(mesh.contains(cloud.x))
    scale = mesh.measure * np.max(np.abs(mesh.vertices)) ** 4
    assert_close(mesh.measure, fans(mesh, (0, 0, 0)))
    for p in itertools.product(range(5), repeat=3):
        if sum(p) <= 4:
            found = mesh.measure * (cloud.weight @ np.prod(cloud.x ** np.array(p), axis=1))
            assert_close(found, fans(mesh, p), ACCUMULATED, scale=scale)


def test_divergence_theorem(mesh):
    rng = np.random.default_rng(0)
    inside, surface = mesh.draw(ag.GaussLegendre(10), rng), mesh.boundary().draw(ag.GaussLegendre(30), rng)
    for p, k in itertools.product(itertools.product(range(3), repeat=3), range(3)):
        if sum(p) <= 2:
            slope = p[k] * np.prod(inside.x ** np.maximum(np.array(p) - np.eye(3, dtype=int)[k], 0), axis=1)
            flux = np.prod(surface.x ** np.array(p), axis=1) * surface.normal[:, k]
            gap = mesh.measure * (inside.weight @ slope) - mesh.boundary().measure * (surface.weight @ flux)
            assert_close(gap, 0.0, ACCUMULATED, scale=mesh.measure * np.max(np.abs(mesh.vertices)) ** 3)


def solid_angles(mesh, x):
    """The winding number by solid angles."""
    a, b, c = (mesh.vertices[mesh.triangles[:, k]][None] - x[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
    dot = lambda u, v: np.einsum("nfi,nfi->nf", u, v)
    angle = np.arctan2(dot(a, np.cross(b, c)), la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb)
    return angle.sum(axis=1) / (2 * np.pi)


def test_inside_and_outside(mesh):
    x = mesh.low - 0.1 + (mesh.lengths + 0.2) * np.random.default_rng(0).uniform(size=(2000, 3))
    assert_close(mesh.surface.winding(x).astype(float), solid_angles(mesh, x), 1e-9)
    assert np.array_equal(mesh.contains(x), solid_angles(mesh, x) > 0.5)
    assert not mesh.contains(np.array([[np.nan, 0, 0], [np.inf, 0, 0]])).any()
    assert not mesh.contains(np.array([[1e300, 0, 0]])).any()


def test_rays_along_edges_and_through_vertices():
    # In line with vertices and edges of the cube, along every axis.
    lines = np.array(list(itertools.product((-0.5, 0.0, 0.25, 0.5, 1.0, 1.5), repeat=3)))
    assert np.array_equal(cube().contains(lines), np.all((lines >= 0) & (lines <= 1), axis=1))


def test_points_of_the_surface_belong_to_it(mesh):
    cloud = mesh.boundary().draw(Kronecker(300), np.random.default_rng(0))
    assert len(cloud.x) == pytest.approx(300, abs=10)
    assert mesh.contains(np.concatenate([cloud.x, mesh.vertices])).all()
    assert mesh.contains(cloud.x - 1e-6 * cloud.normal).all()
    assert not mesh.contains(cloud.x + 1e-6 * cloud.normal).any()
    assert_close(mesh.boundary().normal_at(cloud.x), cloud.normal, 1e-9)
    chosen = ag.Chosen(**dict(zip(mesh.axes, np.concatenate([cloud.x, mesh.vertices]).T, strict=True)))
    assert len(mesh.boundary().draw(chosen, np.random.default_rng(0)).x) == len(cloud.x) + len(mesh.vertices)


def test_random_points_are_evenly_spread(mesh):
    cloud = mesh.draw(Kronecker(4000), np.random.default_rng(1))
    assert mesh.contains(cloud.x).all()
    mean = np.array([fans(mesh, p) for p in np.eye(3, dtype=int)]) / mesh.measure
    assert np.max(np.abs(cloud.x.mean(axis=0) - mean) / mesh.lengths) < 0.005  # independent points: 0.005 on average
    surface = mesh.boundary().draw(Kronecker(4000), np.random.default_rng(1))
    exact = mesh.boundary().draw(ag.GaussLegendre(30), np.random.default_rng(1))
    assert np.max(np.abs(surface.x.mean(axis=0) - exact.weight @ exact.x) / mesh.lengths) < 0.005


def test_closest_points_beside_a_search():
    rng = np.random.default_rng(0)
    corners, x = rng.normal(size=(40, 3, 3)), 2 * rng.normal(size=(40, 3))
    a, b = np.meshgrid(np.linspace(0, 1, 200), np.linspace(0, 1, 200), indexing="ij")
    local = np.stack([1 - a, a * (1 - b), a * b], axis=-1).reshape(-1, 3)
    searched = np.linalg.norm(local @ corners - x[:, None], axis=2).min(axis=1)
    found = np.linalg.norm(closest_points(x, corners) - x, axis=1)
    assert np.all(found <= searched + 1e-12)
    assert np.max(searched - found) < 0.01


def test_smooth_pieces_have_numbers(monkeypatch):
    assert [len(pieces) for pieces in cube().boundaries.values()] == [6]
    assert_close(cube().boundary("surface.0").measure, 1.0)
    assert len(MESHES["torus"].boundaries["surface"]) == 1
    monkeypatch.setattr("anagram.statement.domains.shapes.meshes.mesh.MOST_PIECES", 5)
    assert len(cube().boundaries["surface"]) == 1


def test_parts_by_functions():
    mesh = cube(parts={"floor": lambda z: z < 0.1, "sides": lambda x, y: min(x, y, 1 - x, 1 - y) < 1e-9}, name="roof")
    assert {name: len(pieces) for name, pieces in mesh.boundaries.items()} == {"floor": 1, "sides": 4, "roof": 1}
    floor = mesh.boundary("floor").draw(ag.Sobol(20), np.random.default_rng(0))
    assert_close(floor.normal, np.tile([0.0, 0.0, -1.0], (20, 1)))
    assert_close(cube().boundary(lambda z: z > 0.9).measure, 1.0)
    assert_close(MESHES["torus"].boundary(lambda z: z > 0).measure, MESHES["torus"].boundary().measure / 2)


def test_times_a_box():
    domain = ag.Box(t=(0, 2)) * MESHES["torus"]
    assert_close(domain.measure, 2 * MESHES["torus"].measure)
    cloud = domain.draw(Kronecker(100), np.random.default_rng(0))
    assert domain.contains(cloud.x).all()
    nodes = domain.draw(ag.GaussLegendre(8), np.random.default_rng(0))
    assert_close(nodes.weight @ nodes.x[:, 0] ** 3, 2.0)  # the mean of t³ on [0, 2]
    assert np.all(domain.boundary().draw(ag.Sobol(50), np.random.default_rng(0)).normal[:, 0] == 0)
    assert np.all(domain.face(t=2).draw(ag.Sobol(50), np.random.default_rng(0)).x[:, 0] == 2)


def test_cells_are_refused_and_not_taken_by_default():
    mesh = MESHES["cube"]
    assert not mesh.takes_cells
    assert ag.Ball().takes_cells
    with pytest.raises(ag.SettingError, match="random rule"):
        mesh.draw(ag.Cells(100), np.random.default_rng(0))
    problem = ag.Problem(
        mesh,
        equation=ag.Condition(lambda u: ag.laplacian(u) - u * u, equals=1.0),
        wall=ag.Condition(lambda u: u, on=mesh.boundary()),
    )
    batch = ag.sample(problem, points=500)
    assert mesh.contains(np.asarray(batch["equation"].x)).all()


def test_inward_triangles_are_turned():
    inward = ag.Mesh(CUBE, CUBE_FACES[:, ::-1])
    assert_close(inward.measure, 1.0)
    cloud = inward.boundary().draw(ag.Sobol(20), np.random.default_rng(0))
    assert not inward.contains(cloud.x + 0.01 * cloud.normal).any()


def test_vertices_are_welded():
    torn = CUBE[CUBE_FACES.ravel()] + 1e-9 * np.random.default_rng(0).normal(size=(36, 3))
    assert len(ag.Mesh(torn, np.arange(36).reshape(-1, 3)).vertices) == 8


@pytest.mark.parametrize(
    ("vertices", "faces", "words"),
    [
        (CUBE, CUBE_FACES[:-1], "not closed"),
        (CUBE, np.concatenate([CUBE_FACES[:-1], CUBE_FACES[-1:, ::-1]]), "not oriented"),
        (CUBE, CUBE_FACES[:3], "fewer than 4"),
        (CUBE, CUBE_FACES + 1, "not there"),
        (CUBE, CUBE_FACES - 1, "not there"),
        (CUBE, CUBE_FACES.astype(float), "whole numbers"),
        (CUBE[:, :2], CUBE_FACES, "vertices \\(v, 3\\)"),
        (CUBE, [[0, 1, 2, 3]], "triangles \\(f, 3\\)"),
        ("abc", CUBE_FACES, "numbers"),
        (np.where(CUBE == 1, np.nan, CUBE), CUBE_FACES, "not finite"),
        (CUBE * 1e120, CUBE_FACES, "too large"),
        (CUBE * [1, 1, 0], CUBE_FACES, "no volume"),
        (CUBE * 0, CUBE_FACES, "not points or lines"),
        (np.concatenate([CUBE, CUBE + 0.3]), np.concatenate([CUBE_FACES, CUBE_FACES + 8]), "overlaps itself"),
    ],
)
def test_what_is_wrong_is_said(vertices, faces, words):
    with pytest.raises(ag.ProblemError, match=words):
        ag.Mesh(vertices, faces)


def test_wrong_parts_are_refused():
    with pytest.raises(ag.ProblemError, match="no triangles"):
        cube(parts={"far": lambda x: x > 5})
    with pytest.raises(ag.ProblemError, match="other than"):
        cube(parts={"surface": lambda x: x > 5})
    with pytest.raises(ag.ProblemError, match="function of the point"):
        cube(parts={"far": 3})


def test_unions_intersections_and_differences():
    pytest.importorskip("manifold3d")
    one, other = cube(), cube((0.5, 0.25, 0.125))
    common = 0.5 * 0.75 * 0.875
    assert_close((one | other).measure, 2 - common)
    assert_close((one & other).measure, common)
    assert_close((one - other).measure, 1 - common)
    with pytest.raises(ag.ProblemError, match="nothing is left"):
        one & cube((3, 0, 0))
    with pytest.raises(ag.ProblemError, match="surface meshes"):
        one - ag.Ball()
    with pytest.raises(ag.ProblemError, match="name them alike"):
        one | cube(axes=("a", "b", "c"))
