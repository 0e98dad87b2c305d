"""Evolutions cut along time: the problem on a stretch, which begins where the last one ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from anagram.errors import SettingError
from anagram.statement.beyond import Elsewhere
from anagram.statement.condition import Condition, source_rows
from anagram.statement.domains import Along, Box, Domain, PointSet, Region, Union
from anagram.statement.domains.cutting import begins, can_be_cut, cut_domain, cut_region
from anagram.statement.domains.intervals import edges_along
from anagram.statement.domains.shape import Product
from anagram.statement.expressions import Unknown as Read
from anagram.statement.expressions import everything
from anagram.statement.problem import Problem
from anagram.statement.sizes import unknowns_in

# By unknown, its value and its derivatives along the axis where a stretch begins: numbers, or functions of the point.
State = Mapping[str, Sequence[Any]]
# A number of stretches, or the edges between them; along another axis than time by its name.
Stretches = int | tuple[float, ...] | dict[str, int | tuple[float, ...]]

SHOWN = 3  # axes that a message speaks of
MOST = 1000  # stretches that can be asked for
EXACTLY = 1e-9  # relative: measures of parts of a face that add up to it


def evolution_axis(problem: Problem) -> str | None:
    """The axis along which a problem evolves from its beginning; None if there is none.

    Its conditions hold where the axis begins, as many as the derivatives along it ask for, or all along it. What
    the axis is called does not matter; where there are several, as for waves that travel one way, it is the first.
    """
    return next((axis for axis in problem.domain.axes if _obstacle(problem, axis) is None), None)


def why_no_evolution(problem: Problem) -> str:
    """Why a problem does not evolve along any axis, in words."""
    axes = [axis for axis in problem.domain.axes if axis not in problem.domain.parameter_axes]
    found = [f"along {axis}, {_obstacle(problem, axis)}" for axis in axes[:SHOWN]]
    return _in_general(problem) or "; ".join(found)


def stretch_edges(problem: Problem, stretches: Stretches) -> tuple[str, list[float]]:
    """The axis that is cut, and where the stretches begin and end that were asked for.

    They are given by their number or by the edges between them: along time, or along a parameter that is named.
    """
    stretches = checked_stretches(stretches)
    axis = _named_axis(problem, stretches) if isinstance(stretches, dict) else evolution_axis(problem)
    if axis is None:
        raise SettingError(
            f"stretches= cuts an evolution along time, and '{problem.name}' is none: {why_no_evolution(problem)}"
        )
    wanted = stretches[axis] if isinstance(stretches, dict) else stretches
    interval = problem.domain.intervals[axis]
    low, high = interval
    if isinstance(wanted, int):
        return axis, edges_along(interval, wanted)
    if not low < wanted[0] <= wanted[-1] < high:
        raise SettingError(
            f"stretches={list(wanted)}: edges between stretches lie inside of {axis}, between {low:g} and {high:g}"
        )
    return axis, [low, *wanted, high]


def _named_axis(problem: Problem, stretches: Mapping[str, Any]) -> str:
    """The parameter that is to be cut, by its name; time may be named, too."""
    (axis,) = stretches
    if axis == evolution_axis(problem):
        return axis
    if axis not in problem.domain.parameter_axes:
        known = ", ".join(problem.domain.parameter_axes) or "none"
        raise SettingError(
            f"stretches={{{axis!r}: …}} cuts time or a parameter, and '{axis}' is neither; the parameters: {known}"
        )
    obstacle = _in_general(problem) or _member_obstacle(problem, axis)
    if obstacle is not None:
        raise SettingError(f"'{problem.name}' cannot be cut along {axis}: {obstacle}")
    return axis


def _member_obstacle(problem: Problem, axis: str) -> str | None:
    """What keeps members of a family from being solved without the others."""
    k, whole = problem.domain.axes.index(axis), problem.domain.intervals[axis]
    low, high = edges_along(whole, 2)[:2]
    part = cut_domain(problem.domain, axis, low, high)
    if part is None:
        return "the domain is not the same for all of its values"
    for key, condition in problem.conditions.items():
        nodes, region = problem.expressions[key], problem.region(key)
        if any(isinstance(node, Elsewhere) and k in dict(node.places) for node in everything(nodes)):
            return f"'{key}' looks at other members"
        if any(read.index[k] for node in nodes for read in unknowns_in(node)):
            return f"'{key}' has a derivative along it"
        if condition.on is None:
            continue
        if isinstance(region, PointSet) or cut_region(region, part, axis, whole) is None:
            return f"'{key}' does not hold for all of its values alike"
    return None


def checked_stretches(stretches: Any) -> Stretches:
    """What was given as stretches; an error if it is neither their number nor the edges between them."""
    if isinstance(stretches, dict):
        if len(stretches) != 1 or not all(isinstance(axis, str) for axis in stretches):
            raise SettingError(
                f'stretches= names one axis, as in stretches={{"nu": 4}} or {{"nu": [0.03, 0.1]}}, not {stretches!r}'
            )
        return {axis: _counted(given) for axis, given in stretches.items()}
    return _counted(stretches)


def _counted(stretches: Any) -> int | tuple[float, ...]:
    if isinstance(stretches, int | np.integer) and not isinstance(stretches, bool) and 2 <= stretches <= MOST:
        return int(stretches)
    if isinstance(stretches, list | tuple | np.ndarray) and 0 < len(stretches) < MOST:
        numbers = all(isinstance(e, int | float | np.number) and not isinstance(e, bool) for e in stretches)
        if numbers and np.all(np.isfinite(stretches)) and np.all(np.diff(stretches) > 0):
            return tuple(float(e) for e in stretches)
    raise SettingError(
        f"stretches= is a number of equal stretches, 2 to {MOST}, or the edges between them, as in [0.25, 0.5], "
        f"not {stretches!r}"
    )


def orders(problem: Problem, axis: str) -> dict[str, int]:
    """The highest derivative of each unknown along an axis."""
    k, found = problem.domain.axes.index(axis), {u.name: 0 for u in problem.unknowns}
    for key in problem.conditions:
        for node in problem.expressions[key]:
            for read in unknowns_in(node):
                found[read.name] = max(found[read.name], read.index[k])
    return found


def stretch(problem: Problem, axis: str, low: float, high: float, state: State | None) -> Problem:
    """The problem between two ends of an axis, from a state at the lower one; without a state, from its own."""
    domain = cut_domain(problem.domain, axis, low, high)
    assert isinstance(domain, Box | Product)
    conditions: dict[str, Condition] = {}
    beginning = None if state is None else _beginning(problem, axis)
    for key, condition in problem.conditions.items():
        region = problem.region(key)
        # Sources are functions that may have been compiled already.
        equals, weight, on = problem.sources[key], condition.weight, None
        if state is not None and key in (beginning or {}):
            # The same condition with other values: its equation, and so its program, is that of the first stretch.
            values = [state[name][order] for name, order in (beginning or {})[key]]
            equals, on = values[0] if len(values) == 1 else tuple(values), domain.face(**{axis: low})
        elif condition.on is not None:
            on = _placed(problem, region, domain, axis, begun=state is not None)
            if on is None:
                continue
        conditions[key] = Condition(condition.operator, on, equals, weight, condition.exact)
    if state is not None and beginning is None:
        for name, values in state.items():
            for order, value in enumerate(values):
                weight = _weight_at_beginning(problem, axis, name, order)
                begins_here = domain.face(**{axis: low})
                conditions[f"{name} begins, {order}"] = Condition(
                    _begins(name, axis, order), begins_here, value, weight
                )
    kinds = {u.name: complex if u.is_complex else float for u in problem.unknowns}
    part = Problem(domain, conditions, unknowns=kinds, name=problem.name)
    return part.restated(weights={key: problem.weight(key) for key in conditions if _is_multiplied(problem, key)})


def held_at_beginning(problem: Problem, axis: str) -> Callable[[np.ndarray], dict[str, np.ndarray]] | None:
    """The unknowns as they are where an axis begins, at all of its places; None where they are not given one by one."""
    known = _beginning(problem, axis)
    values = {
        name: (key, k) for key, reads in (known or {}).items() for k, (name, order) in enumerate(reads) if not order
    }
    if known is None or set(values) != {u.name for u in problem.unknowns}:
        return None
    column, low = problem.domain.axes.index(axis), problem.domain.intervals[axis][0]

    def held(x: np.ndarray) -> dict[str, np.ndarray]:
        there = x.copy()
        there[:, column] = low
        return {name: _source_at(problem, key, there)[k] for name, (key, k) in values.items()}

    return held


def _source_at(problem: Problem, key: str, x: np.ndarray) -> list[np.ndarray]:
    """The source of a condition at points, by component; complex ones from their two real parts."""
    rows = source_rows(problem.sources[key], problem.region(key), x, problem.components[key], f"condition '{key}'")
    columns = iter(np.asarray(rows).T)
    return [
        next(columns) + 1j * next(columns) if is_complex else next(columns) for is_complex in problem.components[key]
    ]


def _is_multiplied(problem: Problem, key: str) -> bool:
    """Whether there is a number in front of a weight that is a function of the point."""
    known = problem.conditions.get(key)
    return known is not None and known.is_weighted_by_position and problem.weight(key) != 1


def _begins(name: str, axis: str, order: int) -> Callable[..., Any]:
    return lambda **fields: fields[name].d(*[axis] * order) if order else fields[name]


def _placed(problem: Problem, region: Region, domain: Domain, axis: str, *, begun: bool) -> Region | None:
    """Where a condition holds on a stretch; None if that is where the first one began, and this one is another."""
    whole = problem.domain.intervals[axis]
    if isinstance(region, PointSet):
        return _moved(region, domain, axis, whole)
    kept = [part for part in region.parts if not (begun and begins(part, axis, whole[0]))]
    if not kept:
        return None
    return cut_region(region if len(kept) == len(region.parts) else Union(tuple(kept)), domain, axis, whole)


def _moved(points: PointSet, domain: Domain, axis: str, whole: tuple[float, float]) -> PointSet:
    """As many points in a stretch as there are all along the axis, in the same order."""
    k, (low, high) = domain.axes.index(axis), domain.intervals[axis]
    x = points.x.copy()
    x[:, k] = np.clip(low + (high - low) * (x[:, k] - whole[0]) / (whole[1] - whole[0]), low, high)
    return PointSet(points.axes, x)


def _beginning(problem: Problem, axis: str) -> dict[str, list[tuple[str, int]]] | None:
    """By condition, which value or derivative of which unknown its components give where the axis begins.

    None if they give something else there, such as sums of unknowns.
    """
    k, found = problem.domain.axes.index(axis), {}
    low = problem.domain.intervals[axis][0]
    for key in problem.conditions:
        if not any(begins(part, axis, low) for part in problem.region(key).parts):
            continue
        if abs(_share(problem, key, axis) - 1) > EXACTLY or not all(
            begins(part, axis, low) for part in problem.region(key).parts
        ):
            return None
        nodes = problem.expressions[key]
        if not all(isinstance(node, Read) and sum(node.index) == node.index[k] for node in nodes):
            return None
        found[key] = [(node.name, node.index[k]) for node in nodes if isinstance(node, Read)]
    given = [one for several in found.values() for one in several]
    needed = [(name, order) for name, count in orders(problem, axis).items() for order in range(count)]
    return found if sorted(given) == sorted(needed) else None


def _weight_at_beginning(problem: Problem, axis: str, name: str, order: int) -> Any:
    """The weight of the condition that gives an unknown, or its derivative, its values where the axis begins."""
    k, low = problem.domain.axes.index(axis), problem.domain.intervals[axis][0]
    for key, condition in problem.conditions.items():
        if any(begins(part, axis, low) for part in problem.region(key).parts):
            read = [u for node in problem.expressions[key] for u in unknowns_in(node)]
            if any(u.name == name and u.index[k] == order for u in read):
                return condition.weight
    return None


# -- what can be cut --------------------------------------------------------------------------------------
def _in_general(problem: Problem) -> str | None:
    """What keeps a problem from being cut along any axis."""
    if problem.coefficients:
        return "it has unknown coefficients, which depend on all of the solution"
    parts = [u.name for u in problem.unknowns if u.on is not None]
    if parts:
        return f"'{parts[0]}' lives on a part of the domain"
    flat = [u.name for u in problem.unknowns if u.along is not None]
    return f"'{flat[0]}' does not depend on all axes" if flat else None


def _obstacle(problem: Problem, axis: str) -> str | None:
    """What keeps a problem from being cut along an axis; None if nothing does."""
    domain = problem.domain
    if axis in domain.parameter_axes or not can_be_cut(domain, axis):
        return "the domain has no beginning"
    in_time = orders(problem, axis)
    found = [_in_general(problem), *(_condition_obstacle(problem, key, axis, in_time) for key in problem.conditions)]
    if any(found):
        return next(o for o in found if o)
    needed, begun = sum(in_time.values()), sum(_begun(problem, key, axis, in_time) for key in problem.conditions)
    if needed == 0:
        return "no equation has a derivative"
    return None if abs(begun - needed) < EXACTLY * needed else f"{begun:g} of {needed} beginning values are given"


def _condition_obstacle(problem: Problem, key: str, axis: str, in_time: Mapping[str, int]) -> str | None:
    domain, region, nodes = problem.domain, problem.region(key), problem.expressions[key]
    k, whole = domain.axes.index(axis), domain.intervals[axis]
    # What looks elsewhere in time is not known before the whole solution is.
    if any(isinstance(node, Elsewhere) and k in dict(node.places) for node in everything(nodes)):
        return f"'{key}' looks at other moments"
    if region is domain or (isinstance(region, Along) and axis not in region.held):
        return None
    if isinstance(region, PointSet):
        timeless = not any(in_time[u.name] for node in nodes for u in unknowns_in(node))
        free = timeless and not _has_arrays(problem.sources[key]) and np.ndim(problem.conditions[key].weight) == 0
        return None if free else f"'{key}' gives values at points"
    if problem.conditions[key].exact and any(begins(part, axis, whole[0]) for part in region.parts):
        return f"'{key}' holds exactly at the beginning, where other stretches could not: leave exact= out"
    rest = [part for part in region.parts if cut_region(part, domain, axis, whole) is None]
    if not rest:
        return None
    return f"'{key}' holds at its end" if rest[0].end == (axis, True) else f"'{key}' holds on {rest[0]!r}, a part of it"


def _has_arrays(source: Any) -> bool:
    parts = source if isinstance(source, tuple | list) else [source]
    return any(not callable(part) and np.ndim(part) > 0 for part in parts)


def _begun(problem: Problem, key: str, axis: str, in_time: Mapping[str, int]) -> float:
    """How many values a condition gives where the axis begins; those of unknowns that do not evolve do not count."""
    rows = sum(any(in_time[u.name] for u in unknowns_in(node)) for node in problem.expressions[key])
    return rows * _share(problem, key, axis)


def _share(problem: Problem, key: str, axis: str) -> float:
    """How much of the face where an axis begins a condition holds on."""
    low, high = problem.domain.intervals[axis]
    return sum(_measures(problem.region(key), axis, low)) * (high - low) / problem.domain.measure


def _measures(region: Region, axis: str, low: float) -> Iterator[float]:
    return (part.measure for part in region.parts if begins(part, axis, low))
