"""Tables of numbers in files of others: CSV and NetCDF.

They are data: nothing is executed, and sizes are checked first. What is wrong is said with the row and the column
where it stands.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anagram.errors import FileError, MissingError, ProblemError
from anagram.untrusted import read_text, size_of

LARGEST_CSV = 128 * 2**20  # bytes
MOST_ROWS, MOST_COLUMNS = 2_000_000, 1_000
MOST_VALUES = 50_000_000  # of a variable on a grid
EMPTY = ("", "na", "n/a", "nan", "null", "none")


@dataclass(frozen=True)
class Table:
    """Columns of numbers by name, all of one length; NaN where nothing stands.

    Attributes:
        columns: by name.
        rows: how a row is called in messages, ``line 17``.
        name: of the whole, for messages.
    """

    columns: Mapping[str, np.ndarray]
    rows: Sequence[str] | None
    name: str

    def row(self, number: int) -> str:
        """How a row is called."""
        return f"row {number + 1}" if self.rows is None else self.rows[number]


def read_table(source: Any, axes: Sequence[str]) -> Table:
    """A table from a CSV or NetCDF file, a dataset of xarray, or columns by name, such as a data frame."""
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix.lower() in (".nc", ".nc4", ".h5", ".cdf"):
            return _netcdf(path, axes)
        return _csv(path)
    if hasattr(source, "dims") and hasattr(source, "coords"):
        return _gridded(source, axes, "the dataset")
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        return _given(source)
    raise ProblemError(
        f"data are read from a CSV or NetCDF file, a dataset of xarray or columns by name, not {type(source).__name__}"
    )


def _csv(path: Path) -> Table:
    try:
        text = read_text(path, LARGEST_CSV)
    except (OSError, ValueError) as reason:
        raise FileError(f"'{path}' cannot be read as a file of CSV: {reason}") from None
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), skipinitialspace=True, strict=True)
    header: list[str] = []
    cells: list[list[str]] = []
    lines: list[str] = []
    try:
        for row in reader:
            if not row or (len(row) == 1 and not row[0].strip()) or row[0].lstrip().startswith("#"):
                continue
            if not header:
                header = _header(path, row)
                continue
            if len(row) != len(header):
                raise FileError(
                    f"'{path}', line {reader.line_num}: {len(row)} columns, and the first line has {len(header)}"
                )
            cells.append(row)
            lines.append(f"line {reader.line_num}")
            if len(cells) > MOST_ROWS:
                raise FileError(f"'{path}' has more than {MOST_ROWS} lines: thin it out first")
    except csv.Error as reason:
        raise FileError(f"'{path}', line {reader.line_num} is no CSV: {reason}") from None
    if not cells:
        raise FileError(f"'{path}' has no lines of numbers below its names")
    columns = {
        name: np.array([_number(path, line, name, row[k]) for line, row in zip(lines, cells, strict=True)])
        for k, name in enumerate(header)
    }
    return Table(columns, lines, f"'{path}'")


def _header(path: Path, row: Sequence[str]) -> list[str]:
    names = [cell.strip() for cell in row]
    if len(names) > MOST_COLUMNS:
        raise FileError(f"'{path}' has {len(names)} columns: {MOST_COLUMNS} are the most that are read")
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        raise FileError(f"'{path}': columns are separated by commas, not by '{names[0].strip()[:40]}'")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise FileError(f"'{path}' has two columns with the name '{min(twice)}'")
    if all(_is_number(name) for name in names):
        raise FileError(f"the first line of '{path}' has to name the columns, such as t,x,u; it has numbers")
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(path: Path, line: str, column: str, cell: str) -> float:
    text = cell.strip()
    if text.lower() in EMPTY:
        return np.nan
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if "_" in text or not np.isfinite(value):  # Python would read 1_000
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        raise FileError(f"'{path}', {line}, column '{column}': '{shown}' is no finite number")
    return value


def _netcdf(path: Path, axes: Sequence[str]) -> Table:
    try:
        import h5netcdf  # noqa: F401  (what xarray reads with)
        import xarray
    except ImportError as error:
        raise MissingError(
            f"reading NetCDF needs xarray and h5netcdf ({error}); install them with: pip install 'anagram-pinn[netcdf]'"
        ) from None
    try:
        size_of(path)
        with xarray.open_dataset(path, engine="h5netcdf", decode_times=False) as dataset:
            return _gridded(dataset, axes, f"'{path}'")
    except (FileError, ProblemError):
        raise
    except Exception as reason:  # what such a library raises for a broken file is anything
        raise FileError(f"'{path}' cannot be read as NetCDF: {type(reason).__name__}: {reason}") from None


def _gridded(dataset: Any, axes: Sequence[str], name: str) -> Table:
    """Variables over named coordinates, as one row for every combination of these."""
    if not hasattr(dataset, "data_vars"):  # a single array
        dataset = dataset.to_dataset(name=dataset.name or "u")
    missing = [axis for axis in axes if axis not in dataset.coords and axis not in dataset.data_vars]
    if missing:
        raise ProblemError(f"{name} has no coordinate '{missing[0]}'; it has {_listed(dataset.coords)}")
    names = [key for key in dataset.data_vars if key not in axes and np.issubdtype(dataset[key].dtype, np.number)]
    if not names:
        raise ProblemError(f"{name} has no variable with numbers")
    count = int(np.prod([dataset.sizes[d] for d in dataset.dims], dtype=float))
    if count > MOST_VALUES:
        raise ProblemError(f"{name} has {count} points: select {MOST_VALUES} of them at most first")
    if any(np.iscomplexobj(dataset[key]) for key in names):
        raise ProblemError(f"{name} has complex numbers: give real and imaginary parts by themselves")
    import xarray

    arrays = xarray.broadcast(*[dataset[key] for key in (*axes, *names)])
    columns = {
        str(key): np.asarray(array.values, dtype=float).ravel()
        for key, array in zip((*axes, *names), arrays, strict=True)
    }
    return Table(columns, None, name)


def _given(source: Any) -> Table:
    columns = {}
    for key in source.keys() if isinstance(source, Mapping) else source.columns:
        try:
            columns[str(key)] = np.asarray(source[key], dtype=float).ravel()
        except (TypeError, ValueError) as reason:
            raise ProblemError(f"the column '{key}' has no numbers: {reason}") from None
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ProblemError(f"columns of one table have one length; these have {lengths}")
    return Table(columns, None, "the table")


def _listed(names: Any) -> str:
    found = [str(name) for name in names]
    return ", ".join(found[:12]) + (", …" if len(found) > 12 else "") if found else "none"
