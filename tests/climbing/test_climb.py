"""Climbs to a tolerance: what is reached, what is said of it, and what is said where it is not."""

import json
import warnings
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.climbing.climb import SOLVES, Climb, expected_errors
from anagram.solving import chooses_size
from anagram.statement.detail import Detail
from anagram.training.ladder import FINE, SEES_BUMPS
from anagram.training.rungs import Outcome, Plan, Rung
from anagram.training.setting import Setting
from climbing.small import LINE, QUIET, TINY, At, decay, heat, networks_only, two_rungs, waves
from problems import parabola
from problems_beyond import neumann
from tolerances import assert_close

ROUNDING = 1e-13
RUNG = {"level", "depth", "density", "parameters", "points", "steps", "estimate", "trusted", "stopped_because", "model"}


@pytest.fixture(scope="module")
def decayed():
    return ag.solve(decay(), **QUIET)


def assert_reached(solution, tol):
    assert solution.reached is True
    assert solution.stopped_because == "tolerance reached"
    assert solution.tol == tol
    assert 0 < solution.relative_error_estimate <= tol
    assert solution.relative_l2_error <= 3 * tol
    assert "missing" not in solution.summary


def assert_honest(estimate, error):
    """An estimate is that of the error, within a factor of three; errors that are rounding have none."""
    assert error < 3 * max(estimate, ROUNDING)
    assert estimate < 3 * max(error, ROUNDING)


@pytest.mark.long
def test_estimates_are_those_of_errors(monkeypatch):
    """By other rungs where these are wide, and by the tangent space where a network is trained."""
    wide = ag.solve(heat(), tol=1e-6, **QUIET)
    assert wide.rungs[-1]["features"] > 0
    assert len(wide.rungs) > 1
    networks_only(monkeypatch)
    trained = ag.solve(decay(), tol=1e-3, **QUIET)
    assert trained.rungs[-1]["features"] == 0
    assert_reached(trained, 1e-3)
    assert_honest(trained.error_estimate, trained.l2_error)
    # Errors of wide networks fall by many digits from rung to rung: it is not said how many of them.
    assert wide.l2_error < 3 * wide.error_estimate
    assert wide.error_estimate < 1e-6


def test_nothing_but_the_problem_leads_to_six_digits(decayed):
    assert_reached(decayed, 1e-6)
    assert_close(decayed(np.array([0.0, 0.5, 1.0])), np.exp([0.0, -0.5, -1.0]), 1e-5)


def test_rungs_and_estimates_are_told(decayed):
    summary = decayed.summary
    assert decayed.rungs
    assert all(set(rung) >= RUNG for rung in decayed.rungs)
    last = decayed.rungs[-1]
    assert (last["parameters"], last["points"]) == (summary["parameters"], summary["points"])
    assert (last["estimate"], last["trusted"]) == (decayed.relative_error_estimate, True)
    assert summary["total_steps"] == sum(rung["steps"] for rung in decayed.rungs)
    assert_close(summary["seconds"], sum(rung["seconds"] for rung in decayed.rungs))
    assert (summary["problem"], "rung" in summary) == ("decay", False)
    assert len(json.loads(json.dumps(summary))["rungs"]) == len(decayed.rungs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = decayed.error_estimate
    assert summary["error_estimate"]["reliable"] is True
    assert_honest(value, decayed.l2_error)


def test_the_solution_is_one_of_the_problem_as_it_was_stated(decayed):
    """Its residuals are in the units of the user, whatever the run was trained in."""
    t = np.linspace(0, 1, 7)
    u, slope = decayed(t), decayed.evaluate(lambda u: u.d("t"), t)
    assert_close(decayed.residual("equation", t[:, None]), np.abs(slope + u), 1e-9, scale=1e-6)
    assert_close(decayed.problem.row_sizes("equation"), [1.0])


def test_what_is_not_reached_is_said(monkeypatch):
    two_rungs(monkeypatch)
    monkeypatch.setattr("anagram.training.ladder.LEVELS", (65,))
    solution = ag.solve(parabola(), steps=8, tol=1e-4, **QUIET)
    assert len(solution.rungs) == 1
    assert solution.reached is False
    assert solution.stopped_because == "no larger network helps"
    assert solution.relative_l2_error > 1e-4
    assert "the residual is largest in '" in solution.summary["missing"]
    assert "near (x=" in solution.summary["missing"]
    assert "larger networks did not help" in solution.summary["missing"]
    assert not solution.failed
    estimate = solution.summary["error_estimate"]
    assert estimate["reliable"] or estimate["reasons"]
    assert solution.relative_error_estimate > 1e-4


def test_the_best_rung_is_returned(monkeypatch):
    two_rungs(monkeypatch)
    solution = ag.solve(parabola(), **TINY, **QUIET)
    assert len(solution.rungs) >= 2
    least = min(solution.rungs, key=lambda rung: rung["validation_loss"])
    assert solution.validation_loss == least["validation_loss"]
    assert solution.model.parameters == least["parameters"]
    assert solution.summary["steps"] == least["steps"] <= TINY["steps"]


def test_time_that_is_up_ends_a_climb():
    line = ag.Box(x=(-1, 1))
    kinked = ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=lambda x: 2 * jnp.sign(x)),
        ends=ag.Condition(lambda u: u, on=line.boundary(), equals=lambda x: x),
    )
    solution = ag.solve(kinked, tol=1e-9, seconds=1e-6, **QUIET)
    assert (solution.stopped_because, solution.reached) == ("time used up", False)
    assert len(solution.rungs) == 1
    assert "more time may help" in solution.summary["missing"]


