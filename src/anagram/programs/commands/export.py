"""The command ``anagram export``: a solution on a grid, in a file for other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from anagram.programs.commands.common import escape, out, wrong_input

SUFFIXES = {"netcdf": ".nc", "vtk": "", "npz": ".npz", "csv": ".csv"}
FORMATS = {".nc": "netcdf", ".vti": "vtk", ".vtr": "vtk", ".vtu": "vtk", ".pvd": "vtk", ".npz": "npz", ".csv": "csv"}


def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN_FOLDER", help="The folder of a run.")],
    format_: Annotated[
        str | None, typer.Option("--format", help="netcdf, vtk, npz or csv; by default what --out ends in, or netcdf.")
    ] = None,
    grid: Annotated[
        str, typer.Option(metavar="N|AXIS=N,...", help="Points along every axis, or along each: t=11,x=201.")
    ] = "101",
    derivative: Annotated[
        list[str] | None,
        typer.Option(metavar="UNKNOWN:AXES", help="A derivative to add: u:x or u:x,x; may be repeated."),
    ] = None,
    at: Annotated[
        list[str] | None, typer.Option(metavar="AXIS=PLACE", help="Hold an axis at one place; may be repeated.")
    ] = None,
    path: Annotated[
        Path | None, typer.Option("--out", help="The file to write; solution.nc or the like in the run by default.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Write a solution on a grid to a file that other programs read."""
    with wrong_input():
        written = _export(folder, format_, grid, derivative or [], at or [], path)
    if not quiet:
        out.print(escape(str(written)))


def _export(
    folder: Path, format_: str | None, grid: str, derivatives: list[str], at: list[str], path: Path | None
) -> Path:
    from anagram.errors import SettingError
    from anagram.solution import load

    kind = format_ or (FORMATS.get(path.suffix) if path is not None else "netcdf")
    if kind not in SUFFIXES:
        given = f"'{format_}'" if format_ else f"'{path}', which does not say which"
        raise SettingError(f"--format takes {', '.join(SUFFIXES)}, not {given}")
    solution = load(folder)
    operators = dict(_derivative(text, solution) for text in derivatives)
    target = path if path is not None else folder / f"solution{SUFFIXES[kind]}"
    return _writer(kind)(solution, target, _grid(grid), operators, at=dict(_place(text) for text in at))


def _writer(kind: str) -> Callable[..., Path]:
    from anagram.showing.export import to_csv, to_netcdf, to_npz, to_vtk

    return {"netcdf": to_netcdf, "vtk": to_vtk, "npz": to_npz, "csv": to_csv}[kind]


def _grid(text: str) -> int | dict[str, int]:
    """`101`, or `t=11,x=201`."""
    from anagram.errors import SettingError

    try:
        if "=" not in text:
            return int(text)
        return {axis.strip(): int(count) for axis, count in (part.split("=") for part in text.split(","))}
    except ValueError:
        raise SettingError(
            f"--grid needs a number of points, or one for each axis as in t=11,x=201, not '{text}'"
        ) from None


def _place(text: str) -> tuple[str, float]:
    from anagram.errors import SettingError

    axis, _, place = text.partition("=")
    try:
        return axis.strip(), float(place)
    except ValueError:
        raise SettingError(f"--at needs an axis and a place, as in x4=0.5, not '{text}'") from None


def _derivative(text: str, solution: Any) -> tuple[str, Callable[..., Any]]:
    """`u:x,x` becomes u_xx; axes with long names are set apart, u_x1_x1."""
    from anagram.errors import SettingError

    unknown, colon, listed = text.partition(":")
    unknown, axes = unknown.strip(), [axis.strip() for axis in listed.split(",")]
    if not colon or not all(axes):
        raise SettingError(f"--derivative needs an unknown and axes, as in u:x or u:x,x, not '{text}'")
    for kind, known, named in (
        ("unknown", [u.name for u in solution.model.sought.unknowns], [unknown]),
        ("axis", solution.domain.axes, axes),
    ):
        for name in named:
            if name not in known:
                raise SettingError(f"--derivative {text}: there is no {kind} '{name}'; there are {', '.join(known)}")
    between = "" if all(len(axis) == 1 for axis in axes) else "_"
    return f"{unknown}_{between.join(axes)}", lambda **fields: fields[unknown].d(*axes)
