"""Problems without solutions that are known, and modes that are orthogonal to others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound import Compound
from anagram.compound.batch import sample
from anagram.statement.deflation import distance_between
from tolerances import ACCUMULATED, assert_close

LINE = ag.Box(x=(0, 1))


def bratu(strength=2.0, **more):
    return ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x") + strength * np.exp(u), equals=lambda x: 0 * x),
        ends=ag.Condition(lambda u: u, on=LINE.boundary(), equals=0.25),
        name="bratu",
        **more,
    )


def known(x):
    return jnp.sin(jnp.pi * x) + 0.1


def rows_of(problem, recipe=ag.MLP(3)):
    model = ag.ParametricModel(problem.sought, recipe, 1)
    compound, theta = Compound(problem, model), model.theta
    return compound, theta, sample(problem, ag.GaussLegendre(4))


def residual(problem, recipe=ag.MLP(3), times=1.0):
    compound, theta, batch = rows_of(problem, recipe)
    return np.asarray(jax.jit(compound.residual)(times * theta, batch))


def test_all_rows_are_multiplied_by_one_number():
    """M(u) beside its definition, with integrals by a finer quadrature."""
    plain, deflated = bratu(), bratu().deflated(known, power=3.0, shift=0.5)
    compound, theta, _ = rows_of(plain)
    factors = residual(deflated) / residual(plain)
    x, weights = np.polynomial.legendre.leggauss(80)
    x, weights = (x + 1) / 2, weights / 2
    u = np.asarray(jax.jit(jax.vmap(compound.model.values, (None, 0)))(theta, x[:, None]))[:, 0]
    there = np.asarray(known(x))
    distance = np.sqrt(weights @ (u - there) ** 2 / (weights @ there**2))
    assert_close(factors, np.full(factors.shape, distance**-3 + 0.5), ACCUMULATED)


def test_features_know_how_the_factor_changes():
    """J beside forward differentiation of the residual."""
    compound, theta, batch = rows_of(bratu().deflated(known))
    _, jacobian = jax.jit(compound.features)(theta, batch)
    assert_close(jacobian, jax.jit(jax.jacfwd(lambda t: compound.residual(t, batch)))(theta), ACCUMULATED)


def test_several_solutions_are_divided_out_one_after_the_other():
    twice = bratu().deflated(known).deflated(lambda x: 3 * known(x))
    both = bratu().deflated(known, lambda x: 3 * known(x))
    # Each deflation multiplies what the last one left.
    assert_close(residual(twice), residual(both), ACCUMULATED)
    assert twice.undeflated.equations == both.undeflated.equations == bratu().equations
    assert not twice.knows_solution


def test_a_solution_that_is_zero_can_be_divided_out():
    ring = ag.Problem(
        LINE, c=ag.Condition(lambda u: u.d("x", "x") + 20 * (u - u**3)), e=ag.Condition(lambda u: u, on=LINE.boundary())
    )
    deflated = ring.deflated(lambda x: 0.0 * x)
    assert np.all(np.isfinite(residual(deflated)))
    assert np.all(np.isfinite(residual(deflated, times=0.0)))


def test_systems_and_complex_unknowns():
    pair = ag.Problem(
        LINE,
        c=ag.Condition(lambda u, v: (u.d("x") - v**2, v.d("x") + u * v)),
        e=ag.Condition(lambda u, v: (u, v), on=LINE.face(x=0), equals=(1.0, 2.0)),
        unknowns={"u": float, "v": complex},
    )
    plain, deflated = residual(pair), residual(pair.deflated({"u": known, "v": lambda x: 1j * known(x)}))
    factor = deflated[np.argmax(np.abs(plain))] / plain[np.argmax(np.abs(plain))]
    assert factor > 1
    assert_close(deflated, factor * plain, ACCUMULATED)
    with pytest.raises(ag.ProblemError, match="lacks 'v'"):
        pair.deflated({"u": known})
    with pytest.raises(ag.ProblemError, match="given by name"):
        pair.deflated(known)


def test_exact_conditions_stay_exact():
    hard = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x") + np.exp(u)),
        ends=ag.Condition(lambda u: u, on=LINE.boundary(), exact=True),
    )
    deflated = hard.deflated(known)
    assert deflated.conditions["ends"].exact
    assert deflated.soft == ("equation",)


def test_modes_are_orthogonal_by_a_condition_each():
    string = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u, lam: u.d("x", "x") + lam * u),
        ends=ag.Condition(lambda u: u, on=LINE.boundary()),
        coefficients={"lam": 8.0},
        name="string",
    )
    third = string.orthogonal_to(known).orthogonal_to(lambda x: jnp.cos(x), coefficients={"lam": 90.0})
    assert third.coefficients == {"lam": 90.0}
    assert [key for key in third.conditions if key.startswith("orthogonal")] == [
        "orthogonal to mode 1",
        "orthogonal to mode 2",
    ]
    x, weights = np.polynomial.legendre.leggauss(60)
    x, weights = (x + 1) / 2, weights / 2
    model = ag.ParametricModel(third.sought, ag.MLP(4), 0)
    compound = Compound(third, model)
    row = jax.jit(lambda t: compound.operator_rows("orthogonal to mode 1", t, jnp.zeros(1), None))(model.theta)
    u = np.asarray(jax.jit(jax.vmap(model.values, (None, 0)))(model.theta, x[:, None]))[:, 0]
    there = np.asarray(known(x))
    assert_close(row[0], weights @ (u * there) / (weights @ there**2), ACCUMULATED)


def test_distances_are_relative():
    problem = bratu()
    assert distance_between(problem, known, known) == 0
    assert_close(distance_between(problem, lambda x: 2 * known(x), known), 0.5)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: bratu().deflated(), "at least one solution"),
        (lambda: bratu().deflated(3.0), "deflation needs known solutions"),
        (lambda: bratu().deflated(known, power=0), "power= of a deflation is a positive number"),
        (lambda: bratu().deflated(known, shift=-1.0), "shift= of a deflation is a positive number"),
        (lambda: bratu().deflated(known, coefficients={"k": 1.0}), "there is no coefficient 'k'"),
        (lambda: bratu().deflated(lambda x: jnp.log(x - 0.5)), "not finite"),
        (lambda: bratu().orthogonal_to(), "orthogonality needs at least one"),
        (lambda: bratu(guess=3.0), "a first guess is a function"),
        (lambda: bratu(guess=lambda x: jnp.log(x - 0.5)), "no finite value"),
    ],
)
def test_what_cannot_be_is_refused(wrong, said):
    with pytest.raises(ag.ProblemError, match=said):
        wrong()


def test_linear_problems_and_families_have_nothing_to_deflate():
    linear = ag.Problem(LINE, c=ag.Condition(lambda u: u.d("x") - u))
    with pytest.raises(ag.ProblemError, match="is linear and has no other solution"):
        linear.deflated(known)
    family = ag.Box(k=ag.parameter(1, 2), x=(0, 1))
    with pytest.raises(ag.ProblemError, match="every member of a family"):
        ag.Problem(family, c=ag.Condition(lambda u, k: u.d("x") - k * u**2)).deflated(lambda k, x: k * x)
    other = ag.Problem(ag.Box(y=(0, 1)), c=ag.Condition(lambda u: u.d("y") - u**2))
    with pytest.raises(ag.ProblemError, match="a known solution takes 'x'"):
        other.deflated(known)
