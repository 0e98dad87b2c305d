"""What becomes of a climb whose stretches are left because they take too long: it is decided once, and remembered."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.climbing import climb as climbing
from anagram.climbing import result
from anagram.climbing.climb import BY_MONITOR, TIME_UP, Climb
from anagram.climbing.judging import Judgement
from anagram.climbing.march import March
from anagram.climbing.trained import LEFT, TrainedRungs
from anagram.keeping.runfolder import RUNGS, RunFolder
from anagram.models import ParametricModel
from anagram.repeat import _Limited
from anagram.statement.domains.bends import Bend
from anagram.training.budget import Budget
from anagram.training.configuration import Configuration
from anagram.training.rungs import Outcome, Plan, Rung
from anagram.training.setting import Setting
from anagram.training.trainer import Trainer
from climbing.small import KEPT, TINY, two_rungs
from problems import parabola

BOX = ag.Box(t=(0, 1), x=(-1, 1))


def narrow():
    """A nonlinear evolution that begins with a narrow bump: no network gets hold of it at once."""
    return ag.Problem(
        BOX,
        equation=ag.Condition(lambda u: u.d("t") + u * u.d("x") - 0.01 * u.d("x", "x")),
        initial=ag.Condition(lambda u: u, on=BOX.face(t=0), equals=lambda x: jnp.exp(-((x / 0.03) ** 2))),
        walls=ag.Condition(lambda u: u, on=BOX.faces("x")),
        name="narrow",
    )


def configuration(seconds=None):
    return Configuration(Setting(), Budget(100, seconds, 1e-3), 0)


# -- decided once -----------------------------------------------------------------------------------------------
@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of a climb with two rungs."""
    two_rungs(monkeypatch)
    ag.solve(parabola(), **TINY, folder=tmp_path / "run", **KEPT)
    with RunFolder(tmp_path / "run", go_on=True) as folder:
        yield folder


def trained(kept):
    return TrainedRungs(configuration(), kept=kept)


def test_what_was_decided_is_kept(kept):
    rungs = trained(kept)
    assert rungs.known == 2
    assert not rungs.leaves("march", lambda: True), "rungs follow: it was not left here"
    rungs.count = 2
    assert not rungs.leaves("march", lambda: False)
    assert rungs.leaves("march", lambda: True)
    again = trained(kept)
    assert again.left == [["march", 2]]
    again.count = 2
    assert again.leaves("march", lambda: False), "as it was decided then, whatever the clock says now"
    assert not again.leaves("640 features", lambda: False)


def test_a_rung_that_was_under_way_follows_too(kept):
    rungs = trained(kept)
    rungs.count = 2
    rungs.go_on_from(2, None, None)
    assert not rungs.leaves("march", lambda: True)


def test_a_damaged_record_of_it_is_refused(kept):
    (kept.path / RUNGS / LEFT).write_text('["x"]')
    with pytest.raises(ag.FileError, match="damaged"):
        trained(kept)


def test_a_repetition_leaves_where_it_was_left():
    rungs = TrainedRungs(configuration())
    limited = _Limited(rungs, None, [["march", 1]])
    assert not limited.is_over
    assert not limited.leaves("march", lambda: True)
    rungs.count = 1
    assert limited.leaves("march", lambda: False)


def test_features_that_would_take_too_long_are_left_for_fewer():
    """Where even those would, networks follow: time is not used up before it is."""
    climb = Climb(narrow(), 1e-3, 0, TrainedRungs(configuration()), seconds=10.0)
    done = Rung(Plan(0, features=320), Outcome(321, 900, 1, 1.0, 0.0, 1e-3, 1e-3, None))
    climb.rungs = [done]
    assert climb._goes_without(Plan(0, features=1280), 9.0)
    assert not climb._goes_without(Plan(0, features=640), 9.0)
    assert climb._goes_without(Plan(0, features=1280), 1e9), "it is decided once"
    assert not climb._goes_without(Plan(1), 9.0)


@pytest.mark.parametrize(
    ("spent", "cost", "is_too_slow"),
    [(1.0, 0.5, False), (3.0, 1.0, False), (3.0, 2.5, True), (9.0, 0.5, False), (9.0, 1.0, True)],
)
def test_the_pace_of_a_march_is_that_of_its_last_stretch(spent, cost, is_too_slow):
    march = March(narrow(), "t", 1e-3, 0, TrainedRungs(configuration()), 10.0, solves=True)
    march.edges, march.solutions, march.taken = [0.0, 0.125], [None], (spent, cost)
    march.rungs = [Rung(Plan(0, features=320), Outcome(321, 900, 1, spent, 0.0, 1e-3, 1e-3, None))]
    assert march._is_too_slow() is is_too_slow


