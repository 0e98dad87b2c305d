"""Marches of evolutions in space and time."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.climbing.march import March
from anagram.models import Pieces
from anagram.statement.domains import Kronecker
from anagram.training.setting import Setting
from climbing.small import KEPT, QUIET, At, Killed, assert_same_climb, kill, press, two_rungs
from compiling import compilations
from tolerances import assert_close

RING = ag.Box(t=(0, 1), x=ag.periodic(0, 2 * np.pi))
DISK = ag.Box(t=(0, 1)) * ag.Disk()
BOX = ag.Box(t=(0, 1), x=(0, 1))


def transport():
    """What is wrong at the end of a stretch is carried along for ever."""
    return ag.Problem(
        RING,
        equation=ag.Condition(lambda u: u.d("t") + 2 * u.d("x")),
        start=ag.Condition(lambda u: u, on=RING.face(t=0), equals=lambda x: jnp.sin(x)),
        solution=lambda t, x: jnp.sin(x - 2 * t),
        name="transport",
    )


def string():
    """Second order in time, walls that hold exactly."""
    return ag.Problem(
        BOX,
        equation=ag.Condition(lambda u: u.d("t", "t") - u.d("x", "x")),
        place=ag.Condition(lambda u: u, on=BOX.face(t=0), equals=lambda x: jnp.sin(jnp.pi * x)),
        speed=ag.Condition(lambda u: u.d("t"), on=BOX.face(t=0)),
        walls=ag.Condition(lambda u: u, on=BOX.faces("x"), exact=True),
        solution=lambda t, x: jnp.cos(jnp.pi * t) * jnp.sin(jnp.pi * x),
        name="string",
    )


def two_waves():
    """A real and a complex unknown."""
    return ag.Problem(
        RING,
        equation=ag.Condition(lambda v, psi: (v.d("t") - psi.real, 1j * psi.d("t") + psi.d("x", "x"))),
        start=ag.Condition(lambda v, psi: (v, psi), on=RING.face(t=0), equals=(0.0, lambda x: jnp.exp(1j * x))),
        unknowns={"v": float, "psi": complex},
        solution={
            "v": lambda t, x: jnp.sin(x) - jnp.sin(x - t),
            "psi": lambda t, x: jnp.exp(1j * (x - t)),
        },
        name="two waves",
    )


def cooling():
    """On a disk: u = e⁻ᵗ (1 − r²)."""
    return ag.Problem(
        DISK,
        equation=ag.Condition(
            lambda u: u.d("t") - u.d("x", "x") - u.d("y", "y"), equals=lambda t, x, y: jnp.exp(-t) * (3 + x**2 + y**2)
        ),
        start=ag.Condition(lambda u: u, on=DISK.face(t=0), equals=lambda x, y: 1 - x**2 - y**2),
        walls=ag.Condition(lambda u: u, on=DISK.boundary()),
        solution=lambda t, x, y: jnp.exp(-t) * (1 - x**2 - y**2),
        name="cooling",
    )


GIVEN = {"model": ag.MLP(8), "tol": 1e-2, "steps": 80}
LONG = pytest.mark.long


@pytest.mark.parametrize(
    "problem", [transport, pytest.param(string, marks=LONG), pytest.param(two_waves, marks=LONG), cooling]
)
def test_a_march_agrees_with_the_solution(problem):
    points = 300 if problem is cooling else ag.GaussLegendre(12)
    solution = ag.solve(problem(), **GIVEN, points=points, stretches=2, **QUIET)
    assert solution.reached is True
    assert solution.relative_l2_error < 3 * solution.relative_error_estimate <= 3e-2
    assert solution.summary["stretches"] == [0.0, 0.5, 1.0]
    assert len(solution.rungs) == 2
    assert isinstance(solution.model.spec, Pieces)
    # Derivatives are those of the equation, on both sides of the edge.
    x = problem().domain.draw(Kronecker(40), np.random.default_rng(0)).x
    scale = 1 + np.max(np.abs(problem().exact(x)[solution.model.sought.unknowns[0].name]))
    assert np.sqrt(np.mean(solution.residual("equation", x) ** 2)) < 0.3 * scale
    before, after = x.copy(), x.copy()
    before[:, 0], after[:, 0] = np.nextafter(0.5, 0), 0.5
    names = [u.name for u in problem().unknowns]
    for name in names:
        gap = np.abs(solution[name](before) - solution[name](after))
        assert np.max(gap) < 5e-2, f"the pieces of {name} meet"
    if problem is string:
        walls = np.array([[0.2, 0.0], [0.2, 1.0], [0.8, 0.0], [0.8, 1.0]])
        assert_close(solution(walls), np.zeros(4), 1e-12, "the walls hold exactly in every piece")


@pytest.mark.long
def test_smaller_tolerances_have_smaller_errors():
    found = [
        ag.solve(transport(), ag.MLP(10), points=ag.GaussLegendre(14), tol=tol, stretches=2, **QUIET)
        for tol in (1e-2, 1e-4)
    ]
    assert all(solution.reached for solution in found)
    assert found[1].relative_l2_error < 0.1 * found[0].relative_l2_error
    assert found[1].relative_l2_error < 3e-4


def test_errors_are_carried_along():
    """The first stretch is stopped early; the second one is as wrong, however well it is solved, and says so."""

    class Hasty(March):
        def _climb(self, problem, *arguments):
            climb = super()._climb(problem, *arguments)
            steps = 12 if len(self.edges) == 1 else 120
            climb.given = Setting(ag.MLP(8), points=ag.GaussLegendre(12), steps=steps)
            return climb

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anagram.climbing.result.March", Hasty)
        solution = ag.solve(transport(), ag.MLP(8), tol=1e-4, stretches=2, **QUIET)
    assert solution.reached is False
    first, second = solution.summary["stretch_errors"]
    t, x = np.full(200, 1.0), np.linspace(0, 6, 200)
    error = float(np.sqrt(np.mean((solution(t, x) - np.sin(x - 2)) ** 2) / 0.5))
    assert solution.rungs[1]["estimate"] < 0.2 * second, "by itself it would be far better"
    assert error / 3 < second < 3 * error
    assert second > first / 3


def test_other_stretches_compile_nothing(monkeypatch):
    marks = []
    climb = March._climb

    def marked(self, *arguments):
        marks.append(len(programs))
        return climb(self, *arguments)

    monkeypatch.setattr(March, "_climb", marked)
    with compilations() as programs:
        ag.solve(transport(), ag.MLP(7), points=ag.GaussLegendre(11), tol=1e-1, stretches=4, **QUIET)
    assert len(marks) == 4
    assert programs[marks[1] : marks[3]] == []


def test_a_march_that_was_killed_goes_on_to_the_same_numbers(tmp_path):
    given = {"points": ag.GaussLegendre(10), "tol": 1e-3, "steps": 20, "stretches": [0.3, 0.6]}
    whole = ag.solve(transport(), ag.MLP(6), folder=tmp_path / "whole", **given, **KEPT)
    record = json.loads((tmp_path / "whole" / "run.json").read_text())
    assert record["configuration"]["stretches"] == [0.3, 0.6]
    assert record["summary"]["stretches"] == [0.0, 0.3, 0.6, 1.0]
    loaded = ag.load(tmp_path / "whole", problem=transport())
    assert_same_climb(loaded, whole)
    t, x = np.linspace(0, 1, 7)[:, None], np.linspace(0, 6, 9)[None]
    np.testing.assert_array_equal(loaded(t=t, x=x), whole(t=t, x=x))
    for rung, step in ((1, 7), (2, 0)):
        folder = tmp_path / f"killed-{rung}"
        with pytest.raises(Killed):
            ag.solve(transport(), ag.MLP(6), folder=folder, monitors=[At(rung, step, kill)], **given, **KEPT)
        again = ag.resume(folder, transport(), **KEPT)
        assert_same_climb(again, whole)
        assert again.summary["stretch_errors"] == whole.summary["stretch_errors"]
    again, comparison = ag.repeat(tmp_path / "whole", transport(), progress=False)
    assert comparison.identical, comparison.in_words()


@pytest.mark.long
def test_a_march_that_is_interrupted_has_what_is_done(tmp_path):
    given = {"points": ag.GaussLegendre(10), "tol": 1e-3, "steps": 20, "stretches": 4}
    stopped = ag.solve(transport(), ag.MLP(6), folder=tmp_path, monitors=[At(1, 7, press)], **given, **KEPT)
    assert (stopped.reached, stopped.stopped_because) == (False, "interrupted")
    assert stopped.summary["stretches"] == [0.0, 0.25, 0.5]
    assert stopped.relative_error_estimate is None
    assert "t was solved to 0.25 of 1 only" in stopped.summary["missing"]
    assert np.isfinite(stopped(t=0.9, x=1.0))
    again = ag.resume(tmp_path, transport(), **KEPT)
    assert_same_climb(again, ag.solve(transport(), ag.MLP(6), **given, **QUIET))


@pytest.mark.parametrize("between", [False, True], ids=["inside of a stretch", "between two of them"])
def test_a_march_without_time_is_repeated_as_far_as_it_came(between, tmp_path, monkeypatch):
    given = {"points": ag.GaussLegendre(8), "tol": 1e-1 if between else 1e-9, "steps": 60, "stretches": 3}
    if between:  # all the time is used up by what is done
        monkeypatch.setattr(March, "spent", property(lambda march: 60.0 * len(march.rungs)))
    seconds = 60.0 if between else 1e-3
    short = ag.solve(transport(), ag.MLP(6), folder=tmp_path / "run", seconds=seconds, **given, **KEPT)
    assert short.stopped_because == "time used up"
    assert short.summary["stretches"] == [0.0, pytest.approx(1 / 3)]
    assert len(short.summary["stretch_errors"]) == int(between)
    again, comparison = ag.repeat(tmp_path / "run", transport(), progress=False)
    assert comparison.identical, comparison.in_words()
    assert again.summary["stretches"] == short.summary["stretches"]


@pytest.mark.long
def test_stretches_that_are_not_reached_are_taken_all_the_same():
    solution = ag.solve(transport(), ag.MLP(4), points=ag.GaussLegendre(8), tol=1e-9, steps=6, stretches=3, **QUIET)
    assert solution.reached is False
    assert len(solution.rungs) == 3
    assert solution.summary["stretches"][-1] == 1.0
    assert solution.summary["missing"]
    assert solution.relative_error_estimate is None or solution.relative_error_estimate > 1e-9


def test_a_march_begins_where_the_ladder_of_the_whole_ends(monkeypatch):
    two_rungs(monkeypatch)
    monkeypatch.setattr("anagram.climbing.march.FIRST", 0.5)
    problem = ag.Problem(
        RING,
        equation=ag.Condition(lambda u: u.d("t") + 9 * u.d("x")),
        start=ag.Condition(lambda u: u, on=RING.face(t=0), equals=lambda x: jnp.sin(x) + 0.5 * jnp.cos(2 * x)),
        solution=lambda t, x: jnp.sin(x - 9 * t) + 0.5 * jnp.cos(2 * (x - 9 * t)),
    )
    monkeypatch.setattr("anagram.climbing.climb.STEPS", 8)  # of the networks of the whole
    stretches = []

    class Longer(March):
        def _climb(self, problem, *arguments):
            monkeypatch.setattr("anagram.climbing.climb.STEPS", 200)
            stretches.append(problem.domain.intervals["t"])
            return super()._climb(problem, *arguments)

    monkeypatch.setattr("anagram.climbing.result.March", Longer)
    solution = ag.solve(problem, tol=3e-2, **QUIET)
    assert stretches[0] == (0.0, 0.5)
    assert solution.reached is True
    assert solution.summary["stretches"][-1] == 1.0
    assert solution.relative_l2_error < 5e-2
    assert len(solution.rungs) > 2


@pytest.mark.long
def test_what_a_march_found_can_be_looked_at(tmp_path):
    solution = ag.solve(cooling(), ag.MLP(6), points=150, tol=1e-1, steps=15, stretches=2, **QUIET)
    solution.plot(tmp_path / "solution.png")
    solution.plot_convergence(tmp_path / "convergence.png")
    assert all((tmp_path / f"{name}.png").stat().st_size > 1000 for name in ("solution", "convergence"))
    solution.save(tmp_path / "kept")
    for problem in (cooling(), None):  # without its problem the shape is known by its outline
        again = ag.load(tmp_path / "kept", problem=problem)
        np.testing.assert_array_equal(again(t=[0.2, 0.7], x=0.1, y=-0.3), solution(t=[0.2, 0.7], x=0.1, y=-0.3))
    assert solution.estimate_error(points=300).value > 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stretches": 1}, "stretches= is a number of equal stretches"),
        ({"stretches": [2.0]}, "between 0 and 1"),
        ({"stretches": 2, "model": jnp.tanh}, "stretches= needs a model that can be built"),
        ({"stretches": 2, "model": {"u": ag.MLP(4)}}, "stretches= needs a model that can be built"),
    ],
)
def test_mistakes(given, message, tmp_path):
    with pytest.raises(ag.SettingError, match=message):
        ag.solve(transport(), folder=tmp_path / "run", **given, **QUIET)
    assert not (tmp_path / "run").exists()


def test_a_solution_is_not_gone_on_with_in_stretches():
    start = ag.solve(transport(), ag.MLP(4), points=ag.GaussLegendre(6), steps=2, **QUIET)
    with pytest.raises(ag.SettingError, match="either stretches= or start="):
        ag.solve(transport(), start=start, stretches=2, **QUIET)
