"""The command line with arguments that nobody means: a message in one line and a status that says so, no traceback.

ANAGRAM_FUZZ=20 tries twenty times as many cases; ANAGRAM_FUZZ_SEED=7 others than usual.
"""

import json
import os
import shutil
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from anagram.programs.cli import app
from smallruns import heat_run

TIMES = float(os.environ.get("ANAGRAM_FUZZ", "1"))
SEED = int(os.environ.get("ANAGRAM_FUZZ_SEED", "0"))
LONGEST = 60  # seconds of a case
FILE = """
import anagram as ag
line = ag.Box(x=(0, 1))
problem = ag.Problem(
    line,
    equation=ag.Condition(lambda u: u.d("x") - u),
    start=ag.Condition(lambda u: u, on=line.face(x=0), equals=1.0),
    name="a/../[/b]\\x1b" * 40,
)
"""
NONSENSE = (
    "", " ", "-", "--", "-1", "0", "1", "2", "7", "nan", "inf", "-inf", "1e308", "1e400", "-1e-300", str(10**30),
    "9" * 400, "9" * 5000, "a" * 5000, "Ω💥", "\ud800", "\x1b[2J", "a\nb", "\0", "[/red]", "[bold]x", "{0.__class__}",
    "%s", "=", "a=b=c", ",", ",,", ":", "3:1", "1:2:3", "0:99999999999999", "0,0", "-3,1", "((((((", "None", "true",
    "[1,2", "{}", "1+1j", "../../x", "pipe", "file", "folder", "run", "missing", "missing/deep", "good.py",
    "good.py:problem", "good.py:", "bad.py", "bad.py:x", "exits.py", "heat", "heat.py", "u:x", "u:", ":x", "x=0.5",
    "x=nan", "t=1,x=2", "auto", "start", "file/below", "tensorboard", "5", "a.csv", "a.npz",
)  # fmt: skip
KEYS = (
    "width", "widths", "depth", "activation", "init", "scale", "order", "degree", "basis", "model", "points", "steps",
    "cutoff", "relative", "search", "sketch", "growth", "restarts", "drops", "remembered", "nu", "__class__", "self",
    "", "Ω",
)  # fmt: skip
VALUES = (
    *NONSENSE, "1e9", "1e12", "-3", "0.5", "abc", "(1,2)", "1,2", "'x'", "[]", "{[]: 1}", "(" * 500, "-" * 5000 + "1",
    "tanh", "fourier", "polynomial", "qr", "True",
)  # fmt: skip
TINY = ["--set", "width=2", "--set", "depth=1", "--set", "points=9", "--no-estimate"]
COMMANDS = {
    "list": ([], []),
    "solve": (
        ["target"],
        ["--method", "--paper", "--set", "--set", "--set", "--seed", "--seconds", "--tol", "--early-stopping", "--keep",
         "--out", "--resume", "--checkpoint", "--log", "--json"],
    ),
    "kernels": (["target"], ["--kind", "--at", "--seed", "--boundary-weight", "--out", "--steps"]),
    "repeat": (["folder"], ["--trust", "--out"]),
    "export": (["folder"], ["--format", "--grid", "--derivative", "--at", "--out"]),
    "reproduce": ([], ["--problems", "--methods", "--seeds", "--scale", "--out"]),
    "doctor": ([], ["--json"]),
}  # fmt: skip
LIKELY = {"target": ("good.py", "good.py:problem"), "folder": ("run",)}


@pytest.fixture
def anagram(tmp_path, monkeypatch):
    """The command in a folder with something of everything, at a depth at which ../../x lies inside."""
    here = tmp_path / "deep" / "below"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setattr("anagram.solving.SpectrumWatch", lambda: lambda record: None)  # it compiles at every run
    monkeypatch.setattr("anagram.solution.Solution.plot", lambda *_: None)
    monkeypatch.setattr("anagram.solution.Solution.plot_convergence", lambda *_: None)
    shutil.copytree(heat_run(), here / "run")
    (here / "file").write_text("a file")
    (here / "folder").mkdir()
    os.mkfifo(here / "pipe")
    (here / "good.py").write_text(FILE)
    (here / "bad.py").write_text("def (:")
    (here / "exits.py").write_text("import sys\nsys.exit(7)")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def pick(choices, rng):
    return choices[int(rng.integers(0, len(choices)))]


def arguments_of(command, rng):
    """Arguments of a command, one or two of them nonsense; what could take long is cut short at the end."""
    places, options = COMMANDS[command]
    wrong = int(rng.integers(0, len(places) + 1)) == 0 or not options
    words = [command, *(pick(NONSENSE if wrong else LIKELY[place], rng) for place in places)]
    if command == "solve":
        words += [*TINY, "--method", pick(("gd", "anagram"), rng)]
    for _ in range(int(rng.integers(0 if wrong else 1, 3)) if options else 0):
        option = pick(options, rng)
        words.append(option)
        if option == "--set":
            words.append(f"{pick(KEYS, rng)}={pick(VALUES, rng)}")
        elif option not in ("--paper", "--trust") and (option != "--json" or command == "solve"):
            words.append(pick(NONSENSE, rng))
    short = {
        "solve": ["--steps", pick(("0", "1"), rng), "--quiet"],
        "kernels": ["--at", "start"] if rng.random() < 0.9 else ["--kind", ","],
        "reproduce": ["--only-report"],
        "doctor": ["--no-test"],
    }
    return words + short.get(command, [])


