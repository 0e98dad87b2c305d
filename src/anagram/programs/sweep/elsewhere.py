"""Runs of a study elsewhere: in processes of their own, on a cluster of Dask or Ray, or as an array of jobs of Slurm.

An executor is anything with the interface of `concurrent.futures`. Workers see the folder of the study, and write their
runs there as this process would; what they hand back is how a run ended, in words.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from anagram.errors import MissingError, SettingError
from anagram.keeping.atomic import write_atomically

SLURM = "slurm"
KINDS = "processes:N, dask, dask:ADDRESS, ray, ray:ADDRESS or slurm"
SCRIPT = "study.slurm"


@contextlib.contextmanager
def executor_of(where: str) -> Iterator[Executor]:
    """The executor that a name stands for; it is closed afterwards, a cluster that was there before goes on."""
    kind, _, more = where.partition(":")
    match kind:
        case "processes":
            yield from _processes(more)
        case "dask":
            yield from _dask(more)
        case "ray":
            yield from _ray(more)
        case _:
            raise SettingError(f"--on takes {KINDS}, not '{where}'")


def _processes(count: str) -> Iterator[Executor]:
    if not count.isdecimal() or int(count) < 1:
        raise SettingError(f"--on processes:N takes a number of processes, at least one, not '{count}'")
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Processes that begin anew: JAX cannot be copied while it computes.
    with ProcessPoolExecutor(int(count), mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def _dask(address: str) -> Iterator[Executor]:
    try:
        from dask.distributed import Client  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingError("--on dask needs the package distributed: pip install 'anagram-pinn[dask]'") from error
    try:
        # Without an address one is begun on this machine, which listens nowhere else.
        client = Client(address, timeout=30) if address else Client(host="127.0.0.1", dashboard_address=None)
    except (OSError, ValueError, TimeoutError) as error:
        raise SettingError(f"there is no cluster of Dask at '{address}': {error}") from error
    with client:
        yield client.get_executor(pure=False, retries=0)


def _ray(address: str) -> Iterator[Executor]:
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingError("--on ray needs the package ray: pip install 'anagram-pinn[ray]'") from error
    try:
        ray.init(address=address or None, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    except (OSError, ValueError, ConnectionError) as error:
        raise SettingError(f"there is no cluster of Ray at '{address}': {error}") from error
    try:
        yield RayExecutor(ray)
    finally:
        ray.shutdown()


class RayExecutor(Executor):
    """Ray with the interface of `concurrent.futures`: every call is a task of its own."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Begin a call; returns its future."""
        return self.ray.remote(max_retries=0)(fn).remote(*args, **kwargs).future()


# -- Slurm ----------------------------------------------------------------------------------------------
def write_array(folder: Path, arguments: Sequence[str], runs: int, name: str) -> Path:
    """A file that ``sbatch`` begins one job for each run with; returns where it is."""
    command = shlex.join([sys.executable, "-m", "anagram.programs.cli", "sweep", *arguments])
    log = str(folder.resolve() / "slurm-%a.log").replace("%", "%%").replace("%%a.log", "%a.log")
    text = "\n".join(
        [
            "#!/bin/bash",
            f"#SBATCH --job-name=anagram-{''.join(c if c.isalnum() else '-' for c in name)}",
            f"#SBATCH --array=0-{runs - 1}",
            f"#SBATCH --output={shlex.quote(log)}",
            "#SBATCH --ntasks=1",
            "# Partition, time, processors and memory of one run: add what your cluster wants to be told.",
            f"cd {shlex.quote(str(Path.cwd()))} || exit 1",
            f'exec {command} --only "$SLURM_ARRAY_TASK_ID"',
            "",
        ]
    )
    path = folder / SCRIPT
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path
