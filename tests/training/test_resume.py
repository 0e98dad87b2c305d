"""Runs that are stopped and go on come to the same numbers, bit for bit."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.keeping import checkpoint
from anagram.training.trainer import Trainer
from problems import LINE, front, parabola

QUIET = {"progress": False, "checkpoint_every": 0.0}
WAYS = {
    "auto": (parabola, {"model": ag.MLP(5), "points": ag.Grid(20), "options": {"sketch": 8}}),
    "anagram": (parabola, {"model": ag.MLP(5), "points": ag.Sobol(30)}),
    "amstramgram": (parabola, {"model": ag.MLP(5), "points": ag.Grid(20)}),
    "spring": (parabola, {"model": ag.MLP(5), "points": 20}),
    "adam-lbfgs": (parabola, {"model": ag.MLP(5), "points": ag.Grid(20), "options": {"switch": 11}}),
    "engd": (parabola, {"model": ag.MLP(5), "points": ag.Redrawn(ag.Uniform(30), every=3)}),
}
MOVING = {
    "cells": ag.Cells(128),
    "tangent": ag.Tangent(60, "pivoted", every=5),
    "redrawn": ag.Redrawn(ag.Sobol(60), every=4),
}


def assert_same(a, b):
    np.testing.assert_array_equal(a.theta, b.theta)
    assert set(a.history.steps) == set(b.history.steps)
    for key in set(a.history.steps) - {"seconds"}:
        np.testing.assert_array_equal(a.history.steps[key], b.history.steps[key], err_msg=key)
    for key in ("steps", "loss", "validation_loss", "l2_error", "best", "stopped_because"):
        assert a.summary[key] == b.summary[key], key


@pytest.mark.parametrize("method", list(WAYS))
def test_a_run_in_pieces_is_the_whole_run(method, tmp_path):
    state, options = WAYS[method]
    problem = state()
    whole = ag.solve(problem, method=method, steps=40, progress=False, **options)
    ag.solve(problem, method=method, steps=9, folder=tmp_path, **QUIET, **options)
    ag.resume(tmp_path, problem, steps=26, **QUIET)
    assert_same(ag.resume(tmp_path, problem, steps=40, **QUIET), whole)
    assert_same(ag.load(tmp_path, problem=problem), whole)


@pytest.mark.parametrize("rule", list(MOVING))
def test_points_that_move_are_where_they_were(rule, tmp_path, monkeypatch):
    monkeypatch.setattr("anagram.training.adaptive.WORSE", 0.0)  # cells move whenever they may
    monkeypatch.setattr("anagram.training.adaptive.GAIN", 1.0)
    problem, options = front(), {"model": ag.MLP(6), "points": {"equation": MOVING[rule], "initial": 20, "walls": 20}}
    options["options"] = {"sketch": 0}
    whole = ag.solve(problem, steps=34, progress=False, **options)
    ag.solve(problem, steps=17, folder=tmp_path, **QUIET, **options)
    moved = checkpoint.read(tmp_path)[0].arrays["batch['equation'].x"]
    first = ag.sample(problem, options["points"])["equation"].x
    assert not np.array_equal(moved, first)
    assert_same(ag.resume(tmp_path, problem, steps=34, **QUIET), whole)


def test_a_run_from_a_solution_goes_on(tmp_path):
    problem = parabola()
    start = ag.solve(problem, ag.MLP(5), "anagram", points=ag.Grid(20), steps=5, progress=False)
    options = {"start": start, "method": "anagram", "points": ag.Grid(15)}
    whole = ag.solve(problem, steps=12, progress=False, **options)
    ag.solve(problem, steps=6, folder=tmp_path, **QUIET, **options)
    assert_same(ag.resume(tmp_path, problem, steps=12, **QUIET), whole)
    again, comparison = ag.repeat(tmp_path, problem, progress=False)
    assert comparison.identical
    assert_same(again, whole)


SCRIPT = """
    import os, signal, sys, threading
    sys.path.insert(0, {tests!r})
    import anagram as ag
    from problems import parabola

    def kill(record):
        if record["step"] >= {at}:
            os.kill(os.getpid(), signal.{signal})

    options = dict(progress=False, checkpoint_every=0.0, monitors=[kill])
    if {fresh}:
        ag.solve(parabola(), ag.MLP(5), points=ag.Grid(20), steps=60, folder="run", **options)
    else:
        ag.resume("run", parabola(), **options)
