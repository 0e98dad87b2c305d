"""Solutions on disk: numbers in safetensors, everything else in JSON. Loading executes nothing."""

from __future__ import annotations

import json
import math
import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from anagram.domains import Box
from anagram.errors import AnagramError, FileError, SettingError
from anagram.history import History
from anagram.models import ModelSpec, ParametricModel, count_parameters, spec_from_json, spec_to_json
from anagram.problem import Problem, Unknown, Unknowns
from anagram.solution import Solution

FORMAT = 1
ARRAYS, RECORD, METRICS = "solution.safetensors", "run.json", "metrics.jsonl"
_STEP = "steps."
SUMMARY_KEYS = ("problem", "method", "seed", "steps", "loss", "validation_loss", "l2_error", "stopped_because")
LARGEST_TEXT = 256 * 2**20  # bytes of JSON that are read


def prepare_folder(folder: str | Path) -> Path:
    """Make a folder and be sure that it can be written to, before any work is done."""
    if not str(folder).strip():
        raise FileError("the name of the folder is empty")
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise FileError(
            f"cannot write to the folder '{path}': {error.strerror or error}; choose another one"
        ) from error
    return path


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Write beside the target, flush to disk, rename: the target is never half written."""
    temporary = path.with_name(f".{path.name}.tmp{os.getpid()}")
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def save(solution: Solution, folder: str | Path) -> Path:
    """Write a solution into a folder."""
    from safetensors.numpy import save as to_bytes

    path = prepare_folder(folder)
    _refuse_foreign(path / RECORD)
    steps = {_STEP + k: np.ascontiguousarray(_storable(v)) for k, v in solution.history.steps.items()}
    arrays = {"theta": np.ascontiguousarray(solution.theta), **steps}
    write_atomically(path / ARRAYS, lambda p: p.write_bytes(to_bytes(arrays)))
    lines = "".join(json_text(b, indent=None) + "\n" for b in solution.history.blocks)
    write_atomically(path / METRICS, lambda p: p.write_text(lines, encoding="utf-8"))
    write_atomically(path / RECORD, lambda p: p.write_text(json_text(_record(solution)), encoding="utf-8"))
    return path


def load(folder: str | Path, problem: Problem | None = None, model: Any = None) -> Solution:
    """Read a solution that `Solution.save` or the command line wrote.

    Args:
        folder: the folder of the run.
        problem: the problem it solves, needed for residuals and errors only; problems of the catalogue
            are found by name.
        model: the module the parameters belong to, needed only if it was not made by a recipe of this package.
    """
    path = Path(folder)
    if path.is_file():
        raise FileError(f"'{path}' is a file: give the folder that a run or Solution.save wrote")
    record = _read_record(path / RECORD)
    arrays = _read_arrays(path / ARRAYS)
    theta = arrays.pop("theta", np.zeros(0))
    try:
        asked = _asked_from(record["unknowns"])
        spec = model if model is not None else _spec_from(record["model"])
        _check_size(spec, asked, theta)
        parametric = ParametricModel(asked, spec, 0)
        summary = _summary_from(record["summary"])
        given, problem = problem, problem or _from_catalogue(record.get("origin") or {})
    except AnagramError as error:
        raise FileError(f"'{path / RECORD}' does not describe a solution: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, MemoryError, OverflowError) as error:
        raise FileError(f"'{path / RECORD}' does not describe a solution ({type(error).__name__}: {error})") from error
    if given is not None and (given.domain.intervals, given.unknowns) != (asked.domain.intervals, asked.unknowns):
        raise FileError(f"'{path}' holds a solution on {asked.domain!r}; the problem given to load is another one")
    if theta.shape != parametric.theta.shape or theta.dtype != np.float64:
        raise FileError(
            f"'{path / ARRAYS}' does not fit the model of '{RECORD}', which has {parametric.parameters} parameters"
        )
    steps = {k.removeprefix(_STEP): v for k, v in arrays.items() if k.startswith(_STEP)}
    return Solution(problem, parametric, theta, History(steps, _read_metrics(path / METRICS)), summary)


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


def _storable(values: np.ndarray) -> np.ndarray:
    return values.astype(np.uint8) if values.dtype == bool else values


def _record(solution: Solution) -> dict[str, Any]:
    asked = solution.model.asked
    problem = solution.problem
    return {
        "format": FORMAT,
        "summary": solution.summary,
        "unknowns": {
            "axes": {axis: list(interval) for axis, interval in asked.domain.intervals.items()},
            "fields": {u.name: "complex" if u.is_complex else "real" for u in asked.unknowns},
            "coefficients": dict(asked.coefficients),
        },
        "model": _model_record(solution.model.spec),
        "origin": problem.origin if problem is not None else {},
        "conditions": {k: {"on": repr(problem.region(k)), "weight": problem.weight(k)} for k in problem.conditions}
        if problem
        else {},
        "versions": _versions(),
    }


def _model_record(spec: Any) -> dict[str, Any]:
    if isinstance(spec, ModelSpec):
        return spec_to_json(spec)
    if isinstance(spec, dict) and all(isinstance(s, ModelSpec) for s in spec.values()):
        return {"kind": "by-unknown", "models": {name: spec_to_json(s) for name, s in spec.items()}}
    return {"kind": "custom", "class": type(spec).__qualname__}


def _spec_from(data: dict[str, Any]) -> Any:
    if data.get("kind") == "custom":
        raise SettingError(f"its model is a module of your own ({data.get('class')}): pass load(..., model=module)")
    if data.get("kind") == "by-unknown":
        return {str(name): spec_from_json(spec) for name, spec in data["models"].items()}
    return spec_from_json(data)


def _refuse_foreign(record: Path) -> None:
    """A run may replace a run; a file that is something else is not ours to overwrite."""
    if record.exists():
        try:
            ours = "format" in json.loads(_text(record))
        except (OSError, ValueError, TypeError, RecursionError):
            ours = False
        if not ours:
            raise FileError(f"'{record}' exists and was not written by this program: choose another folder")


def _check_size(spec: Any, asked: Unknowns, theta: np.ndarray) -> None:
    """Count the parameters a record asks for before any memory is taken for them."""
    count = count_parameters(spec, asked)
    if count is not None and count != theta.size:
        raise SettingError(f"its model has {count} parameters, '{ARRAYS}' holds {theta.size}")


def _summary_from(data: Any) -> dict[str, Any]:
    summary = dict(data)
    missing = [key for key in SUMMARY_KEYS if key not in summary]
    if missing:
        raise SettingError(f"its summary lacks {', '.join(missing)}")
    return summary


def _asked_from(data: dict[str, Any]) -> Unknowns:
    domain = Box(**{str(axis): (float(low), float(high)) for axis, (low, high) in data["axes"].items()})
    unknowns = tuple(Unknown(str(name), kind == "complex") for name, kind in data["fields"].items())
    return Unknowns(domain, unknowns, {str(k): float(v) for k, v in data["coefficients"].items()})


def _from_catalogue(origin: dict[str, Any]) -> Problem | None:
    from anagram import catalogue

    if origin.get("catalogue") not in catalogue.ENTRIES:
        return None
    return catalogue.problem(origin["catalogue"], **origin.get("parameters", {}))


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    packages = ("jax", "jaxlib", "equinox", "numpy", "scipy")
    device = jax.devices()[0]
    return {
        "python": platform.python_version(),
        "device": f"{device.platform} {device.device_kind}",
        **{name: version(name) for name in packages},
    }


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(_text(path))
    except FileNotFoundError:
        raise FileError(f"there is no solution in '{path.parent}': '{path.name}' is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"cannot read '{path}': {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise FileError(f"'{path}' is not a run record of format {FORMAT}")
    return record


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except FileNotFoundError:
        raise FileError(f"there is no solution in '{path.parent}': '{path.name}' is missing") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise FileError(f"cannot read '{path}': {error}") from error


def _read_metrics(path: Path) -> list[dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in _text(path).splitlines() if line.strip()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"cannot read '{path}': {error}") from error
    if not all(isinstance(line, dict) for line in lines):
        raise FileError(f"cannot read '{path}': its lines are not records")
    return lines


def _text(path: Path) -> str:
    size = path.stat().st_size
    if size > LARGEST_TEXT:
        raise ValueError(f"{size} bytes are more than a run writes")
    return path.read_text(encoding="utf-8")
