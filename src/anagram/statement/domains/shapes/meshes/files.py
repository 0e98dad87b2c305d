"""Surface meshes in files. A file may come from anyone: sizes are checked before memory is taken."""

from __future__ import annotations

import io
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from anagram.errors import FileError, MissingError
from anagram.statement.domains.shapes.meshes.soundness import MOST_FACES

HEADER, RECORD = 84, 50  # bytes of a binary STL file: before its triangles, and of each
MOST_BYTES = 1_000_000_000
MOST_HEADER = 100_000  # bytes of the header of a PLY file
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
OTHERS = ("obj", "off", "ply")


def read_mesh(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """The vertices (v, 3) and triangles (f, 3) of a file: STL, or OBJ, OFF and PLY by trimesh."""
    file = Path(path)
    kind = file.suffix.lower().lstrip(".")
    if kind != "stl" and kind not in OTHERS:
        raise FileError(f"'{file}' is no mesh of a kind that can be read: .stl, .{', .'.join(OTHERS)}")
    try:
        size = file.stat().st_size
        if not file.is_file():
            raise FileError(f"the mesh '{file}' is no plain file")
        if size > MOST_BYTES:
            raise FileError(f"'{file}' has {size} bytes, more than a mesh of {MOST_FACES} triangles needs")
        data = file.read_bytes()
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"the mesh '{file}' cannot be read: {error.strerror}") from error
    return _stl(data, file) if kind == "stl" else _by_trimesh(data, kind, file)


def _damaged(file: Path, why: str) -> FileError:
    return FileError(f"'{file}' is no mesh, or damaged: {why}")


def _refuse_many(count: int, file: Path) -> None:
    if count > MOST_FACES:
        raise FileError(f"'{file}' has {count} triangles, more than {MOST_FACES}: make it coarser")


# -- STL ----------------------------------------------------------------------------------------------------------
def _stl(data: bytes, file: Path) -> tuple[np.ndarray, np.ndarray]:
    count = struct.unpack_from("<I", data, HEADER - 4)[0] if len(data) >= HEADER else -1
    if count >= 0 and len(data) == HEADER + RECORD * count:
        _refuse_many(count, file)
        corners = np.frombuffer(data, dtype=_RECORD, offset=HEADER)["corners"]
    elif data.lstrip()[:5].lower() == b"solid":
        corners = _stl_text(data, file)
    else:
        said = f"{HEADER + RECORD * count} bytes for the {count} triangles" if count >= 0 else "a header of 84 bytes"
        raise _damaged(file, f"it has {len(data)} bytes and needs {said} that a binary STL file says it has")
    x = corners.reshape(-1, 3).astype(float)
    return x, np.arange(len(x)).reshape(-1, 3)


def _stl_text(data: bytes, file: Path) -> np.ndarray:
    """The corners of triangles in an STL file in words: facet, outer loop, three times vertex, and their ends."""
    facets, ended, numbers = 0, False, []
    for line in io.BytesIO(data):
        words = line.split()
        match words[0].lower() if words else b"":
            case b"vertex":
                try:
                    x, y, z = (float(word) for word in words[1:])
                except ValueError:
                    raise _damaged(file, f"'{line[:60].decode(errors='replace').strip()}' is no vertex") from None
                numbers.append((x, y, z))
            case b"endfacet":
                facets += 1
                _refuse_many(facets, file)
                if len(numbers) != 3 * facets:
                    raise _damaged(file, f"its facet {facets} has not three vertices")
            case b"solid" | b"endsolid":
                ended = words[0].lower() == b"endsolid"
    if not ended or len(numbers) != 3 * facets:
        raise _damaged(file, "it ends before its last solid does")
    return np.array(numbers, dtype=float).reshape(-1, 3, 3)


def write_stl(corners: np.ndarray, path: str | os.PathLike[str]) -> None:
    """Triangles (f, 3, 3) as a binary STL file; its numbers have seven digits."""
    file = Path(path)
    if file.suffix.lower() != ".stl":
        raise FileError(f"a mesh is written as an STL file, whose name ends in .stl, not '{file}'")
    records = np.zeros(len(corners), dtype=_RECORD)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normal, axis=1, keepdims=True)
    records["normal"], records["corners"] = normal / np.where(size > 0, size, 1), corners
    try:
        file.write_bytes(b"anagram".ljust(HEADER - 4) + struct.pack("<I", len(corners)) + records.tobytes())
    except OSError as error:
        raise FileError(f"the mesh '{file}' cannot be written: {error.strerror}") from error


# -- others -------------------------------------------------------------------------------------------------------
def _by_trimesh(data: bytes, kind: str, file: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        import trimesh
    except ModuleNotFoundError as error:
        raise MissingError(
            f"reading .{kind} files needs trimesh ({error}); install it with: pip install 'anagram-pinn[meshes]'"
        ) from error
    if kind == "ply":
        _check_ply(data, file)
    if kind == "off":
        _check_off(data, file)
    options: dict[str, Any] = {"skip_materials": True} if kind == "obj" else {}
    try:
        # A file object without a resolver: nothing else on this machine is read.
        found = trimesh.load_mesh(io.BytesIO(data), file_type=kind, process=False, **options)
        vertices, faces = np.asarray(found.vertices, dtype=float), np.asarray(found.faces)
    except Exception as error:  # a reader of foreign files may fail in any way
        raise _damaged(file, f"{type(error).__name__}: {error}") from error
    if faces.ndim != 2 or faces.shape[1:] != (3,) or vertices.shape[1:] != (3,):
        raise _damaged(file, "it has no triangles")
    _refuse_many(len(faces), file)
    return vertices, faces.astype(np.int64)


def _check_ply(data: bytes, file: Path) -> None:
    """Whether a PLY file is long enough for what its header announces."""
    end = data.find(b"end_header", 0, MOST_HEADER)
    if not data.startswith(b"ply") or end < 0:
        raise _damaged(file, "it has no header of a PLY file")
    for line in data[:end].splitlines():
        words = line.split()
        if len(words) >= 3 and words[0] == b"element":
            _check_count(words[2], len(data) - end, file)


def _check_off(data: bytes, file: Path) -> None:
    words = data[:1000].split()
    for word in words[1:4] if words and words[0].upper() == b"OFF" else []:
        _check_count(word, len(data), file)


def _check_count(word: bytes, room: int, file: Path) -> None:
    count = int(word) if word.isdigit() and len(word) < 20 else -1
    if not 0 <= count <= room:
        raise _damaged(file, f"it says that it has {word[:30].decode(errors='replace')} elements, in {room} bytes")
