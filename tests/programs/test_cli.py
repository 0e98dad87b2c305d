import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import anagram as ag
from anagram.errors import SettingError
from anagram.programs.cli import app
from anagram.programs.loading import find_case

QUICK = [
    "--set",
    "width=6",
    "--set",
    "depth=1",
    "--set",
    "points=81",
    "--set",
    "sketch=0",
    "--steps",
    "3",
    "--quiet",
    "--no-estimate",
]
KEYS = {
    "problem", "method", "seed", "steps", "seconds", "compile_seconds", "loss", "validation_loss", "l2_error",
    "relative_l2_error", "parameters", "points", "stopped_because",
}  # fmt: skip
FILE = """
import anagram as ag
line = ag.Box(x=(0, 1))
start = ag.Condition(lambda u: u, on=line.face(x=0), equals=1.0)
problem = ag.Problem(line, equation=ag.Condition(lambda u: u.d("x") - u), start=start)
broken = ag.Problem(line, c=ag.Condition(lambda u: u.map(lambda v: (v - 3.5) ** 0.5)))
"""


@pytest.fixture
def anagram(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_list_names_problems_and_methods(anagram):
    result = anagram("list")
    assert result.exit_code == 0
    for name in (*ag.catalogue.names(), "nu=0.01", "anagram"):
        assert name in result.output


def test_list_has_a_heading_for_every_kind(anagram):
    lines = [line.strip() for line in anagram("list").output.splitlines()]
    first = {kind: lines.index(kind) for kind in ("the paper", "ordinary", "waves", "many dimensions", "eigenvalues")}
    assert list(first.values()) == sorted(first.values())
    (drum,) = (k for k, line in enumerate(lines) if line.startswith("drum "))
    assert first["eigenvalues"] < drum


def test_solve_leaves_the_promised_files(anagram, tmp_path):
    result = anagram("solve", "heat", *QUICK, "--estimate", "--json", "o/summary.json", "--seed", "4")
    assert result.exit_code == 0, result.output
    assert result.output == ""
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("heat-")
    names = {p.name for p in folder.iterdir()}
    pictures = {"convergence.png", "solution.png"}
    assert names == {"solution.safetensors", "run.json", "metrics.jsonl", "checkpoint-0.safetensors"} | pictures
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert set(summary) >= KEYS
    assert (summary["problem"], summary["method"], summary["seed"], summary["steps"]) == ("heat", "auto", 4, 3)
    assert (summary["parameters"], summary["points"]) == (25, 81 + 27)
    assert 0.3 < summary["error_estimate"]["value"] / summary["l2_error"] < 3
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["step"] == 0


def test_a_file_of_ones_own(anagram, tmp_path):
    (tmp_path / "growth.py").write_text(FILE)
    result = anagram("solve", "growth.py", *(o for o in QUICK if o != "--quiet"), "--out", "here", "--set", "ratio=0.1")
    assert result.exit_code == 0, result.output
    assert "growth" in result.output
    assert "not known" in result.output
    assert (tmp_path / "here" / "solution.png").stat().st_size > 1000


def test_a_file_with_a_function_that_states_the_problem(tmp_path):
    stated = (
        FILE.replace("\nproblem =", "\n_problem =") + "def problem():\n    return _problem.restated(name='stated')\n"
    )
    (tmp_path / "growth.py").write_text(stated)
    case = find_case(str(tmp_path / "growth.py"), paper=False, parameters={})
    assert (case.problem.name, list(case.problem.conditions)) == ("stated", ["equation", "start"])
    (tmp_path / "asks.py").write_text("def problem(size):\n    raise SystemExit\n")  # what has arguments is not called
    with pytest.raises(SettingError, match="it defines none"):
        find_case(str(tmp_path / "asks.py"), paper=False, parameters={})


def test_parameters_of_the_problem_and_the_paper_setting(anagram, tmp_path):
    result = anagram("solve", "burgers", "--set", "nu=0.1", *QUICK, "--out", "b")
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "b" / "run.json").read_text())
    assert record["origin"] == {"catalogue": "burgers", "parameters": {"nu": 0.1}, "paper": False}
    result = anagram("solve", "heat", "--paper", "--steps", "1", "--quiet", "--no-estimate", "--out", "p")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "p" / "run.json").read_text())["summary"]["parameters"] == 257


