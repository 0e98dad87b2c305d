"""solve --resume, repeat and --log on the command line, for a problem stated in a file."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

from anagram.programs.cli import app
from anagram.training.interrupts import Interrupts
from problems import FILE

TEXT = (
    FILE
    + """
other = ag.Problem(line, equation=ag.Condition(lambda u: u, equals=1.0))
__import__("pathlib").Path("executed").write_text("x")
"""
)
OPTIONS = ("--set", "width=4", "--set", "points=20", "--method", "anagram", "--no-estimate", "--quiet")


def anagram(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run of four steps, from a file with two problems."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bend.py").write_text(TEXT)
    result = anagram("solve", "bend.py:mine", *OPTIONS, "--steps", "4", "--out", "run")
    assert result.exit_code == 0, result.output
    return tmp_path


def theta(folder):
    return load_file(folder / "solution.safetensors")["theta"]


def test_a_run_of_a_file_goes_on_with_the_file_or_its_copy(folder):
    assert (folder / "run" / "problem.py").read_text() == TEXT
    anagram("solve", "bend.py:mine", *OPTIONS, "--steps", "9", "--out", "whole")
    for target, steps in (("bend.py", 6), ("run/problem.py:mine", 9)):
        result = anagram("solve", target, "--resume", "run", "--steps", str(steps), "--no-estimate", "--quiet")
        assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(theta(folder / "run"), theta(folder / "whole"))
    record = json.loads((folder / "run" / "run.json").read_text())
    assert record["summary"]["problem"] == "mine"  # of several problems in a file, the name of its variable
    assert record["origin"]["problem"] == "mine"


def test_what_may_not_be_changed_is_refused(folder):
    for arguments, message in (
        (["--resume", "run"], "executed only if you name it: anagram solve run/problem.py --resume run"),
        (["--resume", "run"], "or anagram.resume('run', problem)"),
        (["bend.py:other", "--resume", "run"], "not the problem that the run in 'run' was begun with"),
        (["heat", "--resume", "run"], "solves the problem of a file"),
        (["bend.py", "--resume", "run", "--seed", "3", "--method", "auto"], "--method, --seed cannot be changed"),
        (["bend.py", "--resume", "nowhere"], "no solution in 'nowhere'"),
        ([], "name a problem of the catalogue"),
        (["bend.py", "--log", "wandb"], "--log takes tensorboard"),
    ):
        result = anagram("solve", *arguments)
        assert result.exit_code == 2, result.output
        assert message in " ".join(result.output.split())
    (folder / "bend.py").write_text(TEXT.replace("2.0", "3.0"))
    result = anagram("solve", "bend.py", "--resume", "run")
    assert "its copy is run/problem.py:mine" in result.output


def test_repeating_says_whether_the_numbers_are_the_same(folder):
    (folder / "executed").unlink()
    refused = anagram("repeat", "run")
    assert refused.exit_code == 2
    assert "look at it, and say --trust" in refused.output
    assert not (folder / "executed").exists()
    same = anagram("repeat", "run", "--trust", "--out", "again")
    assert same.exit_code == 0, same.output
    assert "4 steps: the same numbers, bit for bit" in same.output
    np.testing.assert_array_equal(theta(folder / "run"), theta(folder / "again"))
    record = json.loads((folder / "run" / "run.json").read_text())
    record["configuration"]["seed"] = 1
    (folder / "run" / "run.json").write_text(json.dumps(record))
    other = anagram("repeat", "run", "--trust")
    assert other.exit_code == 1
    assert "other numbers from step 1 on" in other.output


def test_events_for_tensorboard(folder):
    result = anagram("solve", "bend.py:mine", *OPTIONS, "--steps", "2", "--out", "logged", "--log", "tensorboard")
    assert result.exit_code == 0, result.output
    assert list((folder / "logged" / "tensorboard").glob("events*"))


def test_an_interrupt_says_how_to_go_on(folder, monkeypatch):
    class Pressed(Interrupts):
        def __enter__(self):
            super().__enter__()
            self.seen = True
            return self

    monkeypatch.setattr("anagram.training.trainer.Interrupts", Pressed)
    loud = [o for o in OPTIONS if o != "--quiet"]
    result = anagram("solve", "bend.py:mine", *loud, "--steps", "9", "--out", "stopped")
    assert result.exit_code == 130, result.output
    assert "Go on with:  anagram solve bend.py:mine --resume stopped" in result.output
    assert json.loads((folder / "stopped" / "run.json").read_text())["status"] == "interrupted"
    refused = anagram("solve", "bend.py:mine", *OPTIONS, "--out", "stopped")
    assert "holds a run that has not ended" in refused.output


def test_the_page_of_a_file_has_residuals_and_errors_if_it_is_trusted(folder):
    (folder / "executed").unlink()
    plain = anagram("report", "run")
    assert plain.exit_code == 0, plain.output
    assert "run/problem.py must be executed. Look at it, and say --trust." in " ".join(plain.output.split())
    assert not (folder / "executed").exists()
    kinds = '"kind":"error"', '"kind":"residual"'
    page = (folder / "run" / "report.html").read_text()
    assert not any(kind in page.replace(" ", "") for kind in kinds)
    trusted = anagram("report", "run", "--trust")
    assert trusted.exit_code == 0, trusted.output
    assert "--trust" not in trusted.output
    page = (folder / "run" / "report.html").read_text()
    assert all(kind in page.replace(" ", "") for kind in kinds)
    assert (folder / "executed").exists()


def test_options_are_listed_with_their_defaults():
    help_ = " ".join(anagram("solve", "--help").output.split())
    assert "anagram solve burgers --set nu=0.01" in help_
    listed = anagram("solve", "burgers", "--set", "help")
    assert listed.exit_code == 0
    for text in (
        "Options of the problem burgers",
        "nu=0.01",
        "width ",
        "points ",
        "Options of the method auto",
        "ratio=0.075",
    ):
        assert text in listed.output
    assert "cutoff=1e-07" in anagram("solve", "--method", "anagram", "--set", "help").output
    refused = anagram("solve", "heat", "--set", "width")
    assert refused.exit_code == 2
    assert "--set help lists the keys" in " ".join(refused.output.split())
