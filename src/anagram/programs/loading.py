"""Finding the problem a user names on the command line: in the catalogue or in a file of theirs."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from anagram import catalogue
from anagram.errors import AnagramError, SettingError
from anagram.keeping.runfolder import PROBLEM
from anagram.keeping.runrecord import read_record
from anagram.statement.problem import Problem
from anagram.training.case import Case, case_of
from anagram.untrusted import read_text

LARGEST_SOURCE = 16 * 2**20  # bytes of a Python file


def find_case(target: str, paper: bool, parameters: dict[str, Any]) -> Case:
    """``heat``, ``my_file.py`` or ``my_file.py:name``."""
    path, attribute = _file_and_name(target)
    if path.endswith(".py"):
        if paper:
            raise SettingError("--paper goes with problems of the catalogue; a file has no setting of the paper")
        return _from_file(Path(path), attribute)
    if target not in catalogue.ENTRIES and _is_file(Path(f"{target}.py")):
        raise SettingError(f"there is no problem '{target}' in the catalogue; did you mean the file {target}.py?")
    return case_of(catalogue.problem(target, paper, **parameters))


def problem_parameters(target: str) -> dict[str, Any]:
    """The parameters that a problem of the catalogue has, with their defaults."""
    return catalogue.ENTRIES[target].parameters if target in catalogue.ENTRIES else {}


def case_again(target: str, origin: Any, folder: Path) -> Case:
    """The case that a run was begun with, from the catalogue or a file the user names; any other is refused."""
    _refuse_other(target, origin, folder)
    if "file" not in origin:
        try:
            return find_case(target, bool(origin.get("paper")), origin.get("parameters") or {})
        except (TypeError, ValueError) as error:
            if isinstance(error, AnagramError):
                raise
            raise SettingError(f"the record in '{folder}' is damaged ({type(error).__name__}: {error})") from error
    case = _from_file(Path(_file_and_name(target)[0]), str(origin.get("problem")))
    return replace(case, problem=case.problem.restated(name=str(origin.get("name")), origin=origin))


def is_of_file(folder: Path) -> bool:
    """Whether the problem of a run is stated in a Python file, of which its folder has a copy."""
    origin = read_record(folder).get("origin")
    return isinstance(origin, dict) and "file" in origin


def case_of_folder(folder: Path) -> Case | None:
    """The problem of the file in the folder of a run, which is executed; None if it is not stated in one."""
    origin = read_record(folder).get("origin")
    return case_again(str(folder / PROBLEM), origin, folder) if is_of_file(folder) else None


def _refuse_other(target: str, origin: Any, folder: Path) -> None:
    origin = origin if isinstance(origin, dict) else {}
    path, attribute = _file_and_name(target)
    if "file" not in origin:
        if target != origin.get("catalogue"):
            begun = origin.get("catalogue") or "a problem of your own, stated in Python"
            raise SettingError(f"the run in '{folder}' solves {begun}, not {target}")
        return
    if not path.endswith(".py"):
        raise SettingError(f"the run in '{folder}' solves the problem of a file, {folder / 'problem.py'}, not {target}")
    if digest_of(read_source(Path(path))) != origin.get("sha256") or attribute not in ("", origin.get("problem")):
        raise SettingError(
            f"'{target}' is not the problem that the run in '{folder}' was begun with; its copy is "
            f"{folder / 'problem.py'}:{origin.get('problem')}"
        )


def read_source(path: Path) -> str:
    """The text of a Python file."""
    if not _is_file(path):
        raise SettingError(f"there is no file '{path}'")
    try:
        return read_text(path, LARGEST_SOURCE)
    except (OSError, ValueError) as error:
        raise SettingError(f"'{path}' cannot be read as a Python file: {error}") from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, or a folder that may not be looked into
        return False


def digest_of(source: str) -> str:
    """What tells a text from others."""
    return hashlib.sha256(source.encode()).hexdigest()


def _file_and_name(target: str) -> tuple[str, str]:
    path, _, attribute = target.rpartition(":") if ".py:" in target else (target, "", "")
    return path, attribute


def _from_file(path: Path, attribute: str) -> Case:
    source = read_source(path)
    spec = importlib.util.spec_from_file_location(f"anagram_problem_{path.stem}", path.resolve())
    if spec is None or spec.loader is None:
        raise SettingError(f"'{path}' cannot be read as a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
        found = _problems_of(module, attribute or "problem")
    except AnagramError:
        raise
    except SystemExit as error:
        raise SettingError(
            f"'{path}' ends the program when it is read: put what it runs below if __name__ == '__main__':"
        ) from error
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path.resolve()]
        line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
        where = "" if line is None else f" at line {line}"
        raise SettingError(f"'{path}' failed{where}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    name = attribute or (
        "problem" if "problem" in found else next(iter(found), "problem") if len(found) == 1 else "problem"
    )
    if name not in found:
        have = f"it has {', '.join(found)}" if found else "it defines none: assign one, problem = ag.Problem(...)"
        raise SettingError(f"'{path}' has no problem named '{name}'; {have}")
    problem = found[name]
    # The one called `problem` has the name of its file, others that of their variable.
    unnamed = path.stem if name == "problem" else name
    called = unnamed if problem.name == "problem" else problem.name
    origin = {"file": path.name, "problem": name, "name": called, "sha256": digest_of(source)}
    return replace(case_of(problem.restated(name=called, origin=origin)), source=source)


def _problems_of(module: ModuleType, wanted: str) -> dict[str, Problem]:
    """The problems of a file by name; the one that is wanted may be what a function without arguments returns."""
    found = {name: value for name, value in vars(module).items() if isinstance(value, Problem)}
    state = vars(module).get(wanted)
    if inspect.isfunction(state) and state.__module__ == module.__name__ and not inspect.signature(state).parameters:
        stated = state()
        found |= {wanted: stated} if isinstance(stated, Problem) else {}
    return found
