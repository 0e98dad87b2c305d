"""Files of a run, damaged at random: whatever reads them works or says in an `AnagramError` what is wrong.

ANAGRAM_FUZZ=20 tries twenty times as many cases; ANAGRAM_FUZZ_SEED=7 others than usual.
"""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.keeping import checkpoint
from anagram.keeping.snapshot import Snapshot, restore, take
from anagram.programs.page import write_page
from anagram.showing.export import to_npz
from anagram.training.budget import Budget
from anagram.training.setting import Setting
from anagram.training.trainer import Trainer
from anagram.untrusted import read_json
from mutations import damaged_arrays, damaged_bytes, damaged_header, damaged_json
from problems import LINE
from smallruns import PROBLEM, heat_run, own_run

TIMES = float(os.environ.get("ANAGRAM_FUZZ", "1"))
SEED = int(os.environ.get("ANAGRAM_FUZZ_SEED", "0"))
LONGEST = 20  # seconds of a case; most take milliseconds, and some compile
CANARY = "from pathlib import Path\nPath({!r}).touch()\nraise SystemExit\n"
RECORD, ARRAYS, METRICS = "run.json", "solution.safetensors", "metrics.jsonl"
QUIET = {"progress": False, "checkpoint_every": 0.0}


def cases(name, count):
    """Random generators of their own for so many cases."""
    stream = int.from_bytes(name.encode()[:6], "little")
    for case in range(max(1, round(TIMES * count))):
        yield case, np.random.default_rng([SEED, stream, case])


@contextlib.contextmanager
def within(seconds):
    """A case that hangs is an error; KeyboardInterrupt is no Exception, so nothing swallows it."""

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def refused_or_fine(what):
    """Errors of this package are what we want to see; anything else fails, with the case it was."""
    try:
        with within(LONGEST), warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in (ag.RunWarning, ag.PointsWarning):
                warnings.simplefilter("ignore", kind)
            yield
    except ag.AnagramError:
        pass
    except KeyboardInterrupt:
        pytest.fail(f"{what} took longer than {LONGEST} s")
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


def look_at(solution):
    """What people do with a solution, as far as it costs nothing."""
    repr(solution)
    assert isinstance(solution.failed, bool)
    for key in ("step", "seconds", "loss", "validation_loss", "l2_error"):
        solution.history.column(key)
    assert solution.history.count == solution.summary["steps"]


