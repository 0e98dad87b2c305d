"""Checkpoints on disk: safetensors files, written beside the old one, flushed and renamed, with a checksum inside.

There are two, written in turn: while one is replaced the other is not touched. Reading one executes nothing, takes no
more memory than the file is long, and says so if a byte of it is not what was written.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from anagram.errors import FileError
from anagram.keeping.atomic import json_text, write_atomically
from anagram.keeping.snapshot import Snapshot
from anagram.untrusted import arrays_of, metadata_of, read_arrays, read_header, read_json

FORMAT = "anagram-checkpoint-2"
NAMES = ("checkpoint-0.safetensors", "checkpoint-1.safetensors")
_RECORD = "record"  # the name of the array that has what is not an array, as JSON


def write(folder: Path, snapshot: Snapshot) -> Path:
    """Write a checkpoint in place of the older one."""
    from safetensors.numpy import save

    numbers = {name: _number(folder / name) for name in NAMES}
    name = min(NAMES, key=lambda n: numbers[n])
    arrays = {k: np.asarray(v, order="C") for k, v in snapshot.arrays.items()}
    # Not with the metadata: a header has a largest size, and the records of a long run grow beyond it.
    arrays[_RECORD] = np.frombuffer(json_text(snapshot.record, indent=None).encode(), np.uint8)
    number = max(numbers.values()) + 1
    data = save(arrays, {"format": FORMAT, "number": str(number), "sha256": _digest(arrays)})
    write_atomically(folder / name, lambda path: path.write_bytes(data))
    return folder / name


def read(folder: Path) -> tuple[Snapshot, dict[Path, str]]:
    """The last checkpoint that is whole, and those that are not, each with what is wrong."""
    damaged: dict[Path, str] = {}
    for path in sorted((folder / name for name in NAMES), key=_number, reverse=True):
        try:
            return read_file(path), damaged | _damaged_among(set(paths(folder)) - {path} - set(damaged))
        except FileNotFoundError:
            continue
        except FileError as error:
            damaged[path] = str(error)
    if damaged:
        raise FileError("; ".join(damaged.values()))
    raise FileError(f"there is no checkpoint in '{folder}': the run was stopped before the first one was written")


def paths(folder: Path) -> list[Path]:
    """The checkpoints that are there."""
    return [folder / name for name in NAMES if (folder / name).exists()]


def exists(folder: Path) -> bool:
    """Whether there is a checkpoint to go on from."""
    return bool(paths(folder))


def read_file(path: Path) -> Snapshot:
    """Read one file and compare it with its checksum."""
    try:
        data = read_arrays(path)
        metadata = metadata_of(data)
        if metadata.get("format") != FORMAT:
            raise FileError(f"'{path}' is not a checkpoint of the format {FORMAT}")
        arrays = arrays_of(data)
        if metadata.get("sha256") != _digest(arrays):
            raise ValueError("its contents do not have the checksum that was written")
        record = read_json(arrays.pop(_RECORD, np.zeros(0)).tobytes().decode())
    except (FileError, FileNotFoundError):
        raise
    except (OSError, ValueError) as error:
        raise FileError(f"'{path}' is damaged: {error}") from error
    if not isinstance(record, dict):
        raise FileError(f"'{path}' is damaged: it has no record")
    return Snapshot(arrays, record)


def _number(path: Path) -> int:
    """Which checkpoint of its run a file says it is; −1 if it is missing or cannot be read."""
    try:
        number = int(metadata_of(read_header(path)).get("number", -1))
    except (OSError, ValueError):
        return -1
    return number if 0 <= number < 2**62 else -1


def _damaged_among(files: set[Path]) -> dict[Path, str]:
    """Of files that are not needed, those that cannot even be opened."""
    return {path: f"'{path}' is damaged" for path in sorted(files) if _number(path) < 0}


def _digest(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()
