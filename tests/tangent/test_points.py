import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.tangent.points import choose, draw, lost, matching, spanning
from anagram.training.tangent_points import TangentPoints
from tolerances import assert_close


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(0).normal(size=(40, 6)) * np.array([1, 1, 0.5, 0.2, 0.1, 0.05])


def test_matching_spans_the_gradient_with_as_many_points_as_dimensions(vectors):
    gradient = np.random.default_rng(1).normal(size=6)
    losses = [lost(vectors[matching(vectors, gradient, count)], gradient) for count in range(1, 7)]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(losses))
    assert losses[-1] < 1e-10 * np.linalg.norm(gradient)
    # One point: no other loses less.
    assert_close(losses[0], min(lost(vectors[[k]], gradient) for k in range(40)), 1e-12)
    # A gradient along one of the points needs that point alone.
    assert list(matching(vectors, 3 * vectors[7], 5)) == [7]


def test_pivoting_spans_everything(vectors):
    chosen = spanning(vectors, 40)
    assert len(chosen) == 6
    assert np.linalg.cond(vectors[chosen]) < 30 * np.linalg.cond(vectors)
    for gradient in np.eye(6):
        assert lost(vectors[chosen], gradient) < 1e-10


def test_drawing_follows_the_density():
    density = np.array([1.0, 3.0, 0.0, 4.0])
    index = draw(density, 800, np.random.default_rng(2))
    assert_close(np.bincount(index, minlength=4) / 100, density, 0.02)


@pytest.mark.parametrize("how", ag.Tangent.WAYS)
def test_weights_sum_to_one_and_sums_are_unbiased(how, vectors):
    modes = vectors[:, None, :]
    rng = np.random.default_rng(3)
    index, weight = choose(how, modes, np.ones(40), vectors[0], 25, rng)
    assert len(index) == len(weight) == 25
    assert_close(weight.sum(), 1.0)
    if how == "leverage":
        # The sum over the points stands for the mean over all candidates.
        values = 2 + vectors[:, 3]
        sums = [values[i] @ w for i, w in (choose(how, modes, np.ones(40), vectors[0], 25, rng) for _ in range(300))]
        assert_close(np.mean(sums), values.mean(), 0.02)


@pytest.mark.parametrize("how", ["leverage", "greedy"])
def test_points_are_chosen_in_their_regions_with_their_sources(how, heat):
    model = ag.ParametricModel(heat.sought, ag.MLP(5), 0)
    rules = {"equation": ag.Tangent(30, how, every=2), "initial": ag.Tangent(8, how, every=4), "walls": ag.Grid(5)}
    batch = ag.sample(heat, rules)
    compound = ag.Compound(heat, model)
    chooser = TangentPoints(compound, rules, seed=0)
    assert chooser.due(2) == ["equation"]
    assert chooser.due(4) == ["equation", "initial"]
    assert chooser.steps_left(3) == 1
    chooser.look = jax.jit(lambda theta, probes: chooser.view(compound, theta, probes))
    new = chooser.choose(4, model.theta, batch)
    assert new["walls"] is batch["walls"]
    for key in ("equation", "initial"):
        assert new[key].x.shape == batch[key].x.shape
        assert not np.allclose(new[key].x, batch[key].x)
        assert_close(jnp.sum(new[key].scale ** 2), heat.weight(key), 1e-12)
    assert not np.any(new["initial"].x[:, 0])
    assert_close(new["initial"].source[:, 0], np.sin(np.pi * np.asarray(new["initial"].x[:, 1])), 1e-12)
    again = chooser.choose(4, model.theta, batch)
    assert_close(again["equation"].x, new["equation"].x, 0.0)


def test_a_run_with_chosen_points_learns(heat):
    solution = ag.solve(
        heat, ag.MLP(10), points="tangent", steps=90, options={"sketch": 0, "restarts": 0}, progress=False
    )
    assert solution.l2_error < 5e-3


def test_rules_with_as_many_points_do_not_share_what_was_compiled_for_the_others(heat):
    for rule in (ag.Sobol, ag.Tangent):
        points = {"equation": rule(20), "initial": rule(4), "walls": rule(4)}
        solution = ag.solve(heat, ag.MLP(4), "anagram", points=points, steps=30, patience=30, progress=False)
        assert solution.summary["rows"] == 28


def test_what_is_wrong_is_said(heat):
    for arguments, words in (((0,), "whole number of points"), ((9, "luck"), "not 'luck'")):
        with pytest.raises(ag.SettingError, match=words):
            ag.Tangent(*arguments)
    with pytest.raises(ag.SettingError, match="every="):
        ag.Tangent(9, every=0)
    with pytest.raises(ag.SettingError, match="one rule by name"):
        ag.sample(heat, "tangents")
