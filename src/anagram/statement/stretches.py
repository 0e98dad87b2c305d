"""Evolutions cut along time: the problem on a stretch, which begins where the last one ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anagram.statement.beyond import looks_beyond
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, Face
from anagram.statement.problem import Problem
from anagram.statement.sizes import unknowns_in

# By unknown, its value and its derivatives along the axis where a stretch begins.
State = Mapping[str, tuple[complex, ...]]


def evolution_axis(problem: Problem) -> str | None:
    """The axis along which an ordinary differential equation evolves from one end; None if it does not.

    All conditions besides the equation hold at one end, and there are as many as its order asks for.
    """
    domain = problem.domain
    if domain.dimension != 1 or domain.periodic_axes or problem.coefficients:
        return None
    if any(u.on is not None for u in problem.unknowns):
        return None
    # What looks beyond its point is not known before the whole solution is.
    if any(looks_beyond(nodes) for nodes in problem.expressions.values()):
        return None
    begun = 0
    for key in problem.conditions:
        region = problem.region(key)
        if region is domain:
            continue
        if not isinstance(region, Face) or region.upper:
            return None
        begun += len(problem.components[key])
    return domain.axes[0] if begun == sum(orders(problem).values()) else None


def orders(problem: Problem) -> dict[str, int]:
    """The highest derivative of each unknown."""
    found = {u.name: 0 for u in problem.unknowns}
    for key in problem.conditions:
        for node in problem.expressions[key]:
            for read in unknowns_in(node):
                found[read.name] = max(found[read.name], sum(read.index))
    return found


def stretch(problem: Problem, axis: str, low: float, high: float, state: State | None) -> Problem:
    """The problem between two ends of an axis, from a state at the lower one; without a state, from its own."""
    domain = Box(**{**problem.domain.intervals, axis: (low, high)})
    conditions: dict[str, Condition] = {}
    for key, condition in problem.conditions.items():
        region = problem.region(key)
        if region is problem.domain:
            conditions[key] = Condition(condition.operator, None, condition.equals, condition.weight)
        elif state is None:
            face = domain.face(**{axis: low})
            conditions[key] = Condition(condition.operator, face, condition.equals, condition.weight)
    face = domain.face(**{axis: low})
    for name, values in (state or {}).items():
        for order, value in enumerate(values):
            conditions[f"{name} begins, {order}"] = Condition(_begins(name, axis, order), face, value)
    kinds = {u.name: complex if u.is_complex else float for u in problem.unknowns}
    return Problem(domain, conditions, unknowns=kinds, name=problem.name)


def _begins(name: str, axis: str, order: int) -> Any:
    return lambda **fields: fields[name].d(*[axis] * order) if order else fields[name]