def test_a_model_that_is_given_is_the_only_rung():
    solution = ag.solve(decay(), ag.MLP(6), tol=1e-6, **QUIET)
    assert_reached(solution, 1e-6)
    assert len(solution.rungs) == 1
    spec = solution.model.spec
    assert spec.widths == (6,)
    assert spec.offset == (1.0,), "it is used between the units of the problem"
    few = ag.solve(decay(), ag.MLP(6, offset=0.5, size=2.0), tol=1e-9, steps=3, **QUIET)
    assert (few.reached, few.stopped_because, few.summary["steps"]) == (False, "steps used up", 3)
    assert (few.model.spec.offset, few.model.spec.size) == ((0.5,), (2.0,)), "units that are given stand"


def test_other_methods_have_a_tolerance_too():
    solution = ag.solve(decay(), ag.MLP(4), "anagram", points=ag.GaussLegendre(30), tol=1e-3, steps=100, **QUIET)
    assert_reached(solution, 1e-3)


def test_runs_without_a_tolerance_are_as_before():
    assert chooses_size(ag.Setting())
    assert chooses_size(ag.Setting(points=30))
    assert not any(chooses_size(ag.Setting(**given)) for given in ({"steps": 2}, {"model": ag.MLP(4)}))
    assert not chooses_size(ag.Setting(method="anagram"))
    for tol in (None, 0):
        solution = ag.solve(decay(), ag.MLP(4), points=ag.GaussLegendre(30), tol=tol, steps=2, **QUIET)
        assert (solution.reached, solution.rungs, solution.summary["steps"]) == (None, [], 2)
        assert solution.relative_error_estimate is None


def test_nobody_can_tell_whether_zero_is_reached(monkeypatch):
    two_rungs(monkeypatch)
    solution = ag.solve(decay(), tol=0, seconds=1e-6, **QUIET)
    assert (solution.tol, solution.reached) == (0, None)


def test_a_monitor_ends_the_climb_and_not_the_rung_alone(monkeypatch):
    two_rungs(monkeypatch)
    solution = ag.solve(parabola(), **TINY, monitors=[At(0, 5, lambda: True)], **QUIET)
    assert solution.stopped_because == "stopped by a monitor"
    assert [rung["steps"] for rung in solution.rungs] == [5]
    assert (solution.reached, solution.summary["steps"]) == (False, 5)


def test_climbs_repeat(decayed):
    again = ag.solve(decay(), tol=1e-6, **QUIET)
    np.testing.assert_array_equal(again.theta, decayed.theta)
    other = ag.solve(decay(), tol=1e-6, seed=1, **QUIET)
    assert not np.array_equal(other.theta, decayed.theta)
    assert_reached(other, 1e-6)


def test_units_do_not_matter():
    """The same digits, whatever the axes, the unknown and the conditions are measured in."""
    tol = 1e-4
    plain = ag.solve(heat(), tol=tol, **QUIET)
    assert_reached(plain, tol)
    for units in (
        {"T": 1e9},
        {"X": 1e-9},
        {"U": 1e-9},
        {"C": 1e9},
        {"T": 1e-9, "X": 1e9, "U": 1e9, "C": 1e-9},
    ):
        solution = ag.solve(heat(**units), tol=tol, **QUIET)
        assert_reached(solution, tol)
        assert 1 / 3 < solution.relative_l2_error / plain.relative_l2_error < 3
        assert solution.model.parameters == plain.model.parameters


def open_end():
    """u″ = 0 of which one end is known."""
    return ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x")),
        left=ag.Condition(lambda u: u, on=LINE.face(x=0)),
    )


def closed_walls():
    """u″ = f with no flux through the ends: u is known up to a constant."""
    return ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=lambda x: -(jnp.pi**2) * jnp.cos(jnp.pi * x)),
        walls=ag.Condition(lambda u: u.normal_derivative(), on=LINE.boundary()),
    )


