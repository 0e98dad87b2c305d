"""``run.json``: what a run is, how it ended, and the programs that its numbers depend on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import jax

from anagram.compound.layout import current
from anagram.errors import FileError
from anagram.keeping.atomic import json_text, write_atomically
from anagram.models import ParametricModel
from anagram.statement.domains import Box
from anagram.statement.domains.written import domain_to_json
from anagram.statement.problem import Problem
from anagram.training.configuration import model_to_json
from anagram.untrusted import read_json, read_text
from anagram.version import __version__

FORMAT = 3
READABLE = (1, 2, 3)
IN_UNITS = 3  # since when coefficients are kept in units of their guesses
RECORD = "run.json"


def write_record(path: Path, record: dict[str, Any]) -> None:
    """``run.json``: what a run is, and how it ended."""
    write_atomically(path / RECORD, lambda p: p.write_text(json_text(record), encoding="utf-8"))


def read_record(folder: Path) -> dict[str, Any]:
    """``run.json`` of a folder."""
    path = folder / RECORD
    try:
        record = read_json(read_text(path))
    except FileNotFoundError:
        raise FileError(f"there is no solution in '{path.parent}': '{path.name}' is missing") from None
    except NotADirectoryError:
        raise FileError(f"'{folder}' is a file: give the folder that a run or Solution.save wrote") from None
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read '{path}': {error}") from error
    if not isinstance(record, dict) or record.get("format") not in READABLE:
        raise FileError(
            f"'{path}' is not a run record of a format this version reads ({READABLE[0]} to {READABLE[-1]})"
        )
    return record


def refuse_foreign(record: Path) -> None:
    """A run may replace a run; a file that is something else is not ours to overwrite."""
    if os.path.lexists(record):
        try:
            ours = "format" in read_json(read_text(record))
        except (OSError, ValueError, TypeError):
            ours = False
        if not ours:
            raise FileError(f"'{record}' exists and was not written by this program: choose another folder")


def how_to_go_on(path: Path, record: dict[str, Any]) -> str:
    """What to type, on the command line or in Python, to go on with a run."""
    origin = record.get("origin")
    of_file = isinstance(origin, dict) and "file" in origin
    named = f" {path / 'problem.py'}" if of_file else ""
    given = ", problem" if of_file else ""  # a file is executed only if it is named
    return f"anagram solve{named} --resume {path}, or anagram.resume('{path}'{given})"


def description(model: ParametricModel, problem: Problem | None) -> dict[str, Any]:
    """What ``run.json`` says of a model, its problem and the programs at work."""
    sought = model.sought
    return {
        "unknowns": {
            **domain_to_json(sought.domain),
            # Unknowns with conditions that hold exactly: only their problem knows how.
            "exact": list(sought.ansatz),
            "fields": {u.name: "complex" if u.is_complex else "real" for u in sought.unknowns},
            "coefficients": dict(sought.coefficients),
            # The axes of unknowns that do not depend on all of them.
            "along": {u.name: list(u.along) for u in sought.unknowns if u.along is not None},
            # Boxes on which unknowns live that do not live everywhere.
            "regions": {
                u.name: {axis: list(interval) for axis, interval in u.on.intervals.items()}
                for u in sought.unknowns
                if isinstance(u.on, Box)
            },
        },
        "model": model_to_json(model.spec),
        "origin": dict(problem.origin) if problem is not None else {},
        "conditions": {} if problem is None else _conditions(problem),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """The programs and the device that numbers depend on."""
    from importlib.metadata import version

    packages = ("jax", "jaxlib", "equinox", "numpy", "scipy")
    device, layout = jax.devices()[0], current()
    # Sums over several devices are added up in another order.
    several = f" on {layout.count} devices" if layout.spreads else ""
    return {
        "anagram": __version__,
        "python": platform.python_version(),
        "device": f"{device.platform} {device.device_kind}{several}",
        **{name: version(name) for name in packages},
    }


def _conditions(problem: Problem) -> dict[str, Any]:
    """Where each condition holds, how much it counts, and how a reader would write it."""
    equations = problem.equations
    return {
        key: {
            "on": repr(problem.region(key)),
            "weight": problem.weight(key),
            **({"weighted": "by position"} if condition.is_weighted_by_position else {}),
            "equation": equations[key],
        }
        for key, condition in problem.conditions.items()
    }
