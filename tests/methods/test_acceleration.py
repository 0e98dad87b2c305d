import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram import spectrum
from anagram.compound import Linearisation
from anagram.methods.acceleration import NEIGHBOURS, Curvature, accelerated, unknown_curvature
from oracles import damped_step
from tolerances import ACCUMULATED, assert_close

pytestmark = pytest.mark.rounding

DAMPING = 0.1


@pytest.fixture(scope="module")
def case(heat):
    """A step with its acceleration, what it is made of from dense matrices, and these."""
    model = ag.ParametricModel(heat.sought, ag.MLP(8), 0)
    compound, batch = ag.Compound(heat, model), ag.sample(heat, ag.Grid(10))
    residual, features = (np.asarray(a) for a in jax.jit(compound.features)(model.theta, batch))

    def dense(damping):
        p = damped_step(features, residual, damping)
        second = np.asarray(jax.jit(compound.second)(model.theta, batch, jnp.asarray(p)))
        return p, second, damped_step(features, second, damping)

    @functools.partial(jax.jit, static_argnums=0)
    def moved(most, damping, known):
        linear = Linearisation(compound, model.theta, batch)
        damped = spectrum.for_dampings(linear, True).at(damping)
        return accelerated(linear, damped, damping, known, most)

    def with_limit(most, known=None, damping=DAMPING):
        return moved(most, jnp.asarray(damping), unknown_curvature(model.theta) if known is None else known)

    return with_limit, dense, features


def test_it_is_the_second_order_term(case):
    with_limit, dense, features = case
    p, second, a = dense(DAMPING)
    found = with_limit(1e9)
    assert_close(found.move, p + a / 2, 1e-7)
    assert_close(found.bend, 2 * np.linalg.norm(a) / np.linalg.norm(p), 1e-7)
    assert_close(found.curvature.pulled, features.T @ second / (p @ p), 1e-7)
    assert_close(found.curvature.at, np.log(DAMPING))


@pytest.mark.parametrize("most", [0.0, 1e-9])
def test_it_is_left_out_where_it_is_large(case, most):
    with_limit, dense, _ = case
    found = with_limit(most)
    assert_close(found.move, dense(DAMPING)[0], 1e-7)
    assert (float(found.bend) == 0.0) == (most == 0.0)


def test_neighbouring_dampings_share_the_second_derivative(case):
    """It is quadratic in the step: what is known of one damping is scaled for its neighbours, and found anew beyond."""
    with_limit, dense, features = case
    marked = lambda at: Curvature(jnp.ones(features.shape[1]), jnp.asarray(at))
    p = dense(DAMPING)[0]
    near = with_limit(1e9, marked(np.log(DAMPING) + 0.9 * NEIGHBOURS))
    expected = -np.linalg.solve(features.T @ features + DAMPING * np.eye(features.shape[1]), np.ones(len(p))) * (p @ p)
    assert_close(near.move - p, expected / 2, ACCUMULATED, scale=np.linalg.norm(near.move))
    assert_close(near.curvature.pulled, np.ones(len(p)), 0.0)
    for away in (1.1 * NEIGHBOURS, -1.1 * NEIGHBOURS, np.inf, np.nan):
        assert_close(with_limit(1e9, marked(np.log(DAMPING) + away)).move, with_limit(1e9).move)
    # Close by, the one of a neighbour is nearly the own one.
    other = with_limit(1e9, damping=DAMPING * 1.1)
    shared = with_limit(1e9, other.curvature)
    assert_close(shared.move, with_limit(1e9).move, 0.05)
