import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.methods import Spring
from oracles import damped_step
from tolerances import assert_close


def case(points=ag.Grid(3)):
    problem = ag.catalogue.problem("heat")
    model = ag.ParametricModel(problem.asked, ag.MLP(12), 0)
    return ag.Compound(problem, model), ag.sample(problem, points), model.theta


def test_without_momentum_a_step_is_the_damped_step():
    """The dual form against the dense matrix of size P×P."""
    compound, batch, theta = case()
    method = Spring(damping=1e-3, relative=False, momentum=0.0, step_length=1.0, resample=False)
    after, info = jax.jit(lambda s: method.step(compound, s, batch))(method.init(compound, theta, batch))
    residual, features = (np.asarray(a) for a in compound.features(theta, batch))
    assert features.shape[0] < features.shape[1]
    assert_close(after.theta - theta, damped_step(features, residual, 1e-3), 1e-9)
    assert_close(info["damping"], 1e-3)


def test_momentum_step_by_step():
    """Several steps against the formula, solved with the dense matrix."""
    compound, batch, theta = case()
    mu, damping, length = 0.9, 1e-2, 0.5
    method = Spring(damping, False, mu, warmup=0, step_length=length, resample=False)
    state = method.init(compound, theta, batch)
    step = jax.jit(lambda s: method.step(compound, s, batch)[0])
    expected, phi = np.asarray(theta), np.zeros(theta.size)
    for k in range(1, 4):
        residual, features = (np.asarray(a) for a in compound.features(jnp.asarray(expected), batch))
        correction = damped_step(features, residual + mu * features @ phi, damping)
        last, phi = phi, mu * phi + correction
        # It is the minimiser of ‖Jφ + r‖² + λ‖φ − μφ_last‖²: the gradient vanishes.
        gradient = features.T @ (features @ phi + residual) + damping * (phi - mu * last)
        assert_close(gradient, np.zeros_like(gradient), 1e-9, scale=np.abs(features.T @ residual).max())
        expected = expected + length * phi / np.sqrt(1 - mu ** (2 * k))
        state = step(state)
        assert_close(state.theta, expected, 1e-9)


def test_a_searched_length_never_raises_the_loss_on_its_points():
    compound, batch, theta = case()
    method = Spring(resample=False)
    state = method.init(compound, theta, batch)
    step = jax.jit(lambda s: method.step(compound, s, batch)[0])
    losses = [float(state.loss)]
    for _ in range(30):
        state = step(state)
        losses.append(float(state.loss))
    assert np.all(np.diff(losses) <= 0)
    assert losses[-1] < 1e-3 * losses[0]


def poisson(dimension=6):
    box = ag.Box(**{f"x{k}": (0, 1) for k in range(dimension)})
    exact = lambda **x: sum(jnp.cos(jnp.pi * c) for c in x.values())
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda **x: -(jnp.pi**2) * exact(**x)),
        walls=ag.Condition(lambda u: u, on=box.boundary(), equals=exact),
        solution=exact,
        name="poisson",
    )


def test_more_parameters_than_points_of_a_step():
    """Every step sees 96 new points inside; all of them together are many more than the parameters."""
    solution = ag.solve(
        poisson(), ag.MLP(24, 24), "spring", points={"equation": 96, "walls": ag.Sobol(48)}, steps=150, progress=False
    )
    assert solution.summary["rows"] < solution.summary["parameters"]
    errors = solution.history.column("l2_error")
    assert errors[-1] < 0.1 * errors[0]
    # It learned the equation, not its points.
    assert solution.validation_loss < 10 * np.median(solution.history.steps["loss"][-30:])


def test_the_same_seed_gives_the_same_run_however_it_falls_into_blocks(monkeypatch):
    from anagram import run

    arguments = {"points": 32, "steps": 20, "progress": False, "seed": 3}
    first = ag.solve(poisson(3), ag.MLP(8), "spring", **arguments)
    monkeypatch.setattr(run, "BLOCK_SECONDS", 1e-6)
    second = ag.solve(poisson(3), ag.MLP(8), "spring", **arguments)
    assert len(second.history.blocks) > len(first.history.blocks)
    assert np.array_equal(first.theta, second.theta)


def test_points_that_cannot_be_drawn_anew():
    with pytest.raises(ag.SettingError, match="resample=False"):
        ag.solve(ag.catalogue.problem("heat"), ag.MLP(4), "spring", points=ag.Grid(9), steps=1, progress=False)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"damping": 0}, "damping must be"),
        ({"momentum": 1.0}, "momentum must be"),
        ({"warmup": -1}, "warmup must be"),
        ({"step_length": "long"}, "step_length must be"),
        ({"resample": 1}, "resample must be"),
    ],
)
def test_mistakes_with_options(options, what):
    with pytest.raises(ag.SettingError, match=what):
        Spring(**options)
