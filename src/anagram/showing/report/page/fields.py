"""The solution, its error and its residual on a grid of bounded size."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from anagram.showing.components import part_names, real_parts
from anagram.showing.report.page.encode import array
from anagram.showing.report.page.shapes import centre_of, first_places, shape_data
from anagram.statement.domains import Domain, Interval, Parameter
from anagram.statement.domains.intervals import even_places
from anagram.statement.domains.outline import Outlined
from anagram.statement.problem import Problem
from anagram.training.reached import Reached

FIELD_BYTES = 1_500_000  # of a page at most for the fields of one run
FINEST = {1: 801, 2: 161, 3: 61}  # points along an axis at most
COARSEST = 5  # points along an axis that still make a picture
PLANE_AXES = 10  # axes of which planes are shown where a tensor does not fit

STATED_ELSEWHERE = (
    "This run was loaded without its problem: it is stated in a file or a program of its own, which a report does not "
    "execute. So neither the error nor the residual can be shown."
)
SHAPE_UNKNOWN = (
    "The record of this run does not say where its shape ends: the maps show the whole box around it, also what lies "
    "outside."
)
NO_SOLUTION = "The problem gives no exact solution and no reference: there is no error to show."
NO_INNER_CONDITION = "No condition holds inside the domain: there is no residual to show."


@dataclass
class Sampling:
    """Where fields are evaluated: a tensor of points, or planes through the centre of a domain of many axes."""

    kind: str
    size: int
    x: np.ndarray
    pairs: list[tuple[int, int]] = field(default_factory=list)
    words: str = ""


def field_data(solution: Reached) -> dict[str, Any]:
    """All fields of a run as the page carries them."""
    domain, problem = solution.domain, solution.problem
    components = [name for u in solution.model.sought.unknowns for name in part_names(u.name, u.is_complex)]
    inner = [] if problem is None else problem.inside
    sampling = choose_sampling(domain, 2 * len(components) + max(1, len(inner)))
    # Outside of a shape nothing is evaluated: what a user gives may mean nothing there.
    inside = np.ones(len(sampling.x), dtype=bool) if domain.is_box else domain.contains(sampling.x)
    x = sampling.x[inside]
    values = real_parts(_by_name(solution, solution(x)))
    exact, notes = _exact(problem, x)

    def told(kind: str, name: str, known: np.ndarray) -> dict[str, Any]:
        """A quantity at all points of the sampling; NaN outside."""
        everywhere = np.full(len(inside), np.nan)
        everywhere[inside] = known
        return {"kind": kind, "of": name, **array(everywhere)}

    quantities = [told("solution", name, values[name]) for name in components]
    quantities += [told("error", name, values[name] - known) for name, known in exact.items()]
    for name in inner:
        try:
            quantities.append(told("residual", name, solution.residual_inside(name, x)))
        except Exception as error:  # a user's source may not be defined on the edge of the domain
            notes.append(f"The residual of {name} cannot be evaluated everywhere: {error}")
    if isinstance(domain, Outlined) and not domain.loops:
        notes.append(SHAPE_UNKNOWN)
    if problem is not None and not inner:
        notes.append(NO_INNER_CONDITION)
    return {
        "axes": [_axis(axis, interval) for axis, interval in domain.intervals.items()],
        "kind": sampling.kind,
        "size": sampling.size,
        "pairs": sampling.pairs,
        "places": first_places(domain, sampling.size),
        "shape": shape_data(domain, sampling.x, inside, sampling.size),
        "components": components,
        "quantities": quantities,
        "resolution": sampling.words,
        "notes": notes,
    }


def _axis(name: str, interval: Interval) -> dict[str, Any]:
    said: dict[str, Any] = {"name": name, "low": interval[0], "high": interval[1]}
    if isinstance(interval, Parameter):
        said |= {"parameter": True, "log": interval.log}
    return said


def choose_sampling(domain: Domain, count: int, limit: int = FIELD_BYTES) -> Sampling:
    """As fine as `count` fields of single precision in base 64 may be within the limit."""
    values = limit * 3 // 16 // count
    dimension = domain.dimension
    size = min(_odd(_root(values, dimension)), FINEST.get(dimension, FINEST[3]))
    if dimension <= 2 or size >= COARSEST:
        lines = [even_places(interval, size) for interval in domain.intervals.values()]
        x = np.stack([g.ravel() for g in np.meshgrid(*lines, indexing="ij")], axis=1)
        along = "along each axis" if dimension > 1 else f"along {domain.axes[0]}"
        return Sampling("tensor", size, x, words=f"{size} points {along}")
    pairs = list(combinations(range(min(dimension, PLANE_AXES)), 2))
    size = min(_odd(_root(values // len(pairs), 2)), FINEST[2])
    x = np.concatenate([_plane(domain, pair, size) for pair in pairs])
    rest = "" if dimension <= PLANE_AXES else f"; planes along the first {PLANE_AXES} of {dimension} axes"
    words = f"{size} points along each axis, all other axes at their middle{rest}"
    return Sampling("planes", size, x, pairs, words)


def _plane(domain: Domain, pair: tuple[int, int], size: int) -> np.ndarray:
    x = np.tile(centre_of(domain), (size * size, 1))
    first, second = (even_places(domain.intervals[domain.axes[k]], size) for k in pair)
    x[:, pair[0]], x[:, pair[1]] = np.repeat(first, size), np.tile(second, size)
    return x


def _root(values: int, dimension: int) -> int:
    root = round(values ** (1 / dimension))
    return root if root**dimension <= values else root - 1


def _odd(size: int) -> int:
    """The middle of an axis is one of its points."""
    return size if size % 2 else size - 1


def _by_name(solution: Reached, values: Any) -> dict[str, np.ndarray]:
    return values if isinstance(values, dict) else {solution.model.sought.unknowns[0].name: values}


def _exact(problem: Problem | None, x: np.ndarray) -> tuple[dict[str, np.ndarray], list[str]]:
    """The known solution, or why there is none."""
    if problem is None:
        return {}, [STATED_ELSEWHERE]
    try:
        known = problem.exact(x)
    except Exception as error:  # a user's function may not be defined on the edge of the domain
        return {}, [f"The known solution cannot be evaluated everywhere: {error}"]
    return ({}, [NO_SOLUTION]) if known is None else (real_parts(known), [])
