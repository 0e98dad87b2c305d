"""A healthy machine, and many ailments."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

from anagram.programs.commands.doctor import doctor
from anagram.programs.doctor import folders, machine, packages, selftest


@pytest.fixture
def examined(monkeypatch, tmp_path):
    """Run the command; the exit status, and the findings by name."""
    monkeypatch.chdir(tmp_path)
    app = Typer()
    app.command()(doctor)

    def run(*arguments):
        result = CliRunner().invoke(app, ["--json", *arguments])
        report = json.loads(result.output)
        assert report["healthy"] == (result.exit_code == 0)
        return result.exit_code, {f["name"]: SimpleNamespace(**f) for f in report["findings"]}

    return run


def test_a_healthy_machine(examined):
    status, found = examined()
    assert status == 0
    for name in ("python", "anagram", "jax", "jaxlib", "equinox", "float64", "devices", "cache", "working folder"):
        assert found[name].text
    for name in ("singular values", "laplace-2d", "repeated", "saved and loaded"):
        assert found[name].state == "ok", found[name]


def test_the_table_shows_what_to_do(monkeypatch):
    monkeypatch.setattr(packages, "_version", lambda name: None if name in ("xarray", "rich") else "999")
    app = Typer()
    app.command()(doctor)
    result = CliRunner().invoke(app, ["--no-test"])
    assert result.exit_code == 1
    lines = [line.split() for line in result.output.splitlines()]
    assert ["failed", "rich", "missing"] in lines
    assert ["->", "pip", "install", "'rich>=13'"] in lines
    assert ["info", "extra", "xarray", "not", "installed", "(xarray)"] in lines
    assert ["->", "pip", "install", "'anagram-pinn[xarray]'"] in lines
    assert lines[-1][:2] == ["1", "failed:"]
    assert "self-test" not in result.output


# -- packages -----------------------------------------------------------------------------------------------
def test_extras_that_are_missing_do_no_harm(examined, monkeypatch):
    installed = packages._version
    monkeypatch.setattr(packages, "_version", lambda name: None if name == "h5py" else installed(name))
    status, found = examined("--no-test")
    assert status == 0
    assert found["extra netcdf"].state == "info"
    assert found["extra netcdf"].text == "not installed (h5py)"
    assert found["extra xarray"].state == "ok"
    assert "extra dev" not in found


def test_packages_that_are_too_old(examined, monkeypatch):
    installed = packages._version
    monkeypatch.setattr(
        packages, "_version", lambda name: "0.0.1" if name in ("jax", "optimistix") else installed(name)
    )
    status, found = examined("--no-test")
    assert status == 1
    assert found["jax"].text == "0.0.1, too old"
    assert found["jax"].advice.startswith("pip install --upgrade 'jax>=")
    assert found["extra optimistix"].state == "warning"


def test_a_package_that_is_not_installed_is_used_from_its_folder(monkeypatch):
    monkeypatch.setattr(packages, "DISTRIBUTION", "nothing-of-the-kind")
    assert packages.examine_packages()[-1].state == "warning"


# -- the machine --------------------------------------------------------------------------------------------
def test_single_precision_is_a_failure(examined):
    jax.config.update("jax_enable_x64", False)
    try:
        status, found = examined("--no-test")
        (svd,) = selftest._singular_values()
    finally:
        jax.config.update("jax_enable_x64", True)
    assert status == 1
    assert found["float64"].state == "failed"
    assert "jax_enable_x64" in found["float64"].advice
    assert svd.state == "failed"


def test_a_gpu_that_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "NVIDIA", tmp_path)
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    (finding,) = machine._devices()
    assert finding.state == "warning"
    assert "jax[cuda12]" in finding.advice


def test_devices_that_cannot_be_reached(monkeypatch):
    def broken():
        raise RuntimeError("no CUDA driver\nand more")

    monkeypatch.setattr(jax, "devices", broken)
    first = machine.examine_machine()[0]
    assert (first.name, first.state, first.text) == ("devices", "failed", "RuntimeError: no CUDA driver")


@pytest.mark.parametrize(
    ("told", "cores", "state"),
    [
        ({"OPENBLAS_NUM_THREADS": "8"}, 8, "warning"),
        ({"OPENBLAS_NUM_THREADS": "4"}, 8, "ok"),
        ({"OPENBLAS_NUM_THREADS": "1"}, 1, "ok"),
        ({"OMP_NUM_THREADS": "8"}, 8, "ok"),
        ({}, 8, "ok"),
    ],
)
def test_threads_that_fight_for_cores(told, cores, state):
    assert machine._threads(told, cores).state == state


def test_little_memory(monkeypatch, tmp_path):
    (tmp_path / "info").write_text("MemTotal: 9 kB\nMemAvailable: 1024 kB\n")
    (tmp_path / "limit").write_text("1048576\n")
    monkeypatch.setattr(machine, "MEMORY_INFO", tmp_path / "info")
    monkeypatch.setattr(machine, "MEMORY_LIMIT", tmp_path / "limit")
    (finding,) = machine._memory()
    assert finding.state == "warning"
    assert finding.text.endswith("of which this process may have 1 MB; 1 MB free")
    monkeypatch.setattr(machine, "MEMORY_INFO", tmp_path / "nowhere")
    (tmp_path / "limit").write_text("max\n")
    (finding,) = machine._memory()
    assert finding.state == "info"


@pytest.mark.parametrize(("encoding", "state"), [("latin-1", "warning"), ("UTF-8", "ok")])
def test_encodings(monkeypatch, encoding, state):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    (finding,) = machine._terminal()
    assert finding.state == state


# -- folders ------------------------------------------------------------------------------------------------
def test_a_cache_that_cannot_be_written_is_done_without(examined, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ANAGRAM_CACHE", str(tmp_path / "file" / "cache"))
    status, found = examined("--no-test")
    assert status == 0
    assert found["cache"].state == "warning"
    assert "set ANAGRAM_CACHE" in found["cache"].advice
    assert "compiled programs" not in found


def test_states_of_the_compiled_programs(monkeypatch, tmp_path):
    monkeypatch.setenv("ANAGRAM_CACHE", str(tmp_path / "cache"))
    cache, compiled = folders._cache()
    assert (cache.state, compiled.state) == ("ok", "info")
    assert not (tmp_path / "cache").exists()
    (tmp_path / "cache" / "compiled").mkdir(parents=True)
    (tmp_path / "cache" / "compiled" / "program").write_bytes(b"x" * 2048)
    assert folders._cache()[1].text == "2 kB in 1 files"
    monkeypatch.setattr(folders, "LARGE_CACHE", 1000)
    assert folders._cache()[1].state == "warning"
    monkeypatch.setattr(folders, "can_write", lambda folder: folder.name != "compiled")
    assert "cannot be written" in folders._cache()[1].text


def test_a_full_disk_and_a_folder_that_cannot_be_written(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folders, "LITTLE_DISK", float("inf"))
    assert [f.state for f in folders.examine_folders()][:2] == ["warning", "warning"]
    monkeypatch.setattr(folders, "can_write", lambda folder: False)
    assert "--out" in folders._working_folder()[0].advice
    assert folders.nearest_folder(Path("no/such/folder")) == tmp_path


# -- the self-test ------------------------------------------------------------------------------------------
def test_wrong_singular_values_fail(monkeypatch):
    right = jnp.linalg.svd

    def rounded(*arguments, **options):
        return tuple(part.astype(jnp.float32) for part in right(*arguments, **options))

    monkeypatch.setattr(jnp.linalg, "svd", rounded)
    (finding,) = selftest._singular_values()
    assert finding.state == "failed"
    assert "reinstall" in finding.advice


def test_a_run_that_breaks_down_ends_the_self_test(examined, monkeypatch):
    def broken(problem):
        raise RuntimeError("out of order")

    monkeypatch.setattr(selftest, "_run", broken)
    status, found = examined()
    assert status == 1
    assert found["laplace-2d"].text == "RuntimeError: out of order"
    assert "repeated" not in found


def test_wrong_solutions_fail(monkeypatch):
    solution = SimpleNamespace(l2_error=0.1, summary={"steps": 3}, theta=np.zeros(4))
    monkeypatch.setattr(selftest, "_run", lambda problem: solution)
    (finding,) = selftest._solve([])
    assert finding.state == "failed"
    assert "should be below 1e-04" in finding.text
    (finding,) = selftest._repeat(None, SimpleNamespace(theta=np.full(4, 1e-9)))
    assert finding.state == "warning"
    assert finding.text == "parameters differ by 1e-09"

    class Other:
        def save(self, folder):
            pass

        def __call__(self, x):
            return x[:, 0]

    monkeypatch.setattr("anagram.solution.load", lambda folder: lambda x: x[:, 1])
    (finding,) = selftest._save_and_load(Other())
    assert finding.state == "failed"
