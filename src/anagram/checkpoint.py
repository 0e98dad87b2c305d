"""Checkpoints on disk: one safetensors file, written beside the old one, flushed and renamed, with a checksum inside.

The last two are kept. Reading one executes nothing, takes no more memory than the file is long, and says so if a byte
of it is not what was written.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np

from anagram.environment import physical_memory
from anagram.errors import FileError
from anagram.files import json_text, write_atomically
from anagram.snapshot import Snapshot

FORMAT = "anagram-checkpoint-1"
NAME, PREVIOUS = "checkpoint.safetensors", "checkpoint.previous.safetensors"


def write(folder: Path, snapshot: Snapshot) -> None:
    """Write a checkpoint; the one before it stays as the previous one."""
    from safetensors.numpy import save

    arrays = {k: np.asarray(v, order="C") for k, v in snapshot.arrays.items()}
    record = json_text(snapshot.record, indent=None)
    metadata = {"format": FORMAT, "record": record, "sha256": _digest(arrays, record)}
    data = save(arrays, metadata)
    path, previous = folder / NAME, folder / PREVIOUS

    def store(temporary: Path) -> None:
        temporary.write_bytes(data)

    if path.exists():
        # A link beside the old one, so that at no moment there is none.
        spare = folder / f".{PREVIOUS}.tmp{os.getpid()}"
        try:
            spare.unlink(missing_ok=True)
            os.link(path, spare)
            spare.replace(previous)
        except OSError:
            pass  # a file system without links: only the last one is kept
    write_atomically(path, store)


def read(folder: Path) -> tuple[Snapshot, list[str]]:
    """The last checkpoint that is whole, and what is wrong with those after it."""
    problems: list[str] = []
    for name in (NAME, PREVIOUS):
        try:
            return read_file(folder / name), problems
        except FileNotFoundError:
            continue
        except FileError as error:
            problems.append(str(error))
    if problems:
        raise FileError("; ".join(problems))
    raise FileError(f"there is no checkpoint in '{folder}': the run was stopped before its first one, or is none")


def exists(folder: Path) -> bool:
    """Whether there is a checkpoint to go on from."""
    return (folder / NAME).exists() or (folder / PREVIOUS).exists()


def read_file(path: Path) -> Snapshot:
    """Read one file and compare it with its checksum."""
    from safetensors import SafetensorError, safe_open

    size, memory = path.stat().st_size, physical_memory()
    if memory is not None and size > memory // 4:
        raise FileError(f"'{path}' is not a checkpoint: {size} bytes are more than a run writes")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise FileError(f"'{path}' is not a checkpoint of the format {FORMAT}")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
        record = json.loads(metadata["record"])
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, FileError | FileNotFoundError):
            raise
        raise FileError(f"'{path}' is damaged: {error}") from error
    if metadata.get("sha256") != _digest(arrays, metadata["record"]) or not isinstance(record, dict):
        raise FileError(f"'{path}' is damaged: its contents do not have the checksum that was written")
    return Snapshot(arrays, record)


def _digest(arrays: dict[str, np.ndarray], record: str) -> str:
    digest = hashlib.sha256(record.encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()
