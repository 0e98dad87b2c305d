"""The folder for things that are costly to compute and can always be computed again."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from anagram.environment import cache_folder


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
