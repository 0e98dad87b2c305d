"""Several solutions, modes, and the way along a parameter."""

import numpy as np
import pytest
from scipy.optimize import brentq

import anagram as ag
from tolerances import assert_close

LINE, TIME = ag.Box(x=(0, 1)), ag.Box(t=(0, 1))


def bratu(strength=2.0):
    return ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x") + strength * np.exp(u)),
        ends=ag.Condition(lambda u: u, on=LINE.boundary()),
        name="bratu",
    )


def in_the_middle(lower, upper):
    """2 log cosh(θ/4), θ = √(2λ) cosh(θ/4), between two values of θ."""
    theta = brentq(lambda th: th - 2 * np.cosh(th / 4), lower, upper)
    return 2 * np.log(np.cosh(theta / 4))


def growth(rate):
    """Logistic growth from a thousandth: what is fast enough looks like nothing at first."""
    return ag.Problem(
        TIME,
        equation=ag.Condition(lambda u: u.d("t") - rate * u * (1 - u)),
        start=ag.Condition(lambda u: u, on=TIME.face(t=0), equals=1e-3),
        name="growth",
    )


@pytest.mark.long
def test_both_solutions_of_bratu_are_found():
    lower, upper = ag.solutions(bratu(), 2, guesses=[lambda x: 12 * x * (1 - x)], tol=1e-5, progress=False)
    for solution, ends in ((lower, (1, 4)), (upper, (4, 12))):
        assert solution.reached
        assert_close(float(solution(x=0.5)), in_the_middle(*ends), 1e-5)
        assert list(solution.problem.conditions) == ["equation", "ends"]
        x = np.linspace(0, 1, 11)[:, None]
        assert np.max(solution.residual("equation", x)) < 1e-2  # of the equation itself


def test_modes_of_a_string():
    string = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u, lam: u.d("x", "x") + lam * u),
        ends=ag.Condition(lambda u: u, on=LINE.boundary()),
        size=ag.Condition(lambda u: ag.integral(u**2), equals=0.5),
        coefficients={"lam": 9.0},
        name="string",
    )
    first, second = ag.modes(string, 2, first_guesses=[36.0], tol=1e-6, progress=False)
    assert_close(first.coefficients["lam"], np.pi**2, 1e-5)
    assert_close(second.coefficients["lam"], 4 * np.pi**2, 1e-4)
    x = np.linspace(0, 1, 33)
    assert_close(np.abs(second(x=x)), np.abs(np.sin(2 * np.pi * x)), 1e-3)


@pytest.mark.long
def test_a_way_leads_where_no_straight_one_does():
    exact = lambda t: 1 / (1 + 999 * np.exp(-30 * t))
    t = np.linspace(0, 1, 41)
    setting = {"model": ag.MLP(8, 8), "steps": 120, "progress": False}
    straight = ag.solve(growth(30.0), **setting)
    assert np.max(np.abs(straight(t=t) - exact(t))) > 0.5
    seen = []
    way = ag.homotopy(growth, [1.0, 10.0, 30.0], told=lambda value, _: seen.append(value), **setting)
    assert_close(way(t=t), exact(t), 1e-4)
    assert way.summary["homotopy"] == seen
    assert seen[0] == 1.0
    assert seen[-1] == 30.0


def test_steps_are_halved_where_one_fails(monkeypatch):
    """With a stand-in for training that fails on long steps."""
    asked = []

    class Stub:
        reached, failed, stopped_because, validation_loss = True, False, "steps used up", 1.0

        def __init__(self, value, reached):
            self.value, self.reached, self.summary = value, reached, {}

    def solve(problem, last=None, **_):
        step = 0.0 if last is None else abs(np.log(problem / last.value))
        asked.append(problem)
        return Stub(problem, step < 1.5)

    monkeypatch.setattr("anagram.several.solve", solve)
    monkeypatch.setattr("anagram.several._next", lambda problem, last, _: solve(problem, last))
    monkeypatch.setattr("anagram.several.residual_of", lambda *_: 1.0)
    monkeypatch.setattr(Stub, "stated_problem", lambda self: None, raising=False)
    found = ag.homotopy(lambda value: value, [1.0, 0.01])
    assert found.value == 0.01
    assert asked[:3] == [1.0, 0.01, 0.1]
    assert np.all(np.abs(np.diff(np.log(found.summary["homotopy"]))) < 1.5)
    monkeypatch.setattr("anagram.several._next", lambda problem, last, _: Stub(problem, reached=False))
    with pytest.raises(ag.SettingError, match="the way ends at 1"):
        ag.homotopy(lambda value: value, [1.0, 0.01])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: ag.homotopy(growth, 3.0), "a list of numbers"),
        (lambda: ag.homotopy(growth, [1.0]), "two or more finite values"),
        (lambda: ag.homotopy(growth, [1.0, 1.0]), "each another one than the last"),
        (lambda: ag.homotopy(growth, [0.0, 1.0], log=True), "positive"),
        (lambda: ag.solutions(bratu(), 0), "count= is how many"),
        (lambda: ag.modes(bratu(), 2), "eigenvalue=...; it has none"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, said):
    with pytest.raises(ag.ProblemError, match=said):
        wrong()


def test_a_first_solution_that_is_none_is_said():
    stuck = ag.Problem(
        LINE, c=ag.Condition(lambda u: u**2, equals=-1.0), e=ag.Condition(lambda u: u, on=LINE.boundary()), name="none"
    )
    with pytest.raises(ag.SettingError, match="the first solution was not found"):
        ag.solutions(stuck, 2, model=ag.MLP(3), steps=5, progress=False)
