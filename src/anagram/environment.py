"""The global settings that importing this package makes, all of them here."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from pathlib import Path
from typing import Any

NOT_KEPT = "ANAGRAM_COMPILATION_CACHE"  # set to 'off', compiled programs are not kept on disk
_CUBLAS = {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}
_UNOPTIMISED = {"xla_backend_optimization_level": 0}
_EMITTERS_OFF = {"xla_cpu_use_fusion_emitters": False}
KEPT_FROM = 0.05  # seconds of compilation on; smaller programs are compiled as fast as they are read


def prepare() -> None:
    """Switch JAX to float64, leave half of the cores to XLA, and keep compiled programs between runs.

    LAPACK's threads and XLA's would otherwise fight for the same cores and spin while they wait, which can cost a
    factor of ten. ``OPENBLAS_NUM_THREADS`` is respected if it is set; if SciPy was imported before, it is too late.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 2) // 2)))
    import jax

    jax.config.update("jax_enable_x64", True)
    _keep_compiled_programs()


def cache_folder() -> Path:
    """``$ANAGRAM_CACHE``, or ``anagram`` in the user's cache folder."""
    told = os.environ.get("ANAGRAM_CACHE")
    if told:
        return Path(told)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anagram"


def _keep_compiled_programs() -> None:
    """Let JAX keep compiled programs in our cache folder, unless it has a folder already or was told not to."""
    import jax

    told: Any = getattr(jax.config, "jax_compilation_cache_dir", None)
    if told or os.environ.get(NOT_KEPT, "").lower() in ("off", "0", "no", "false"):
        return
    try:
        folder = cache_folder() / "compiled" / _processor()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # not to be written, or no home
        return
    if not os.access(folder, os.W_OK):
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", KEPT_FROM)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _processor() -> str:
    """What tells processors apart: a program compiled for one may not run on another that shares the folder."""
    told = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        told += "".join(sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))}))
    except OSError:
        told += platform.processor()
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def step_compilation() -> dict[str, Any]:
    """Options of the compiler for steps.

    On a GPU the compiler would try every matrix product in many forms, which takes longer than all steps of most runs;
    those of cuBLAS are as fast without being tried.
    """
    return _CUBLAS if has_accelerator() else {}


def quick_compilation() -> dict[str, Any]:
    """Options of the compiler for programs that run a few times only: compiled in a fifth of the time, if slower."""
    return _CUBLAS if has_accelerator() else {**_UNOPTIMISED, **_without_emitters()}


@functools.cache
def _without_emitters() -> dict[str, Any]:
    """The option that halves what is left of compilation; nothing with a version of XLA that does not know it."""
    import jax

    try:
        jax.jit(lambda x: x, compiler_options=_EMITTERS_OFF).lower(0.0).compile()
    except (jax.errors.JaxRuntimeError, ValueError, RuntimeError):
        return {}
    return _EMITTERS_OFF


def has_accelerator() -> bool:
    """Whether JAX computes on something else than the CPU."""
    import jax

    return jax.default_backend() != "cpu"


def physical_memory() -> int | None:
    """Bytes of memory of this machine, if it can be found out."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def device_memory() -> int | None:
    """Bytes of memory of one device, if it can be found out. Devices that are processors share that of the machine."""
    import jax

    devices = jax.local_devices()
    if devices[0].platform == "cpu":
        there = physical_memory()
        return None if there is None else there // len(devices)
    told = [(device.memory_stats() or {}).get("bytes_limit") for device in devices]
    return min((size for size in told if size), default=None)


def gigabytes(size: int) -> str:
    """A number of bytes for people to read, however large it is."""
    return f"{min(size, 10**30) / 2**30:.3g}"