WRONG = {
    "name": (["solve", "poisson"], "no problem 'poisson'"),
    "method": (["solve", "heat", "--method", "sgd"], "no method 'sgd'"),
    "option": (["solve", "heat", "--set", "colour=3"], "no option 'colour'"),
    "no value": (["solve", "heat", "--set", "width"], "key=value"),
    "width": (["solve", "heat", "--set", "width=-3"], "positive whole numbers"),
    "cutoff": (["solve", "heat", "--method", "anagram", "--set", "cutoff=abc"], "not negative"),
    "activation": (["solve", "heat", "--set", "activation=relu"], "relu"),
    "steps": (["solve", "heat", "--steps", "-5"], "steps must be"),
    "steps text": (["solve", "heat", "--steps", "many"], "integer"),
    "nu": (["solve", "burgers", "--set", "nu=0"], "viscosity"),
    "seeds": (["reproduce", "--seeds", "many", "--out", "r"], "needs a number, a range"),
    "no seeds": (["reproduce", "--seeds", "4:4", "--out", "r"], "names no seeds"),
    "paper": (["reproduce", "--problems", "wave", "--out", "r"], "no problem 'wave' in the paper"),
    "scale": (["reproduce", "--scale", "7", "--out", "r"], "scale"),
    "results": (["reproduce", "--only-report", "--out", "r"], "no results"),
    "file": (["solve", "nothing.py"], "no file 'nothing.py'"),
    "folder": (["solve", "heat", "--out", "taken"], "cannot write to the folder"),
    "json folder": (["solve", "heat", "--json", "."], "--json needs the name of a file"),
    "widths": (["solve", "heat", "--set", "widths=1.5"], "positive whole numbers"),
    "relative": (["solve", "heat", "--method", "anagram", "--set", "relative=no"], "true or false"),
    "end_at": (["solve", "heat", "--set", "end_at=abc"], "not negative"),
    "paper file": (["solve", "good.py", "--paper"], "--paper"),
    "attribute": (["solve", "good.py:other"], "no problem named 'other'; it has problem, broken"),
    "syntax": (["solve", "bad.py"], "failed at line 1: SyntaxError"),
    "no problem": (["solve", "empty.py"], "it defines none"),
    "raises": (["solve", "raises.py"], "'raises.py' failed at line 2: ZeroDivisionError"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_has_status_2_and_says_why(anagram, tmp_path, case):
    (tmp_path / "taken").write_text("a file, not a folder")
    (tmp_path / "good.py").write_text(FILE)
    (tmp_path / "bad.py").write_text("def (:")
    (tmp_path / "empty.py").write_text("x = 1")
    (tmp_path / "raises.py").write_text("x = 1\ny = x / 0")
    arguments, message = WRONG[case]
    result = anagram(*arguments)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_a_model_without_finite_loss_is_wrong_input(anagram, tmp_path):
    (tmp_path / "good.py").write_text(FILE)
    result = anagram("solve", "good.py:broken", *QUICK)
    assert result.exit_code == 2
    assert "for the initial model is nan at (x=" in " ".join(result.output.split())


def test_numerical_failure_has_status_3_and_keeps_the_files(anagram, tmp_path, monkeypatch):
    from anagram.solution import Solution

    monkeypatch.setattr(Solution, "failed", property(lambda self: True))
    result = anagram("solve", "heat", *QUICK, "--out", "f")
    assert result.exit_code == 3
    assert (tmp_path / "f" / "solution.safetensors").exists()


def test_import_is_light():
    """Neither plotting nor statistics are loaded before they are used."""
    code = "import sys, anagram; print([m for m in ('matplotlib', 'scipy.stats', 'rich', 'typer') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


@pytest.mark.long
def test_kernels_leaves_pictures_and_says_how_far_they_reach(anagram, tmp_path):
    result = anagram("kernels", "heat", "--kind", "ntk,nntk", "--out", "k")
    assert result.exit_code == 0, result.output
    assert "NNTK" in result.output
    assert "spread" in result.output
    assert "of the residual" in result.output.replace("\n", " ")
    assert sorted(p.name for p in (tmp_path / "k").iterdir()) == ["heat-nntk-start.png", "heat-ntk-start.png"]
    for arguments, words in (
        (("--kind", "rbf"), "--kind takes ntk, nntk, green"),
        (("--at", "middle"), "--at takes"),
        (("--boundary-weight", "0"), "must be positive"),
    ):
        wrong = anagram("kernels", "heat", *arguments, "--out", "k")
        assert wrong.exit_code == 2
        assert words in wrong.output.replace("\n", " ")