"""


def in_process(tmp_path, at, name, fresh):
    code = textwrap.dedent(SCRIPT).format(tests=str(Path(__file__).parents[1]), at=at, signal=name, fresh=fresh)
    return subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)


def test_killed_and_interrupted_processes_lose_nothing(tmp_path):
    killed = in_process(tmp_path, 20, "SIGKILL", fresh=True)
    assert killed.returncode == -signal.SIGKILL
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (record["status"], record["summary"]) == ("running", None)
    with pytest.raises(ag.FileError, match="has not ended, or is at work: go on with it"):
        ag.load(tmp_path / "run")
    interrupted = in_process(tmp_path, 41, "SIGINT", fresh=False)
    assert interrupted.returncode == 0, interrupted.stderr
    problem = parabola()
    loaded = ag.load(tmp_path / "run", problem=problem)
    assert loaded.stopped_because == "interrupted"
    assert 41 <= loaded.summary["steps"] < 60
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line)["step"] for line in lines]
    assert steps == sorted(set(steps))
    whole = ag.solve(problem, ag.MLP(5), points=ag.Grid(20), steps=60, progress=False)
    assert_same(ag.resume(tmp_path / "run", problem, **QUIET), whole)


def short(tmp_path, **options):
    problem = parabola()
    given = {"points": ag.Grid(20), "steps": 6, **options}
    return problem, ag.solve(problem, ag.MLP(5), "anagram", folder=tmp_path, **QUIET, **given)


def test_a_run_that_has_ended_ends_again_at_once_or_goes_further(tmp_path):
    problem, solution = short(tmp_path)
    assert_same(ag.resume(tmp_path, problem, **QUIET), solution)
    assert ag.resume(tmp_path, problem, steps=8, **QUIET).summary["steps"] == 8
    assert json.loads((tmp_path / "run.json").read_text())["configuration"]["budget"]["steps"] == 8


def test_another_problem_is_refused(tmp_path):
    short(tmp_path)
    for equation, equals, message in (
        (lambda u: u.d("x", "x"), 2.5, "the points or their sources"),
        (lambda u: u.d("x", "x") + u, 2.0, "the first loss"),
    ):
        other = ag.Problem(
            LINE,
            equation=ag.Condition(equation, equals=equals),
            ends=ag.Condition(lambda u: u, on=LINE.faces("x")),
        )
        with pytest.raises(ag.FileError, match=message):
            ag.resume(tmp_path, other, **QUIET)
    with pytest.raises(ag.FileError, match="is your own, stated in Python: give it again there"):
        ag.resume(tmp_path, **QUIET)


def test_an_unfinished_run_is_not_overwritten(tmp_path):
    problem, _ = short(tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(record | {"status": "interrupted"}))
    with pytest.raises(ag.FileError, match="holds a run that has not ended: go on with it"):
        short(tmp_path)
    ag.resume(tmp_path, problem, **QUIET)
    with pytest.raises(ag.FileError, match="holds a run already: go on with it"):
        short(tmp_path)
    short(tmp_path, overwrite=True)


def test_a_run_that_went_on_and_was_killed_is_loaded_as_it_was(tmp_path):
    problem, solution = short(tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(record | {"status": "running"}))
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(solution.history.blocks[-1] | {"step": 9}) + "\n")
    with pytest.warns(ag.RunWarning, match="went on after this solution of step 6"):
        loaded = ag.load(tmp_path, problem=problem)
    assert [b["step"] for b in loaded.history.blocks] == list(range(7))


def test_a_request_during_compilation_is_not_lost(tmp_path, monkeypatch):
    compiled = Trainer._compile

    def pressed(self):
        compiled(self)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Trainer, "_compile", pressed)
    problem, solution = short(tmp_path)
    assert (solution.stopped_because, solution.summary["steps"]) == ("interrupted", 0)
    monkeypatch.undo()
    assert ag.resume(tmp_path, problem, **QUIET).summary["steps"] == 6


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path):
    problem, solution = short(tmp_path)
    path = max(checkpoint.paths(tmp_path), key=checkpoint._number)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    with pytest.warns(ag.RunWarning, match=r"(?s)damaged: its contents.*from the other checkpoint"):
        again = ag.resume(tmp_path, problem, **QUIET)
    np.testing.assert_array_equal(again.theta, solution.theta)
    for name in checkpoint.NAMES:
        (tmp_path / name).write_bytes(b"nothing")
    with pytest.raises(ag.FileError, match="damaged"):
        ag.resume(tmp_path, problem, **QUIET)


def test_without_a_checkpoint_a_run_begins_again(tmp_path):
    problem, solution = short(tmp_path)
    for path in tmp_path.glob("checkpoint*"):
        path.unlink()
    assert_same(ag.resume(tmp_path, problem, **QUIET), solution)


def test_other_versions_are_warned_about(tmp_path):
    problem, _ = short(tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    record["versions"]["jax"] = "0.0.1"
    (tmp_path / "run.json").write_text(json.dumps(record))
    with pytest.warns(ag.RunWarning, match=r"jax 0.0.1 → .*not be the same bit for bit"):
        ag.resume(tmp_path, problem, **QUIET)


def test_early_stopping_and_the_best_parameters(tmp_path):
    problem = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=lambda x: jnp.sin(9 * x)),
        ends=ag.Condition(lambda u: u, on=LINE.faces("x")),
    )
    options = {"points": ag.Grid(4), "progress": False}  # few points: soon they are all that is fitted
    last = ag.solve(problem, ag.MLP(6), "anagram", steps=60, keep="last", **options)
    early = ag.solve(problem, ag.MLP(6), "anagram", steps=60, early_stopping=4, **options)
    best = ag.solve(problem, ag.MLP(6), "anagram", steps=60, **options)
    fresh = [b["validation_loss"] for b in last.history.blocks]
    assert best.validation_loss == min(fresh) == last.summary["best"]["validation_loss"] < last.validation_loss
    assert best.loss > last.loss
    assert early.stopped_because.startswith("stopped early: the loss on fresh points was lowest")
    assert early.summary["steps"] == last.summary["best"]["step"] + 4
    assert early.summary["steps"] < last.summary["steps"]
    with pytest.raises(ag.SettingError, match="keep is last or best"):
        ag.solve(problem, ag.MLP(6), keep="first", **options)
