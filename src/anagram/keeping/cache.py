"""The folder for things that are costly to compute and can always be computed again."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np


def cache_folder() -> Path:
    """``$ANAGRAM_CACHE``, or ``anagram`` in the user's cache folder."""
    told = os.environ.get("ANAGRAM_CACHE")
    if told:
        return Path(told)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anagram"


def cached_arrays(name: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Arrays from the cache, or computed and put there; a cache that cannot be used is done without."""
    path = cache_folder() / f"{name}.npz"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        pass  # absent or damaged: it is computed anew
    arrays = compute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            np.savez(Path(folder) / "arrays.npz", allow_pickle=False, **arrays)
            (Path(folder) / "arrays.npz").replace(path)
    except OSError:
        pass
    return arrays


def enable_compilation_cache() -> None:
    """Let JAX keep compiled programs between runs; the command line does this, the library never."""
    import jax

    folder = cache_folder() / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
