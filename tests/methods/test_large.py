"""The method for many parameters: dense damped steps without their matrices."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound import Unformed
from anagram.compound.products import numbers_held
from anagram.errors import SettingError
from anagram.methods import Large
from anagram.methods.advance import StepRule, set_out
from anagram.training import defaults
from oracles import damped_step, dense_features
from problems import parabola
from tolerances import ACCUMULATED, assert_close


def bent():
    """u'' + u² = 2 + u₀² with the solution u₀ = x(x − 1)."""
    line = ag.Box(x=(0, 1))
    solution = lambda x: x * (x - 1)
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x") + u * u, equals=lambda x: 2 + solution(x) ** 2),
        ends=ag.Condition(lambda u: u, on=line.boundary()),
        solution=solution,
    )


@pytest.fixture(scope="module")
def small():
    """A nonlinear problem with chunks of a few points, and its dense matrix."""
    problem = bent()
    model = ag.ParametricModel(problem.sought, ag.MLP(5), 0)
    compound, batch = ag.Compound(problem, model, chunk_bytes=8 * 1000), ag.sample(problem, ag.Grid(21))
    features = dense_features(compound, model.theta, batch)
    return compound, model.theta, batch, np.asarray(jax.jit(compound.residual)(model.theta, batch)), features


def all_products(residual_map, theta, batch, vectors):
    return {
        "normal": residual_map.normal_times(theta, batch, vectors),
        "gradient": residual_map.square_and_gradient(theta, batch)[1],
        "squares": jnp.stack([residual_map.square_and_gradient(theta, batch)[0], residual_map.square(theta, batch)]),
        "bend": residual_map.bend(theta, batch, vectors[0]),
        "second": residual_map.second(theta, batch, vectors[0]),
    }


def test_products_are_those_with_the_dense_matrix(small):
    compound, theta, batch, residual, features = small
    vectors = jnp.asarray(np.random.default_rng(0).normal(size=(12, theta.size)))  # more than are multiplied at once
    found = jax.jit(lambda *a: all_products(compound, *a))(theta, batch, vectors)
    assert_close(found["normal"], vectors @ features.T @ features, ACCUMULATED)
    assert_close(found["squares"], np.full(2, residual @ residual))
    assert_close(found["gradient"], features.T @ residual, ACCUMULATED)
    assert_close(found["bend"], features.T @ found["second"], ACCUMULATED)
    # A residual map that knows nothing of chunks does the same.
    plain = jax.jit(lambda *a: all_products(super(ag.Compound, compound), *a))(theta, batch, vectors)
    for name, value in plain.items():
        assert_close(value, found[name], ACCUMULATED, name)


def test_its_steps_are_the_dense_damped_steps(small):
    compound, theta, batch, residual, features = small
    rule = StepRule(0.1, False, 3.0, 0.75, 0.1, 0.0)
    method = Large(modes=8, products=200, accuracy=1e-14)

    def damped(damping):
        family = method._family(compound, set_out(theta, jnp.nan), batch, rule)
        assert isinstance(family.linear, Unformed)
        found = family.dampings.at(damping, theta)
        return found.step, found.beside

    compiled = jax.jit(damped)
    for damping in (1.0, 1e-4):
        step, beside = compiled(damping)
        assert_close(step.direction, damped_step(features, residual, damping), ACCUMULATED)
        moved = residual + features @ step.direction
        assert_close(step.predicted, residual @ residual - moved @ moved, ACCUMULATED)
        solved = np.linalg.solve(features.T @ features + damping * np.eye(theta.size), theta)
        assert_close(beside, solved, ACCUMULATED)


def test_a_run_takes_the_way_of_the_dense_method():
    common = {"points": 40, "steps": 30, "progress": False}
    dense = ag.solve(bent(), ag.MLP(6), "auto", options={"precision": 0.1, "sketch": 0}, **common)
    large = ag.solve(bent(), ag.MLP(6), "large", options={"modes": 19, "accuracy": 1e-13}, **common)
    # What a run reports is the same, but for how the normal equations were solved.
    assert set(large.history.steps) == set(dense.history.steps) - {"squared"}
    assert_close(large.history.steps["loss"][:10], dense.history.steps["loss"][:10], 1e-6)
    assert large.relative_l2_error < 3 * dense.relative_l2_error


def test_points_that_a_chunk_holds_follow_from_what_is_computed_on_the_way():
    problem = parabola()

    def held(*widths):
        model = ag.ParametricModel(problem.sought, ag.MLP(*widths), 0)
        batch = ag.sample(problem, ag.Grid(3))
        compound = ag.Compound(problem, model)
        return numbers_held(compound, "equation", model.theta, batch["equation"]), model.parameters

    narrow, wide = held(10, 10), held(40, 40)
    # Four times the units hold four times as much; parameters are sixteen times as many.
    assert 3 < wide[0] / narrow[0] < 5
    assert wide[1] / narrow[1] > 10


def test_it_takes_over_where_matrices_do_not_fit(monkeypatch):
    setting = ag.Setting(ag.MLP(8, 8))
    assert defaults.complete(setting, parabola()).method == "auto"
    parameters = 8 * 2 + 8 * 9 + 9
    monkeypatch.setattr(defaults, "device_memory", lambda: 8 * 3 * parameters**2 - 1)
    chosen = defaults.complete(setting, parabola())
    assert (chosen.method, chosen.options) == ("large", {})
    # What was chosen for the dense method before is not what the user wants.
    again = dataclasses.replace(setting, options={"done_at": 1e-20, "restarts": 2, "ratio": 0.2})
    assert defaults.complete(again, parabola()).options == {"ratio": 0.2}
    with pytest.raises(SettingError, match="which has no option 'end_at'"):
        defaults.complete(dataclasses.replace(setting, options={"end_at": 1e-3}), parabola())
    monkeypatch.setattr(defaults, "device_memory", lambda: None)
    monkeypatch.setattr(defaults, "MOST_DENSE", parameters - 1)
    assert defaults.complete(setting, parabola()).method == "large"


def test_its_memory_grows_with_the_parameters_and_not_with_their_square():
    method = Large()
    assert method.memory(200_000, 10**6) == 2 * method.memory(100_000, 10**6)
    assert method.memory(10**6, 10**6) < 8 * 10**6 * 500


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modes": 0}, "modes must be a whole number, at least 1"),
        ({"products": True}, "products must be a whole number"),
        ({"accuracy": 1.0}, "accuracy must lie between 0 and 1"),
        ({"ratio": 2}, "ratio must lie between 0 and 1"),
    ],
)
def test_what_it_cannot_do_is_refused(options, message):
    with pytest.raises(SettingError, match=message):
        ag.methods.make_method("large", **options)


def test_a_step_of_no_gradient_does_not_fail(small):
    compound, theta, batch, _, _ = small
    none = {key: part._replace(scale=jnp.zeros_like(part.scale)) for key, part in batch.items()}
    method = Large(modes=3)
    state, info = jax.jit(lambda t, b: method.step(compound, method.init(compound, t, b), b))(theta, none)
    assert not info["failed"]
    assert_close(state.theta, theta)
