import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound import Compound
from anagram.compound.variation import SecondVariation
from anagram.statement.condition import apply_operator, real_rows
from anagram.statement.fields import Field, Frame
from tolerances import assert_close

PLANE = ag.Box(t=(0, 1), x=(-1, 1))


def energy_of_the_tangent_space(compound, theta, batch):
    """E(u_θ + Σ a_p ∂_p u_θ) as a function of a: its Hessian at 0 is the matrix of the paper."""
    model, problem = compound.model, compound.problem

    def rows(key, point, a):
        frame = Frame(problem.domain.axes, point.normal)

        def linearised(name):
            def value(x):
                of_theta = lambda t: model.quantities(t, frame)[name].at(x)
                return jax.jvp(of_theta, (theta,), (a,))

            return Field(lambda x: sum(value(x)), frame)

        quantities = {name: linearised(name) for name in model.quantities(theta, frame)}
        fields = apply_operator(problem.conditions[key], quantities, key)
        return point.scale * (real_rows([f.at(point.x) for f in fields]) - point.source)

    def energy(a):
        parts = [jax.vmap(lambda p, key=key: rows(key, p, a))(part) for key, part in batch.items()]
        return 0.5 * sum(jnp.sum(part**2) for part in parts)

    return energy


def hessian(problem, spec, points):
    model = ag.ParametricModel(problem.sought, spec, 0)
    compound, batch = Compound(problem, model), ag.sample(problem, points)
    theta = model.theta + 0.3
    energy = energy_of_the_tangent_space(compound, theta, batch)
    return compound, theta, batch, jax.jit(jax.hessian(energy))(0 * theta)


CASES = {
    "allen-cahn": ag.Problem(
        PLANE,
        equation=ag.Condition(lambda u: u.d("t") - 0.1 * u.d("x", "x") - 5 * (u - u**3), equals=1.0),
        start=ag.Condition(lambda u: u**2, on=PLANE.face(t=0), equals=lambda x: x, weight=3.0),
    ),
    "derivatives of products": ag.Problem(
        PLANE,
        equation=ag.Condition(lambda u: (u * u.d("x")).d("x") + u.d("x", "x", "x") * u.d("t"), equals=2.0),
        walls=ag.Condition(lambda u: u.normal_derivative() * np.exp(u), on=PLANE.faces("x")),
    ),
    "two unknowns and a coefficient": ag.Problem(
        PLANE,
        unknowns=("u", "v"),
        coefficients={"k": 0.7},
        first=ag.Condition(lambda u, v, k: (u.d("t") + k * u * v, v.d("x") - u**2), equals=(1.0, 0.5)),
    ),
    "complex": ag.Problem(
        PLANE,
        unknowns={"u": complex},
        equation=ag.Condition(lambda u: 1j * u.d("t") + u.d("x", "x") + abs(u) ** 2 * u, equals=1.0 + 0.5j),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_gram_matrix_with_its_second_part_is_the_hessian_of_the_energy(name):
    compound, theta, batch, expected = hessian(CASES[name], ag.MLP(2), ag.Sobol(4))
    second = jax.jit(SecondVariation(compound).matrix)(theta, batch)
    assert np.abs(second).max() > 1e-2 * np.abs(expected).max()
    assert_close(jax.jit(compound.gram)(theta, batch).matrix + second, expected)


def test_a_linear_operator_has_none():
    plane = ag.Problem(PLANE, equation=ag.Condition(lambda u: u.d("t") - u.d("x", "x"), equals=1.0))
    compound, theta, batch, expected = hessian(plane, ag.MLP(3), ag.Sobol(5))
    assert not np.any(SecondVariation(compound).matrix(theta, batch))
    assert_close(jax.jit(compound.gram)(theta, batch).matrix, expected)


def orders(problem):
    compound = Compound(problem, ag.ParametricModel(problem.sought, ag.MLP(2), 0))
    return {key: max(map(sum, powers)) for key, powers in SecondVariation(compound).powers.items()}


def test_the_order_of_an_operator_is_found():
    assert orders(CASES["derivatives of products"]) == {"equation": 3, "walls": 1}
    x = PLANE.coordinate("x")
    vanishing = ag.Condition(lambda u: (1 + x) * u * u.d("x"), on=PLANE.faces("x"))
    assert orders(ag.Problem(PLANE, walls=vanishing)) == {"walls": 1}  # though not on the first of the faces
    with pytest.raises(ag.ProblemError, match="order 5"):
        orders(ag.Problem(PLANE, equation=ag.Condition(lambda u: u * u.d(*"xxxxx"))))
