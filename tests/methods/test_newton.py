"""Gauss and Newton's method on models that are linear in their parameters."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound import Compound
from anagram.compound.batch import sample
from anagram.errors import SettingError
from anagram.methods import Newton
from anagram.models import Features, ParametricModel
from tolerances import assert_close

LINE = ag.Box(x=(0, 1))


def linear():
    return ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x") + u, equals=lambda x: (1 - np.pi**2) * jnp.sin(np.pi * x)),
        ends=ag.Condition(lambda u: u, on=LINE.boundary()),
        solution=lambda x: jnp.sin(np.pi * x),
    )


def nonlinear():
    return ag.Problem(
        LINE,
        equation=ag.Condition(
            lambda u: u.d("x", "x") - u**3, equals=lambda x: -(np.pi**2) * jnp.sin(np.pi * x) - jnp.sin(np.pi * x) ** 3
        ),
        ends=ag.Condition(lambda u: u, on=LINE.boundary()),
        solution=lambda x: jnp.sin(np.pi * x),
    )


def begun(problem, width=12, **options):
    compound = Compound(problem, ParametricModel(problem.sought, Features(width, steepness=3.0), 0))
    batch = sample(problem, ag.GaussLegendre(40), 0)
    method = Newton(**options)
    return compound, batch, method, method.init(compound, compound.model.theta, batch)


def test_one_step_is_the_least_squares_solution():
    compound, batch, method, state = begun(linear(), width=8)
    after, info = method.step(compound, state, batch)
    residual, features = map(np.asarray, compound.features(state.theta, batch))
    best = np.linalg.lstsq(features, -residual, rcond=None)[0]
    assert_close(features @ np.asarray(after.theta), features @ best, 1e-7)
    assert info["stuck"]
    assert compound.is_affine


def test_a_linear_problem_is_solved_in_one_step():
    solution = ag.solve(linear(), Features(40, steepness=4.0), "newton", points=120, steps=5, progress=False)
    assert solution.summary["steps"] == 1
    assert solution.relative_l2_error < 1e-10
    assert "converged" in solution.stopped_because


def test_a_nonlinear_problem_takes_a_few_and_converges_quadratically():
    compound, batch, method, state = begun(nonlinear(), width=40)
    assert not compound.is_affine
    losses = []
    for _ in range(6):
        state, info = method.step(compound, state, batch)
        losses.append(float(state.loss))
        if info["stuck"]:
            break
    assert losses[-1] < 1e-14
    assert len(losses) <= 5


def test_a_step_that_would_raise_the_loss_is_damped():
    # From far away an undamped step overshoots: u³ is steep.
    problem = nonlinear()
    compound, batch, method, state = begun(problem, width=10)
    theta = 300.0 * jnp.asarray(np.random.default_rng(0).standard_normal(state.theta.size))
    state = method.init(compound, theta, batch)
    for _ in range(30):
        before = float(state.loss)
        state, info = method.step(compound, state, batch)
        assert float(state.loss) <= before
        if info["stuck"]:
            break
    assert float(state.loss) < 1e-3


def test_values_that_are_not_finite_fail_and_change_nothing():
    compound, batch, method, state = begun(linear())
    broken = {k: part._replace(source=jnp.full_like(part.source, jnp.nan)) for k, part in batch.items()}
    after, info = method.step(compound, state, broken)
    assert info["failed"]
    np.testing.assert_array_equal(after.theta, state.theta)


def test_guards_that_make_no_sense_are_refused():
    with pytest.raises(SettingError, match="guard"):
        Newton(guard=0)
