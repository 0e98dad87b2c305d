"""Climbs through wide networks and trained ones that are kept in a folder: stopped, gone on with, loaded, repeated."""

import json
import shutil

import numpy as np
import pytest

import anagram as ag
from anagram.climbing import climb, starts
from anagram.models import MLP, Features
from climbing.small import (
    KEPT,
    WAVES,
    At,
    Killed,
    assert_same_climb,
    kill,
    press,
    rungs_of_all_kinds,
    waves,
    without_clock,
)

NETWORK, ABOVE = 2, 3  # the places of the network that is trained and of the features on top of it


@pytest.fixture(autouse=True)
def _small_ladder(monkeypatch):
    rungs_of_all_kinds(monkeypatch)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A climb that nothing came in the way of."""
    with pytest.MonkeyPatch.context() as patch:
        rungs_of_all_kinds(patch)
        return ag.solve(waves(), **WAVES, folder=tmp_path_factory.mktemp("climb") / "run", **KEPT)


@pytest.fixture
def copy(whole, tmp_path):
    """Its folder, to be changed."""
    return shutil.copytree(whole.folder, tmp_path / "copy")


def test_rungs_are_of_all_kinds(whole):
    assert [(rung["features"] > 0, rung["below"]) for rung in whole.rungs] == [
        (True, -1),
        (True, -1),
        (False, -1),
        (True, NETWORK),
    ]
    assert whole.reached
    assert whole.relative_l2_error < WAVES["tol"]
    assert isinstance(whole.model.spec, Features)
    assert [len(b) for _, b in whole.model.spec.layers] == whole.rungs[NETWORK]["model"]["widths"]


def test_all_of_it_is_kept(whole):
    assert len(list(whole.folder.glob("rungs/*/run.json"))) == len(whole.rungs)
    loaded = ag.load(whole.folder, problem=waves())
    assert_same_climb(loaded, whole)
    x = np.linspace(0, 1, 5)
    np.testing.assert_array_equal(loaded(x), whole(x))


@pytest.mark.parametrize(
    ("rung", "step"), [(0, 0), (0, 1), (1, 0), (1, 1), (NETWORK, 7), (NETWORK, 30), (ABOVE, 0), (ABOVE, 2)]
)
def test_a_climb_that_was_killed_goes_on_to_the_same_numbers(rung, step, whole, tmp_path):
    with pytest.raises(Killed):
        ag.solve(waves(), **WAVES, folder=tmp_path, monitors=[At(rung, step, kill)], **KEPT)
    assert len(list(tmp_path.glob("rungs/*/run.json"))) == rung
    assert_same_climb(ag.resume(tmp_path, waves(), **KEPT), whole)
    assert_same_climb(ag.load(tmp_path, problem=waves()), whole)


@pytest.mark.parametrize(
    ("rung", "step", "stop", "reason"),
    [
        (1, 1, press, "interrupted"),
        (1, 1, lambda: True, "stopped by a monitor"),
        (ABOVE, 0, press, "interrupted"),
    ],
)
def test_the_best_so_far_is_returned_when_a_wide_one_is_stopped(rung, step, stop, reason, whole, tmp_path):
    stopped = ag.solve(waves(), **WAVES, folder=tmp_path, monitors=[At(rung, step, stop)], **KEPT)
    assert stopped.stopped_because == reason
    assert len(stopped.rungs) == rung + 1
    assert stopped.rungs[-1]["steps"] == step
    loaded = ag.load(tmp_path, problem=waves())
    np.testing.assert_array_equal(loaded.theta, stopped.theta)
    assert_same_climb(ag.resume(tmp_path, waves(), **KEPT), whole)


@pytest.mark.parametrize("kept", range(5))
def test_rungs_that_are_there_are_read(kept, whole, copy):
    """However many of them: the others are trained again, and come out the same."""
    for folder in sorted((copy / "rungs").iterdir())[kept:]:
        shutil.rmtree(folder)
    begun = []
    again = ag.resume(copy, waves(), monitors=[lambda record: begun.append(record["step"])], **KEPT)
    # The last one goes on from its checkpoint, if it is the next one.
    assert begun.count(0) == (len(whole.rungs) - kept if kept < ABOVE else 0)
    assert_same_climb(again, whole)


def test_a_climb_can_be_repeated(whole):
    again, comparison = ag.repeat(whole.folder, waves(), progress=False)
    assert comparison.identical, comparison.in_words()
    assert_same_climb(again, whole)


def test_a_climb_can_go_further(whole, copy):
    """With another tolerance: what was good enough is not any more, and there is no larger network."""
    further = ag.resume(copy, waves(), tol=1e-30, **KEPT)
    assert without_clock(further.rungs[: len(whole.rungs)]) == without_clock(whole.rungs)
    assert further.reached is False


def test_rungs_begin_with_what_is_known(monkeypatch):
    """The first with nothing, the second not either as the first was far off, the others with the best so far."""
    begun, fitted = [], starts.fitted

    def watched(model, like):
        begun.append((model.parameters, like.model.parameters))
        return fitted(model, like)

    monkeypatch.setattr(climb, "fitted", watched)
    solution = ag.solve(waves(), **WAVES, progress=False)
    parameters = [rung["parameters"] for rung in solution.rungs]
    errors = [rung["relative_error"] for rung in solution.rungs]
    assert errors[1] < errors[0]
    best = min(range(ABOVE), key=lambda k: solution.rungs[k]["validation_loss"])
    assert begun == [(parameters[ABOVE], parameters[best])]


def test_the_layers_of_a_network_are_those_below(whole):
    trained = ag.load(whole.folder / "rungs" / f"{NETWORK:03d}", problem=waves())
    assert isinstance(trained.model.spec, MLP)
    layers = starts.layers_of(trained)
    assert layers == whole.model.spec.trained == whole.rungs[ABOVE]["model"]["trained"]
    record = json.loads((whole.folder / "rungs" / f"{ABOVE:03d}" / "run.json").read_text())
    assert record["summary"]["rung"]["below"] == NETWORK
