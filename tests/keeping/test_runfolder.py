"""What can go wrong on the way: the run goes on or says what it kept, and the last good state is on disk."""

import functools
import json
import shutil
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.keeping import checkpoint
from anagram.keeping.atomic import prepare_folder
from anagram.keeping.runfolder import RunFolder
from anagram.training.watch import SpectrumWatch
from problems import LINE, parabola

OPTIONS = {"points": ag.Grid(20), "progress": False, "checkpoint_every": 0.0}


def run(folder, problem=None, steps=12, **options):
    return ag.solve(problem or parabola(), ag.MLP(5), "anagram", folder=folder, steps=steps, **(OPTIONS | options))


def at_step(step, action):
    """A monitor that does something once."""
    seen = []

    def monitor(record):
        if record["step"] >= step and not seen:
            seen.append(record["step"])
            action()

    return monitor


def test_a_folder_that_is_deleted_is_made_again(tmp_path):
    folder = tmp_path / "run"
    solution = run(folder, monitors=[at_step(5, lambda: shutil.rmtree(folder))])
    assert solution.summary["steps"] == 12
    assert {p.name for p in folder.iterdir()} >= {
        "run.json",
        "metrics.jsonl",
        "solution.safetensors",
        checkpoint.NAMES[0],
    }
    np.testing.assert_array_equal(ag.load(folder).theta, solution.theta)
    steps = [json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert steps == list(range(13))


def test_a_folder_that_cannot_be_written_any_more_does_not_cost_the_run(tmp_path):
    folder = tmp_path / "run"

    def in_the_way():
        shutil.rmtree(folder)
        folder.write_text("a file where the folder was")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solution = run(folder, monitors=[at_step(5, in_the_way)])
    told = [str(w.message) for w in caught if w.category is ag.RunWarning]
    assert sum("The run goes on and tries again" in text for text in told) == 1
    assert solution.folder is not None
    assert f"it was saved in '{solution.folder}'" in told[-1]
    np.testing.assert_array_equal(ag.load(solution.folder).theta, solution.theta)
    shutil.rmtree(solution.folder)


FULL_DISK = """
    import resource, signal, sys, warnings
    sys.path.insert(0, {tests!r})
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    import anagram as ag
    from problems import parabola

    def fill(record):
        if record["step"] == 5:  # from now on no file can grow beyond a kilobyte
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
        if record["step"] == 9:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    solution = ag.solve(parabola(), ag.MLP(5), "anagram", points=ag.Grid(20), steps=12, folder="run",
                        checkpoint_every=0.0, progress=False, monitors=[fill])
    print(solution.summary["steps"], solution.folder)
"""


def test_a_full_disk_is_waited_for(tmp_path):
    code = textwrap.dedent(FULL_DISK).format(tests=str(Path(__file__).parents[1]))
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["12", "run"]
    assert "cannot be written" in result.stderr
    assert "File too large" in result.stderr
    assert ag.load(tmp_path / "run").summary["steps"] == 12
    assert not list((tmp_path / "run").glob(".*.tmp*"))


def test_only_one_process_works_in_a_folder(tmp_path):
    with RunFolder(tmp_path), pytest.raises(ag.FileError, match="another process is at work"):
        run(tmp_path)
    run(tmp_path, steps=1)
    assert not (tmp_path / ".lock").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "run.json").write_text('{"mine": true}')
    with pytest.raises(ag.FileError, match="was not written by this program"):
        run(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ag.FileError, match="cannot write to the folder"):
        run(tmp_path / "file" / "run")
    with pytest.raises(ag.SettingError, match="seconds between checkpoints"):
        run(tmp_path / "a", checkpoint_every=-1)


def test_leftovers_of_a_killed_process_are_cleared(tmp_path):
    (tmp_path / ".checkpoint.safetensors.tmp123").write_bytes(b"half")
    run(tmp_path, steps=1)
    assert not list(tmp_path.glob(".*"))


