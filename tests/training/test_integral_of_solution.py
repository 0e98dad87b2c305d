"""Integrals of what was reached: Gauss's theorem, known integrals, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from tolerances import ACCUMULATED, assert_close
from untrained import untrained


@pytest.fixture(scope="module")
def on_disk():
    return untrained(ag.Disk(center=(0.3, -0.2), radius=0.7), lambda u: u.laplacian())


@pytest.fixture(scope="module")
def flow():
    """Two unknowns on a plate with a hole."""
    plate = ag.Box(x=(-1, 1), y=(-1, 1)) - ag.Disk(radius=0.4, name="hole")
    return untrained(plate, lambda u, v: u.d("x") + v.d("y"), unknowns=("u", "v"))


def test_gauss_on_a_disk(on_disk):
    """The flux through the boundary is the integral of the divergence."""
    through = on_disk.integral(lambda u: u.normal_derivative(), over=on_disk.domain.boundary(), nodes=60)
    inside = on_disk.integral(lambda u: u.laplacian(), nodes=60)
    assert isinstance(through, float)
    assert abs(inside) > 1e-3
    assert_close(through, inside, ACCUMULATED, scale=1.0)


def test_gauss_with_components_of_the_normal(flow):
    through = flow.integral(lambda u, v: u * u.normal("x") + v * v.normal("y"), over=flow.domain.boundary(), nodes=80)
    inside = flow.integral(lambda u, v: u.d("x") + v.d("y"), nodes=80)
    assert abs(inside) > 1e-3
    assert_close(through, inside, ACCUMULATED, scale=1.0)


def test_the_normal_points_into_a_hole(flow):
    """∮ x n_x is minus the area of the hole; over all of the boundary it is the area of the plate."""
    x = flow.domain.coordinate("x")
    into = flow.integral(lambda u: x * u.normal("x"), over=flow.domain.boundary("hole"))
    assert_close(into, -np.pi * 0.4**2)
    assert_close(flow.integral(lambda u: x * u.normal("x"), over=flow.domain.boundary()), flow.domain.measure)


def test_it_is_the_sum_of_values(on_disk):
    """Against values at the nodes, and several fields at once."""
    region, rule = on_disk.domain.boundary(), ag.GaussLegendre(90)
    cloud = region.draw(rule, np.random.default_rng(0))
    values = np.asarray(on_disk(cloud.x))
    total, squared = on_disk.integral(lambda u: (u, u**2), over=region, nodes=rule)
    assert_close([total, squared], [region.measure * cloud.weight @ v for v in (values, values**2)], ACCUMULATED)


def test_faces_of_a_box_and_a_condition_agree():
    """What an integral in a condition is, the integral of the solution is too."""
    box = ag.Box(t=(0, 1), x=(0, 2))
    k = box.field(lambda t, x: 1 + t * jnp.exp(x))
    wall = box.face(x=2)
    solution = untrained(box, lambda u: u.d("t") + ag.integral(k * u.normal_derivative(), over=wall))
    stated = solution.evaluate(lambda u: u.d("t"), t=0.3, x=0.4) + solution.integral(
        lambda u: k * u.normal_derivative(), over=wall
    )
    assert_close(solution.residual("c0", np.array([[0.3, 0.4]])), np.abs([stated]))


def test_complex_unknowns():
    box = ag.Box(x=(0, 1))
    solution = untrained(box, lambda psi: psi.d("x"), unknowns={"psi": complex})
    found = solution.integral(lambda psi: psi.d("x"))
    assert_close(found, solution(x=1.0) - solution(x=0.0), ACCUMULATED)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda s: s.integral(1.0), "function of fields"),
        (lambda s: s.integral(lambda u: u, over="x"), "over= is a region"),
        (lambda s: s.integral(lambda u: u, over=ag.Box(t=(0, 1))), "has the axes t, the solution x, y"),
        (lambda s: s.integral(lambda u: u, over=ag.Disk(radius=5)), "lies outside of"),
        (lambda s: s.integral(lambda u: u.normal_derivative()), "only on a face"),
        (lambda s: s.integral(lambda u: u, nodes=0), "nodes= is a number"),
        (lambda s: s.integral(lambda u: 1.0), "must return a field"),
        (lambda s: s.integral(lambda u: u.normal("z"), over=s.domain.boundary()), "no axis 'z'"),
    ],
)
def test_mistakes_are_named(on_disk, mistake, message):
    with pytest.raises(ag.ProblemError, match=message):
        mistake(on_disk)
