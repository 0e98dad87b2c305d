"""Where rungs of features begin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.climbing.starts import fitted, layers_of
from anagram.models import MLP, Enriched, Features, ParametricModel, Polynomial
from anagram.models.singular import Singular
from anagram.solution import Solution
from anagram.training.history import History
from problems_beyond import rod
from tolerances import assert_close

SQUARE = ag.Box(t=(0, 2), x=(-1, 1))
RING = ag.Box(t=(0, 2), x=ag.periodic(-1, 1))
POINTS = np.random.default_rng(0).uniform(0, 1, (50, 2)) * [2, 2] + [0, -1]


def scalar(box=SQUARE):
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.d("t") + u**3),
        start=ag.Condition(lambda u: u, on=box.face(t=0), equals=1.0),
    )


def system():
    return ag.Problem(
        SQUARE,
        equation=ag.Condition(lambda u, psi: (u.d("t") + u**3, psi.d("t") - 1j * psi * u)),
        start=ag.Condition(lambda u, psi: (u, psi), on=SQUARE.face(t=0), equals=(1.0, 1.0)),
        unknowns={"u": float, "psi": complex},
    )


def with_coefficients(**guesses):
    return ag.Problem(
        SQUARE,
        equation=ag.Condition(lambda u, zeta, alpha: u.d("t") + zeta * u**3 + alpha),
        start=ag.Condition(lambda u: u, on=SQUARE.face(t=0), equals=1.0),
        coefficients=guesses,
    )


def drawn(problem, spec, size=1.0):
    """A solution with parameters that are drawn."""
    model = ParametricModel(problem.sought, spec, 0)
    theta = size * np.random.default_rng(1).standard_normal(model.parameters)
    return Solution(problem, model, theta, History(), {})


def by_name(solution):
    values = solution(POINTS)
    return values if isinstance(values, dict) else {"u": values}


@pytest.mark.parametrize(
    "state", [scalar, lambda: scalar(RING), system, lambda: with_coefficients(zeta=-5.0, alpha=0.0)]
)
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_a_function_of_their_own_span_comes_back(state, offset):
    problem = state()
    spec = Features(12, steepness=4.0, offset=offset, size=2.0)
    like = drawn(problem, spec)
    model = ParametricModel(problem.sought, spec, 0)
    theta = fitted(model, like)
    assert theta is not None
    assert theta.shape == like.theta.shape
    again = Solution(problem, model, theta, History(), {})
    wanted = by_name(like)
    for name, values in by_name(again).items():
        assert_close(values, wanted[name], 1e-6)
    assert_close(list(again.coefficients.values()), list(like.coefficients.values()), 1e-12)
    assert again.coefficients.keys() == like.coefficients.keys()


def test_what_is_not_in_their_span_is_come_near_to():
    """From a network, as the rungs above it begin; the values of the units do not matter."""
    like = drawn(scalar(), MLP(6, offset=100.0, size=10.0))
    wide = ParametricModel(scalar().sought, Features(150, steepness=6.0, offset=100.0, size=10.0), 0)
    theta = fitted(wide, like)
    assert theta is not None
    again = Solution(scalar(), wide, theta, History(), {})
    assert_close(again(POINTS) - 100, like(POINTS) - 100, 1e-4)


def test_features_on_top_of_a_network_begin_with_it():
    like = drawn(scalar(), MLP(5, 4, scale=2.0))
    layers = layers_of(like)
    assert layers is not None
    above = ParametricModel(scalar().sought, Features(80, steepness=1.0, activation="tanh", trained=layers), 0)
    theta = fitted(above, like)
    assert theta is not None
    assert_close(Solution(scalar(), above, theta, History(), {})(POINTS), like(POINTS), 1e-4)


@pytest.mark.parametrize("spec", [Features(7), MLP(5)], ids=repr)
def test_coefficients_come_first_and_in_the_order_of_their_names(spec):
    """What `fitted` relies on. They are learned in units of their first guesses."""
    model = ParametricModel(with_coefficients(zeta=-5.0, alpha=0.25).sought, spec, 0)
    theta = np.array(model.theta)
    assert_close(theta[:2], [1.0, -1.0], 1e-14)
    theta[:2] = 3.0, 7.0
    assert model.coefficients(jnp.asarray(theta)) == {"alpha": 3.0 * 0.25, "zeta": 7.0 * 5.0}
    x = jnp.asarray(POINTS[0])
    np.testing.assert_array_equal(model.values(jnp.asarray(theta), x), model.values(model.theta, x))
    jacobian = jax.jacrev(lambda t: model.values(t, x))(jnp.asarray(theta))
    assert not np.any(jacobian[:, :2])


def exactly():
    return ag.Problem(
        SQUARE,
        equation=ag.Condition(lambda u: u.d("t") + u**3),
        start=ag.Condition(lambda u: u, on=SQUARE.face(t=0), equals=1.0, exact=True),
    )


def test_where_conditions_hold_exactly_nothing_is_fitted():
    problem = exactly()
    spec = Features(12)
    assert problem.sought.ansatz
    assert fitted(ParametricModel(problem.sought, spec, 0), drawn(problem, spec)) is None


def test_nor_where_unknowns_live_on_parts():
    problem, spec = rod(), Features(12)
    assert fitted(ParametricModel(problem.sought, spec, 0), drawn(problem, spec)) is None


@pytest.mark.parametrize("spec", [MLP(5), Polynomial(3)], ids=repr)
def test_nor_where_the_model_has_no_features(spec):
    assert fitted(ParametricModel(scalar().sought, spec, 0), drawn(scalar(), spec)) is None


@pytest.mark.parametrize("box", [SQUARE, RING])
def test_the_hidden_layers_of_a_network(box):
    like = drawn(scalar(box), MLP(5, 4, scale=2.0, activation="sin"))
    layers = layers_of(like)
    assert layers is not None
    assert (layers["activation"], layers["scale"]) == ("sin", 2.0)
    assert [len(b) for b in layers["biases"]] == [5, 4]
    assert (layers["velocities"] is None) is (box is SQUARE)
    module = like.model._module(jnp.asarray(like.theta))
    np.testing.assert_array_equal(layers["weights"][1], module.weights[1])
    above = ParametricModel(scalar(box).sought, Features(3, activation="sin", trained=layers), 0).module
    np.testing.assert_array_equal(above.hidden.weights[0], module.weights[0])


def test_the_network_of_an_enriched_model_has_layers_too():
    corner = ag.Polygon([(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)])
    problem = ag.Problem(
        corner,
        equation=ag.Condition(lambda u: u.laplacian() - u**3, equals=1.0),
        walls=ag.Condition(lambda u: u, on=corner.boundary()),
    )
    spec = Enriched(MLP(5, 4), Singular((0.0, 0.0), 1.5 * np.pi, start=0.0))
    layers = layers_of(drawn(problem, spec))
    assert layers is not None
    assert [len(b) for b in layers["biases"]] == [5, 4]


@pytest.mark.parametrize("spec", [Features(5), Polynomial(3)], ids=repr)
def test_other_models_have_none(spec):
    assert layers_of(drawn(scalar(), spec)) is None