def curve_from_one_end():
    """A nonlinear one of which constants are solutions, and straight lines too."""
    return ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: (1 + u**2) * u.d("x", "x")),
        left=ag.Condition(lambda u: u, on=LINE.face(x=0), equals=1.0),
    )


@pytest.mark.parametrize(
    ("state", "tol", "wide"),
    [
        (open_end, 1e-3, True),
        (closed_walls, 1e-3, True),
        (closed_walls, 1e-8, True),
        (curve_from_one_end, 1e-3, True),
        (closed_walls, 1e-3, False),
    ],
)
def test_what_the_conditions_leave_open_is_not_called_reached(state, tol, wide, monkeypatch):
    """Rungs may agree on one of many solutions, or be far from each other though all of them fulfil the conditions."""
    if not wide:
        networks_only(monkeypatch)
    solution = ag.solve(state(), tol=tol, **QUIET)
    assert solution.stopped_because == "the conditions do not determine the solution"
    assert solution.reached is False
    assert any("do not determine" in reason for reason in solution.summary["error_estimate"]["reasons"])
    assert "state the condition that is missing" in solution.summary["missing"]
    assert len(solution.rungs) <= 3, "no further network helps"


@pytest.mark.parametrize("state", [waves, neumann])
def test_what_they_determine_is(state):
    solution = ag.solve(state(), tol=1e-5, **QUIET)
    assert_reached(solution, 1e-5)


def test_a_solution_that_is_zero_is_found():
    """Nothing is left of any residual then."""
    problem = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x") - u - u**3),
        ends=ag.Condition(lambda u: u, on=LINE.boundary()),
    )
    solution = ag.solve(problem, tol=1e-6, **QUIET)
    assert solution.reached
    assert np.max(np.abs(solution(np.linspace(0, 1, 5)))) < 1e-8


def test_a_climb_reads_the_detail_of_its_problem():
    """A narrow bump in a source is known before anything is trained; where a model is given nothing is chosen by it."""
    square = ag.Box(x=(0, 1), y=(0, 1))
    bump = ag.Problem(
        square,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda x, y: jnp.exp(-900 * (x - 0.3) ** 2) + 0 * y),
        walls=ag.Condition(lambda u: u, on=square.boundary()),
    )

    def first(**given):
        climb = Climb(bump, 1e-3, 0, cast("Any", None), given=Setting(**given))
        return climb.facts.detail, climb._next()

    detail, plan = first()
    assert detail.data > FINE
    assert plan is not None
    assert plan.features >= SEES_BUMPS
    assert first(model=ag.MLP(4))[0] == Detail()


def test_steps_that_are_given_bound_those_of_wide_networks_too():
    wide = Plan(0, features=20, steepness=2.0)
    for given, steps in (({}, SOLVES), ({"steps": 3}, 3), ({"steps": 1000}, SOLVES)):
        climb = Climb(waves(), 1e-3, 0, cast("Any", None), given=Setting(**given))
        assert climb.setting(wide).steps == steps
        assert climb.setting(wide).method == "newton"


def test_the_best_rung_is_that_with_the_smallest_expected_error():
    """By its estimate where that can be relied on; otherwise by its residual, in terms of the others' estimates."""

    def rung(residual, estimate=None, trusted=True):
        loss = residual**2 / 2
        return Rung(Plan(1), Outcome(100, 500, 50, 1.0, 1.0, loss, loss, None, estimate, trusted))

    rungs = [rung(1e-3, 1e-4), rung(1e-4, 2e-3), rung(1e-2), rung(1e-5, 1e-9, trusted=False)]
    expected = expected_errors(rungs)
    assert expected[:2] == [1e-4, 2e-3]
    # The median of 0.1 and 20 times the residual.
    assert_close(expected[2], 10.05e-2, 1e-12)
    assert_close(expected[3], 10.05e-5, 1e-12)
    assert int(np.argmin(expected)) == 0
    assert expected_errors([rung(1e-3), rung(np.inf)])[1] == np.inf


def test_a_worse_rung_says_how_good_the_one_before_it_is():
    """Of a narrow front flatter features see less: that they are off by so much is what the first rung is judged by."""
    front = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x"), equals=lambda x: 30 / jnp.cosh(30 * (x - 0.4)) ** 2),
        left=ag.Condition(lambda u: u, on=LINE.face(x=0)),
        solution=lambda x: jnp.tanh(30 * (x - 0.4)) + np.tanh(12.0),
    )
    solution = ag.solve(front, tol=1e-6, **QUIET)
    first, second = solution.rungs
    assert first["validation_loss"] < second["validation_loss"]
    assert first["trusted"]
    assert not second["trusted"]
    assert solution.reached
    assert solution.summary["relative_l2_error"] <= 3 * solution.relative_error_estimate
