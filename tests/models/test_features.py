"""Wide networks of which only the last layer is learned."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.errors import SettingError
from anagram.models import MLP, Features, ParametricModel, spec_from_json, spec_to_json, trained_layers
from anagram.statement.expressions import Wanted
from anagram.statement.unknowns import Unknown, Unknowns
from tolerances import assert_close

BOX = ag.Box(t=(0, 2), x=(-1, 1))
RING = ag.Box(t=(0, 2), x=ag.periodic(-1, 1))


def sought(domain, *names):
    return Unknowns(domain, tuple(Unknown(name, False, None) for name in names or ("u",)), {})


def on_trained(domain):
    network = ParametricModel(sought(domain), MLP(5, 4, scale=2.0), 3).module
    layers = trained_layers(network, 2.0)
    return Features(12, steepness=1.0, activation="tanh", trained=layers, offset=1.0, size=3.0)


CASES = [
    (BOX, Features(20)),
    (BOX, Features(20, activation="tanh", steepness=3.0, offset=2.0, size=0.5)),
    (RING, Features(20, drift=(4.0,))),
    (BOX, on_trained(BOX)),
    (RING, on_trained(RING)),
]


def drawn(domain, spec, *names):
    model = ParametricModel(sought(domain, *names), spec, 0)
    return model, np.random.default_rng(1).standard_normal(model.parameters)


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_it_is_linear_in_its_parameters(domain, spec):
    model, theta = drawn(domain, spec)
    x = domain.draw(ag.Sobol(16), np.random.default_rng(0)).x
    values = jax.vmap(model.values, (None, 0))
    zero = np.asarray(values(0 * theta, x))
    doubled = values(jnp.asarray(2 * theta), x) - zero
    assert_close(doubled, 2 * (values(jnp.asarray(theta), x) - zero))
    assert spec.is_linear
    assert model.is_linear
    assert model.parameters == spec.count(domain, 1) == spec.width + 1


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_features_by_numpy_are_those_of_the_network(domain, spec):
    model, theta = drawn(domain, spec)
    module = model._module(jnp.asarray(theta))
    x = domain.draw(ag.Sobol(16), np.random.default_rng(0)).x
    place = module.placement
    by_features = place.offset + place.size * (module.features(x) @ module.weight.T + module.bias)
    assert_close(by_features, jax.vmap(module)(x))


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_jets_are_derivatives(domain, spec):
    model, theta = drawn(domain, spec)
    x = jnp.asarray([0.7, 0.3])
    source = model.source(jnp.asarray(theta))
    indices = [(0, 0), (1, 0), (0, 2), (1, 1)]
    found = source.derivatives(x, {"u": Wanted(indices)})["u"].values
    u = lambda x: model.values(jnp.asarray(theta), x)[0]
    hessian = jax.hessian(u)(x)
    assert_close(found[0, 0], u(x))
    assert_close(found[1, 0], jax.grad(u)(x)[0])
    assert_close(found[0, 2], hessian[1, 1])
    assert_close(found[1, 1], hessian[0, 1])


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_recipes_come_back_from_json(domain, spec):
    again = spec_from_json(spec_to_json(spec))
    one, two = (ParametricModel(sought(domain), s, seed) for s, seed in ((spec, 0), (again, 7)))
    x = domain.draw(ag.Sobol(4), np.random.default_rng(0)).x
    # The seed is in the recipe: that of the run does not change its features.
    np.testing.assert_array_equal(one.module.features(x), two.module.features(x))


def test_features_bend_inside_the_domain():
    module = Features(400, steepness=30.0).build(BOX, 1, jax.random.key(0))
    (weight,), (bias,) = module.hidden.weights, module.hidden.biases
    # The line where a unit has its maximum passes the middle of the unit square no farther away than its corners.
    distance = np.abs(weight @ np.array([0.5, 0.5]) + bias) / np.linalg.norm(weight, axis=1)
    assert np.max(distance) < 0.6 * np.sqrt(2) + 1e-3
    assert np.mean(distance < 0.5) > 0.6


def test_a_wider_network_has_the_features_of_a_narrower_one():
    narrow, wide = (Features(n, seed=4).build(BOX, 1, jax.random.key(0)) for n in (10, 30))
    np.testing.assert_array_equal(narrow.hidden.weights[0], wide.hidden.weights[0][:10])
    np.testing.assert_array_equal(narrow.hidden.biases[0], wide.hidden.biases[0][:10])


def test_several_unknowns_share_their_features():
    model, _ = drawn(BOX, Features(9), "u", "v")
    assert model.parameters == 2 * 10


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"width": 0}, "number of features"),
        ({"width": True}, "number of features"),
        ({"width": 10**9}, "number of features"),
        ({"steepness": 0}, "steepness"),
        ({"steepness": float("nan")}, "steepness"),
        ({"seed": -1}, "seed"),
        ({"activation": "relu"}, "relu"),
        ({"trained": {}}, "trained layers"),
        ({"trained": {**on_trained(BOX).trained, "biases": [[0.0]]}}, "trained layers"),
        ({"trained": {**on_trained(BOX).trained, "scale": -1.0}}, "trained layers"),
        ({"trained": {**on_trained(RING).trained, "velocities": [[[0.0]]]}}, "trained layers"),
        ({"trained": {**on_trained(RING).trained, "velocities": [[0.0], [[1.0]]]}}, "trained layers"),
        ({"trained": on_trained(BOX).trained}, "activation"),
        ({"size": 0.0}, "size"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, told):
    with pytest.raises(SettingError, match=told):
        Features(**{"width": 8, **arguments})


@pytest.mark.parametrize(
    ("domain", "spec", "told"),
    [
        (RING, on_trained(BOX), "other axes"),
        (BOX, on_trained(RING), "other axes"),
        (ag.Box(t=(0, 2)), on_trained(BOX), "other axes"),
        (RING, Features(8, drift=(1.0, 2.0)), "drift has 2 numbers"),
        (BOX, Features(8, offset=(1.0, 2.0)), "offset has 2 numbers"),
    ],
)
def test_recipes_for_another_domain_are_refused(domain, spec, told):
    with pytest.raises(SettingError, match=told):
        ParametricModel(sought(domain), spec)


SPACE = ag.Box(**dict.fromkeys("tuvw", (0, 1)))


@pytest.mark.parametrize("couples", [1, 2, 3])
def test_features_may_depend_on_few_axes(couples):
    model, _ = drawn(SPACE, Features(24, couples=couples))
    weight = np.asarray(model.module.hidden.weights[0])
    assert np.all(np.count_nonzero(weight, axis=1) == couples)
    seen = {tuple(np.flatnonzero(row)) for row in weight}
    assert len(seen) == math.comb(4, couples), "all sets of axes"


def test_a_periodic_axis_that_is_coupled_is_seen_as_a_pair():
    domain = ag.Box(t=(0, 1), x=ag.periodic(0, 1), y=(0, 1))
    weight = np.asarray(drawn(domain, Features(12, couples=1))[0].module.hidden.weights[0])
    assert {tuple(np.flatnonzero(row)) for row in weight} == {(0,), (1, 2), (3,)}


def test_wider_ones_have_the_features_of_narrower_ones_among_their_own():
    few, many = (drawn(SPACE, Features(n, couples=2))[0].module.hidden.weights[0] for n in (10, 30))
    assert_close(many[:10], few)


def test_coupled_features_are_kept_in_records():
    spec = Features(24, couples=2)
    assert spec_from_json(spec_to_json(spec)).couples == 2
    assert "couples=2" in repr(spec)


@pytest.mark.parametrize(
    ("couples", "message"), [(-1, "a whole number or 0"), (True, "a whole number or 0"), (5, "couple 5 axes")]
)
def test_numbers_of_axes_that_make_no_sense_are_refused(couples, message):
    with pytest.raises(SettingError, match=message):
        drawn(SPACE, Features(4, couples=couples))


def test_features_on_trained_layers_see_all_of_them():
    layers = trained_layers(ParametricModel(sought(BOX), MLP(5, 4), 3).module, 1.0)
    with pytest.raises(SettingError, match="leave couples= out"):
        Features(4, activation="tanh", trained=layers, couples=1)
