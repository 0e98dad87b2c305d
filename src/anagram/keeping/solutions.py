"""Solutions on disk: numbers in safetensors, everything else in JSON. Loading executes nothing."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from anagram.errors import AnagramError, FileError, RunWarning, SettingError
from anagram.keeping.atomic import json_text, prepare_folder, write_atomically
from anagram.keeping.records import checked_blocks, checked_columns, checked_summary
from anagram.keeping.runrecord import (
    FORMAT,
    IN_UNITS,
    RECORD,
    description,
    how_to_go_on,
    read_record,
    refuse_foreign,
    write_record,
)
from anagram.models import ParametricModel, count_parameters
from anagram.statement.domains import Box, Domain, Parameter, parameter
from anagram.statement.domains.written import domain_from_json, look_the_same
from anagram.statement.problem import Problem
from anagram.statement.unknowns import Unknown, Unknowns
from anagram.training.configuration import model_from_json
from anagram.training.history import History
from anagram.training.reached import Reached
from anagram.untrusted import arrays_of, read_arrays, read_json, read_text

ARRAYS, METRICS = "solution.safetensors", "metrics.jsonl"
_STEP = "steps."
# Finds a problem by its origin; None if it knows none.
Find = Callable[[Mapping[str, Any]], Problem | None]


def found_nowhere(_: Mapping[str, Any]) -> None:
    """Where no problems can be found."""
    return


def save(solution: Reached, folder: str | Path) -> Path:
    """Write a solution into a folder."""
    from safetensors.numpy import save as to_bytes

    path = prepare_folder(folder)
    refuse_foreign(path / RECORD)
    steps = {_STEP + k: np.ascontiguousarray(v) for k, v in solution.history.steps.items()}
    arrays = {"theta": np.ascontiguousarray(solution.theta), **steps}
    data = to_bytes(arrays)
    record = {**_record(solution), "sha256": hashlib.sha256(data).hexdigest()}
    write_atomically(path / ARRAYS, lambda p: p.write_bytes(data))
    write_record(path, record)
    write_metrics(path, solution.history)  # last: without it the solution can still be read
    return path


def write_metrics(path: Path, history: History) -> None:
    """One line of JSON for every block."""
    lines = "".join(json_text(block, indent=None) + "\n" for block in history.blocks)
    write_atomically(path / METRICS, lambda p: p.write_text(lines, encoding="utf-8"))


def status_of(solution: Reached) -> str:
    """How a run ended, in one word."""
    if solution.failed:
        return "failed"
    return "interrupted" if solution.stopped_because == "interrupted" else "finished"


def read_solution(
    folder: str | Path, problem: Problem | None = None, model: Any = None, find: Find = found_nowhere
) -> Reached:
    """Read what `save` wrote.

    Args:
        folder: the folder of the run.
        problem: the problem it solves, needed for residuals and errors only.
        model: the module the parameters belong to, needed only if it was not made by a recipe of this package.
        find: finds a problem by its origin where none is given.
    """
    path = Path(folder)
    record = read_record(path)
    if record.get("summary") is None and record.get("status") == "running":
        raise FileError(
            f"the run in '{path}' has not ended, or is at work: go on with it ({how_to_go_on(path, record)})"
        )
    if record["format"] < IN_UNITS and (record.get("unknowns") or {}).get("coefficients"):
        raise FileError(
            f"'{path}' was written by an older version, which kept coefficients in other units: solve again"
        )
    arrays = _read_arrays(path / ARRAYS, record.get("sha256"))
    theta = arrays.pop("theta", np.zeros(0))
    steps = {k.removeprefix(_STEP): v for k, v in arrays.items() if k.startswith(_STEP)}
    try:
        sought = _sought_from(record["unknowns"])
        spec = model if model is not None else model_from_json(record["model"])
        _check_size(spec, sought, theta)
        summary = checked_summary(record["summary"])
        _check_steps(summary, steps)
        given, problem = problem, problem or find(record.get("origin") or {})
        recorded = sought
        if problem is None and record["unknowns"].get("exact"):
            raise SettingError("conditions are built into its model: give the problem, load(..., problem=...)")
        if problem is not None and _recorded(problem.sought) == _recorded(recorded):
            # It knows more of a shape than its outline, regions that are no boxes, and what holds exactly.
            sought = replace(sought, domain=problem.domain, unknowns=problem.unknowns, ansatz=problem.ansatz)
        parametric = ParametricModel(sought, spec, 0)
    except AnagramError as error:
        raise FileError(f"'{path / RECORD}' does not describe a solution: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, MemoryError, OverflowError) as error:
        raise FileError(f"'{path / RECORD}' does not describe a solution ({type(error).__name__}: {error})") from error
    if problem is not None and not (
        _recorded(problem.sought) == _recorded(recorded) and look_the_same(problem.domain, recorded.domain)
    ):
        other = "the problem given to load" if given is not None else f"the problem '{problem.name}' that it names"
        raise FileError(f"'{path}' holds a solution on {recorded.domain!r}; {other} is another one")
    if theta.shape != parametric.theta.shape or theta.dtype != np.float64:
        raise FileError(
            f"'{path / ARRAYS}' does not fit the model of '{RECORD}', which has {parametric.parameters} parameters"
        )
    history = History(steps, _read_metrics(path / METRICS, steps))
    if record.get("status") == "running":
        taken = len(steps.get("loss", ()))
        history.blocks = [block for block in history.blocks if block.get("step", 0) <= taken]
        message = (
            f"the run in '{path}' went on after this solution of step {taken} was saved, and has not ended: "
            f"{how_to_go_on(path, record)}"
        )
        warnings.warn(message, RunWarning, stacklevel=3)
    return Reached(problem, parametric, theta, history, summary, record.get("configuration"))


def _record(solution: Reached) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "status": status_of(solution),
        "summary": solution.summary,
        **description(solution.model, solution.problem),
        "configuration": solution.configuration,
    }


def _check_size(spec: Any, sought: Unknowns, theta: np.ndarray) -> None:
    """Count the parameters a record asks for before any memory is taken for them."""
    count = count_parameters(spec, sought)
    if count is not None and count != theta.size:
        raise SettingError(f"its model has {count} parameters, '{ARRAYS}' holds {theta.size}")


def _check_steps(summary: dict[str, Any], steps: dict[str, np.ndarray]) -> None:
    count = checked_columns(steps)
    if count != summary["steps"]:
        raise SettingError(f"its summary speaks of {summary['steps']} steps, '{ARRAYS}' holds {count}")


def _recorded(sought: Unknowns) -> Any:
    """What a file knows of unknowns: their domain, and name, kind and box of each."""
    boxes = [u.on.intervals if isinstance(u.on, Box) else None for u in sought.unknowns]
    kinds = [(u.name, u.is_complex, u.along) for u in sought.unknowns]
    return sought.domain.intervals, kinds, boxes


def _sought_from(data: dict[str, Any]) -> Unknowns:
    names = [*data["axes"], *data["fields"], *data["coefficients"]]
    if len(set(names)) < len(names) or not all(name and name.isprintable() for name in names):
        raise SettingError("its axes, unknowns and coefficients do not have names of their own")
    if not data["fields"]:
        raise SettingError("it has no unknowns")
    domain = domain_from_json(data)
    boxes: dict[str, Box] = {}  # unknowns that live on one box share it
    for ends in data.get("regions", {}).values():
        box = _part_of(domain, ends)
        if not box.lies_in(domain):
            raise SettingError("one of its unknowns lives outside of its domain")
        boxes.setdefault(repr(ends), box)
    own = {name: boxes[repr(ends)] for name, ends in data.get("regions", {}).items()}
    along = {name: tuple(axes) for name, axes in data.get("along", {}).items()}
    known = set(along) <= set(data["fields"])
    if not known or not all(axes and set(axes) <= set(domain.axes) for axes in along.values()):
        raise SettingError("one of its unknowns depends on axes that it does not have")
    unknowns = tuple(
        Unknown(name, kind == "complex", own.get(name), along.get(name)) for name, kind in data["fields"].items()
    )
    return Unknowns(domain, unknowns, {name: float(value) for name, value in data["coefficients"].items()})


def _part_of(domain: Domain, ends: dict[str, Any]) -> Box:
    """A box in a domain by the ends of its axes; what is a parameter there is one in it too."""
    logs = {axis: interval.log for axis, interval in domain.intervals.items() if isinstance(interval, Parameter)}
    found = {axis: (float(low), float(high)) for axis, (low, high) in ends.items()}
    return Box(**{axis: parameter(*i, log=logs[axis]) if axis in logs else i for axis, i in found.items()})


def _read_arrays(path: Path, digest: Any) -> dict[str, np.ndarray]:
    """The arrays of a solution; no more memory is taken than the file is long."""
    try:
        data = read_arrays(path)
        if digest is not None and hashlib.sha256(data).hexdigest() != digest:
            raise ValueError(
                f"it is not the file that '{RECORD}' belongs to; if a run was stopped while it saved, resume it"
            )
        return arrays_of(data)
    except FileNotFoundError:
        raise FileError(f"there is no solution in '{path.parent}': '{path.name}' is missing") from None
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read '{path}': {error}") from error


def _read_metrics(path: Path, columns: Iterable[str]) -> list[dict[str, Any]]:
    try:
        # Not splitlines: characters that Unicode counts as ends of lines may stand inside a text.
        lines = [read_json(line) for line in read_text(path).split("\n") if line.strip()]
        return checked_blocks(lines, columns)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read '{path}': {error}") from error