def test_a_march_that_takes_no_stretch_is_too_slow():
    march = March(narrow(), "t", 1e-3, 0, TrainedRungs(configuration()), 10.0, solves=True)
    march.rungs = [Rung(Plan(0, features=320), Outcome(321, 900, 1, 3.0, 0.0, 1e-3, 1e-3, None))]
    assert march._is_too_slow()


# -- climbs without a rung before the march -------------------------------------------------------------------
def test_time_that_a_march_has_used_leaves_one_rung(monkeypatch):
    """The march comes before any network; its rungs stand where they were trained."""
    outcome = Outcome(3, 3, 1, 99.0, 0.0, 1.0, 1.0, None)

    class Slow:
        is_whole, spent, rungs = False, 99.0, [Rung(Plan(0, features=160), outcome)]

    small = Setting(ag.MLP(2), points=12)
    monkeypatch.setattr(result, "_in_stretches", lambda *_: (Slow(), TIME_UP))
    monkeypatch.setattr(Climb, "setting", lambda *_: small)
    found = result.find(narrow(), 1e-3, 0, TrainedRungs(configuration()), 5.0, Setting(), lambda _: None)
    assert found.reason == TIME_UP
    assert [r.outcome.seconds == 99.0 for r in found.rungs] == [True, False]


def test_a_monitor_may_stop_the_first_stretch(monkeypatch):
    monkeypatch.setattr(climbing, "rung_points", lambda *_: {"equation": ag.Grid(6), "initial": ag.Grid(6)})
    monkeypatch.setattr(Plan, "model", lambda *_: ag.Chebyshev(12, finest=4, along="x"))
    solution = ag.solve(narrow(), tol=1e-3, monitors=[lambda record: True], progress=False)
    assert solution.stopped_because == BY_MONITOR
    assert not solution.reached
    assert "solved to" in solution.summary["missing"]


def test_stretches_keep_the_bends_that_a_march_has_found():
    bends = {"x": Bend((0.0, 1.0))}
    assert Climb(narrow(), 1e-3, 0, TrainedRungs(configuration()), marches=True, bends=bends).bends == bends


# -- stretches that cannot be shorter -----------------------------------------------------------------------
@pytest.mark.parametrize(("value", "takes"), [(5e-4, True), (5e-3, False), (None, False)])
def test_a_stretch_that_comes_to_the_tolerance_is_taken(value, takes):
    march = March(narrow(), "t", 1e-3, 0, TrainedRungs(configuration()), None, solves=True)

    class Climbed:
        rungs, best = [None] if value else [], 0

        def estimate(self, _):
            return Judgement(value, True, ())

    assert march._does(Climbed()) is takes


# -- one after the other --------------------------------------------------------------------------------------
def test_a_march_that_a_closer_one_does_not_better_is_kept(monkeypatch):
    """The closer one is interrupted; what the first one came to is not lost."""
    count = itertools.count()

    class Stub:
        local = 1.0

        def __init__(self, *_, **__):
            self.is_whole = next(count) == 0
            self.rungs, self.spent = [self.is_whole], 1.0
            self.judgement = Judgement(1e-2, True, ())

        def run(self, _):
            return result.REACHED if self.is_whole else result.INTERRUPTED

    class Before:
        seconds, spent = None, 0.0

    monkeypatch.setattr(result, "March", Stub)
    march, reason = result._in_stretches(None, "t", 1e-3, 0, None, Before(), Setting(), None)
    assert march.is_whole
    assert march.rungs == [True, False]
    assert reason == result.INTERRUPTED


def test_polynomials_that_are_given_get_nodes_that_resolve_them():
    box = ag.Box(t=(0, 1), x=(0, 1))
    problem = ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.d("t") - u.d("x", "x") / 400),
        initial=ag.Condition(lambda u: u, on=box.face(t=0), equals=lambda x: jnp.sin(20 * x)),
        left=ag.Condition(lambda u: u, on=box.face(x=0)),
        right=ag.Condition(lambda u: u, on=box.face(x=1), equals=lambda t: jnp.exp(-t) * np.sin(20.0)),
        solution=lambda t, x: jnp.exp(-t) * jnp.sin(20 * x),
    )
    solution = ag.solve(problem, ag.Chebyshev(320, finest=40, along="x"), progress=False)
    assert solution.relative_l2_error < 1e-7


def test_nodes_that_would_be_too_many_are_not_taken():
    cube = ag.Box(x=(0, 1), y=(0, 1), z=(0, 1))
    problem = ag.Problem(
        cube,
        equation=ag.Condition(lambda u: u.laplacian()),
        walls=ag.Condition(lambda u: u, on=cube.boundary()),
    )
    model = ParametricModel(problem.sought, ag.Chebyshev(30_000, finest=30_000, along="x"), 0)
    assert model.module.resolving_rule(cube.axes) is None
    assert Trainer(parabola(), Setting(model=ag.MLP(3), method="auto", steps=1), 0, compile_now=False).points > 0
