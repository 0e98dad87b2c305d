"""Devices, precision, linear algebra, memory and the terminal."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from anagram.environment import physical_memory
from anagram.programs.doctor.finding import FAILED, INFO, OK, WARNING, Finding, carefully, in_words

GROUP = "machine"
LITTLE_MEMORY = 2 * 2**30
MEMORY_INFO, MEMORY_LIMIT = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
NVIDIA = Path("/dev/nvidia0")


def examine_machine() -> list[Finding]:
    """What there is to compute with."""
    return [
        finding
        for name, look in (
            ("devices", _devices),
            ("float64", _precision),
            ("cores", _cores),
            ("BLAS", _blas),
            ("memory", _memory),
            ("terminal", _terminal),
        )
        for finding in carefully(GROUP, name, look)
    ]


def _devices() -> list[Finding]:
    import jax

    counted = Counter(device.device_kind for device in jax.devices())
    text = ", ".join(kind if count == 1 else f"{count} x {kind}" for kind, count in counted.items())
    if jax.default_backend() == "cpu" and NVIDIA.exists():
        advice = "install JAX for it: pip install 'jax[cuda12]', or cuda13, as its driver asks"
        return [Finding(GROUP, "devices", f"{text}; JAX does not use the GPU of this machine", WARNING, advice)]
    return [Finding(GROUP, "devices", text)]


def _precision() -> list[Finding]:
    import jax.numpy as jnp

    if jnp.result_type(float) == jnp.float64:
        return [Finding(GROUP, "float64", "on")]
    advice = "something switched it off after `import anagram`: remove jax.config.update('jax_enable_x64', False)"
    return [Finding(GROUP, "float64", "off: solutions end at single precision", FAILED, advice)]


def _cores() -> list[Finding]:
    there = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    text = f"{there}" if usable == there else f"{usable} of {there} for this process"
    return [Finding(GROUP, "cores", text)]


def _blas() -> list[Finding]:
    import numpy as np
    import scipy

    found = [Finding(GROUP, f"BLAS of {package.__name__}", _built_with(package)) for package in (np, scipy)]
    told = {name: os.environ[name] for name in THREADS if name in os.environ}
    found.append(_threads(told, os.cpu_count() or 1))
    return found + _pools()


def _built_with(package: Any) -> str:
    blas = package.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def _threads(told: dict[str, str], cores: int) -> Finding:
    """As many threads of LAPACK as there are cores leave none to XLA, and both spin while they wait."""
    text = ", ".join(f"{name}={value}" for name, value in told.items()) or "as many as there are cores"
    openblas = told.get("OPENBLAS_NUM_THREADS", "")
    if cores > 1 and openblas.isdigit() and int(openblas) >= cores:
        advice = f"unset OPENBLAS_NUM_THREADS, or set it to {max(1, cores // 2)}: LAPACK and XLA fight for the cores"
        return Finding(GROUP, "BLAS threads", text, WARNING, advice)
    return Finding(GROUP, "BLAS threads", text)


def _pools() -> list[Finding]:
    """The thread pools that are really there, if somebody has installed what can see them."""
    try:
        from threadpoolctl import threadpool_info  # pyright: ignore
    except ModuleNotFoundError:
        return []
    text = ", ".join(f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info())
    return [Finding(GROUP, "thread pools", text or "none", INFO)]


def _memory() -> list[Finding]:
    there, free, limit = physical_memory(), free_memory(), memory_limit()
    text = f"{in_words(there)}" if there is not None else "unknown"
    if limit is not None and (there is None or limit < there):
        text += f", of which this process may have {in_words(limit)}"
    if free is None:
        return [Finding(GROUP, "memory", text, INFO)]
    text += f"; {in_words(free)} free"
    if free < LITTLE_MEMORY:
        return [Finding(GROUP, "memory", text, WARNING, "close other programs, or take small models and few points")]
    return [Finding(GROUP, "memory", text)]


def free_memory() -> int | None:
    """Bytes that can be had without swapping, where the system says so."""
    try:
        lines = MEMORY_INFO.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def memory_limit() -> int | None:
    """Bytes that a container leaves to its processes, if it sets a limit."""
    try:
        return int(MEMORY_LIMIT.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or "max"
        return None


def _terminal() -> list[Finding]:
    encoding = (getattr(sys.stdout, "encoding", None) or "unknown").lower()
    kind = "a terminal" if sys.stdout.isatty() else "no terminal: progress is shown in plain lines"
    text = f"{kind}; encoding {encoding}"
    if encoding.replace("-", "").replace("_", "") == "utf8":
        return [Finding(GROUP, "output", text, OK)]
    advice = "set PYTHONIOENCODING=utf-8: output has letters that this encoding may lack"
    return [Finding(GROUP, "output", text, WARNING, advice)]
