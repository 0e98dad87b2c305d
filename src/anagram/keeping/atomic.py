"""Writing files so that they are never half written, and JSON that every reader accepts."""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anagram.errors import FileError

LONGEST_NAME = 60  # characters of the name of a problem, each of up to four bytes, in that of a file


def prepare_folder(folder: str | Path) -> Path:
    """Make a folder and be sure that it can be written to, before any work is done."""
    if not str(folder).strip():
        raise FileError("the name of the folder is empty")
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"cannot write to the folder '{path}': {why}; choose another one") from error
    return path


def file_name(text: str) -> str:
    """A text as a part of the name of a file or folder, without what would lead elsewhere."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in text[:LONGEST_NAME])
    return kept.lstrip(".") or "problem"


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Write beside the target, flush to disk, rename: the target is never half written."""
    if _is_special(path):
        raise FileError(f"cannot write '{path}': it is a device or a pipe; give the name of a file")
    temporary = path.with_name(f".{path.name}.tmp{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)  # it may be a link to somewhere else
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def refuse_unwritable(path: Path) -> None:
    """An error, before anything is computed, if no file can be written at a path."""
    prepare_folder(path.parent)
    try:
        plain = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise FileError(f"cannot write '{path}': {getattr(error, 'strerror', None) or error}") from error
    if not plain:
        raise FileError(f"cannot write '{path}': it is a folder or a device; give the name of a file")


def json_text(data: Any, indent: int | None = 2) -> str:
    """JSON in which numbers that are not finite are null, so that every reader accepts it."""
    return json.dumps(_plain(data), indent=indent, ensure_ascii=False, allow_nan=False) + ("\n" if indent else "")


def _is_special(path: Path) -> bool:
    """Whether a path is a device or a pipe: a file renamed to it would take its place."""
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _flush_folder(folder: Path) -> None:
    """Make a rename last through a loss of power, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(k): _plain(v) for k, v in data.items()}
    if isinstance(data, tuple | list):
        return [_plain(v) for v in data]
    if isinstance(data, np.generic):
        data = data.item()
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data if isinstance(data, bool | int | float | str | None) else repr(data)
