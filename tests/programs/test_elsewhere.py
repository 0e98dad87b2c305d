"""Studies whose runs are carried out elsewhere: the same results, and they go on where they stopped."""

import concurrent.futures
import os
import shlex
import subprocess
import sys
import types

import numpy as np
import pytest
from typer.testing import CliRunner

import anagram as ag
from anagram.programs.cli import app
from anagram.programs.sweep import Study, combinations, executor_of, run_one, run_study, write_array
from anagram.programs.sweep.elsewhere import RayExecutor
from problems import FILE

OPTIONS = ("--method", "anagram", "--set", "width=3,4", "--set", "points=30", "--steps", "3")


def anagram(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A study that was carried out in this process."""
    folder = tmp_path_factory.mktemp("local")
    (folder / "line.py").write_text(FILE)
    grid = combinations(["anagram"], {"width": [3, 4], "points": [30]})
    study = Study(str(folder / "line.py"), grid, (0,), limits={"steps": 3})
    return study, run_study(study, folder / "out"), folder


def assert_same(outcomes, local):
    assert [o.folder.name for o in outcomes] == [o.folder.name for o in local]
    for here, there in zip(local, outcomes, strict=True):
        assert there.failure is None
        assert np.array_equal(here.solution.theta, there.solution.theta)


@pytest.mark.long
def test_processes_of_their_own_come_to_the_same_numbers_and_go_on(local, tmp_path):
    study, outcomes, _ = local
    told = []

    def tell(outcome, before, there):
        told.append((before, there))

    run_one(study, tmp_path / "out", 1)  # as if the study had been stopped
    with executor_of("processes:1") as executor:
        found = run_study(study, tmp_path / "out", tell, executor)
    assert_same(found, outcomes)
    assert told == [(0, True), (1, False)]


class Failing(concurrent.futures.ThreadPoolExecutor):
    """An executor whose workers are lost."""

    def submit(self, fn, /, *args, **kwargs):
        return super().submit(os.strerror, "no number")


def test_a_worker_that_is_lost_is_a_run_that_failed(local, tmp_path):
    study, _, _ = local
    with Failing(1) as executor:
        found = run_study(study, tmp_path / "out", None, executor)
    assert [o.solution for o in found] == [None, None]
    assert all("its worker failed: TypeError" in o.failure for o in found)


def test_a_run_that_is_refused_elsewhere_says_why(local, tmp_path, monkeypatch):
    study, outcomes, _ = local
    folder = tmp_path / "out" / outcomes[0].folder.name
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{")
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        found = run_study(study, tmp_path / "out", None, executor)
    assert found[0].solution is None
    assert "run.json" in found[0].failure
    assert_same(found[1:], outcomes[1:])


def test_an_array_of_jobs_does_what_one_process_does(local, tmp_path, monkeypatch):
    study, outcomes, _ = local
    monkeypatch.chdir(tmp_path)
    arguments = ("sweep", study.target, *OPTIONS, "--out", "a study")
    result = anagram(*arguments, "--on", "slurm")
    assert result.exit_code == 0, result.output
    assert "2 jobs:  sbatch a study/study.slurm" in result.stdout
    script = (tmp_path / "a study" / "study.slurm").read_text()
    assert "#SBATCH --array=0-1\n" in script
    checked = subprocess.run(["bash", "-n"], input=script, text=True, check=False)
    assert checked.returncode == 0
    # What a job would carry out, in this process.
    command = shlex.split(script.strip().splitlines()[-1])
    assert command[:4] == ["exec", sys.executable, "-m", "anagram.programs.cli"]
    for number in range(2):
        done = anagram(*[word.replace("$SLURM_ARRAY_TASK_ID", str(number)) for word in command[4:]])
        assert done.exit_code == 0, done.output
    assert not (tmp_path / "a study" / "table.md").exists(), "jobs at the same time do not write the same file"
    collected = anagram(*arguments)
    assert collected.exit_code == 0, collected.output
    assert collected.stdout.count("(there already)") == 2
    assert (tmp_path / "a study" / "table.md").exists()
    for outcome in outcomes:
        again = ag.load(tmp_path / "a study" / outcome.folder.name, problem=outcome.solution.problem)
        assert np.array_equal(again.theta, outcome.solution.theta)


def test_names_with_characters_of_their_own_are_quoted(tmp_path):
    folder = tmp_path / "50% $HOME"
    folder.mkdir()
    script = write_array(folder, ["my problem.py", "--set", "a=$(touch x)"], 3, "my problem").read_text()
    assert "--set 'a=$(touch x)'" in script
    assert "50%% $HOME/slurm-%a.log" in script
    assert "--job-name=anagram-my-problem\n" in script


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("moon", "--on takes processes:N"),
        ("processes", "at least one, not ''"),
        ("processes:0", "at least one, not '0'"),
    ],
)
def test_places_that_are_none_are_refused(where, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = anagram("sweep", "heat", *OPTIONS, "--on", where)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_run_that_is_not_in_the_study_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = anagram("sweep", "heat", *OPTIONS, "--only", "2")
    assert result.exit_code == 2
    assert "the study has 2 runs, from 0 to 1; there is no 2" in result.stderr


@pytest.mark.parametrize(("where", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_clusters_that_are_not_installed_are_asked_for(where, package, monkeypatch):
    for name in ("dask", "dask.distributed", "ray"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ag.MissingError, match=f"needs the package {package}: pip install"), executor_of(where):
        pass


def test_tasks_of_ray_are_futures(monkeypatch):
    """With the part of Ray's interface that is used: remote(...)(function).remote(...).future()."""

    def remote(**options):
        assert options == {"max_retries": 0}

        def of_function(function):
            def begin(*arguments):
                future = concurrent.futures.Future()
                future.set_result(function(*arguments))
                return types.SimpleNamespace(future=lambda: future)

            return types.SimpleNamespace(remote=begin)

        return of_function

    assert RayExecutor(types.SimpleNamespace(remote=remote)).submit(divmod, 7, 2).result() == (3, 1)
