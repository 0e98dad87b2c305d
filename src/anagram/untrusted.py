"""Reading files that someone else may have made.

Nothing is executed. What a file claims is compared with what it is before memory is taken for it; what cannot be
right is a ValueError or an OSError, which callers turn into an error that names the file.
"""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np

from anagram.environment import physical_memory

LARGEST_TEXT = 256 * 2**20  # bytes of JSON that are read
LARGEST_HEADER = 100_000_000  # bytes; what safetensors itself allows
DEEPEST = 64  # brackets within each other; a run writes less than ten
# Python's objects take more memory than the text they are read from, up to so many times as much.
_GROWTH = 32
_HALF_OF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def size_of(path: Path) -> int:
    """The length of a file; a pipe, a device or a folder has none and is refused, because reading it may never end."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a plain file")
    return status.st_size


def read_text(path: Path, largest: int = LARGEST_TEXT) -> str:
    """The text of a file, unless it is longer than any that a run writes."""
    size, memory = size_of(path), physical_memory()
    if size > min(largest, (memory or largest * _GROWTH) // _GROWTH):
        raise ValueError(f"{size} bytes are more than a run writes")
    return path.read_text(encoding="utf-8")


def read_json(text: str) -> Any:
    """A value from JSON that can be written again: not too deep, and all its texts made of whole characters."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            break
    else:
        raise ValueError("it is nested too deeply")
    if _HALF_OF_A_PAIR.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it has halves of characters, which cannot be written again") from None
    return value


def read_header(path: Path) -> bytes:
    """The beginning of a safetensors file, up to the first array."""
    size = size_of(path)
    with path.open("rb") as file:
        first = file.read(8)
        length = int.from_bytes(first, "little")
        if len(first) < 8 or not 2 <= length <= min(LARGEST_HEADER, size - 8):
            raise ValueError("it is no safetensors file")
        return first + file.read(length)


def read_arrays(path: Path) -> bytes:
    """The contents of a safetensors file; one that is none, or too long for this machine, is not read."""
    size, memory = size_of(path), physical_memory()
    if memory is not None and size > memory // 4:
        raise ValueError(f"{size} bytes are more than a run writes")
    read_header(path)
    with path.open("rb") as file:
        return file.read(size)


def metadata_of(data: bytes) -> dict[str, str]:
    """What the header of a safetensors file says beside its arrays."""
    header = read_json(data[8 : 8 + int.from_bytes(data[:8], "little")].decode())
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        return {}
    return metadata


def arrays_of(data: bytes) -> dict[str, np.ndarray]:
    """The arrays in the contents of a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(data)
    except KeyError as error:
        raise ValueError(f"it has numbers of the type {error}, which a run does not write") from error
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
