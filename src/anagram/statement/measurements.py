"""Measured values: points, values and their noise, from tables whose columns bear the names of axes and unknowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anagram.errors import FileError, ProblemError
from anagram.statement.condition import Condition
from anagram.statement.domains import Domain, PointSet
from anagram.statement.smoothness import operator_of
from anagram.statement.tables import Table, read_table

SIGMA = "sigma"


@dataclass(frozen=True)
class Measurements:
    """Points of a domain with measured values, by name.

    Attributes:
        domain: where they were measured.
        x: the points (n, d).
        values: by name; NaN where nothing was measured.
        sigma: by name, the standard deviations that the table gives.
    """

    domain: Domain
    x: np.ndarray
    values: Mapping[str, np.ndarray]
    sigma: Mapping[str, np.ndarray]

    @property
    def points(self) -> PointSet:
        """All points."""
        return PointSet(self.domain.axes, self.x)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, name: str) -> np.ndarray:
        """The values of one column."""
        if name not in self.values:
            raise ProblemError(f"nothing was measured of '{name}'; there are {', '.join(self.values)}")
        return self.values[name]

    def condition(self, name: str, noise: Any = None, robust: Any = None) -> Condition:
        """That an unknown is what was measured of it, where it was: ``data=measured.condition("u", noise=0.01)``.

        The noise is that of the table if it has a column for it, ``sigma`` or ``sigma_u``, and else has to be given.
        """
        values = self[name]
        there = np.isfinite(values)
        if noise is None:
            noise = self.sigma[name][there] if name in self.sigma else None
        if noise is None:
            raise ProblemError(
                f"the table has no column 'sigma' or 'sigma_{name}': give noise=, a standard deviation or 'estimate'"
            )
        if np.ndim(noise):
            noise = np.asarray(noise, dtype=float)
            noise = noise[there] if len(noise) == len(there) else noise
        points = PointSet(self.domain.axes, self.x[there])
        return Condition(operator_of(name, lambda field: field), points, values[there], noise=noise, robust=robust)

    def __repr__(self) -> str:
        return f"Measurements({', '.join(self.values)} at {len(self)} points of {self.domain!r})"


def data(
    source: Any, domain: Domain, values: str | Sequence[str] | None = None, *, missing: str = "raise"
) -> Measurements:
    """Read measured values: ``measured = ag.data("values.csv", box)``.

    Args:
        source: a file of CSV whose first line names the columns, a file of NetCDF (extra ``netcdf``), a dataset of
            xarray, or columns by name such as a data frame. Columns that are called like axes are the coordinates;
            ``sigma``, or ``sigma_u`` for the values of ``u``, are standard deviations; the others are values.
        domain: where they were measured; points outside of it are an error.
        values: the columns that are wanted; all of them unless given.
        missing: what is done with rows where a coordinate, or all values, are missing: ``raise`` an error or ``drop``
            them.
    """
    if not isinstance(domain, Domain):
        raise ProblemError(f"data need the domain in which they were measured, such as a Box, not {domain!r}")
    if missing not in ("raise", "drop"):
        raise ProblemError(f"missing= is 'raise' or 'drop', not {missing!r}")
    table = read_table(source, domain.axes)
    try:
        return _measured(table, domain, values, missing)
    except ProblemError as error:
        if isinstance(source, str | Path):
            raise FileError(str(error)) from None
        raise


def _measured(table: Table, domain: Domain, values: str | Sequence[str] | None, missing: str) -> Measurements:
    """Coordinates, values and standard deviations of a table."""
    names = _wanted(table, domain.axes, values)
    for name in (*domain.axes, *names):
        if name not in table.columns:
            raise ProblemError(f"{table.name} has no column '{name}'; it has {', '.join(table.columns)}")
    x = np.stack([table.columns[axis] for axis in domain.axes], axis=1)
    found = {name: table.columns[name] for name in names}
    kept = _kept(table, domain.axes, x, found, missing)
    _refuse_outside(table, domain, x, kept)
    sigma = {name: column for name in names if (column := _sigma(table, name, names, kept)) is not None}
    return Measurements(
        domain,
        x[kept],
        {name: column[kept] for name, column in found.items()},
        {name: column[kept] for name, column in sigma.items()},
    )


def _wanted(table: Table, axes: Sequence[str], values: str | Sequence[str] | None) -> list[str]:
    if values is not None:
        return [values] if isinstance(values, str) else list(values)
    names = [n for n in table.columns if n not in axes and n != SIGMA and not n.startswith(f"{SIGMA}_")]
    if not names:
        raise ProblemError(f"{table.name} has no column of values beside {', '.join(table.columns)}")
    return names


def _kept(
    table: Table, axes: Sequence[str], x: np.ndarray, found: Mapping[str, np.ndarray], missing: str
) -> np.ndarray:
    """The rows that are whole enough."""
    columns = {**dict(zip(axes, x.T, strict=True)), **found}
    for name, column in columns.items():
        if np.isinf(column).any():
            row = int(np.argmax(np.isinf(column)))
            raise ProblemError(f"{table.name} has an infinite number in {table.row(row)}, column '{name}'")
    gaps = {name: np.isnan(column) for name, column in columns.items()}
    nothing = np.logical_and.reduce([gaps[name] for name in found])
    bad = nothing | np.logical_or.reduce([gaps[axis] for axis in axes])
    if missing == "raise":
        for name, gap in gaps.items():
            if gap.any():
                row = int(np.argmax(gap))
                raise ProblemError(
                    f"{table.name} has no number in {table.row(row)}, column '{name}' ({int(gap.sum())} of {len(gap)} "
                    "rows); missing='drop' leaves such rows out"
                )
    if bad.all():
        raise ProblemError(f"{table.name} has no row with coordinates and a value")
    return np.flatnonzero(~bad)


def _refuse_outside(table: Table, domain: Domain, x: np.ndarray, kept: np.ndarray) -> None:
    outside = ~domain.contains(x[kept])
    if outside.any():
        row = int(kept[np.argmax(outside)])
        place = ", ".join(f"{axis}={value:.6g}" for axis, value in zip(domain.axes, x[row], strict=True))
        raise ProblemError(
            f"{table.name} has {int(outside.sum())} points outside of {domain!r}, the first one in {table.row(row)}: "
            f"{place}"
        )


def _sigma(table: Table, name: str, names: Sequence[str], kept: np.ndarray) -> np.ndarray | None:
    column = f"{SIGMA}_{name}"
    if column not in table.columns:
        if SIGMA not in table.columns:
            return None
        if len(names) > 1:
            raise ProblemError(
                f"{table.name} has one column '{SIGMA}' for {', '.join(names)}: call it {SIGMA}_{name}, and so on for "
                "each"
            )
        column = SIGMA
    sigma, values = table.columns[column], table.columns[name]
    bad = np.zeros(len(sigma), dtype=bool)
    bad[kept] = np.isfinite(values[kept]) & ~((sigma[kept] > 0) & np.isfinite(sigma[kept]))
    if bad.any():
        row = int(np.argmax(bad))
        raise ProblemError(
            f"{table.name} has {sigma[row]:g} in {table.row(row)}, column '{column}': a standard deviation is positive"
        )
    return sigma