# -- numbers ---------------------------------------------------------------------------------------------------
def test_nan_of_a_users_function_in_the_middle_keeps_what_was_reached(tmp_path):
    """The source has no value near 0; points that are drawn anew get there after a while."""
    problem = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=lambda x: jnp.sqrt(x - 0.0008)),
        ends=ag.Condition(lambda u: u, on=LINE.faces("x")),
    )
    points = {"equation": ag.Redrawn(ag.Uniform(30), every=2), "ends": 2}
    solution = run(tmp_path, problem, steps=200, points=points)
    assert solution.failed
    assert "condition 'equation'" in solution.stopped_because
    assert "what was reached before is kept" in solution.stopped_because
    assert 2 <= solution.summary["steps"] < 200
    assert np.isfinite(solution.loss)
    loaded = ag.load(tmp_path, problem=problem)
    np.testing.assert_array_equal(loaded.theta, solution.theta)
    assert json.loads((tmp_path / "run.json").read_text())["status"] == "failed"
    assert checkpoint.read(tmp_path)[0].record["step"] == solution.summary["steps"]


def test_an_operator_without_a_value_keeps_what_was_reached(tmp_path):
    """√(u + 0.2) of a solution that falls below: no step across is finite, or none is taken."""
    problem = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x") + 0 * u.map(lambda v: jnp.sqrt(v + 0.2)), equals=2.0),
        ends=ag.Condition(lambda u: u, on=LINE.faces("x")),
    )
    model = ag.MLP(5, scale=0.0)
    solution = ag.solve(problem, model, "anagram", folder=tmp_path, steps=50, **OPTIONS)
    assert np.isfinite(solution.loss)
    assert np.all(np.isfinite(ag.load(tmp_path, problem=problem).theta))


def test_out_of_memory_in_the_middle_keeps_what_was_reached(tmp_path, monkeypatch):
    from anagram.training.trainer import Trainer

    advance = Trainer._advance

    def give_up(self, length):
        if self.history.count >= 6:
            raise MemoryError
        advance(self, length)

    monkeypatch.setattr(Trainer, "_advance", give_up)
    solution = run(tmp_path)
    assert solution.failed
    assert "out of memory; J alone, 22 rows by 16 parameters" in solution.stopped_because
    assert ag.load(tmp_path).summary["steps"] == 6
    monkeypatch.undo()
    problem = parabola()
    whole = run(tmp_path / "whole", problem)
    again = ag.resume(tmp_path, problem, progress=False)
    np.testing.assert_array_equal(again.theta, whole.theta)


def test_memory_for_j_that_is_not_there_is_said_before_anything_runs(tmp_path):
    with pytest.raises(ag.SettingError, match="GB"):
        ag.solve(parabola(), ag.MLP(40000, 40000), folder=tmp_path / "run", progress=False)


def test_a_singular_matrix_is_no_obstacle(tmp_path):
    """All conditions say the same about one point: J has rank one."""
    problem = ag.Problem(
        LINE,
        one=ag.Condition(lambda u: u, on=LINE.points(x=[0.5, 0.5]), equals=np.ones(2)),
        two=ag.Condition(lambda u: 2 * u, on=LINE.points(x=[0.5]), equals=2.0),
    )
    solution = ag.solve(problem, ag.MLP(5), "anagram", folder=tmp_path, steps=20, progress=False)
    assert solution.loss < 1e-20
    assert solution.history.steps["rank"].max() == 1


# -- monitors --------------------------------------------------------------------------------------------------
def test_monitors_may_stop_a_run_and_look_at_its_solution(tmp_path):
    values = []

    def stop(record, run):
        values.append(float(run.solution()(0.5)))
        return record["step"] >= 4

    solution = run(tmp_path, monitors=[stop])
    assert solution.stopped_because == "stopped by a monitor"
    assert solution.summary["steps"] == 4
    assert values[-1] == pytest.approx(float(solution(0.5)), abs=1e-15)
    assert len(set(values)) > 2


def test_the_spectrum_is_watched(tmp_path, monkeypatch):
    problem = parabola()
    # Not in runs that are over soon.
    assert not any("spectrum" in block for block in run(tmp_path / "short", problem).history.blocks)
    monkeypatch.setattr("anagram.solving.SpectrumWatch", functools.partial(SpectrumWatch, after=0.0))
    solution = run(tmp_path, problem)
    spectra = [(b["step"], b["spectrum"]) for b in solution.history.blocks if "spectrum" in b]
    step, first = spectra[0]
    assert step == 0
    model = ag.ParametricModel(problem.sought, ag.MLP(5), 0)
    batch = ag.sample(problem, ag.Grid(20))
    jacobian = jax.jit(ag.Compound(problem, model).features)(model.theta, batch)[1]
    np.testing.assert_allclose(first, np.linalg.svd(jacobian, compute_uv=False), rtol=1e-9, atol=1e-12 * first[0])
    assert prepare_folder(tmp_path) == tmp_path
