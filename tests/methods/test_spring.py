import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.methods import Spring, make_method
from anagram.methods.search import first_valley
from anagram.methods.spring import REJECTIONS
from oracles import damped_step, dense_features
from tolerances import ACCUMULATED, assert_close

LINE = ag.Box(x=(0, 1))


def poisson(dimension, **more):
    """Δu = −π² Σ cos πx_k in a cube, with the solution Σ cos πx_k on its boundary."""
    cube = ag.Box(**{f"x{k}": (0, 1) for k in range(1, dimension + 1)})
    solution = lambda **x: sum(jnp.cos(jnp.pi * c) for c in x.values())
    return ag.Problem(
        cube,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda **x: -(jnp.pi**2) * solution(**x)),
        walls=ag.Condition(lambda u: u, on=cube.boundary(), equals=solution),
        solution=solution,
        **more,
    )


def walk(method, steps, model=ag.MLP(8), same_points=False):
    """Steps on a small problem, each with points of its own: states, infos and the (r, J) that each step saw."""
    problem = poisson(2)
    model = ag.ParametricModel(problem.sought, model, 0)
    compound = ag.Compound(problem, model)
    batches = [ag.sample(problem, ag.Uniform(12), seed=0 if same_points else k) for k in range(steps)]
    states, infos, seen = [method.init(compound, model.theta, batches[0])], [], []
    step = jax.jit(lambda s, b: method.step(compound, s, b))
    for batch in batches:
        theta = states[-1].theta
        seen.append((np.asarray(jax.jit(compound.residual)(theta, batch)), dense_features(compound, theta, batch)))
        state, info = step(states[-1], batch)
        states.append(state)
        infos.append(info)
    return states, infos, seen


# -- the step --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("relative", [True, False])
def test_without_momentum_a_step_is_the_damped_gauss_newton_step(relative):
    states, infos, seen = walk(Spring(0.1, relative, momentum=0.0, step_length=1.0), 1)
    ((residual, features),) = seen
    assert features.shape[1] > features.shape[0]
    damping = 0.1 * np.sum(features**2) / len(residual) if relative else 0.1
    assert_close(infos[0]["damping"], damping)
    expected = damped_step(features, residual, damping)
    dense = np.linalg.solve(features.T @ features + damping * np.eye(features.shape[1]), -features.T @ residual)
    assert_close(dense, expected, ACCUMULATED)
    assert_close(states[1].theta - states[0].theta, expected, 1e-11)
    assert_close(states[1].momentum, expected, 1e-11)


def test_several_steps_follow_the_formula():
    """Straight from the formula, with P×P matrices in place of Woodbury's identity."""
    damping, mu, eta = 0.05, 0.7, 0.3
    states, _, seen = walk(Spring(damping, False, momentum=mu, warmup=0, step_length=eta), 6)
    phi = np.zeros(states[0].theta.size)
    for k, (residual, features) in enumerate(seen, start=1):
        square = features.T @ features + damping * np.eye(phi.size)
        phi = mu * phi + np.linalg.solve(square, features.T @ (-residual - mu * features @ phi))
        assert_close(states[k].momentum, phi, ACCUMULATED)
        moved = states[k].theta - states[k - 1].theta
        assert_close(moved, eta * phi / np.sqrt(1 - mu ** (2 * k)), ACCUMULATED)


def test_the_direction_is_the_anchored_least_squares_solution():
    """φ minimises ‖Jφ + r‖² + λ‖φ − μφ_last‖²."""
    damping, mu = 0.05, 0.9
    states, _, seen = walk(Spring(damping, False, momentum=mu, warmup=0, step_length=0.1), 4)
    for k, (residual, features) in enumerate(seen):
        size = features.shape[1]
        stacked = np.concatenate([features, np.sqrt(damping) * np.eye(size)])
        right = np.concatenate([-residual, np.sqrt(damping) * mu * np.asarray(states[k].momentum)])
        assert_close(states[k + 1].momentum, np.linalg.lstsq(stacked, right, rcond=None)[0], ACCUMULATED)


def test_momentum_warms_up():
    states, infos, _ = walk(Spring(1e-3, momentum=0.5, warmup=3, step_length=0.1), 7)
    assert_close([float(i["momentum"]) for i in infos], [min(0.5, k / (k + 3)) for k in range(7)])
    assert_close(states[1].theta - states[0].theta, 0.1 * np.asarray(states[1].momentum), ACCUMULATED)


def test_the_step_does_not_depend_on_units():
    """Weights times c make J and r √c times as large: the relative damping makes the steps the same."""
    problem, model = poisson(2), ag.MLP(8)
    heavy = ag.Problem(
        problem.domain,
        {k: ag.Condition(c.operator, on=c.on, equals=c.equals, weight=1e6) for k, c in problem.conditions.items()},
    )
    light, scaled = (
        ag.solve(p, model, "spring", points=ag.Uniform(12), steps=3, progress=False) for p in (problem, heavy)
    )
    assert_close(scaled.theta, light.theta, 1e-6)


