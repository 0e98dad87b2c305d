"""Problems for all values of a parameter: operators that name it, sums over axes, integrals, stretches."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound.batch import sample
from anagram.statement.sizes import natural_sizes
from anagram.statement.stretches import evolution_axis, why_no_evolution
from tolerances import ACCUMULATED, assert_close
from untrained import untrained

FAMILY = ag.Box(nu=ag.parameter(0.01, 1, log=True), t=(0, 2), x=(-1, 1))
PLANE = ag.Box(a=ag.parameter(1, 3), x=(0, 1), y=(0, 2))


def rows(domain, operator, **more):
    """What an operator makes of some field at some points."""
    solution = untrained(domain, operator, **more)
    x = domain.draw(ag.Sobol(32), np.random.default_rng(0)).x
    return solution.residual("c0", x), solution, x


def test_operators_name_parameters():
    named, solution, x = rows(FAMILY, lambda u, nu: u.d("t") - nu * u.d("x", "x"))
    nu = FAMILY.coordinate("nu")
    by_field, _, _ = rows(FAMILY, lambda u: u.d("t") - nu * u.d("x", "x"))
    assert_close(named, by_field)
    assert_close(np.abs(solution.evaluate(lambda u, nu: u.d("t") - nu * u.d("x", "x"), x)), named)
    assert solution.problem.equations["c0"] == "u_t − nu u_xx = 0"


def test_other_axes_are_still_no_arguments():
    with pytest.raises(ag.ProblemError, match="operators take fields, not coordinates"):
        ag.Problem(FAMILY, c=ag.Condition(lambda u, nu, x: nu * x * u))


def test_sums_over_axes_leave_parameters_out():
    _, solution, x = rows(PLANE, lambda u, a: a * u.laplacian())
    space = solution.evaluate(lambda u: u.d("x", "x") + u.d("y", "y"), x)
    assert_close(solution.evaluate(lambda u: u.laplacian(), x), space)
    assert len(solution.evaluate(lambda u: u.gradient(), x)) == 2
    assert_close(solution.evaluate(lambda u: ag.divergence(u.gradient()), x), space)
    with pytest.raises(ag.ProblemError, match="all axes are parameters"):
        ag.Problem(ag.Box(a=ag.parameter(0, 1)), c=ag.Condition(lambda u: u.laplacian()))


def test_normals_have_no_component_along_parameters():
    reads = ag.Problem(
        PLANE,
        c=ag.Condition(lambda u: u.laplacian()),
        n=ag.Condition(lambda u: u.normal_derivative(), on=PLANE.boundary()),
    )
    assert reads.equations["n"] == "n_x u_x + n_y u_y = 0"


def test_every_member_has_its_own_integral():
    problem = ag.Problem(
        PLANE,
        c=ag.Condition(lambda u, a: u.laplacian() + a),
        mean=ag.Condition(lambda u: ag.integral(u), equals=lambda a: a),
    )
    assert repr(problem.region("mean")) == "every a"
    batch = sample(problem, 400)["mean"]
    assert len(np.unique(batch.x[:, 0])) == len(batch.x) > 5
    solution = untrained(PLANE, lambda u: u.laplacian())
    here = np.array([[1.7, 0.2, 0.3], [2.5, 0.9, 1.3]])
    totals = solution.evaluate(lambda u: ag.integral(u), here)
    own = [solution.at(a=a).integral(lambda u: u) for a in here[:, 0]]
    assert_close(totals, own, ACCUMULATED)
    fluxes = solution.evaluate(lambda u: ag.integral(u.normal_derivative(), over=PLANE.boundary()), here)
    assert_close(fluxes, solution.evaluate(lambda u: ag.integral(u.laplacian()), here), ACCUMULATED, scale=1.0)


def test_parameters_are_not_integrated_over():
    with pytest.raises(ag.ProblemError, match="'a' is a parameter, which is not integrated over"):
        ag.Problem(PLANE, c=ag.Condition(lambda u: ag.integral(u, over=("a", "x")) + u))
    with pytest.raises(ag.ProblemError, match="holds the parameter a"):
        ag.Problem(PLANE, c=ag.Condition(lambda u: ag.integral(u, over=PLANE.slice(a=2)) + u))


def test_no_stretch_cuts_a_parameter():
    heat = ag.Problem(
        FAMILY,
        c=ag.Condition(lambda u, nu: u.d("t") - nu * u.d("x", "x")),
        begin=ag.Condition(lambda u: u, on=FAMILY.face(t=0), equals=lambda x: jnp.sin(jnp.pi * x)),
        walls=ag.Condition(lambda u: u, on=FAMILY.faces("x")),
    )
    assert evolution_axis(heat) == "t"
    sensitivity = ag.Problem(FAMILY, c=ag.Condition(lambda u: u.d("nu") + u.d("x", "x")))
    assert evolution_axis(sensitivity) is None
    assert "along nu" not in why_no_evolution(sensitivity)


def test_sizes_of_a_family_are_those_of_its_members():
    def heat(operator, **parameters):
        box = ag.Box(**parameters, t=(0, 1), x=(0, 1))
        begin = ag.Condition(lambda u: u, on=box.face(t=0), equals=lambda x: 7 * jnp.sin(jnp.pi * x))
        return natural_sizes(ag.Problem(box, c=ag.Condition(operator), begin=begin))

    family = heat(lambda u, nu: u.d("t") - nu * u.d("x", "x"), nu=ag.parameter(0.99, 1.01))
    member = heat(lambda u: u.d("t") - u.d("x", "x"))
    assert 0.5 < family.size[0] / member.size[0] < 2
    assert 0.3 < family.rows["c"][0] / member.rows["c"][0] < 3
