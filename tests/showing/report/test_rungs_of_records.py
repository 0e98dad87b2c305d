"""Rungs as they are shown: read from summaries, told while they are climbed, drawn, and on pages."""

import io
import math
import sys

import pytest
from rich.console import Console

import anagram as ag
from anagram.programs.page import write_page
from anagram.showing.report.figures import convergence_figure
from anagram.showing.report.progress import Progress, rung_in_words, stretch_in_words
from anagram.showing.report.rungs import shown_rungs, tolerance_of
from anagram.training.budget import Budget
from anagram.training.rungs import Outcome, Plan, Rung

EVIL = "</script><script>window.hacked = 1</script>"


def rung(parameters, loss, estimate, trusted=True, error=None):
    outcome = Outcome(parameters, 5 * parameters, 80, 0.5, 2.0, loss, loss, error, estimate, trusted)
    return Rung(Plan(1), outcome, {"kind": "MLP"})


RUNGS = [rung(151, 5e-5, None), rung(301, 5e-9, 3e-4, trusted=False), rung(547, 5e-13, 5e-7, error=4e-7)]
SUMMARY = {"tol": 1e-6, "reached": True, "relative_error_estimate": 5e-7, "rungs": [r.as_json() for r in RUNGS]}


@pytest.fixture
def climbed(quick_solution):
    """A short run that says it was a climb."""
    solution = quick_solution
    return ag.Solution(
        solution.problem, solution.model, solution.theta, solution.history, {**solution.summary, **SUMMARY}
    )


def test_rungs_are_read_with_the_time_spent_so_far():
    first, second, third = shown_rungs(SUMMARY)
    assert (first.parameters, second.points, third.number) == (151, 1505, 3)
    assert [r.spent for r in (first, second, third)] == [0.5, 1.0, 1.5]
    assert first.residual == pytest.approx(1e-2)
    assert math.isnan(first.estimate)
    assert not second.trusted
    assert third.error == 4e-7
    assert shown_rungs({}) == []


def test_rungs_that_are_none_are_left_out():
    odd = {"parameters": -1, "points": "many", "steps": 1e300, "seconds": None, "estimate": [], "validation_loss": -1}
    (shown,) = shown_rungs({"rungs": [3, "x", None, odd]})
    assert (shown.parameters, shown.points, shown.steps) == (0, 0, 0)
    assert math.isnan(shown.estimate)
    assert math.isnan(shown.residual)
    assert shown_rungs({"rungs": 10**400}) == []
    assert [tolerance_of({"tol": tol}) for tol in (1e-6, 0, "x", None, math.nan, 10**400)] == [1e-6, *[None] * 5]


def test_lines_of_rungs_stand_below_each_other():
    lines = [rung_in_words(r) for r in RUNGS[:2]]
    assert len({len(line) for line in lines}) == 1
    assert "residual 1.0e-02" in lines[0]
    assert "estimate 3.0e-04 in doubt" in lines[1]
    assert "error 4.0e-07" in rung_in_words(RUNGS[2])


def test_stretches_are_told():
    assert stretch_in_words({"t": (0, 8), "x": (0, 1)}, {"t": (0, 2.0), "x": (0, 1)}) == "  t from 0 to 2"
    assert stretch_in_words({"t": (0, 8)}, {"t": (0, 8)}) == ""


def test_a_log_says_which_rung_it_is_at(heat, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    _climb(Progress(heat, Budget(500, tol=1e-6)), heat)
    lines = stream.getvalue().splitlines()
    assert lines[1].startswith("heat  rung 1  33 parameters  compiling")
    assert lines[2].startswith("heat  rung  1    151 parameters")
    assert lines[3].startswith("heat  rung  2    301 parameters")


def test_the_bar_says_which_rung_it_is_at_and_how_many_digits_there_are(heat, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(
        "anagram.showing.report.progress.Console", lambda file: Console(file=stream, force_terminal=True, width=160)
    )
    bar = Progress(heat, Budget(500, seconds=10.0, tol=1e-6))
    _climb(bar, heat)
    assert "rung 2  step 4" in stream.getvalue()
    assert "9 s left" in stream.getvalue()  # of ten, half a second in the first rung and a little in the second
    assert bar.bar is not None
    assert bar.bar.tasks[0].completed == pytest.approx(0.5)


def _climb(progress, heat):
    trainer = type("Run", (), {"problem": heat, "model": type("Model", (), {"parameters": 33})})
    with progress as shown:
        shown.begins(trainer)
        shown.rung(RUNGS[0])
        shown.begins(trainer)
        shown({"step": 4, "seconds": 0.1, "loss": 5e-7, "validation_loss": 5e-7, "l2_error": None})
        if shown.bar is not None:
            shown.bar.refresh()
        shown.rung(RUNGS[1])


def test_the_picture_of_a_climb_has_its_ladder(climbed, tmp_path):
    figure = convergence_figure(climbed, tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 10_000
    size, spent = figure.axes[:2]
    assert size.get_xlabel() == "parameters"
    labels = {line.get_label() for line in spent.get_lines()}
    assert {"estimated relative error", "the same, in doubt", "true relative error", "tolerance 1e-06"} <= labels
    assert len(figure.axes) == 6
    climbed.summary["rungs"] = [{"parameters": 0}]
    climbed.summary["tol"] = 0
    convergence_figure(climbed, tmp_path / "odd.png")


def test_a_page_has_the_ladder_of_a_climb(climbed, quick_solution, tmp_path):
    climbed.summary["missing"] = EVIL
    text = write_page(climbed, tmp_path / "page.html").read_text()
    assert '<table class="rungs">' in text
    assert "A relative error of 1e-6 was reached: the estimated relative error is 5.0 × 10<sup>−7</sup>" in text
    assert "Tolerance" in text
    assert "1e-6 reached" in text
    assert EVIL not in text
    assert '<table class="rungs">' not in write_page(quick_solution, tmp_path / "plain.html").read_text()
    both = write_page([climbed, quick_solution], tmp_path / "both.html").read_text()
    assert both.count('<table class="rungs">') == 1