# -- the search ------------------------------------------------------------------------------------------------
def test_the_loss_on_the_points_of_a_step_never_rises():
    solution = ag.solve(poisson(2), ag.MLP(8, 8), "spring", points=ag.Uniform(12), steps=60, progress=False)
    steps = solution.history.steps
    assert np.all(steps["fitted_loss"] <= steps["loss"])
    assert np.all(steps["step_length"] <= 1 - steps["momentum"])
    # Every step saw other points: what one left of the loss is not what the next one found.
    assert np.all(steps["loss"][1:] != steps["fitted_loss"][:-1])


def test_on_fixed_points_the_loss_never_rises():
    options = {"resample": False, "momentum": 0.5}
    solution = ag.solve(poisson(2), ag.MLP(4), "spring", points=ag.Grid(8), steps=40, options=options, progress=False)
    losses = solution.history.steps["loss"]
    assert np.all(np.diff(losses) <= 0)
    assert_close(solution.history.steps["fitted_loss"], losses, 0.0)


def test_a_valley_above_the_present_loss_is_passed_over():
    length, _ = first_valley(lambda eta: jnp.where(eta > 0.2, 5 + (eta - 0.5) ** 2, eta), jnp.asarray(1e-2))
    assert 0 < float(length) < 1e-2


# -- failures --------------------------------------------------------------------------------------------------
def at_the_solution(method):
    """A linear problem, solved: no step lowers the loss any more, but for rounding."""
    problem = ag.Problem(LINE, fit=ag.Condition(lambda u: u, equals=1.0))
    model = ag.ParametricModel(problem.sought, ag.Polynomial(2), 0)
    compound = ag.Compound(problem, model)
    batch = ag.sample(problem, ag.Uniform(2))
    state = method.init(compound, jnp.array([1.0, 0.0, 0.0]), batch)
    return compound, batch, state._replace(momentum=jnp.array([0.0, 1.0, 0.0]))


def test_one_step_in_vain_drops_the_momentum_and_no_more():
    method = Spring(1e-3)
    compound, batch, state = at_the_solution(method)
    after, info = method.step(compound, state, batch)
    assert (float(info["step_length"]), bool(info["failed"]), bool(info["stuck"])) == (0.0, False, False)
    assert_close(after.theta, state.theta, 0.0)
    assert_close(after.momentum, np.zeros(3))
    for _ in range(REJECTIONS - 1):
        after, info = method.step(compound, after, batch)
    assert bool(info["stuck"])


def test_nan_leaves_the_state_as_it_was():
    problem = ag.Problem(LINE, c=ag.Condition(lambda u: np.log(u)))
    model = ag.ParametricModel(problem.sought, ag.Polynomial(2), 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, ag.Uniform(9))
    for method in (Spring(), Spring(step_length=0.1)):
        state = method.init(compound, model.theta, batch)._replace(momentum=jnp.ones(3))  # log 0
        after, info = method.step(compound, state, batch)
        assert bool(info["failed"])
        assert not bool(info["stuck"])
        for new, old in zip(after, state, strict=True):
            assert_close(new, old, 0.0) if np.isfinite(old).all() else None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": 0}, "damping must be a positive number, not 0"),
        ({"damping": "small"}, "damping must be a positive number"),
        ({"damping": True}, "damping must be a positive number"),
        ({"momentum": 1.0}, "at least 0 and below 1, not 1.0"),
        ({"momentum": -0.1}, "at least 0 and below 1"),
        ({"warmup": -1}, "not negative"),
        ({"step_length": 0}, "step_length must be a positive number, or be left out"),
        ({"relative": 1}, "relative must be true or false"),
        ({"resample": "yes"}, "resample must be true or false"),
        ({"cutoff": 1e-3}, "cutoff"),
    ],
)
def test_mistakes_with_options(options, message):
    with pytest.raises(ag.SettingError, match=message):
        make_method("spring", **options)


# -- what it is for --------------------------------------------------------------------------------------------
@pytest.mark.long
def test_many_parameters_on_few_points_of_ten_dimensions():
    """Poisson in ten dimensions, about forty times as many parameters as rows."""
    solution = ag.solve(
        poisson(10),
        ag.MLP(64, 48),
        "spring",
        points={"equation": ag.Sobol(60), "walls": ag.Sobol(40)},
        steps=250,
        progress=False,
    )
    assert solution.summary["parameters"] > 30 * solution.summary["rows"]
    assert solution.relative_l2_error < 0.06
