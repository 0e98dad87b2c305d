"""VTK files, for ParaView and its kin: image data, a rectilinear grid or the cells of a shape; a series over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from anagram.errors import FileError, ProblemError
from anagram.keeping.atomic import prepare_folder, write_atomically
from anagram.showing.components import WRITTEN, real_parts
from anagram.showing.export.formats import At, named_file, real_names, writable
from anagram.showing.export.grid import TensorGrid, make_grid
from anagram.showing.export.mesh import ShapeGrid, shape_grid
from anagram.showing.export.values import GridEvaluator, Operators
from anagram.showing.export.vtkxml import VtkFile, byte_order
from anagram.training.reached import Reached

TENSORS = (".vti", ".vtr")
TRIANGLE, TETRAHEDRON = 5, 10  # VTK's numbers
EVEN = 1e-9  # of the spacing; so far may the coordinates of image data be off


def to_vtk(
    solution: Reached,
    path: str | Path,
    grid: Any,
    operators: Operators | None = None,
    *,
    at: At = None,
    time: str | None = "t",
) -> Path:
    """Write a file that ParaView opens, and return its path. See `grid_values` for the grid and the operators.

    Evenly spaced points give image data (``.vti``), others a rectilinear grid (``.vtr``); the suffix may be left out.
    Shapes are written as triangles or tetrahedra (``.vtu``) that end at their boundary, about as fine as the grid; with
    the suffix ``.vti``, with coordinates given, or with an axis of the shape held, as a grid with NaN outside.
    Over time a file is written for each moment, into a folder beside a collection (``.pvd``), which is the file to
    open. A complex quantity psi becomes psi_re and psi_im.

    Args:
        solution: what is written.
        path: where to.
        grid: the number of points along each axis, or by axis a number or an array of coordinates.
        operators: more quantities by name.
        at: axes to hold at one place; VTK has three axes and no more.
        time: the axis that is time; None draws it like any other.
    """
    path = named_file(path)
    evaluator = GridEvaluator(solution, operators)
    real_names(evaluator, solution.domain.axes)
    points = make_grid(solution.domain, grid, at)
    if time not in (None, "t", *solution.domain.axes):
        raise ProblemError(f"time: there is no axis '{time}'; the axes are {', '.join(solution.domain.axes)}")
    shaped = None if path.suffix in TENSORS else shape_grid(solution.domain, grid, points, time)
    if shaped is not None:
        if time in shaped.coordinates:
            return _write_series(evaluator, shaped, time, path)
        target = writable(_with_suffix(path, shaped))
        _write_file(evaluator, shaped, target)
        return target
    space = [axis for axis in points.coordinates if axis != time]
    if not space:  # nothing but time is left: a curve over it
        time, space = None, list(points.coordinates)
    if len(space) > 3:
        raise ProblemError(
            f"VTK has three axes, this grid has {len(space)} ({', '.join(space)}): "
            f"hold the others at one place, as in at={{'{space[3]}': ...}}"
        )
    if time in points.coordinates:
        return _write_series(evaluator, points, time, path)
    target = writable(_with_suffix(path, points))
    _write_file(evaluator, points, target)
    return target


def _write_series(evaluator: GridEvaluator, grid: TensorGrid | ShapeGrid, time: str, path: Path) -> Path:
    """A file for each moment, computed one after the other; the collection that names them comes last."""
    if path.suffix not in ("", ".pvd"):
        raise FileError(f"'{path.name}' would be a series of files over {time}: let the name end in .pvd")
    target = writable(path.with_suffix(".pvd"))
    folder = prepare_folder(target.with_suffix(""))
    moments = grid.coordinates[time]
    suffix, digits = _kind(grid.held(time, moments[0])), len(str(len(moments) - 1))
    entries: list[str] = []
    for k, moment in enumerate(moments):
        piece = folder / f"{target.stem}_{k:0{digits}d}{suffix}"
        _write_file(evaluator, grid.held(time, float(moment)), piece)
        name = quoteattr(f"{folder.name}/{piece.name}")
        entries.append(f'    <DataSet timestep="{float(moment)!r}" part="0" file={name}/>\n')
    text = (
        '<?xml version="1.0"?>\n'
        f'<VTKFile type="Collection" version="0.1" byte_order="{byte_order()}">\n'
        f"  <Collection>\n{''.join(entries)}  </Collection>\n</VTKFile>\n"
    )
    write_atomically(target, lambda p: p.write_text(text, encoding="utf-8"))
    return target


def _write_file(evaluator: GridEvaluator, grid: TensorGrid | ShapeGrid, target: Path) -> None:
    if isinstance(grid, ShapeGrid):
        values = real_parts(evaluator.at(grid.points), WRITTEN)
        write_atomically(target, lambda p: _write_cells(p, grid, values))
        return
    values = real_parts(evaluator.on(grid).values, WRITTEN)
    write_atomically(target, lambda p: _write_tensor(p, grid, values, even=target.suffix == ".vti"))


def _write_tensor(path: Path, grid: TensorGrid, values: dict[str, np.ndarray], even: bool) -> None:
    # VTK always has three axes: those that are missing have a single point at zero.
    axes = [*grid.coordinates.values(), *([np.zeros(1)] * (3 - len(grid.shape)))]
    extent = quoteattr(" ".join(f"0 {len(c) - 1}" for c in axes))
    file = VtkFile()
    body = file.point_data(values)
    options = f" WholeExtent={extent}"
    if even:
        origin = " ".join(repr(float(c[0])) for c in axes)
        spacing = " ".join(repr(_spacing(c)) for c in axes)
        options += f' Origin="{origin}" Spacing="{spacing}"'
    else:
        names = [*grid.coordinates, "none", "none"]
        lines = "".join(file.array(name, c) for name, c in zip(names, axes, strict=False))
        body += f"<Coordinates>\n{lines}</Coordinates>\n"
    file.write(path, "ImageData" if even else "RectilinearGrid", options, f"Extent={extent}", body)


def _write_cells(path: Path, grid: ShapeGrid, values: dict[str, np.ndarray]) -> None:
    nodes, cells = grid.cells
    file = VtkFile()
    body = file.point_data(values)
    places = np.zeros((len(nodes), 3))
    places[:, : nodes.shape[1]] = nodes
    body += f"<Points>\n{file.array('points', places.T, 3)}</Points>\n"
    corners = cells.shape[1]
    kind = TRIANGLE if corners == 3 else TETRAHEDRON
    lines = (
        file.array("connectivity", cells.ravel().astype(np.int64)),
        file.array("offsets", corners * np.arange(1, len(cells) + 1, dtype=np.int64)),
        file.array("types", np.full(len(cells), kind, dtype=np.uint8)),
    )
    body += f"<Cells>\n{''.join(lines)}</Cells>\n"
    piece = f'NumberOfPoints="{len(nodes)}" NumberOfCells="{len(cells)}"'
    file.write(path, "UnstructuredGrid", "", piece, body)


def _with_suffix(path: Path, grid: TensorGrid | ShapeGrid) -> Path:
    if isinstance(grid, ShapeGrid):
        if path.suffix not in ("", ".vtu"):
            raise FileError(
                f"'{path.name}' would be the cells of a shape: let the name end in .vtu, or in .vti for a grid with "
                "NaN outside of the shape"
            )
        return path.with_name(path.stem + ".vtu")
    if path.suffix not in ("", *TENSORS):
        raise FileError(
            f"'{path.name}' would be a single VTK file: let the name end in .vti or .vtr, or in nothing, "
            "and the one that fits is chosen"
        )
    if path.suffix == ".vti" and _kind(grid) != ".vti":
        raise FileError(f"'{path.name}': the points are not evenly spaced, which needs a file that ends in .vtr")
    return path if path.suffix else path.with_name(path.name + _kind(grid))


def _kind(grid: TensorGrid | ShapeGrid) -> str:
    if isinstance(grid, ShapeGrid):
        return ".vtu"
    return ".vti" if all(_is_even(c) for c in grid.coordinates.values()) else ".vtr"


def _is_even(coordinates: np.ndarray) -> bool:
    places = coordinates[0] + _spacing(coordinates) * np.arange(len(coordinates))
    return bool(np.all(np.abs(places - coordinates) <= EVEN * _spacing(coordinates)))


def _spacing(coordinates: np.ndarray) -> float:
    return float(coordinates[-1] - coordinates[0]) / (len(coordinates) - 1) if len(coordinates) > 1 else 1.0