def check(result, words):
    """A status of ours, and a message in one line."""
    said = f"{[w if len(w) < 60 else w[:20] + '…' for w in words]}: status {result.exit_code}, {result.output[:500]}"
    assert result.exception is None or isinstance(result.exception, SystemExit), f"{said}\n{result.exception!r}"
    assert result.exit_code in (0, 1, 2, 3), said
    assert "Traceback" not in result.output, said
    assert "\x1b[2J" not in result.output, said
    if result.exit_code in (2, 3) and "Usage:" not in result.output:
        lines = [line for line in result.output.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, said
        assert result.output.rstrip().endswith(lines[0].rstrip()), said


def hang(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("command", "count"),
    [("solve", 40), ("export", 50), ("repeat", 3), ("kernels", 8), ("reproduce", 30), ("list", 1), ("doctor", 2)],
)
def test_nonsense(anagram, command, count):
    for case in range(max(1, round(TIMES * count))):
        words = arguments_of(command, np.random.default_rng([SEED, len(command), count, case]))
        before = signal.signal(signal.SIGALRM, hang)
        signal.alarm(LONGEST)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = anagram(*words)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
        check(result, words)


# Cases that once ended in a traceback, went on for hours, took the place of a device, or wrote where they should not.
WRONG = {
    "a seed that is no seed": (["kernels", "good.py", "--seed", str(10**30)], "the seed must be"),
    "more seeds than a list holds": (["reproduce", "--seeds", str(10**12), "--only-report"], "more than 100000 seeds"),
    "a range of as many": (["reproduce", "--seeds", f"0:{10**18}", "--only-report"], "more than 100000 seeds"),
    "a file that ends the program": (["solve", "exits.py"], "ends the program when it is read"),
    "a name that is too long": (["solve", "a" * 5000], "no problem"),
    "a file name that is too long": (["solve", "a" * 5000 + ".py"], "no file"),
    "a summary with too long a name": (["solve", "good.py", "--json", "9" * 5000, *TINY], "--json needs the name"),
    "a summary into a pipe": (["solve", "good.py", "--json", "pipe", *TINY], "a folder or a device"),
    "an export into a pipe": (["export", "run", "--out", "pipe", "--format", "csv"], "a folder or a device"),
    "a value without end": (["solve", "good.py", "--set", "width=" + "(" * 5000], "positive whole numbers"),
    "a value that cannot be hashed": (["solve", "good.py", "--set", "width={[]: 1}"], "positive whole numbers"),
    "a model larger than numbers": (["solve", "good.py", "--set", "width=1e308"], "take a smaller model"),
    "more points than numbers": (["solve", "good.py", "--set", "points=1e308"], "take fewer"),
    "more points than memory": (["solve", "good.py", "--set", "points=1e11", "--method", "gd"], "GB of memory"),
    "more layers than can be traced": (["solve", "good.py", "--set", "depth=100000"], "at most 1000 hidden layers"),
    "a grid larger than numbers": (["export", "run", "--grid", "9" * 400], "GB of memory"),
    "a viscosity without a reference": (["solve", "burgers", "--set", "nu=1e-12"], "viscosity"),
    "pairs without end": (
        ["solve", "good.py", "--method", "lbfgs", "--set", "remembered=1e12"],
        "take a smaller model",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input(anagram, case):
    arguments, message = WRONG[case]
    result = anagram(*arguments, *(["--steps", "0"] if arguments[0] == "solve" else []))
    check(result, arguments)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())


def test_names_lead_nowhere(anagram, tmp_path):
    """The name of a problem becomes a part of that of its folder."""
    result = anagram("solve", "good.py", *TINY, "--method", "gd", "--steps", "0")
    assert result.exit_code == 0, result.output
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("a-..---b-")
    assert {p.name for p in tmp_path.iterdir()} == {"deep"}


def test_folders_may_look_like_markup(anagram):
    assert anagram("solve", "good.py", *TINY, "--method", "gd", "--steps", "0", "--out", "[/red]").exit_code == 0
    assert anagram("export", "[/red]", "--grid", "3", "--format", "csv").exit_code == 0


@pytest.mark.parametrize("origin", [3, [1], "file", {"catalogue": "heat", "parameters": [1]}, {"catalogue": ["heat"]}])
def test_origins_that_are_none(anagram, origin):
    record = json.loads(Path("run/run.json").read_text())
    Path("run/run.json").write_text(json.dumps(record | {"origin": origin}))
    for words in (["repeat", "run"], ["solve", "--resume", "run"], ["solve", "heat", "--resume", "run"]):
        result = anagram(*words)
        check(result, words)
        assert result.exit_code == 2


def test_what_a_file_says_does_not_steer_the_terminal(anagram):
    record = json.loads(Path("run/run.json").read_text())
    record["configuration"]["method"] = "\x1b[2J\n" * 9 + "[/red]" + "a" * 10**5
    Path("run/run.json").write_text(json.dumps(record))
    result = anagram("repeat", "run")
    check(result, ["repeat"])
    assert "\x1b" not in result.output
    assert len(result.output) < 5000


@pytest.mark.parametrize(
    "damage",
    [
        {"viscosity": "../../x"},
        {"viscosity": [1]},
        {"steps": "many"},
        {"runs": [1]},
        {"runs": {"0": {"steps": [float("inf")]}}},
        {"deep": "[" * 2000},
    ],
)
def test_results_that_cannot_be(anagram, damage):
    Path("out/runs").mkdir(parents=True)
    whole = {"problem": "heat", "method": "adam", "steps": 9, "viscosity": None, "coarse": False, "runs": {}}
    text = json.dumps(whole | damage)
    Path("out/runs/heat-adam.json").write_text(text.replace('"[[', "[["))
    result = anagram("reproduce", "--only-report", "--out", "out")
    check(result, ["reproduce"])
    assert result.exit_code == 2
    assert "remove the file to run it again" in result.output
