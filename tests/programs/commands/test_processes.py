"""Several processes that share a run: real ones on this machine, one of which is killed."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import anagram as ag
from anagram.compound import processes
from anagram.programs.cli import app
from manydevices import environment
from problems import FILE
from tolerances import assert_close

STEPS = 3000
RUN = (
    "--method",
    "adam",
    "--set",
    "widths=6",
    "--set",
    "points=30",
    "--steps",
    str(STEPS),
    "--no-estimate",
    "--out",
    "run",
)
CLI = (sys.executable, "-m", "anagram.programs.cli", "solve")
PATIENCE = 120  # seconds for what takes a few; a machine may be busy


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def begun(folder, process, port, *arguments):
    """One of two processes with two devices each."""
    joined = ("--coordinator", f"127.0.0.1:{port}", "--processes", "2", "--process", str(process))
    return subprocess.Popen(
        [*CLI, *arguments, *joined],
        cwd=folder,
        env={**environment(2), processes.HEARTBEAT: "4"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_process_that_dies_stops_the_others_and_the_run_goes_on_elsewhere(tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    port = free_port()
    pair = [begun(tmp_path, k, port, "mine.py", *RUN, "--checkpoint", "0") for k in range(2)]
    try:
        ends = time.monotonic() + PATIENCE
        while not list(tmp_path.glob("run/checkpoint-*")) and pair[0].poll() is None and time.monotonic() < ends:
            time.sleep(0.02)
        assert pair[0].poll() is None, pair[0].communicate()
        pair[1].send_signal(signal.SIGKILL)
        _, said = pair[0].communicate(timeout=PATIENCE)
    finally:
        for process in pair:
            process.kill()
            process.communicate()
    assert pair[0].returncode != 0
    # Either the collective says so, or the process that watches.
    assert re.search(r"process of (the|this) run has gone", said)
    assert "Go on with:  anagram solve mine.py --resume run" in said
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "running"
    _check_it_goes_on(tmp_path)


def _check_it_goes_on(folder):
    """On another number of devices, to the same error as a run on one that was never stopped."""
    done = subprocess.run(
        [*CLI, "mine.py", "--resume", "run", "--json", "summary.json"],
        cwd=folder,
        env=environment(3),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "on 4 devices" in done.stderr, "the numbers are not the same to the last bit, and it says so"
    summary = json.loads((folder / "summary.json").read_text())
    space = {}
    exec(compile(FILE, "mine.py", "exec"), space)
    alone = ag.solve(space["mine"], ag.MLP(6), "adam", points=30, steps=STEPS, progress=False)
    assert (summary["steps"], summary["devices"]) == (STEPS, 3)
    assert_close(summary["l2_error"], alone.l2_error, 1e-7)
    assert_close(summary["loss"], alone.loss, 1e-7)


# -- one process ------------------------------------------------------------------------------------------------
def test_one_process_decides_by_itself():
    assert not processes.are_several()
    assert processes.is_first()
    assert processes.of_first(2.5) == 2.5
    assert processes.any_of(True)
    assert not processes.any_of(False)
    processes.agree("setting", "whatever it is")


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"},
        {"SLURM_STEP_NUM_TASKS": "4"},
        {"OMPI_COMM_WORLD_SIZE": "x"},
    ],
)
def test_a_process_that_was_started_alone_stays_alone(environment):
    assert not processes.join(environment=environment)


@pytest.mark.parametrize(
    ("environment", "starter"),
    [
        ({"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "3"}, "Slurm"),
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, "Open MPI"),
    ],
)
def test_processes_that_a_cluster_starts_are_known(environment, starter, monkeypatch):
    asked = []
    monkeypatch.setattr(processes, "_initialize", asked.append)
    assert processes._started(environment) == starter
    processes.join(environment=environment)
    assert asked == [{}], "JAX finds the rest out by itself"
    assert not processes.join(processes=1, environment=environment)
    assert len(asked) == 1


def test_the_first_process_listens_on_the_address_it_was_given_and_no_other(monkeypatch):
    asked = []
    monkeypatch.setattr(processes, "_initialize", asked.append)
    processes.join("127.0.0.1:1234", 2, 0)
    processes.join("127.0.0.1:1234", 2, 1)
    processes.join("192.0.2.1:1234", 2, 0)  # an address of no machine
    assert [options["coordinator_bind_address"] for options in asked] == ["127.0.0.1:1234", None, None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--process", "0"], "--coordinator HOST:PORT, --processes N is missing"),
        (["--coordinator", "node:1", "--processes", "2"], "--process K is missing"),
        (["--coordinator", "node", "--processes", "2", "--process", "0"], "--coordinator takes HOST:PORT"),
        (["--coordinator", "node:99999", "--processes", "2", "--process", "0"], "--coordinator takes HOST:PORT"),
        (["--coordinator", "node:1", "--processes", "2", "--process", "2"], "of 2 processes the last one is 1"),
        (["--coordinator", "node:1", "--processes", "2", "--process", "-1"], "--process must be a whole number"),
        (["--processes", "many"], "--processes takes a number of processes or 'auto', not 'many'"),
        (["--processes", "3"], "--coordinator HOST:PORT, --process K is missing"),
    ],
)
def test_processes_that_cannot_come_together_are_refused(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["solve", "heat", *options])
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split())
    assert not os.listdir(tmp_path)


def test_a_heartbeat_is_a_number_of_seconds(monkeypatch):
    monkeypatch.setenv(processes.HEARTBEAT, "soon")
    with pytest.raises(ag.SettingError, match="whole number of seconds, at least 1, not 'soon'"):
        processes._initialize({})
