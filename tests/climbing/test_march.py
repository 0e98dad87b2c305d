"""Marches over long times."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import anagram as ag
from anagram.models import Pieces
from climbing.small import KEPT, At, Killed, assert_same_climb, kill

LONG = ag.Box(t=(0, 12))
TOL = 1e-3


def pendulum():
    return ag.Problem(
        LONG,
        equation=ag.Condition(lambda u: u.d("t", "t") + np.sin(u)),
        place=ag.Condition(lambda u: u, on=LONG.face(t=0), equals=1.5),
        speed=ag.Condition(lambda u: u.d("t"), on=LONG.face(t=0)),
        name="pendulum",
    )


def soon(patch):
    """Give one network up after its first rung."""
    patch.setattr("anagram.climbing.result.RACE", 0)
    patch.setattr("anagram.climbing.result.LOST", 0.0)


@pytest.fixture(scope="module")
def swung(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        soon(patch)
        return ag.solve(pendulum(), tol=TOL, folder=tmp_path_factory.mktemp("march"), **KEPT)


@pytest.fixture(scope="module")
def reference():
    return solve_ivp(lambda t, y: [y[1], -np.sin(y[0])], (0, 12), [1.5, 0], rtol=1e-10, atol=1e-12, dense_output=True)


def test_a_march_agrees_with_a_solver_of_another_kind(swung, reference):
    t = np.linspace(0, 12, 301)
    place, speed = reference.sol(t)
    assert swung.reached is True
    assert swung.stopped_because == "tolerance reached"
    error = np.sqrt(np.mean((swung(t) - place) ** 2) / np.mean(place**2))
    assert error < 3 * TOL
    assert error < 3 * swung.relative_error_estimate < 3 * TOL
    slope = swung.evaluate(lambda u: u.d("t"), t)
    assert np.sqrt(np.mean((slope - speed) ** 2) / np.mean(speed**2)) < 10 * TOL


def test_a_march_is_one_solution_in_pieces(swung):
    edges = swung.summary["stretches"]
    assert isinstance(swung.model.spec, Pieces)
    assert (edges[0], edges[-1]) == (0.0, 12.0)
    assert len(edges) > 2
    assert np.all(np.diff(edges) > 0)
    assert swung.summary["parameters"] == swung.theta.size == swung.model.parameters
    for edge in edges[1:-1]:
        before, after = swung(np.array([np.nextafter(edge, 0), edge]))
        assert abs(before - after) < TOL, "the pieces meet"
    assert swung.problem.domain.intervals == {"t": (0.0, 12.0)}
    assert swung.summary["total_steps"] == sum(rung["steps"] for rung in swung.rungs)
    assert swung.summary["steps"] == len(swung.history.steps["loss"])
    assert np.all(np.diff(swung.history.steps["seconds"]) >= 0)


def test_a_march_is_kept_and_loaded(swung):
    t = np.linspace(0, 12, 50)
    loaded = ag.load(swung.folder, problem=pendulum())
    np.testing.assert_array_equal(loaded(t), swung(t))
    assert_same_climb(loaded, swung)


def test_a_march_that_was_killed_goes_on_to_the_same_numbers(swung, tmp_path, monkeypatch):
    soon(monkeypatch)
    with pytest.raises(Killed):
        ag.solve(pendulum(), tol=TOL, folder=tmp_path, monitors=[At(2, 14, kill)], **KEPT)
    again = ag.resume(tmp_path, pendulum(), **KEPT)
    assert_same_climb(again, swung)
    assert again.summary["stretches"] == swung.summary["stretches"]
