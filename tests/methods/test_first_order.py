import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import anagram as ag
from anagram.compound import Compound
from anagram.methods import Adam, AdamLbfgs, GradientDescent, Lbfgs
from tolerances import ACCUMULATED, assert_close

LINE = ag.Box(x=(0, 1))
DECAY = ag.Problem(
    LINE,
    equation=ag.Condition(lambda u: u.d("x") + u),
    start=ag.Condition(lambda u: u, on=LINE.face(x=0), equals=1.0),
    solution=lambda x: jnp.exp(-x),
)


def walk(method, steps):
    model = ag.ParametricModel(DECAY.sought, ag.MLP(5), 0)
    compound, batch = Compound(DECAY, model), ag.sample(DECAY, ag.Grid(12))
    state = method.init(compound, model.theta, batch)
    step = jax.jit(lambda s: method.step(compound, s, batch))
    states, infos = [state], []
    for _ in range(steps):
        state, info = step(state)
        states.append(state)
        infos.append(info)
    return compound, batch, states, infos


@pytest.mark.long
def test_gradient_descent_takes_the_best_length_along_the_gradient():
    compound, batch, states, infos = walk(GradientDescent(), 3)
    for before, after, info in zip(states, states[1:], infos, strict=False):
        gradient = jax.grad(compound.loss)(before.theta, batch)
        loss = jax.jit(lambda theta: compound.loss(theta, batch))
        losses = [float(loss(before.theta - 2.0**-k * gradient)) for k in range(31)]
        assert float(info["step_length"]) == 2.0 ** -int(np.argmin(losses))
        assert_close(after.theta, before.theta - info["step_length"] * gradient)


def test_adam_is_the_one_of_optax_with_the_papers_schedule():
    method = Adam(rate=0.01, drops=(3, 5))
    compound, batch, states, _ = walk(method, 8)
    theta, gradient = states[0].theta, jax.grad(lambda t: compound.loss(t, batch))
    rates = [0.01, 0.01, 0.01, 0.001, 0.001, 0.0001, 0.0001, 0.0001]
    first = second = 0.0
    for k, rate in enumerate(rates, start=1):  # from the definition
        g = gradient(theta)
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g**2
        theta = theta - rate * (first / (1 - 0.9**k)) / (jnp.sqrt(second / (1 - 0.999**k)) + 1e-8)
    assert_close(states[-1].theta, theta, ACCUMULATED)
    assert Adam().drops == (15_000, 25_000, 35_000, 45_000)


def test_lbfgs_never_rises_and_solves_a_quadratic():
    compound, batch, states, _ = walk(Lbfgs(), 40)
    losses = np.array([s.loss for s in states])
    assert np.all(np.diff(losses) <= 1e-14)
    assert losses[-1] < 1e-5 * losses[0]
    assert_close(states[-1].loss, jax.jit(compound.loss)(states[-1].theta, batch))
    assert_close(states[-1].gradient, jax.grad(compound.loss)(states[-1].theta, batch), ACCUMULATED)


@pytest.mark.long
def test_adam_hands_over_to_lbfgs():
    compound, batch, states, _ = walk(AdamLbfgs(switch=6, rate=0.01), 10)
    *_, adam = walk(Adam(rate=0.01, drops=()), 6)[2]
    assert_close(states[6].theta, adam.theta)
    solver, value = optax.lbfgs(linesearch=optax.scale_by_zoom_linesearch(20, initial_guess_strategy="one")), None
    theta = adam.theta
    memory = solver.init(theta)
    for _ in range(4):
        value, gradient = jax.value_and_grad(compound.loss)(theta, batch)
        change, memory = solver.update(
            gradient, memory, theta, value=value, grad=gradient, value_fn=lambda t: compound.loss(t, batch)
        )
        theta = theta + change
    assert_close(states[10].theta, theta, ACCUMULATED)


@pytest.mark.parametrize(("name", "steps"), [("gd", 150), ("adam", 1500), ("lbfgs", 60), ("adam-lbfgs", 1060)])
def test_each_solves_a_simple_equation(name, steps):
    solution = ag.solve(DECAY, ag.MLP(6), name, points=ag.Grid(20), steps=steps, seed=1, progress=False)
    assert solution.l2_error < {"gd": 0.05, "adam": 0.02}.get(name, 2e-3)
    assert not solution.failed


def test_a_loss_that_wavers_is_not_stagnant():
    solution = ag.solve(
        DECAY, ag.MLP(6), "adam", points=ag.Grid(20), steps=600, patience=20, options={"rate": 0.05}, progress=False
    )
    losses = solution.history.steps["loss"]
    assert np.any(np.diff(losses) > 0)
    assert solution.summary["steps"] > 200


def test_nan_leaves_the_state_as_it_was():
    line = ag.Problem(LINE, c=ag.Condition(lambda u: np.log(u)))
    model = ag.ParametricModel(line.sought, ag.Polynomial(2), 0)
    compound, batch = Compound(line, model), ag.sample(line, ag.Grid(9))
    for method in (GradientDescent(), Adam(), Lbfgs(), AdamLbfgs()):
        state = method.init(compound, model.theta, batch)
        after, info = method.step(compound, state, batch)
        assert bool(info["failed"])
        assert_close(after.theta, state.theta)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Adam(rate=-1), "rate"),
        (lambda: Adam(drops=(0,)), "drops"),
        (lambda: Lbfgs(remembered=0), "remembered"),
        (lambda: AdamLbfgs(switch=1.5), "switch"),
        (lambda: GradientDescent(search="some"), "search"),
    ],
)
def test_wrong_options_are_named(make, match):
    with pytest.raises(ag.SettingError, match=match):
        make()
