"""Values on a grid as NumPy arrays, as an xarray dataset, and as NetCDF, npz and CSV files."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anagram.errors import FileError, MissingError, ProblemError
from anagram.keeping.atomic import refuse_unwritable, write_atomically
from anagram.showing.components import WRITTEN, part_names, real_parts
from anagram.showing.export.grid import TensorGrid, make_grid
from anagram.showing.export.values import GridEvaluator, GridValues, Operators, grid_values
from anagram.statement.domains import Domain
from anagram.training.reached import Reached

if TYPE_CHECKING:
    import xarray


At = Mapping[str, float] | None

# What can write NetCDF, the best first: HDF5 has no limits that matter, SciPy writes version 3 and is always there.
ENGINES = {"h5netcdf": ("h5netcdf", "h5py"), "netcdf4": ("netCDF4",), "scipy": ("scipy",)}
LARGEST_IN_NETCDF3 = 2**31 - 1  # bytes of a variable
DESCRIBED = (
    "problem",
    "method",
    "seed",
    "steps",
    "loss",
    "validation_loss",
    "l2_error",
    "relative_l2_error",
    "stopped_because",
)


def to_numpy(solution: Reached, grid: Any, operators: Operators | None = None, *, at: At = None) -> dict[str, Any]:
    """Coordinates by axis and values by name; axes that are held have a single number. See `grid_values`."""
    return _arrays(grid_values(solution, grid, operators, at=at))


def to_xarray(solution: Reached, grid: Any, operators: Operators | None = None, *, at: At = None) -> xarray.Dataset:
    """A dataset with named axes, coordinates, and what is known of the solution as attributes. See `grid_values`.

    Needs the extra ``xarray``.
    """
    dataset = _xarray().Dataset
    found = grid_values(solution, grid, operators, at=at)
    return _dataset(dataset, found.grid, found.values, solution)


def to_netcdf(
    solution: Reached, path: str | Path, grid: Any, operators: Operators | None = None, *, at: At = None
) -> Path:
    """Write a NetCDF file. See `grid_values`.

    A complex quantity psi becomes psi_re and psi_im, because NetCDF has no complex numbers. The file is of version 4
    where h5netcdf or netCDF4 are installed (extra ``netcdf``), else of version 3.
    """
    dataset = _xarray().Dataset
    target = writable(path)
    engine = _engine()
    evaluator = GridEvaluator(solution, operators)
    names = [*solution.domain.axes, *real_names(evaluator, solution.domain.axes)]
    points = make_grid(solution.domain, grid, at)
    if engine == "scipy":
        _refuse_in_version_3(points.size, names)
    values = real_parts(evaluator.on(points).values, WRITTEN)
    data = _dataset(dataset, points, values, solution)
    missing = {name: {"_FillValue": np.nan} for name in values}  # outside of a shape there is nothing
    write_atomically(target, lambda p: data.to_netcdf(p, engine=engine, encoding=missing))
    return target


def to_npz(
    solution: Reached, path: str | Path, grid: Any, operators: Operators | None = None, *, at: At = None
) -> Path:
    """Write the arrays of `to_numpy` to a file for ``numpy.load``."""
    target = writable(path)
    arrays = to_numpy(solution, grid, operators, at=at)

    def write(temporary: Path) -> None:
        # Not numpy.savez, to which an array called "file" would be the name of the file.
        with zipfile.ZipFile(temporary, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)

    write_atomically(target, write)
    return target


def to_csv(
    solution: Reached, path: str | Path, grid: Any, operators: Operators | None = None, *, at: At = None
) -> Path:
    """Write one line for each point: all its coordinates, then the values; complex ones in two columns.

    Points of the grid that lie outside of a shape are left out.

    Lines are written as they are computed, so that a grid may be larger than memory.
    """
    target = writable(path)
    evaluator = GridEvaluator(solution, operators)
    points = make_grid(solution.domain, grid, at)
    header = [*solution.domain.axes, *real_names(evaluator, solution.domain.axes)]

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            file.write(",".join(header) + "\n")
            for _, x, values in evaluator.chunks(points):
                table = np.column_stack([x, *real_parts(values, WRITTEN).values()])
                np.savetxt(file, table[evaluator.inside(x)], fmt="%.17g", delimiter=",")

    write_atomically(target, write)
    return target


def description(solution: Reached) -> dict[str, str | int | float]:
    """What is known of a solution, in a form that every file can hold."""
    from anagram.version import __version__

    summary = solution.summary
    known = {key: summary.get(key) for key in DESCRIBED} | _estimate(solution)
    known |= {f"coefficient_{name}": float(value) for name, value in solution.coefficients.items()}
    known |= {"model": repr(solution.model.spec), "parameters": solution.model.parameters}
    known["source"] = f"anagram {__version__}"
    return {key: value for key, value in known.items() if isinstance(value, str | int | float)}


def real_names(evaluator: GridEvaluator, axes: Iterable[str]) -> list[str]:
    """The names that `real_parts` will give; an error, before anything is computed, if one of them is taken."""
    names = [
        part for name, is_complex in evaluator.is_complex.items() for part in part_names(name, is_complex, WRITTEN)
    ]
    taken = [*axes, *names]
    for name in names:
        if taken.count(name) > 1:
            raise ProblemError(f"two columns would be called '{name}', which is a part of a complex quantity: rename")
    return names


def writable(path: str | Path) -> Path:
    """The path of a file to be written; an error, before anything is computed, if it cannot be."""
    target = named_file(path)
    refuse_unwritable(target)
    return target


def named_file(path: str | Path) -> Path:
    """A path that has a name at its end."""
    target = Path(path)
    if not target.name:
        raise FileError(f"'{path}' is not the name of a file")
    return target


def _arrays(found: GridValues) -> dict[str, np.ndarray]:
    held = {axis: np.asarray(place) for axis, place in found.grid.fixed.items()}
    return found.grid.coordinates | held | found.values


def _dataset(dataset: Callable[..., Any], grid: TensorGrid, values: Mapping[str, np.ndarray], solution: Reached) -> Any:
    axes = tuple(grid.coordinates)
    return dataset(
        {name: (axes, array) for name, array in values.items()},
        coords={**_with_periods(grid, solution.domain), **grid.fixed},
        attrs=description(solution),
    )


def _with_periods(grid: TensorGrid, domain: Domain) -> dict[str, Any]:
    """Coordinates; of a periodic axis its period is an attribute, and of a parameter that it is one."""

    def told(axis: str, values: np.ndarray) -> Any:
        if axis in domain.periodic_axes:
            return axis, values, {"period": float(domain.lengths[domain.axes.index(axis)])}
        return (axis, values, {"kind": "parameter"}) if axis in domain.parameter_axes else values

    return {axis: told(axis, values) for axis, values in grid.coordinates.items()}


def _estimate(solution: Reached) -> dict[str, Any]:
    """The estimated error if somebody has asked for it, with its doubts; it is too costly to be computed on the way."""
    noted = solution.noted_estimate
    doubts = "; ".join(noted.get("reasons") or ())
    note = f"not to be relied on: {doubts}" if doubts and noted.get("value") is not None else None
    return {"error_estimate": noted.get("value"), "error_estimate_note": note}


def _xarray() -> Any:
    try:
        import xarray
    except ModuleNotFoundError as error:
        raise MissingError(
            f"this needs xarray ({error}); install it with: pip install 'anagram-pinn[xarray]'; "
            "NumPy arrays and npz, CSV and VTK files need nothing"
        ) from error
    return xarray


def _refuse_in_version_3(size: int, names: list[str]) -> None:
    strange = [name for name in names if not name.isascii()]
    if strange or 8 * size > LARGEST_IN_NETCDF3:
        what = f"the name '{strange[0]}' has other letters" if strange else f"{size} points are more"
        raise FileError(
            f"{what} than a NetCDF file of version 3 can hold; for version 4: pip install 'anagram-pinn[netcdf]'"
        )


def _engine() -> str:
    return next(
        name for name, packages in ENGINES.items() if all(importlib.util.find_spec(package) for package in packages)
    )
