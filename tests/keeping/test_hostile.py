"""Run folders from someone who means no good: each case here is one that once went wrong, or must never do so."""

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import textwrap
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

import anagram as ag
from anagram.keeping import checkpoint
from anagram.keeping.atomic import write_atomically
from anagram.keeping.snapshot import restore, take
from anagram.programs.page import write_page
from anagram.showing.export import to_npz
from anagram.training.budget import Budget
from anagram.training.setting import Setting
from anagram.training.trainer import Trainer
from anagram.untrusted import read_json
from mutations import header_of, with_header
from problems import LINE
from smallruns import PROBLEM, own_run

QUIET = {"progress": False, "checkpoint_every": 0.0}
pytestmark = pytest.mark.filterwarnings("ignore::anagram.RunWarning")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of our own in a folder of its own."""
    monkeypatch.setattr("anagram.solving.SpectrumWatch", lambda: lambda record: None)  # it compiles at every resumption
    return Path(shutil.copytree(own_run(), tmp_path / "run"))


def change(folder, *path, to):
    """Put a value into the record at a path."""
    record = json.loads((folder / "run.json").read_text())
    inner = record
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    (folder / "run.json").write_text(json.dumps(record))


def write_arrays(folder, data):
    """Replace the arrays of a solution, checksum and all."""
    (folder / "solution.safetensors").write_bytes(data)
    change(folder, "sha256", to=hashlib.sha256(data).hexdigest())


def resume(folder):
    return ag.resume(folder, PROBLEM, steps=5, **QUIET)


# -- nothing is executed ------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["problem.py", "../evil.py", "/etc/passwd", "\0", "-c"])
def test_files_that_a_record_names_are_not_executed(run, tmp_path, name):
    canary = f"open({str(tmp_path / 'owned')!r}, 'w')"
    (run / "problem.py").write_text(canary)
    (tmp_path / "evil.py").write_text(canary)
    digest = hashlib.sha256(canary.encode()).hexdigest()
    change(run, "origin", to={"file": name, "problem": "problem", "name": "x", "sha256": digest})
    to_npz(ag.load(run), run / "solution.npz", 3)
    write_page([run], run / "report.html")
    for action in (ag.resume, ag.repeat):
        with pytest.raises(ag.FileError, match="executed only if you name it"):
            action(run, progress=False)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("kind", ["os.system", "__class__", "ModelSpec", "custom", None, ["MLP"], {}])
def test_kinds_of_models_are_looked_up_and_not_imported(run, kind):
    change(run, "model", "kind", to=kind)
    with pytest.raises(ag.FileError, match="does not describe a solution"):
        ag.load(run)


# -- nothing is written elsewhere ---------------------------------------------------------------------
def test_links_lead_nowhere(run, tmp_path):
    victim = tmp_path / "victim"
    names = [".lock", "metrics.jsonl", "solution.png", f".run.json.tmp{os.getpid()}", "checkpoint-0.safetensors"]
    for name in names:
        victim.write_text("precious")
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(victim)
    missing = tmp_path / "missing"
    (run / f".metrics.jsonl.tmp{os.getpid()}").symlink_to(missing)
    solution = resume(run)
    solution.plot(run / "solution.png")
    (run / f".run.json.tmp{os.getpid()}").symlink_to(victim)
    solution.save(run)
    assert victim.read_text() == "precious"
    assert not missing.exists()
    assert (run / "solution.png").stat().st_size > 1000


def test_a_lock_that_is_a_dangling_link_creates_nothing(run, tmp_path):
    (run / ".lock").symlink_to(tmp_path / "created")
    resume(run)
    assert not (tmp_path / "created").exists()


def test_the_temporary_file_of_a_write_is_our_own(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / f".a.txt.tmp{os.getpid()}").symlink_to(tmp_path / "victim")
    write_atomically(tmp_path / "a.txt", lambda p: p.write_text("mine"))
    assert ((tmp_path / "a.txt").read_text(), (tmp_path / "victim").read_text()) == ("mine", "precious")


# -- what has no end, or is too long, is not read -----------------------------------------------------
@pytest.mark.parametrize("name", ["run.json", "solution.safetensors", "metrics.jsonl", *checkpoint.NAMES])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop", "sparse"])
def test_files_that_are_none(run, name, kind):
    path = run / name
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case _:
            with path.open("wb") as file:
                file.truncate(100 * 10**9)
    started = time.monotonic()
    if "checkpoint" in name:
        assert ag.load(run, PROBLEM).summary["steps"] == 4
        resume(run)  # the other one is whole
    else:
        with pytest.raises(ag.FileError, match=r"cannot read|no solution"):
            ag.load(run, PROBLEM)
    assert time.monotonic() - started < 10


def test_long_headers_and_texts(run):
    data = (run / "solution.safetensors").read_bytes()
    header, rest = header_of(data)
    for claimed in (0, 1, 2**32, 2**63, 2**64 - 1):
        write_arrays(run, with_header(header, rest, claimed))
        with pytest.raises(ag.FileError, match="no safetensors file"):
            ag.load(run)
    write_arrays(run, data[:5])
    with pytest.raises(ag.FileError, match="no safetensors file"):
        ag.load(run)
    write_arrays(run, data)
    (run / "metrics.jsonl").write_text("\n" * 10)
    assert ag.load(run).history.blocks == []


def test_a_text_may_take_a_part_of_the_memory_only(run, monkeypatch):
    monkeypatch.setattr("anagram.untrusted.physical_memory", lambda: 2**15)
    with pytest.raises(ag.FileError, match="more than a run writes"):
        ag.load(run)


@pytest.mark.parametrize("shape", [[2**60], [2**31, 2**31], [0, 2**63], [-1], [1] * 100_000, [10**30]])
def test_absurd_shapes(run, shape):
    header, rest = header_of((run / "solution.safetensors").read_bytes())
    header["theta"]["shape"] = shape
    write_arrays(run, with_header(header, rest))
    tracemalloc.start()
    with pytest.raises(ag.FileError, match=r"solution\.safetensors"):
        ag.load(run)
    assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3", "F4", "C64", "I64", "F32"])
def test_numbers_of_other_types(run, kind):
    bits = {"BF16": 16, "F8_E4M3": 8, "F4": 4, "F32": 32}.get(kind, 64)
    header, rest = header_of((run / "solution.safetensors").read_bytes())
    first, last = header["theta"]["data_offsets"]
    header["theta"] |= {"dtype": kind, "shape": [(last - first) * 8 // bits]}
    write_arrays(run, with_header(header, rest))
    with pytest.raises(ag.FileError):
        ag.load(run)


HUGE = """
    import json, resource, sys, warnings
    warnings.simplefilter("ignore")
    sys.path.insert(0, {tests!r})
    import anagram as ag
    from problems import parabola
    problem = parabola()
    ag.resume("run", problem, steps=4, progress=False)  # all that can be compiled is
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 2**30, now + 2**30))
    with open("run/run.json") as file:
        record = json.load(file)
    for part, value in json.loads(sys.stdin.read()):
        inner = record["configuration"]
        with open("run/run.json", "w") as file:
            json.dump(record | {{"configuration": inner | {{part: value}}, "model": inner["model"]}}, file)
        try:
            ag.resume("run", problem, steps=4, progress=False)
        except ag.AnagramError as error:
            print("refused:", str(error).replace("\\n", " ")[:100])
        else:
            print("done", part, value)
        if part == "model":
            with open("run/run.json", "w") as file:
                json.dump(record | {{"model": value}}, file)
            try:
                ag.load("run", problem)
            except ag.FileError:
                continue
            print("loaded", value)
