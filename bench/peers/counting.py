"""How many lines a user has to write with each program, counted in the scripts: imports and measuring are left out."""

from __future__ import annotations

import ast
from pathlib import Path

HERE = Path(__file__).parent
MEASURING = {"Looks", "run", "values", "observed", "at", "on_grid", "between_steps", "on_disk", "finder", "inverse"}


def lines_of(script: str, problem: str) -> int | None:
    """Lines of the function that states a problem, of `train`, and of all they use from the same script.

    Blank lines, comments, docstrings and decorators do not count. None where the script does not solve the problem.
    """
    text = (HERE / script).read_text(encoding="utf-8")
    tree = ast.parse(text)
    parts = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name not in MEASURING}
    stated = next((part for part in parts.values() if _states(part) == problem), None)
    if stated is None or _only_a_docstring(stated):
        return None
    wanted, waiting = set(), [stated.name, *(["train"] if "train" in parts else [])]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += [n.id for n in ast.walk(parts[name]) if isinstance(n, ast.Name) and n.id in parts]
    lines = text.splitlines()
    return sum(_count(parts[name], lines) for name in wanted)


def _states(part: ast.stmt) -> str | None:
    """The problem that a function is marked with."""
    for mark in getattr(part, "decorator_list", []):
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "states":
            return ast.literal_eval(mark.args[0])
    return None


def _only_a_docstring(part: ast.FunctionDef | ast.ClassDef) -> bool:
    return len(part.body) == 1 and ast.get_docstring(part) is not None


def _count(part: ast.FunctionDef | ast.ClassDef, lines: list[str]) -> int:
    own = set(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    for node in ast.walk(part):
        body = getattr(node, "body", None)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None and body:
            own -= set(range(body[0].lineno, (body[0].end_lineno or body[0].lineno) + 1))
    return sum(1 for k in own if lines[k - 1].strip() and not lines[k - 1].strip().startswith("#"))
