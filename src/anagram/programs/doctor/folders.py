"""Where runs and compiled programs are written."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from anagram.environment import cache_folder
from anagram.programs.doctor.finding import INFO, OK, WARNING, Finding, carefully, in_words

GROUP = "folders"
LITTLE_DISK = 2**30
LARGE_CACHE = 10 * 2**30
COMPILED = "compiled"


def examine_folders() -> list[Finding]:
    """The working folder and the cache."""
    return carefully(GROUP, "working folder", _working_folder) + carefully(GROUP, "cache", _cache)


def _working_folder() -> list[Finding]:
    folder = Path.cwd()
    free = shutil.disk_usage(folder).free
    text = f"{folder}, {in_words(free)} free"
    if not can_write(folder):
        return [Finding(GROUP, "working folder", f"{text}; cannot be written", WARNING, "say --out where runs may go")]
    if free < LITTLE_DISK:
        return [Finding(GROUP, "working folder", text, WARNING, "make room, or say --out where there is some")]
    return [Finding(GROUP, "working folder", text)]


def _cache() -> list[Finding]:
    """Without a cache everything works, and is compiled anew each time."""
    folder = cache_folder()
    above = nearest_folder(folder)
    elsewhere = "set ANAGRAM_CACHE to a folder that can be written; until then every run compiles anew"
    if above is None or not can_write(above):
        return [Finding(GROUP, "cache", f"{folder} cannot be written", WARNING, elsewhere)]
    free = shutil.disk_usage(above).free
    text = f"{folder}, {in_words(free)} free"
    if free < LITTLE_DISK:
        found = [
            Finding(GROUP, "cache", text, WARNING, "make room, or set ANAGRAM_CACHE to a folder where there is some")
        ]
    else:
        found = [Finding(GROUP, "cache", text)]
    return [*found, _compiled(folder / COMPILED, elsewhere)]


def _compiled(folder: Path, elsewhere: str) -> Finding:
    if not folder.exists():
        return Finding(GROUP, "compiled programs", "none yet: the first run compiles", INFO)
    if not folder.is_dir() or not can_write(folder):
        return Finding(GROUP, "compiled programs", f"{folder} cannot be written", WARNING, elsewhere)
    count, size = 0, 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                size += (Path(place) / name).stat().st_size
                count += 1
            except OSError:  # another process may tidy up meanwhile
                continue
    text = f"{in_words(size)} in {count} files"
    if size > LARGE_CACHE:
        return Finding(GROUP, "compiled programs", text, WARNING, f"may be removed: {folder}")
    return Finding(GROUP, "compiled programs", text, OK)


def can_write(folder: Path) -> bool:
    """Tried out, because permissions alone do not tell."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def nearest_folder(path: Path) -> Path | None:
    """The folder itself, or the first one above it that exists; None if a file is in the way."""
    for place in (path, *path.absolute().parents):
        if place.is_dir():
            return place
        if place.exists():
            return None
    return None
