"""The solutions of the touchstone satisfy every condition, and agree with other solvers."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import anagram as ag

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import touchstone
from exactness import assert_satisfied, batch_points
from tolerances import assert_close
from touchstone import TOUCHSTONES

CLOSED = [name for name in TOUCHSTONES if name not in ("pendulum", "airy")]


@pytest.mark.parametrize("name", CLOSED)
def test_solutions_satisfy_every_condition(name):
    stone = TOUCHSTONES[name]
    problem = stone.state()
    assert problem.name == name
    assert set(problem.coefficients) == set(stone.coefficients)
    assert_satisfied(problem, stone.coefficients, noise={"data": stone.noise})


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
