"""Derivatives along many axes, against nested forward mode and against the columns of `anagram.models.jets`."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import manyaxes
from anagram.statement.evaluation import nested
from tolerances import assert_close

AXES = 14
BOX = ag.Box(**{f"x{k}": (-1, 1 + k / 7) for k in range(AXES)})
POINT = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, AXES))
ZERO = (0,) * AXES


def index(*axes):
    return tuple(axes.count(k) for k in range(AXES))


LAPLACIAN = tuple((index(k, k), 1) for k in range(AXES))


def network(*widths, activation="tanh"):
    """With biases that are not zero."""
    made = ag.MLP(*widths, activation=activation).build(BOX, 2, jax.random.key(3))
    rng = np.random.default_rng(1)
    return eqx.tree_at(lambda n: n.biases, made, [jnp.asarray(rng.normal(size=b.shape)) for b in made.biases])


def compare(net, singles, sums):
    def both(x):
        values, totals = net.jets(x, singles, sums)
        expected = [nested(net, i)(x) for i in singles]
        return [*values.values(), *totals], expected + [sum(c * nested(net, i)(x) for i, c in t) for t in sums]

    for found, expected in zip(*jax.jit(both)(POINT), strict=True):
        assert_close(found, expected, 1e-11)


@pytest.mark.parametrize("widths", [(6,), (5, 4), (3, 4, 5)])
def test_values_gradients_and_laplacians(widths):
    compare(network(*widths), [ZERO, index(3), index(13)], [LAPLACIAN])


@pytest.mark.parametrize("activation", ["gelu", "sin", "gaussian", "softplus"])
def test_activations(activation):
    compare(network(5, 4, activation=activation), [ZERO], [LAPLACIAN])


def test_sums_with_numbers_mixed_derivatives_and_of_first_order():
    mixed = ((index(0, 1), 2.0), (index(4, 4), POINT[2]), (index(12, 7), -1.0))
    transport = tuple((index(k), 0.5 * k) for k in range(AXES))
    compare(network(5, 4), [ZERO, index(2)], [mixed, transport, LAPLACIAN])


def test_it_is_left_to_columns_where_it_would_not_do():
    layer = network(4)._first(POINT)
    assert manyaxes.applies(layer, [ZERO], [LAPLACIAN])
    assert not manyaxes.applies(layer, [ZERO], [])  # values alone
    assert not manyaxes.applies(layer, [index(1, 1)], [LAPLACIAN])
    assert not manyaxes.applies(layer, [ZERO], [((index(1, 1, 1), 1), (index(2, 2, 2), 1))])
    ring = ag.Box(**{f"x{k}": (0, 1) for k in range(AXES - 1)}, y=ag.periodic(0, 1))
    around = ag.MLP(4).build(ring, 1, jax.random.key(0))
    assert not manyaxes.applies(around._first(POINT), [ZERO], [LAPLACIAN])
    compare(network(4), [ZERO, index(1, 1)], [LAPLACIAN])


def test_a_program_for_a_hundred_axes_is_small():
    box = ag.Box(**{f"x{k}": (0, 1) for k in range(100)})
    problem = ag.Problem(box, equation=ag.Condition(lambda u: u.laplacian(), equals=1.0))
    model = ag.ParametricModel(problem.sought, ag.MLP(5), 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, {"equation": ag.Uniform(3)})
    point = jax.tree.map(lambda a: a[0], batch["equation"])
    traced = jax.make_jaxpr(lambda t: compound.point_rows("equation", t, point))(model.theta)
    assert len(traced.jaxpr.eqns) < 100