"""


def large(number):
    """Configurations that would need memory without bounds."""
    u = {"kind": "MLP", "widths": [number, number]}
    rules = [{"rule": rule, "count": number, "axes": {}} for rule in ("Grid", "GaussLegendre")]
    rules += [{"rule": rule, "count": number} for rule in ("Uniform", "Sobol", "LatinHypercube", "Cells")]
    rules += [{"rule": "Redrawn", "of": {"rule": "Uniform", "count": number}, "every": 3}]
    rules += [{"rule": "Cells", "count": 9, "order": number}, {"rule": "Tangent", "count": number}]
    yield from (("points", rule) for rule in (number, *rules, {"conditions": {"equation": number}}))
    models = [u, {"kind": "Fourier", "order": number}, {"kind": "Polynomial", "degree": number}]
    yield from (("model", m) for m in (*models, *({"kind": "by-unknown", "models": {"u": m}} for m in models)))


def test_sizes_are_checked_before_memory_is_taken(run, tmp_path):
    asked = [case for number in (10**9, 10**12, 10**30, 10**400) for case in large(number)]
    asked += [("model", {"kind": "MLP", "widths": [1] * 100_000}), ("seed", 10**30), ("seed", 2**63)]
    script = textwrap.dedent(HUGE).format(tests=str(Path(__file__).parents[1]))
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == len(asked)
    assert all(line.startswith("refused:") for line in lines), done.stdout


# -- records ------------------------------------------------------------------------------------------
WRONG = {
    "summary no record": (["summary"], [1], "summary is no record"),
    "loss a text": (["summary", "loss"], "low", "'low' as 'loss'"),
    "loss too large": (["summary", "loss"], 10**400, "as 'loss'"),
    "reason a number": (["summary", "stopped_because"], 3, "as 'stopped_because'"),
    "negative steps": (["summary", "steps"], -1, "as 'steps'"),
    "other steps": (["summary", "steps"], 10**9, "speaks of 1000000000 steps"),
    "estimate a list": (["summary", "error_estimate"], [], "as 'error_estimate'"),
    "best a number": (["summary", "best"], 3, "as 'best'"),
    "losses a list": (["summary", "condition_losses"], [1], "as 'condition_losses'"),
    "no unknowns": (["unknowns", "fields"], {}, "no unknowns"),
    "axis called like the unknown": (["unknowns", "fields"], {"x": "real"}, "names of their own"),
    "a name that steers terminals": (["unknowns", "fields"], {"\x1b[2J": "real"}, "names of their own"),
    "infinite axis": (["unknowns", "axes", "x"], [-1e308, 1e308], "needs finite ends"),
    "large end": (["unknowns", "axes", "x"], [0, 10**400], "does not describe"),
    "origin a list": (["origin"], [1], "does not describe"),
    "parameters a list": (["origin"], {"catalogue": "burgers", "parameters": [1]}, "does not describe"),
    "tiny viscosity": (["origin"], {"catalogue": "burgers", "parameters": {"nu": 1e-300}}, "viscosity"),
    "another problem": (["origin"], {"catalogue": "heat"}, "the problem 'heat' that it names is another one"),
    "deep": (["deep"], read_json("[" * 50 + "]" * 50), None),
}


@pytest.mark.parametrize("case", WRONG)
def test_records_that_cannot_be(run, case):
    path, value, message = WRONG[case]
    change(run, *path, to=value)
    if message is None:
        assert ag.load(run).summary["steps"] == 4
    else:
        with pytest.raises(ag.FileError, match=message):
            ag.load(run)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 300 + "]" * 300, '"\\ud800"', "1" * 5000])
def test_texts_that_cannot_be_written_again(text):
    with pytest.raises(ValueError, match=r"nested|halves|digits"):
        read_json(text)


def test_whole_pairs_are_characters():
    assert read_json('"\\ud83d\\ude00"') == "😀"


def test_lines_end_where_lines_end(run):
    """Unicode has other ends of lines, which may stand in a text that a monitor wrote."""
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 9, "note": "a\u2028b"}\n')
    assert ag.load(run).history.blocks[-1]["note"] == "a\u2028b"


@pytest.mark.parametrize("block", ['{"step": -1}', '{"loss": "a"}', '{"spectrum": [[1]]}', '{"rank": [1]}', "[1]"])
def test_metrics_that_cannot_be(run, block):
    (run / "metrics.jsonl").write_text(block)
    with pytest.raises(ag.FileError, match=r"metrics\.jsonl.*record"):
        ag.load(run)


@pytest.mark.parametrize(
    "columns",
    [
        {"loss": np.zeros((4, 2))},
        {"loss": np.zeros(3), "rank": np.zeros(4)},
        {"rank": np.zeros(4)},
        {"loss": np.zeros(4, complex)},
        {"loss": np.zeros(())},
    ],
)
def test_columns_that_do_not_fit(run, columns):
    from safetensors.numpy import save as to_bytes

    theta = ag.load(run).theta
    arrays = {"theta": theta, **{f"steps.{k}": v for k, v in columns.items()}}
    write_arrays(run, to_bytes({k: v.astype(np.complex64) if np.iscomplexobj(v) else v for k, v in arrays.items()}))
    with pytest.raises(ag.FileError, match="columns of steps"):
        ag.load(run)


def test_losses_that_were_not_finite(run):
    """They are null in JSON."""
    change(run, "summary", "loss", to=None)
    change(run, "summary", "validation_loss", to=None)
    solution = ag.load(run, PROBLEM)
    assert "loss unknown" in repr(solution)
    solution.plot()


# -- configurations -----------------------------------------------------------------------------------
CONFIGURATIONS = {
    "a fraction that is none": (["budget", "least_progress"], "a", "least_progress"),
    "coordinates that are none": (["points"], {"rule": "Grid", "count": ["a"], "axes": {}}, "coordinates"),
    "a large number for a method": (["options"], {"sketch": 10**30}, "too large a number"),
    "in a list": (["options"], {"drops": [10**30]}, "too large a number"),
    "a large first loss": (["fingerprint", "loss"], 10**400, "fingerprint"),
    "a seed that is too large": (["seed"], 10**30, "the seed"),
}


@pytest.mark.parametrize("case", CONFIGURATIONS)
def test_configurations_that_cannot_be(run, case):
    path, value, message = CONFIGURATIONS[case]
    change(run, "configuration", *path, to=value)
    with pytest.raises(ag.AnagramError, match=message):
        resume(run)


def test_repeating_what_does_not_belong_together(run):
    change(run, "configuration", "model", "widths", to=[4])
    with pytest.raises(ag.FileError, match="not of the model of its configuration"):
        ag.repeat(run, PROBLEM, progress=False)
    change(run, "summary", to=[1])
    change(run, "configuration", "model", "widths", to=[3])
    with pytest.raises(ag.FileError, match="has not ended"):
        ag.repeat(run, PROBLEM, progress=False)


# -- checkpoints with a right checksum ----------------------------------------------------------------
@pytest.fixture(scope="module")
def trained():
    setting = Setting(ag.MLP(3), "anagram", points=ag.Grid(9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = Trainer(PROBLEM, setting, 0)
        trainer.train(Budget(4))
    return setting, take(trainer)


STATES = {
    "step -1": lambda r, a: r.update(step=-1),
    "step too large": lambda r, a: r.update(step=10**30),
    "step a text": lambda r, a: r.update(step="4"),
    "seconds nan": lambda r, a: r.update(seconds=float("nan")),
    "seconds infinite": lambda r, a: r.update(seconds=float("inf")),
    "seconds too large": lambda r, a: r.update(seconds=10**400),
    "moved in the future": lambda r, a: r.update(moved_at=5),
    "blocks no list": lambda r, a: r.update(blocks={}),
    "blocks no records": lambda r, a: r.update(blocks=[1]),
    "no blocks": lambda r, a: r.update(blocks=[]),
    "block without its loss": lambda r, a: r["blocks"][-1].pop("validation_loss"),
    "block of another step": lambda r, a: r["blocks"][-1].update(step=3),
    "block with a text": lambda r, a: r["blocks"][0].update(loss="low"),
    "best a list": lambda r, a: r.update(best=[1]),
    "best in the future": lambda r, a: r["best"].update(step=5),
    "best without parameters": lambda r, a: a.pop("best.theta"),
    "a column too many": lambda r, a: a.update({"steps.more": np.zeros(4)}),
    "a column too few": lambda r, a: a.pop("steps.rank"),
    "a column of another type": lambda r, a: a.update({"steps.rank": np.zeros(4)}),
    "a column too short": lambda r, a: a.update({"steps.loss": np.zeros(3)}),
    "a column that is a table": lambda r, a: a.update({"steps.loss": np.zeros((4, 2))}),
    "parameters of another type": lambda r, a: a.update({"state.theta": np.zeros(10, "f4")}),
    "parameters too few": lambda r, a: a.update({"state.theta": np.zeros(9)}),
}


@pytest.mark.parametrize("case", STATES)
@pytest.mark.filterwarnings("ignore::anagram.PointsWarning")
def test_states_that_cannot_be(trained, case, tmp_path):
    setting, snapshot = trained
    record, arrays = json.loads(json.dumps(snapshot.record)), dict(snapshot.arrays)
    STATES[case](record, arrays)
    with pytest.raises(ag.FileError, match="does not belong to this run"):
        restore(Trainer(PROBLEM, setting, 0), snapshot._replace(record=record, arrays=arrays))


@pytest.mark.filterwarnings("ignore::anagram.PointsWarning")
def test_states_that_are_not_finite_end_the_run(trained):
    setting, snapshot = trained
    trainer = Trainer(PROBLEM, setting, 0)
    arrays = {**snapshot.arrays, "state.theta": np.full(10, np.nan), "state.loss": np.asarray(np.nan)}
    record = json.loads(json.dumps(snapshot.record))
    record["blocks"][-1] |= {"loss": None, "validation_loss": None}  # as JSON has it
    restore(trainer, snapshot._replace(arrays=arrays, record=record))
    assert trainer.train(Budget(6)).failed
    restore(trainer, snapshot._replace(record=record))
    assert trainer.train(Budget(4, tol=1e-9)).stopped_because == "steps used up"


def test_cells_that_cannot_be():
    problem = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x") - u**2, equals=1.0),
        start=ag.Condition(lambda u: u, on=LINE.face(x=0)),
    )
    setting = Setting(ag.MLP(2), "gd", points={"equation": ag.Cells(24)})
    trainer = Trainer(problem, setting, 0)
    trainer.train(Budget(1))
    snapshot = take(trainer)
    name = "mesh['equation'][0]"
    for part, value in (
        ("leaves", -1),
        ("leaves", 10**6),
        ("leaves", 3),  # all the same
        ("parent", 10**6),
        ("low", np.nan),
        ("high", 2.0),
    ):
        old = snapshot.arrays[f"{name}.{part}"]
        arrays = {**snapshot.arrays, f"{name}.{part}": np.full_like(old, value)}
        with pytest.raises(ag.FileError, match="does not describe cells"):
            restore(trainer, snapshot._replace(arrays=arrays))


def test_records_of_long_runs_fit_into_a_checkpoint(trained, tmp_path):
    """The header of a safetensors file ends at 100 MB; a day of blocks is longer."""
    _, snapshot = trained
    record = {**snapshot.record, "blocks": snapshot.record["blocks"] * 500}
    data = checkpoint.write(tmp_path, snapshot._replace(record=record)).read_bytes()
    assert len(data) > 500_000
    assert struct.unpack("<Q", data[:8])[0] < 10_000
    assert len(checkpoint.read(tmp_path)[0].record["blocks"]) == len(record["blocks"])


@pytest.mark.parametrize("number", ["9" * 4300, "-5", "x", str(2**62), "1e3"])
def test_numbers_of_checkpoints(run, number):
    for name in checkpoint.NAMES:
        header, rest = header_of((run / name).read_bytes())
        header["__metadata__"]["number"] = number
        (run / name).write_bytes(with_header(header, rest))
    resume(run)
