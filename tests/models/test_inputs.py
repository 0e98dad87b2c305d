"""Models on domains with periodic axes: periodic by construction, or refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import Pieces, count_parameters
from tolerances import assert_close

RING = ag.Box(t=(0, 2), x=ag.periodic(-1, 1.5))
SOUGHT = ag.Problem(RING, c=ag.Condition(lambda u: u.d("t"))).sought
HERE = jnp.array([0.3, -0.7])
LATER = jnp.array([0.3, -0.7 + 2.5])


@pytest.mark.parametrize(
    "recipe",
    [
        ag.MLP(4),
        ag.MLP(5, 3, scale=2.0),
        ag.MLP(4, scale=0),
        ag.MLP(3, init="frequency"),
        ag.Fourier(2),
        Pieces(ag.MLP(3), ag.MLP(2, 2), axis="t", edges=[0, 1, 2]),
    ],
)
def test_recipes_are_periodic(recipe):
    model = ag.ParametricModel(SOUGHT, recipe, 1)
    theta = model.theta + 0.3 * jnp.cos(jnp.arange(model.parameters))
    assert_close(model.values(theta, LATER), model.values(theta, HERE), 1e-11)
    assert not np.allclose(model.values(theta, HERE), model.values(theta, HERE + 0.5))
    assert count_parameters(recipe, SOUGHT) == model.parameters
    assert_close(model.values(model.rough(theta), LATER), model.values(model.rough(theta), HERE), 1e-11)


def test_units_of_a_network_see_a_wave_at_rest():
    """One unit that moves with a wave gives it exactly: its velocity is that of the wave, from one end to the other."""
    network = ag.MLP(1, activation="sin").build(RING, 1, jax.random.key(0))
    network = eqx.tree_at(
        lambda n: (n.weights, n.biases, n.velocities),
        network,
        ([jnp.array([[0.0, 1.0, 0.0]]), jnp.ones((1, 1))], [jnp.zeros(1), jnp.zeros(1)], jnp.full((1, 1, 1), -30.0)),
    )
    for t, x in [(0.0, 0.2), (0.7, -0.4), (2.0, 1.0)]:
        expected = np.sin(np.cos(2 * np.pi * (x + 1) / 2.5 - 30.0 * t / 2))
        assert_close(network(jnp.array([t, x]))[0], expected, 1e-11, scale=1)


def test_a_torus_has_no_velocities():
    torus = ag.Box(x=ag.periodic(0, 1), y=ag.periodic(0, 1))
    assert ag.MLP(4).build(torus, 1, jax.random.key(0)).velocities is None
    assert ag.MLP(4).count(torus, 1) == 4 * 4 + 4 + 4 + 1


def test_networks_on_boxes_with_ends_are_what_they_were():
    network = ag.MLP(4).build(ag.Box(t=(0, 2), x=(-1, 1.5)), 1, jax.random.key(0))
    assert network.velocities is None
    assert network.placement.radius is None
    assert network.weights[0].shape == (4, 2)


class Own(eqx.Module):
    weight: jax.Array
    turns: bool = eqx.field(static=True)

    def __call__(self, x):
        angle = 2 * jnp.pi * x[1] / 2.5
        seen = jnp.array([x[0], jnp.cos(angle), jnp.sin(angle)]) if self.turns else jnp.append(x, 1.0)
        return self.weight @ seen


def test_modules_of_ones_own_are_tried_out():
    ag.ParametricModel(SOUGHT, Own(jnp.zeros((1, 3)), True))
    for model in (Own(jnp.zeros((1, 3)), False), {"u": Own(jnp.ones((1, 3)), False)}):
        with pytest.raises(ag.SettingError, match="'x' is periodic and the model is not"):
            ag.ParametricModel(SOUGHT, model)


def test_models_that_cannot_be_periodic_are_refused():
    with pytest.raises(ag.SettingError, match="a polynomial is not"):
        ag.ParametricModel(SOUGHT, ag.Polynomial(3))
    with pytest.raises(ag.SettingError, match="not cut into pieces"):
        ag.ParametricModel(SOUGHT, Pieces(ag.MLP(3), axis="x", edges=[-1, 1.5]))
