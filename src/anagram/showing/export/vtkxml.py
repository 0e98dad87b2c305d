"""The XML files of VTK: a head, and after it the numbers as they are ("appended" data)."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

TYPES = {"float64": "Float64", "int64": "Int64", "uint8": "UInt8"}


class VtkFile:
    """One file: its arrays are named while the head is written, and follow it."""

    def __init__(self) -> None:
        self._arrays: list[np.ndarray] = []
        self._offset = 0

    def array(self, name: str, values: np.ndarray, components: int = 1) -> str:
        """The element that stands for an array; arrays of a grid are written with their first axis fastest."""
        flat = np.ravel(values, order="F")
        self._arrays.append(flat)
        line = (
            f'<DataArray type="{TYPES[flat.dtype.name]}" Name={quoteattr(name)} NumberOfComponents="{components}" '
            f'format="appended" offset="{self._offset}"/>\n'
        )
        self._offset += 8 + flat.nbytes
        return line

    def point_data(self, values: dict[str, np.ndarray]) -> str:
        """The element with all values at points."""
        data = "".join(self.array(name, array) for name, array in values.items())
        return f"<PointData Scalars={quoteattr(next(iter(values)))}>\n{data}</PointData>\n"

    def write(self, path: Path, kind: str, options: str, piece: str, body: str) -> None:
        """Write a grid of a kind, whose options, piece and body are given."""
        head = (
            '<?xml version="1.0"?>\n'
            f'<VTKFile type="{kind}" version="1.0" byte_order="{byte_order()}" header_type="UInt64">\n'
            f"<{kind}{options}>\n<Piece {piece}>\n{body}</Piece>\n</{kind}>\n"
            '<AppendedData encoding="raw">\n_'
        )
        with path.open("wb") as file:
            file.write(head.encode())
            for array in self._arrays:
                file.write(np.uint64(array.nbytes).tobytes())
                file.write(np.ascontiguousarray(array).data)
            file.write(b"\n</AppendedData>\n</VTKFile>\n")


def byte_order() -> str:
    """How numbers of several bytes are stored on this machine, in VTK's words."""
    return "LittleEndian" if sys.byteorder == "little" else "BigEndian"