def listing(folder):
    """All that lies beside the run."""
    paths = (p for p in folder.rglob("*") if folder / "run" not in (p, *p.parents))
    return {p: (p.lstat().st_size, p.lstat().st_mtime_ns) for p in paths}


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A function that puts a run back as it was, with a file that may not be executed; nothing beside it may change."""
    monkeypatch.setattr("anagram.solving.SpectrumWatch", lambda: lambda record: None)  # it compiles at every resumption
    (tmp_path / "evil.py").write_text(CANARY.format(str(tmp_path / "owned")))
    before = listing(tmp_path)

    def put_back(run=None):
        run = run or own_run()
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(run, tmp_path / "run")
        shutil.copy(tmp_path / "evil.py", tmp_path / "run" / "problem.py")
        return tmp_path / "run"

    yield put_back
    assert listing(tmp_path) == before


def record_of(folder):
    return json.loads((folder / RECORD).read_text())


def write_json(path, text):
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def resume(folder, problem=PROBLEM, steps=5):
    return ag.resume(folder, problem, steps=steps, **QUIET)


def test_bytes_anywhere(copy):
    names = [RECORD, ARRAYS, METRICS, *checkpoint.NAMES]
    for case, rng in cases("bytes", 150):
        folder, name = copy(), names[case % len(names)]
        (folder / name).write_bytes(damaged_bytes((folder / name).read_bytes(), rng))
        with refused_or_fine(f"load, case {case}"):
            look_at(ag.load(folder, PROBLEM))
        if case % 5 in (0, 3) and case % 4 == 0:
            with refused_or_fine(f"resume, case {case}"):
                look_at(resume(folder))


@pytest.mark.parametrize(("run", "count"), [(own_run, 150), (heat_run, 12)])
def test_values_of_the_record(copy, run, count):
    for case, rng in cases(run.__name__, count):
        folder = copy(run())
        write_json(folder / RECORD, damaged_json(record_of(folder), rng, times=1 + case % 3))
        with refused_or_fine(f"load, case {case}"):
            look_at(ag.load(folder))


def test_what_is_read_can_be_shown(copy):
    for case, rng in cases("shown", 8):
        folder = copy()
        write_json(folder / RECORD, damaged_json(record_of(folder), rng))
        with refused_or_fine(f"case {case}"):
            solution = ag.load(folder, PROBLEM if case % 2 else None)
            write_page([folder], folder / "report.html")
            to_npz(solution, folder / "solution.npz", 3)
            if case % 4 == 0:
                solution.plot_convergence()


def test_configurations(copy):
    for case, rng in cases("configuration", 40):
        folder = copy()
        record = record_of(folder)
        text = damaged_json(record["configuration"], rng)
        write_json(
            folder / RECORD,
            json.dumps({**record, "configuration": 0})[:-1].replace('"configuration": 0', f'"configuration": {text}')
            + "}",
        )
        with refused_or_fine(f"resume, case {case}"):
            look_at(resume(folder))
        if case % 10 == 0:
            with refused_or_fine(f"repeat, case {case}"):
                ag.repeat(folder, PROBLEM, progress=False)


def test_metrics(copy):
    for case, rng in cases("metrics", 80):
        folder = copy()
        lines = (folder / METRICS).read_text().splitlines()
        place = int(rng.integers(0, len(lines)))
        lines[place] = damaged_json(json.loads(lines[place]), rng)
        write_json(folder / METRICS, "\n".join(lines))
        with refused_or_fine(f"load, case {case}"):
            look_at(ag.load(folder, PROBLEM))


def test_headers_of_arrays(copy):
    for case, rng in cases("headers", 150):
        folder = copy()
        data = damaged_header((folder / ARRAYS).read_bytes(), rng)
        (folder / ARRAYS).write_bytes(data)
        if case % 3:  # as someone would who wants to be believed
            record = {**record_of(folder), "sha256": hashlib.sha256(data).hexdigest()}
            (folder / RECORD).write_text(json.dumps(record))
        with refused_or_fine(f"load, case {case}"):
            look_at(ag.load(folder, PROBLEM))
        newest = max((folder / name for name in checkpoint.NAMES), key=lambda p: p.stat().st_mtime_ns)
        newest.write_bytes(damaged_header(newest.read_bytes(), rng))
        with refused_or_fine(f"checkpoint, case {case}"):
            checkpoint.read(folder)


def steep():
    """A nonlinear problem on a line: its points lie in cells."""
    return ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x") - u**3, equals=lambda x: jnp.sin(3 * x)),
        ends=ag.Condition(lambda u: u, on=LINE.faces("x")),
    )


def goes_on(problem, setting, snapshot, what):
    """Put a run into a state and let it take some steps."""
    trainer = Trainer(problem, setting, 0)
    with refused_or_fine(what):
        restore(trainer, snapshot)
        look_at(trainer.train(Budget(snapshot.record["step"] + 12, tol=1e-9, early_stopping=5)))


@pytest.mark.parametrize(
    ("state", "setting"),
    [
        (lambda: PROBLEM, Setting(ag.MLP(3), "anagram", points=ag.Grid(9))),
        (steep, Setting(ag.MLP(3), "anagram", points=ag.Cells(24))),
    ],
    ids=["grid", "cells"],
)
def test_states_that_cannot_be(state, setting, tmp_path, monkeypatch):
    """Checkpoints with a right checksum over anything: they pass the reader, and `restore` has to look."""
    monkeypatch.setattr("anagram.training.adaptive.WORSE", 0.0)  # cells move whenever they may
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = state()
        trainer = Trainer(problem, setting, 0)
        trainer.train(Budget(8))
    checkpoint.write(tmp_path, take(trainer))
    whole, _ = checkpoint.read(tmp_path)
    for case, rng in cases(f"states {len(whole.arrays)}", 40):
        arrays, record = whole
        if case % 2:
            arrays = damaged_arrays(arrays, rng)
        else:
            with contextlib.suppress(ValueError):
                record = read_json(damaged_json(record, rng))  # as a checkpoint is read
        with refused_or_fine(f"write, case {case}"):
            snapshot = Snapshot(arrays, record if isinstance(record, dict) else {})
            if case % 5 == 0:
                checkpoint.write(tmp_path, snapshot)
                snapshot, _ = checkpoint.read(tmp_path)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ag.PointsWarning)
                goes_on(problem, setting, snapshot, f"state {case}")
