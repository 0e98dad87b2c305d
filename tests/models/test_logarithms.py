"""Models see the logarithm of a parameter, and differentiate by the parameter itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models.inputs import Kind, axis_kinds
from anagram.statement.evaluation import nested
from tolerances import assert_close

LOW, HIGH = 0.02, 3.0
FAMILY = ag.Box(nu=ag.parameter(LOW, HIGH, log=True), x=(-1, 1))
SAME = ag.Box(s=(float(np.log(LOW)), float(np.log(HIGH))), x=(-1, 1))
RING = ag.Box(nu=ag.parameter(LOW, HIGH, log=True), k=ag.parameter(0, 1), t=(0, 2), x=ag.periodic(0, 1))


def model_on(domain, recipe):
    problem = ag.Problem(domain, c=ag.Condition(lambda u: u.d("x")))
    made = ag.ParametricModel(problem.sought, recipe, 1)
    return made, made.theta + 0.3 * jnp.cos(jnp.arange(made.parameters))


@pytest.mark.parametrize(
    "recipe", [ag.MLP(5), ag.MLP(4, 3, scale=2.0), ag.MLP(4, scale=0), ag.Polynomial(3), ag.Features(20), ag.Fourier(1)]
)
def test_recipes_see_the_logarithm(recipe):
    """On the axis of the logarithm they are the same functions."""
    family, theta = model_on(FAMILY, recipe)
    plain, other = model_on(SAME, recipe)
    x = FAMILY.draw(ag.Sobol(16), np.random.default_rng(0)).x
    seen = np.stack([np.log(x[:, 0]), x[:, 1]], axis=1)
    values = jax.vmap(family.values, (None, 0))(theta, x)
    assert_close(values, jax.vmap(plain.values, (None, 0))(other, seen), 1e-11)


@pytest.mark.parametrize("index", [(1, 0), (2, 0), (1, 1), (3, 1), (2, 2), (4, 0)])
@pytest.mark.parametrize("recipe", [ag.MLP(5), ag.MLP(4, 3, scale=2.0), ag.Features(20)])
def test_derivatives_are_those_by_the_parameter(recipe, index):
    """What is propagated through the layers, beside nested automatic differentiation."""
    model, theta = model_on(FAMILY, recipe)
    module, point = model._module(theta), jnp.array([0.07, 0.3])
    values, (total,) = module.jets(point, [index], [((index, 2.0),)])
    expected = nested(lambda x: jnp.ravel(module(x)), index)(point)
    assert_close(values[index], expected, 1e-11)
    assert_close(total, 2 * expected, 1e-11)


@pytest.mark.parametrize("index", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1), (1, 0, 0, 1), (2, 0, 1, 0), (0, 1, 0, 2)])
def test_beside_periodic_axes(index):
    assert axis_kinds(RING) == (Kind.LOG, Kind.PARAMETER, Kind.OPEN, Kind.AROUND)
    module = ag.MLP(4, 3).build(RING, 1, jax.random.key(0))
    assert module.velocities.shape == (4, 1, 1)  # frames move along time, and not along parameters
    point = jnp.array([0.4, 0.6, 0.9, 0.3])
    assert_close(module.jets(point, [index], [])[0][index], nested(lambda x: module(x), index)(point), 1e-11)
