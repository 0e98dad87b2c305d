"""The global settings that importing this package makes, all of them here."""

from __future__ import annotations

import os


def prepare() -> None:
    """Switch JAX to float64, and leave half of the cores to XLA.

    LAPACK's threads and XLA's would otherwise fight for the same cores and spin while they wait, which can cost a
    factor of ten. ``OPENBLAS_NUM_THREADS`` is respected if it is set; if SciPy was imported before, it is too late.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 2) // 2)))
    import jax

    jax.config.update("jax_enable_x64", True)


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


def gigabytes(size: int) -> str:
    """A number of bytes for people to read, however large it is."""
    return f"{min(size, 10**30) / 2**30:.3g}"
