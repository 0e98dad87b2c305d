"""Solutions on disk: numbers in safetensors, everything else in JSON. Loading executes nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from anagram.errors import AnagramError, FileError, RunWarning, SettingError
from anagram.keeping.records import checked_blocks, checked_columns, checked_summary
from anagram.keeping.untrusted import arrays_of, read_arrays, read_json, read_text
from anagram.models import ParametricModel, count_parameters
from anagram.statement.domains import Box
from anagram.statement.problem import Problem
from anagram.statement.unknowns import Unknown, Unknowns
from anagram.training.configuration import model_from_json, model_to_json
from anagram.training.history import History
from anagram.training.reached import Reached
from anagram.version import __version__

FORMAT = 2
READABLE = (1, 2)
STATUS = ("running", "interrupted", "failed", "finished")
ARRAYS, RECORD, METRICS = "solution.safetensors", "run.json", "metrics.jsonl"
_STEP = "steps."
LONGEST_NAME = 60  # characters of the name of a problem, each of up to four bytes, in that of a file


# Finds a problem by its origin; None if it knows none.
Find = Callable[[Mapping[str, Any]], Problem | None]


def found_nowhere(_: Mapping[str, Any]) -> None:
    """Where no problems can be found."""
    return


def prepare_folder(folder: str | Path) -> Path:
    """Make a folder and be sure that it can be written to, before any work is done."""
    if not str(folder).strip():
        raise FileError("the name of the folder is empty")
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"cannot write to the folder '{path}': {why}; choose another one") from error
    return path


def file_name(text: str) -> str:
    """A text as a part of the name of a file or folder, without what would lead elsewhere."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in text[:LONGEST_NAME])
    return kept.lstrip(".") or "problem"


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Write beside the target, flush to disk, rename: the target is never half written."""
    if _is_special(path):
        raise FileError(f"cannot write '{path}': it is a device or a pipe; give the name of a file")
    temporary = path.with_name(f".{path.name}.tmp{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)  # it may be a link to somewhere else
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def refuse_unwritable(path: Path) -> None:
    """An error, before anything is computed, if no file can be written at a path."""
    prepare_folder(path.parent)
    try:
        plain = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise FileError(f"cannot write '{path}': {getattr(error, 'strerror', None) or error}") from error
    if not plain:
        raise FileError(f"cannot write '{path}': it is a folder or a device; give the name of a file")


def _is_special(path: Path) -> bool:
    """Whether a path is a device or a pipe: a file renamed to it would take its place."""
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _flush_folder(folder: Path) -> None:
    """Make a rename last through a loss of power, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


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


def write_record(path: Path, record: dict[str, Any]) -> None:
    """``run.json``: what a run is, and how it ended."""
    write_atomically(path / RECORD, lambda p: p.write_text(json_text(record), encoding="utf-8"))


def how_to_go_on(path: Path, record: dict[str, Any]) -> str:
    """What to type, on the command line or in Python, to go on with a run."""
    origin = record.get("origin")
    named = f" {path / 'problem.py'}" if isinstance(origin, dict) and "file" in origin else ""
    return f"anagram solve{named} --resume {path}, or anagram.resume('{path}')"


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
    arrays = _read_arrays(path / ARRAYS, record.get("sha256"))
    theta = arrays.pop("theta", np.zeros(0))
    steps = {k.removeprefix(_STEP): v for k, v in arrays.items() if k.startswith(_STEP)}
    try:
        asked = _asked_from(record["unknowns"])
        spec = model if model is not None else model_from_json(record["model"])
        _check_size(spec, asked, theta)
        summary = checked_summary(record["summary"])
        _check_steps(summary, steps)
        parametric = ParametricModel(asked, spec, 0)
        given, problem = problem, problem or find(record.get("origin") or {})
    except AnagramError as error:
        raise FileError(f"'{path / RECORD}' does not describe a solution: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, MemoryError, OverflowError) as error:
        raise FileError(f"'{path / RECORD}' does not describe a solution ({type(error).__name__}: {error})") from error
    if problem is not None and (problem.domain.intervals, problem.unknowns) != (asked.domain.intervals, asked.unknowns):
        other = "the problem given to load" if given is not None else f"the problem '{problem.name}' that it names"
        raise FileError(f"'{path}' holds a solution on {asked.domain!r}; {other} is another one")
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
        warnings.warn(message, RunWarning, stacklevel=2)
    return Reached(problem, parametric, theta, history, summary, record.get("configuration"))


def json_text(data: Any, indent: int | None = 2) -> str:
    """JSON in which numbers that are not finite are null, so that every reader accepts it."""
    return json.dumps(_plain(data), indent=indent, ensure_ascii=False, allow_nan=False) + ("\n" if indent else "")


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(k): _plain(v) for k, v in data.items()}
    if isinstance(data, tuple | list):
        return [_plain(v) for v in data]
    if isinstance(data, np.generic):
        data = data.item()
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data if isinstance(data, bool | int | float | str | None) else repr(data)


