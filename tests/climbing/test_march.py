"""Marches over long times."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import anagram as ag
from anagram.climbing.result import _joined
from anagram.models import Pieces
from anagram.training.history import History
from climbing.small import KEPT, At, Killed, assert_same_climb, kill

LONG = ag.Box(t=(0, 14))
OTHER = 1e-10  # to which the other solver is right, and more
TOL = 1e-2
OF_SCIPY = 1e-10  # its own error


def pendulum():
    return ag.Problem(
        LONG,
        equation=ag.Condition(lambda u: u.d("t", "t") + np.sin(u)),
        place=ag.Condition(lambda u: u, on=LONG.face(t=0), equals=1.5),
        speed=ag.Condition(lambda u: u.d("t"), on=LONG.face(t=0)),
        name="pendulum",
    )


@pytest.mark.long
def test_a_march_agrees_with_a_solver_of_another_kind_and_can_be_killed(tmp_path, monkeypatch):
    # The whole is given up after its first rung of a network, if it comes to one.
    monkeypatch.setattr("anagram.climbing.result.RACE", 0)
    monkeypatch.setattr("anagram.climbing.result.LOST", 0.0)
    solution = ag.solve(pendulum(), tol=TOL, folder=tmp_path / "whole", **KEPT)
    agrees_with_scipy(solution)
    is_one_solution_in_pieces(solution)
    loaded = ag.load(tmp_path / "whole", problem=pendulum())
    assert_same_climb(loaded, solution)
    t = np.linspace(0, 14, 50)
    np.testing.assert_array_equal(loaded(t), solution(t))
    with pytest.raises(Killed):
        ag.solve(pendulum(), tol=TOL, folder=tmp_path / "killed", monitors=[At(2, 1, kill)], **KEPT)
    again = ag.resume(tmp_path / "killed", pendulum(), **KEPT)
    assert_same_climb(again, solution)
    assert again.summary["stretches"] == solution.summary["stretches"]


def inside(solution):
    """The place of a rung of the second stretch: the first one whose predecessors have met a tolerance."""
    met = [rung["trusted"] and rung["estimate"] <= TOL for rung in solution.rungs]
    return met.index(True) + 1


def agrees_with_scipy(solution):
    t = np.linspace(0, 14, 301)
    accurate = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    place, speed = solve_ivp(lambda t, y: [y[1], -np.sin(y[0])], (0, 14), [1.5, 0], t_eval=t, **accurate).y
    assert solution.reached is True
    assert solution.stopped_because == "tolerance reached"
    error = np.sqrt(np.mean((solution(t) - place) ** 2) / np.mean(place**2))
    assert error < max(3 * solution.relative_error_estimate, OTHER)
    assert solution.relative_error_estimate <= TOL
    slope = solution.evaluate(lambda u: u.d("t"), t)
    assert np.sqrt(np.mean((slope - speed) ** 2) / np.mean(speed**2)) < 5 * TOL


def is_one_solution_in_pieces(solution):
    edges = solution.summary["stretches"]
    assert isinstance(solution.model.spec, Pieces)
    assert (edges[0], edges[-1]) == (0.0, 14.0)
    assert len(edges) > 2
    assert np.all(np.diff(edges) > 0)
    assert solution.summary["parameters"] == solution.theta.size == solution.model.parameters
    for edge in edges[1:-1]:
        before, after = solution(np.array([np.nextafter(edge, 0), edge]))
        assert abs(before - after) < TOL, "the pieces meet"
    assert solution.problem.domain.intervals == {"t": (0.0, 14.0)}
    assert solution.summary["total_steps"] == sum(rung["steps"] for rung in solution.rungs)
    assert solution.summary["steps"] == len(solution.history.steps["loss"])
    assert np.all(np.diff(solution.history.steps["seconds"]) >= 0)


def test_a_stretch_without_steps_leaves_the_history_as_it_is():
    """Its time was up before it began."""
    begun = History({"loss": np.array([1.0, 0.5]), "seconds": np.array([0.1, 0.2])}, [{"step": 2, "seconds": 0.2}])
    whole = _joined([begun, History({}, [{"step": 0, "seconds": 0.0}])])
    assert whole.count == 2
    assert [block["step"] for block in whole.blocks] == [2, 2]
