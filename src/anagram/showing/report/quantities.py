"""What pictures show of a solution at points."""

from __future__ import annotations

import math

import numpy as np

from anagram.showing.components import real_parts
from anagram.statement.domains import Region
from anagram.training.reached import Reached

INCHES = 0.085  # that a letter of a title takes, about


def components(solution: Reached, x: np.ndarray) -> dict[str, np.ndarray]:
    """The unknowns at points (n, d) of the domain, the parts of complex ones by themselves."""
    values = solution(x) if x.shape[1] > 1 else solution(x[:, 0])
    names = [u.name for u in solution.model.sought.unknowns]
    by_name = values if isinstance(values, dict) else {names[0]: values}
    return real_parts(by_name)


def exact_components(solution: Reached, x: np.ndarray) -> dict[str, np.ndarray]:
    """The known solution at points, as far as it is known."""
    exact = solution.problem.exact(x) if solution.problem is not None else None
    return real_parts(exact or {})


def residual_of(solution: Reached, x: np.ndarray, on: Region | None = None) -> tuple[str, np.ndarray] | None:
    """|D(u) − f| of the first condition that holds on a set, all of the domain unless given.

    If there is none, it is that of all conditions that hold on parts of the domain.
    """
    problem = solution.problem
    if problem is None:
        return None
    whole = [key for key in problem.inside if problem.region(key) is (on or problem.domain)]
    shown = whole[:1] or problem.inside
    if not shown:
        return None
    try:
        parts = [solution.residual_inside(key, x) for key in shown]
    except Exception:  # a source may not be defined on the edge of the domain, where the picture ends
        return None
    return ", ".join(shown), np.fmax.reduce(parts)


def title_of(solution: Reached, width: float = math.inf) -> str:
    """The problem, how long it was trained and how far that came; in lines that fit a picture so many inches wide."""
    s = solution.summary
    error = f", L² error {s['l2_error']:.1e}" if s.get("l2_error") is not None else ""
    fresh = s.get("validation_loss")
    fresh = "" if fresh is None else f" ({fresh:.1e} on fresh points)"
    loss = "not finite" if s["loss"] is None else f"{s['loss']:.1e}"
    parts = [f"{s['problem']}: {s['steps']} step{'' if s['steps'] == 1 else 's'}", f", loss {loss}", fresh, error]
    lines, room = [""], width / INCHES
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > room:
            lines.append(part.lstrip(", "))
        else:
            lines[-1] += part
    return "\n".join(lines)
