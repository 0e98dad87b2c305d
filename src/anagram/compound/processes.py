"""Processes that share a run, on one machine or on many.

All of them carry out the same program with the same numbers and take the same decisions; each has its own devices. What
may differ between them, clocks and keyboards, is made the same before anything is decided by it. The first process
alone writes files. A run of one process knows nothing of this.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from anagram.errors import ProcessError, SettingError

AUTO = "auto"
HEARTBEAT = "ANAGRAM_HEARTBEAT"  # seconds after which a process that is not heard of is taken to be dead
SECONDS = 25  # unless that says something else
WAIT = 300  # seconds for all processes to come
# Programs that start processes, and what they say of how many there are and which this one is.
STARTERS = {
    "Slurm": ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
    "Open MPI": ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
}


def are_several() -> bool:
    """Whether this process shares its run with others."""
    return jax.distributed.is_initialized() and jax.process_count() > 1


def is_first() -> bool:
    """Whether this is the process that writes."""
    return not are_several() or jax.process_index() == 0


# -- what all of them agree on --------------------------------------------------------------------------
def of_first(value: float) -> float:
    """A number as the first process has it, such as what its clock says."""
    return float(_gathered(value)[0]) if are_several() else value


def any_of(flag: bool) -> bool:
    """Whether it is true for one process at least."""
    return bool(_gathered(float(flag)).any()) if are_several() else flag


def agree(what: str, text: str) -> None:
    """Refuse to begin a run whose processes were started for different ones."""
    if not are_several():
        return
    # Six bytes are whole numbers in float64.
    digests = _gathered(float(int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")))
    different = np.flatnonzero(digests != digests[0])
    if len(different):
        raise SettingError(
            f"process {different[0]} was started with another {what} than process 0: give all processes the same "
            "command, and the same versions of files and packages"
        )


def _gathered(value: float) -> np.ndarray:
    from jax.experimental.multihost_utils import process_allgather

    try:
        return np.asarray(process_allgather(np.array(value))).reshape(-1)
    except jax.errors.JaxRuntimeError as error:
        raise gone(error) from error


def gone(error: Exception) -> ProcessError:
    """What to say when the devices of other processes do not answer any more."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return ProcessError(
        f"a process of this run has gone, and the others stop ({text[:200]}): the last checkpoint stands, resume goes "
        "on from it on any number of devices"
    )


# -- coming together --------------------------------------------------------------------------------------
def join(
    coordinator: str | None = None,
    processes: int | str | None = None,
    process: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> bool:
    """Come together with the other processes of a run, before JAX computes anything; says whether there are others.

    Args:
        coordinator: ``HOST:PORT`` of the first process, on which it listens for the others.
        processes: how many there are; ``auto`` asks JAX to find out, where it knows the cluster.
        process: which one this is, from 0.
        environment: where Slurm and Open MPI say that they started several; with nothing else said, these are joined.
    """
    environment = os.environ if environment is None else environment
    if coordinator is None and process is None and processes in (None, AUTO):
        if processes is None and _started(environment) is None:
            return False
        _initialize({})
        return are_several()
    if processes == 1:
        return False
    host, port, count, place = _checked(coordinator, processes, process)
    _initialize(
        {
            "coordinator_address": f"{host}:{port}",
            "num_processes": count,
            "process_id": place,
            "coordinator_bind_address": _own_address(host, port) if place == 0 else None,
        }
    )
    return are_several()


def _started(environment: Mapping[str, str]) -> str | None:
    """Which program started several processes, this one among them."""
    for name, (count, place) in STARTERS.items():
        number = environment.get(count, "")
        if number.isdecimal() and int(number) > 1 and environment.get(place, "").isdecimal():
            return name
    return None


def _checked(coordinator: Any, processes: Any, process: Any) -> tuple[str, int, int, int]:
    given = {"--coordinator HOST:PORT": coordinator, "--processes N": processes, "--process K": process}
    missing = [name for name, value in given.items() if value is None or value == AUTO]
    if missing:
        raise SettingError(f"processes come together with all of {', '.join(given)}: {', '.join(missing)} is missing")
    host, _, port = str(coordinator).rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise SettingError(f"--coordinator takes HOST:PORT, such as node1:1234, not '{coordinator}'")
    for name, value, least in (("--processes", processes, 2), ("--process", process, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise SettingError(f"{name} must be a whole number, at least {least}, not {value!r}")
    if process >= processes:
        raise SettingError(f"--process counts from 0: of {processes} processes the last one is {processes - 1}")
    return host, int(port), processes, process


def _own_address(host: str, port: int) -> str | None:
    """The address to listen on: that of the host alone, if it is one of this machine; otherwise all of them."""
    with contextlib.suppress(OSError):
        family, kind, number, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, number) as probe:
            probe.bind(address)
        name = f"[{address[0]}]" if family == socket.AF_INET6 else address[0]
        return f"{name}:{port}"
    return None


def _heartbeat() -> int:
    told = os.environ.get(HEARTBEAT, str(SECONDS))
    if not told.isdecimal() or int(told) < 1:
        raise SettingError(f"{HEARTBEAT} must be a whole number of seconds, at least 1, not '{told}'")
    return int(told)


def _initialize(options: dict[str, Any]) -> None:
    heartbeat = _heartbeat()
    try:
        jax.distributed.initialize(**options, heartbeat_timeout_seconds=heartbeat, initialization_timeout=WAIT)
    except (RuntimeError, ValueError, jax.errors.JaxRuntimeError) as error:
        text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ProcessError(f"the processes of this run did not come together: {text[:300]}") from error