def _record(solution: Reached) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "status": status_of(solution),
        "summary": solution.summary,
        **description(solution.model, solution.problem),
        "configuration": solution.configuration,
    }


def description(model: ParametricModel, problem: Problem | None) -> dict[str, Any]:
    """What ``run.json`` says of a model, its problem and the programs at work."""
    asked = model.asked
    return {
        "unknowns": {
            "axes": {axis: list(interval) for axis, interval in asked.domain.intervals.items()},
            "fields": {u.name: "complex" if u.is_complex else "real" for u in asked.unknowns},
            "coefficients": dict(asked.coefficients),
        },
        "model": model_to_json(model.spec),
        "origin": dict(problem.origin) if problem is not None else {},
        "conditions": {k: {"on": repr(problem.region(k)), "weight": problem.weight(k)} for k in problem.conditions}
        if problem
        else {},
        "versions": versions(),
    }


def refuse_foreign(record: Path) -> None:
    """A run may replace a run; a file that is something else is not ours to overwrite."""
    if os.path.lexists(record):
        try:
            ours = "format" in read_json(read_text(record))
        except (OSError, ValueError, TypeError):
            ours = False
        if not ours:
            raise FileError(f"'{record}' exists and was not written by this program: choose another folder")


def _check_size(spec: Any, asked: Unknowns, theta: np.ndarray) -> None:
    """Count the parameters a record asks for before any memory is taken for them."""
    count = count_parameters(spec, asked)
    if count is not None and count != theta.size:
        raise SettingError(f"its model has {count} parameters, '{ARRAYS}' holds {theta.size}")


def _check_steps(summary: dict[str, Any], steps: dict[str, np.ndarray]) -> None:
    count = checked_columns(steps)
    if count != summary["steps"]:
        raise SettingError(f"its summary speaks of {summary['steps']} steps, '{ARRAYS}' holds {count}")


def _asked_from(data: dict[str, Any]) -> Unknowns:
    names = [*data["axes"], *data["fields"], *data["coefficients"]]
    if len(set(names)) < len(names) or not all(name and name.isprintable() for name in names):
        raise SettingError("its axes, unknowns and coefficients do not have names of their own")
    if not data["fields"]:
        raise SettingError("it has no unknowns")
    domain = Box(**{axis: (float(low), float(high)) for axis, (low, high) in data["axes"].items()})
    unknowns = tuple(Unknown(name, kind == "complex") for name, kind in data["fields"].items())
    return Unknowns(domain, unknowns, {name: float(value) for name, value in data["coefficients"].items()})


def versions() -> dict[str, str]:
    """The programs and the device that numbers depend on."""
    from importlib.metadata import version

    packages = ("jax", "jaxlib", "equinox", "numpy", "scipy")
    device = jax.devices()[0]
    return {
        "anagram": __version__,
        "python": platform.python_version(),
        "device": f"{device.platform} {device.device_kind}",
        **{name: version(name) for name in packages},
    }


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
