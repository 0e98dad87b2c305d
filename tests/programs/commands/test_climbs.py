"""Solving to a tolerance on the command line: what is said of it, repeated, gone on with."""

import json

import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

from anagram.programs.cli import app
from anagram.programs.commands.planned import plan_run
from anagram.programs.commands.summary import rung_table
from anagram.showing.report.rungs import shown_rungs
from anagram.solving import chooses_size

FILE = """
import anagram as ag
line = ag.Box(x=(0, 1))
start = ag.Condition(lambda u: u, on=line.face(x=0), equals=1.0)
problem = ag.Problem(line, equation=ag.Condition(lambda u: u.d("x") - u), start=start)
"""
# The derivative jumps: one wide network does not do it.
KINKED = """
import numpy as np
import anagram as ag
line = ag.Box(x=(-1, 1))
start = ag.Condition(lambda u: u, on=line.face(x=-1), equals=1.0)
problem = ag.Problem(line, equation=ag.Condition(lambda u: u.d("x"), equals=np.sign), start=start)
"""
FEW = ("--tol", "1e-4", "--out", "run")
LIMITS = {"steps": None, "seconds": None, "tol": None}


def anagram(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def climbed(tmp_path_factory):
    """The folder of a climb, and what was printed."""
    place = tmp_path_factory.mktemp("climb")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        (place / "grow.py").write_text(FILE)
        result = anagram("solve", "grow.py", *FEW, "--json", "summary.json")
    assert result.exit_code == 0, result.output
    return place, result.stdout


def test_a_tolerance_is_told_with_its_rungs(climbed):
    place, said = climbed
    summary = json.loads((place / "summary.json").read_text())
    assert summary["reached"] is True
    assert summary["relative_error_estimate"] <= summary["tol"] == 1e-4
    assert f"tolerance 0.0001 reached: estimated relative error {summary['relative_error_estimate']:.1e}" in said
    assert "parameters  points  steps  residual  estimate" in said
    assert f"(relative {summary['error_estimate']['relative']:.2e}; from networks with other features" in said
    assert "--tol 0" in said
    assert {"rungs", "total_steps", "error_estimate", "wall_seconds"} <= set(summary)
    parts = summary["wall_seconds"]
    assert sum(seconds for name, seconds in parts.items() if name != "total") == pytest.approx(parts["total"], abs=0.05)
    assert {"convergence.png", "solution.png", "rungs"} <= {p.name for p in (place / "run").iterdir()}


def test_a_climb_is_repeated_to_the_same_numbers(climbed, monkeypatch):
    monkeypatch.chdir(climbed[0])
    rungs = json.loads((climbed[0] / "summary.json").read_text())["rungs"]
    result = anagram("repeat", "run", "--trust")
    assert result.exit_code == 0, result.output
    assert "the same numbers, bit for bit" in result.stdout
    assert f"of {len(rungs)} networks:" in result.stdout


def test_a_climb_that_reached_its_tolerance_has_nothing_left_to_do(climbed, monkeypatch):
    monkeypatch.chdir(climbed[0])
    before = load_file("run/solution.safetensors")["theta"]
    result = anagram("solve", "grow.py", "--resume", "run")
    assert result.exit_code == 0, result.output
    assert "nothing left to do; a smaller --tol takes it further" in result.stdout
    assert (load_file("run/solution.safetensors")["theta"] == before).all()


def test_a_climb_without_time_says_so_and_is_repeated_as_far_as_it_came(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grow.py").write_text(KINKED)
    result = anagram("solve", "grow.py", "--tol", "1e-12", "--seconds", "1e-6", "--out", "run")
    assert result.exit_code == 0, result.output
    assert "tolerance 1e-12 not reached" in result.stdout
    assert "a larger --seconds" in result.stdout
    assert "stopped   time used up" in result.stdout
    again = anagram("repeat", "run", "--trust", "--out", "again")
    assert "the same numbers, bit for bit" in again.stdout
    assert (tmp_path / "again" / "solution.safetensors").exists()


def test_stretches_are_read_kept_and_repeated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grow.py").write_text(FILE)
    result = anagram("solve", "grow.py", "--tol", "1e-3", "--stretches", "0.25", "--out", "run", "--json", "said.json")
    assert result.exit_code == 0, result.output
    assert ", in 2 stretches of time" in result.stdout
    summary = json.loads((tmp_path / "said.json").read_text())
    assert (summary["reached"], summary["stretches"]) == (True, [0.0, 0.25, 1.0])
    assert len(summary["stretch_errors"]) == 2
    assert json.loads((tmp_path / "run" / "run.json").read_text())["configuration"]["stretches"] == [0.25]
    again = anagram("repeat", "run", "--trust")
    assert "the same numbers, bit for bit" in again.stdout
    refused = anagram("solve", "grow.py", "--resume", "run", "--stretches", "3")
    assert refused.exit_code == 2
    assert "--stretches cannot be changed" in " ".join(refused.output.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [("many", "--stretches takes a number"), ("1", "a number of equal stretches"), ("0.5,0.2", "edges between them")],
)
def test_bad_stretches_leave_no_folder(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grow.py").write_text(FILE)
    result = anagram("solve", "grow.py", "--stretches", text)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "runs").exists() or not any((tmp_path / "runs").iterdir())


@pytest.mark.parametrize(
    ("said", "climbs"),
    [
        ({}, True),
        ({"changes": ["ratio=0.1"]}, True),
        ({"limits": {"tol": 1e-3, "steps": 50}}, True),
        ({"limits": {"steps": 50}}, False),
        ({"limits": {"early_stopping": 9}}, False),
        ({"changes": ["width=8"]}, False),
        ({"changes": ["points=100"]}, False),
        ({"changes": ["steps=10"]}, False),
        ({"method": "auto"}, False),
        ({"method": "anagram"}, False),
        ({"paper": True}, False),
    ],
    ids=str,
)
def test_the_size_is_chosen_unless_something_is_said_of_it(said, climbs, tmp_path):
    method, paper, changes = said.get("method"), said.get("paper", False), said.get("changes", [])
    planned = plan_run("heat", method, paper, changes, tmp_path / "run", {**LIMITS, **said.get("limits", {})})
    assert chooses_size(planned.case.setting) is climbs


def test_of_many_rungs_the_first_and_the_last_are_printed():
    rung = {"parameters": 150, "points": 700, "steps": 80, "seconds": 1.0, "validation_loss": 1e-8, "estimate": 1e-3}
    lines = rung_table(shown_rungs({"rungs": [{**rung, "steps": k} for k in range(100)]}))
    assert len(lines) == 27
    assert "76 more, all of them in run.json" in lines[13]
    assert lines[-1].strip() == "? an estimate that is not to be relied on"
    assert len({len(line) for line in lines[:13]}) == 1
