"""Climbs that are kept in a folder: stopped, gone on with, loaded and repeated."""

import json
import shutil

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.errors import FileError
from anagram.keeping import checkpoint
from anagram.training.goal import Goal
from climbing.small import (
    KEPT,
    QUIET,
    TINY,
    At,
    Killed,
    assert_same_climb,
    decay,
    kill,
    press,
    two_rungs,
    without_clock,
)
from problems import LINE, parabola


@pytest.fixture(autouse=True)
def _small_ladder(monkeypatch):
    two_rungs(monkeypatch)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A climb of two rungs that nothing came in the way of."""
    with pytest.MonkeyPatch.context() as patch:
        two_rungs(patch)
        solution = ag.solve(parabola(), **TINY, folder=tmp_path_factory.mktemp("climb") / "run", **KEPT)
    assert len(solution.rungs) == 2
    assert solution.rungs[0]["steps"] == solution.rungs[1]["steps"] == TINY["steps"]
    return solution


@pytest.fixture
def copy(whole, tmp_path):
    """Its folder, to be changed."""
    return shutil.copytree(whole.folder, tmp_path / "copy")


def test_every_rung_that_is_done_is_kept(whole):
    folders = sorted(path.name for path in (whole.folder / "rungs").iterdir())
    assert folders == ["000", "001"]
    record = json.loads((whole.folder / "run.json").read_text())
    assert record["status"] == "finished"
    assert record["configuration"]["climbs"] is True
    said = json.loads(json.dumps(whole.summary))
    for key in ("tol", "reached", "relative_error_estimate", "error_estimate", "rungs", "missing", "total_steps"):
        assert record["summary"][key] == said[key], key


def test_a_climb_is_loaded_with_all_it_says(whole):
    loaded = ag.load(whole.folder, problem=parabola())
    assert_same_climb(loaded, whole)
    t = np.linspace(0, 1, 5)
    np.testing.assert_array_equal(loaded(t), whole(t))


@pytest.mark.parametrize(("rung", "step"), [(0, 0), (0, 7), (1, 0), (1, 7), (1, 12)])
def test_a_climb_that_was_killed_goes_on_to_the_same_numbers(rung, step, whole, tmp_path):
    with pytest.raises(Killed):
        ag.solve(parabola(), **TINY, folder=tmp_path, monitors=[At(rung, step, kill)], **KEPT)
    assert len(list(tmp_path.glob("rungs/*/run.json"))) == rung
    assert_same_climb(ag.resume(tmp_path, parabola(), **KEPT), whole)
    assert_same_climb(ag.load(tmp_path, problem=parabola()), whole)


@pytest.mark.parametrize("stop", [press, lambda: True], ids=["interrupted", "stopped by a monitor"])
def test_the_best_so_far_is_returned_when_it_is_stopped(stop, whole, tmp_path, request):
    stopped = ag.solve(parabola(), **TINY, folder=tmp_path, monitors=[At(1, 7, stop)], **KEPT)
    assert stopped.stopped_because == request.node.callspec.id
    assert stopped.reached is False
    assert [rung["steps"] for rung in stopped.rungs] == [12, 7]
    assert "can go on: resume" in stopped.summary["missing"]
    least = min(stopped.rungs, key=lambda rung: rung["validation_loss"])
    assert stopped.validation_loss == least["validation_loss"]
    loaded = ag.load(tmp_path, problem=parabola())
    np.testing.assert_array_equal(loaded.theta, stopped.theta)
    assert_same_climb(ag.resume(tmp_path, parabola(), **KEPT), whole)


def test_a_rung_that_was_killed_where_it_would_have_ended_ends_there(tmp_path, monkeypatch):
    """While its error is estimated for the last time: the checkpoint of that step is there already."""
    plain = ag.solve(parabola(), tol=1e-3, **QUIET)
    assert plain.reached
    assert plain.relative_l2_error < 3e-3
    last, asked = plain.summary["steps"], Goal.__call__

    def dies(self, run):
        return kill() if run.history.count == last else asked(self, run)

    with monkeypatch.context() as patch:
        patch.setattr(Goal, "__call__", dies)
        patch.setattr("anagram.keeping.runfolder.SHARE", np.inf)  # a checkpoint after every block
        with pytest.raises(Killed):
            ag.solve(parabola(), tol=1e-3, folder=tmp_path, **KEPT)
    assert checkpoint.read(tmp_path)[0].record["step"] == last
    before = json.loads((tmp_path / "run.json").read_text())
    with pytest.raises(FileError, match="cannot go on with this problem"):
        ag.resume(tmp_path, decay(), tol=1e-5, **KEPT)
    assert json.loads((tmp_path / "run.json").read_text()) == before, "what was refused is not written"
    assert_same_climb(ag.resume(tmp_path, parabola(), **KEPT), plain)


def test_a_climb_that_has_ended_ends_again_at_once(whole, copy):
    called = []
    again = ag.resume(copy, parabola(), monitors=[called.append], **KEPT)
    assert not called, "nothing is trained"
    assert_same_climb(again, whole)


def test_rungs_that_are_read_keep_their_judgement(tmp_path):
    """It may have been made on points that only their run had, such as cells that moved."""
    ag.solve(parabola(), tol=1e-3, folder=tmp_path, **KEPT)
    path = tmp_path / "rungs" / "000" / "run.json"
    record = json.loads(path.read_text())
    record["summary"]["rung"]["estimate"] = 7e-4
    path.write_text(json.dumps(record))
    again = ag.resume(tmp_path, parabola(), **KEPT)
    assert (again.reached, again.relative_error_estimate) == (True, 7e-4)
    assert again.summary["error_estimate"]["reliable"] is True


def test_a_climb_can_go_further(whole, copy):
    """With another tolerance, and more steps for what is not done: here for the last rung."""
    shutil.rmtree(copy / "rungs" / "001")
    further = ag.resume(copy, parabola(), tol=2e-4, steps=15, **KEPT)
    assert without_clock(further.rungs[:1]) == without_clock(whole.rungs[:1])
    assert [rung["steps"] for rung in further.rungs] == [12, 15]
    assert (further.tol, further.reached) == (2e-4, False)
    record = json.loads((copy / "run.json").read_text())["configuration"]
    assert (record["budget"]["tol"], record["budget"]["steps"], record["steps"]) == (2e-4, 15, 15)


def test_a_climb_can_be_repeated(whole):
    again, comparison = ag.repeat(whole.folder, parabola(), progress=False)
    assert comparison.identical, comparison.in_words()
    assert_same_climb(again, whole)


@pytest.mark.parametrize("checkpoints", [0.0, 1e6], ids=["with a checkpoint", "without one"])
@pytest.mark.parametrize("step", [0, 7])
def test_another_problem_is_refused(step, checkpoints, whole, tmp_path):
    kept = {**KEPT, "checkpoint_every": checkpoints}
    with pytest.raises(Killed):
        ag.solve(parabola(), **TINY, folder=tmp_path, monitors=[At(1, step, kill)], **kept)
    before = (tmp_path / "run.json").read_text()
    for box, equals in ((LINE, 2.5), (ag.Box(x=(0, 2)), 2.0)):
        other = ag.Problem(
            box,
            equation=ag.Condition(lambda u: u.d("x", "x"), equals=equals),
            ends=ag.Condition(lambda u: u, on=box.faces("x")),
        )
        with pytest.raises(ag.FileError, match="the points or their sources"):
            ag.resume(tmp_path, other, **KEPT)
        assert (tmp_path / "run.json").read_text() == before, "what was refused is not written"
    assert_same_climb(ag.resume(tmp_path, parabola(), **KEPT), whole)


def test_another_problem_is_refused_where_all_rungs_are_done(copy):
    other = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=2.5),
        ends=ag.Condition(lambda u: u, on=LINE.faces("x")),
    )
    with pytest.raises(ag.FileError, match="the points or their sources"):
        ag.resume(copy, other, **KEPT)


def test_another_equation_is_refused_before_the_rung_under_way(whole, tmp_path):
    """Its sources are the same: the first loss tells it apart, also where there is no checkpoint yet."""
    kept = {**KEPT, "checkpoint_every": 1e6}
    with pytest.raises(Killed):
        ag.solve(parabola(), **TINY, folder=tmp_path, monitors=[At(1, 7, kill)], **kept)
    other = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x") + u, equals=2.0),
        ends=ag.Condition(lambda u: u, on=LINE.faces("x")),
    )
    with pytest.raises(ag.FileError, match="cannot go on with this problem"):
        ag.resume(tmp_path, other, **KEPT)


class Own(eqx.Module):
    """A model of one's own."""

    inner: eqx.nn.MLP

    def __call__(self, x):
        return self.inner(x)


def test_a_module_of_ones_own_goes_on(tmp_path):
    module = Own(eqx.nn.MLP(1, 1, 5, 1, activation=jnp.tanh, key=jax.random.key(0)))
    given = {"points": ag.GaussLegendre(30), "tol": 1e-9, "steps": 12}
    plain = ag.solve(parabola(), module, **given, **QUIET)
    ag.solve(parabola(), module, folder=tmp_path, monitors=[At(0, 7, press)], **given, **KEPT)
    with pytest.raises(ag.FileError, match="give it again, model="):
        ag.resume(tmp_path, parabola(), **KEPT)
    for _ in range(2):  # from its checkpoint, and from its only rung
        assert_same_climb(ag.resume(tmp_path, parabola(), model=module, **KEPT), plain)


def test_a_new_climb_takes_the_place_of_an_old_one(copy):
    with pytest.raises(ag.FileError, match="holds a run already"):
        ag.solve(parabola(), **TINY, folder=copy, **KEPT)
    ag.solve(parabola(), ag.MLP(4), points=ag.GaussLegendre(30), steps=2, folder=copy, overwrite=True, **KEPT)
    assert not (copy / "rungs").exists()
    assert ag.load(copy).reached is None
