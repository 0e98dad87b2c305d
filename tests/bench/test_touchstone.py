"""The solutions of the touchstone satisfy every condition, and agree with other solvers."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import anagram as ag
from anagram.environment import quick_compilation
from anagram.statement.condition import with_fields
from anagram.statement.evaluation import evaluate
from anagram.statement.fields import Field, Frame, constant

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import touchstone
from tolerances import assert_close
from touchstone import TOUCHSTONES

CLOSED = [name for name in TOUCHSTONES if name not in ("pendulum", "airy")]
SIZE = 0.1


def residuals(problem, coefficients, batch):
    """For any size: D(u* + a wave of this size) − f of every condition, at the points of a batch."""
    axes, box = problem.domain.axes, problem.domain
    centre = {u: float(np.sqrt(np.mean(np.abs(v) ** 2))) for u, v in problem.exact(batch_points(problem)).items()}

    def wave(x):
        return jnp.sin(1.0 + jnp.sum((x - box.low) / box.lengths * (1.0 + jnp.arange(len(axes)))))

    def at(key, size, x, normal):
        frame = Frame(axes)
        fields = {
            u.name: Field(lambda x, n=u.name: problem.solution[n](x) + size * centre[n] * wave(x), frame)
            for u in problem.unknowns
        } | {name: constant(value, frame) for name, value in coefficients.items()}
        return jnp.stack(evaluate(with_fields(problem.expressions[key], fields, axes, normal), x))

    def all_of_them(size, points):
        return {
            key: jax.vmap(lambda x, n, key=key: at(key, size, x, n), (0, None if normal is None else 0))(x, normal)
            for key, (x, normal) in points.items()
        }

    points = {key: (part.x, part.normal) for key, part in batch.items()}
    compiled = jax.jit(all_of_them, compiler_options=quick_compilation())
    return lambda size: compiled(size, points)


def batch_points(problem):
    return problem.domain.draw(ag.Sobol(256), np.random.default_rng(0)).x


def complex_source(part, values):
    """The source of a batch, whose complex components are two real ones."""
    source = np.asarray(part.source)
    return source[:, 0::2] + 1j * source[:, 1::2] if np.iscomplexobj(values) else source


@pytest.mark.parametrize("name", CLOSED)
def test_solutions_satisfy_every_condition(name):
    stone = TOUCHSTONES[name]
    problem = stone.state()
    assert problem.name == name
    assert set(problem.coefficients) == set(stone.coefficients)
    batch = ag.sample(problem, 2000, seed=1)
    residual = residuals(problem, stone.coefficients, batch)
    exact, wrong = residual(0.0), residual(SIZE)
    for key, part in batch.items():
        source = complex_source(part, exact[key])
        if stone.noise and key == "data":
            assert 0.8 * stone.noise < np.std(exact[key] - source) < 1.2 * stone.noise
            continue
        # A wrong solution says how large the terms of a condition are.
        scale = max(np.max(np.abs(wrong[key] - source)) / SIZE, np.max(np.abs(source)))
        assert_close(exact[key], source, what=key, scale=scale)


def test_bumps_are_seen_by_these_points():
    problem = TOUCHSTONES["bump-0.035"].state()
    source = ag.sample(problem, 2000, seed=1)["equation"].source
    assert np.max(np.abs(source)) > 0.1 * 4 / 0.035**2


def pendulum_slope(_, y):
    return y[1], -np.sin(y[0])


@pytest.mark.parametrize(
    ("name", "slope", "start", "end"),
    [
        ("duffing", touchstone.duffing_slope, (1.0, 0.0), 20),
        ("pendulum", pendulum_slope, (1.0, 0.0), 50),
        ("van-der-pol", touchstone.van_der_pol_slope, (2.0, 0.0), 10),
        ("lotka-volterra", touchstone.lotka_volterra_slope, (3.0, 1.0), 10),
    ],
)
def test_integrated_solutions_agree_with_runge_kutta(name, slope, start, end):
    t = np.linspace(0, end, 57)
    other = solve_ivp(slope, (0, end), start, method="DOP853", rtol=1e-13, atol=1e-14, t_eval=t).y
    exact = TOUCHSTONES[name].state().exact(t[:, None])
    for values, expected in zip(exact.values(), other, strict=False):
        assert_close(values, expected, 1e-11)


def test_the_pendulum_agrees_with_collocation():
    t = np.linspace(0, 50, 501)
    angle, _ = touchstone.integrated(pendulum_slope, (1.0, 0.0), 50, 250)
    assert_close(TOUCHSTONES["pendulum"].state().exact(t[:, None])["u"], angle(t))


def test_airys_function_agrees_with_collocation():
    problem = TOUCHSTONES["airy"].state()
    x = np.linspace(-15, 0, 201)[:, None]
    exact = problem.exact(x)["u"]
    assert_close(exact[0], problem.conditions["left"].equals)
    from scipy.special import airy

    value, slope = airy(-15.0)[:2]
    other, _ = touchstone.integrated(lambda t, y: (y[1], (t - 15) * y[0]), (value, slope), 15, 60)
    assert_close(other(x[:, 0] + 15), exact)
    assert_close(problem.exact(np.array([[3.0]]))["u"], np.array([problem.conditions["right"].equals]))


def test_burgers_agrees_with_quadrature():
    from anagram.catalogue.references.burgers import BurgersReference

    points = batch_points(TOUCHSTONES["burgers-0.05"].state())
    # The catalogue has the sine with the other sign: the same wave, one further.
    other = BurgersReference(0.05)(points - [0.0, 1.0])
    assert_close(TOUCHSTONES["burgers-0.05"].state().exact(points)["u"], other)
