"""Jumps: where sources and other known functions of a problem, or their slopes, are not continuous along an axis.

A force that is switched on, a wall that is heated from some moment on, a rod of two materials: the equation is smooth
on both sides, and its solution has a kink in between that no smooth model follows. The functions are known, so the
places can be found before anything is trained, to rounding: by bisection.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anagram.errors import ProblemError, ProblemWarning
from anagram.statement.condition import source_rows
from anagram.statement.domains import Box, Kronecker, PointSet
from anagram.statement.evaluation import evaluate_many
from anagram.statement.expressions import Apply, Coordinate, Leaf, Node, Number, Unknown, everything, postorder

if TYPE_CHECKING:
    from anagram.statement.problem import Problem

LINES = 3  # parallel to an axis, along which functions are looked at: a jump lies at the same place on all of them
NODES = 513  # on a line
SHARPER = 6.0  # times as much must a function change from one node to the next as beside it, to be looked at
FEWEST = 1e-3  # of the range of a function: smaller jumps are left to the model
MOST = 32  # jumps of a problem; where there are more of them it is rough, and nothing is gained by cutting it
HALVINGS = 50  # of the interval between two nodes: down to rounding
KEPT = 0.4  # of the change between two nodes is left when they have come together; a jump may have a middle value
SAME = 1e-9  # of an axis: places that are one
SLOPES = 0.02  # of the range of slopes: kinks that are weaker are left to the model
CLOSER, LOOKS = 1 / 16, 4  # the neighbourhood of a kink from one look to the next

Line = Callable[[np.ndarray], np.ndarray]  # values (n, functions) at places along an axis


@dataclass(frozen=True)
class Jump:
    """A plane across one axis at which known functions of the equations jump.

    Attributes:
        axis: the name of the axis.
        place: where on it.
        order: the derivative of the solution along it that jumps: the highest one in these equations; where slopes of
            known functions jump, the next one.
    """

    axis: str
    place: float
    order: int


@functools.lru_cache(maxsize=64)
def jumps_inside(problem: Problem) -> tuple[Jump, ...]:
    """Where the equations themselves jump, along the axes of a box that are not periodic."""
    domain = problem.domain
    if not isinstance(domain, Box):
        return ()
    found: dict[tuple[str, float], int] = {}
    for axis in domain.axes:
        if axis in domain.periodic_axes or axis in domain.parameter_axes:
            continue
        k, length = domain.axes.index(axis), float(domain.lengths[domain.axes.index(axis)])
        for key in problem.inside:
            order = max((u.index[k] for u in everything(problem.expressions[key]) if isinstance(u, Unknown)), default=0)
            lines = _lines(problem, key, axis)
            for more, places in enumerate(_jumps_and_kinks(lines, domain.intervals[axis])):
                for place in places:
                    known = next((p for a, p in found if a == axis and abs(p - place) < SAME * length), place)
                    found[axis, known] = min(found.get((axis, known), order + more), order + more)
    return tuple(Jump(*where, order) for where, order in sorted(found.items())) if len(found) <= MOST else ()


@functools.lru_cache(maxsize=64)
def jumps_along(problem: Problem, axis: str) -> tuple[float, ...]:
    """The places on an axis at which anything that the problem gives jumps: equations, walls, known fields."""
    interval, found = problem.domain.intervals[axis], set()
    for key in problem.conditions:
        parts = problem.region(key).parts
        if not isinstance(problem.region(key), PointSet) and all(
            part.end is None or part.end[0] != axis for part in parts
        ):
            found |= {place for some in _jumps_and_kinks(_lines(problem, key, axis), interval) for place in some}
    apart = SAME * (interval[1] - interval[0])
    places = [p for k, p in enumerate(sorted(found)) if k == 0 or p - sorted(found)[k - 1] > apart]
    return tuple(places) if len(places) <= MOST else ()


def warn_of_lost_jumps(problem: Problem) -> None:
    """Warn where an equation differentiates a known function which jumps: what the jump does is not in the equation."""
    for key, axis, place in _lost_jumps(problem):
        warnings.warn(
            f"condition '{key}' differentiates a function that jumps at {axis} = {place:.6g}, and the jump is lost: "
            "make what is differentiated an unknown of its own, or state an interface there",
            ProblemWarning,
            stacklevel=4,
        )
        return


def _lost_jumps(problem: Problem) -> Iterator[tuple[str, str, float]]:
    domain = problem.domain
    for key in problem.inside:
        for node in everything(problem.expressions[key]):
            if not isinstance(node, Leaf) or not any(node.index):
                continue
            plain = Leaf(node.source, node.component, (0,) * len(node.index))
            for k, axis in enumerate(domain.axes):
                if node.index[k] and axis not in domain.periodic_axes:
                    lines = [_of_node(plain, x, k) for x in _starts(problem, key)]
                    for place in _shared(_jumps_of, lines, domain.intervals[axis]):
                        yield key, axis, place


# -- functions along lines ----------------------------------------------------------------------------------
def _lines(problem: Problem, key: str, axis: str) -> list[Line]:
    """The source of a condition and the known fields in it along lines, all functions of a line together."""
    k, region, components = problem.domain.axes.index(axis), problem.region(key), problem.components[key]
    source, fields = problem.sources[key], list(_known_fields(problem.expressions[key]))
    sources = source if isinstance(source, tuple | list) else (source,)
    has_source = any(callable(one) for one in sources) and axis in region.axes

    def values(start: np.ndarray, places: np.ndarray) -> np.ndarray:
        x = np.repeat(start[None], len(places), axis=0)
        x[:, k] = places
        columns = [np.zeros((len(places), 1))]
        if has_source:
            columns.append(source_rows(source, region, x, components, f"condition '{key}'"))
        columns += [_of_node(node, start, k)(places) for node in fields]
        return np.concatenate(columns, axis=1)

    if not has_source and not fields:
        return []
    return [functools.partial(values, start) for start in _starts(problem, key)]


def _starts(problem: Problem, key: str) -> np.ndarray:
    """Points of a condition through which lines are laid."""
    return problem.region(key).draw(Kronecker(LINES), np.random.default_rng(1)).x[:LINES]


def _of_node(node: Node, start: np.ndarray, axis: int) -> Line:
    """An expression without unknowns along a line; both parts of complex values."""

    def values(places: np.ndarray) -> np.ndarray:
        x = np.repeat(start[None], len(places), axis=0)
        x[:, axis] = places
        found = np.broadcast_to(evaluate_many([node], x)[0], (len(places),))
        return np.stack([np.real(found), np.imag(found)] if np.iscomplexobj(found) else [found], axis=1)

    return values


def _known_fields(roots: tuple[Node, ...] | list[Node]) -> Iterator[Node]:
    """The largest parts of expressions that are known functions of the point."""
    is_known: dict[int, bool] = {}
    for node in postorder(roots):
        plain = isinstance(node, Number | Coordinate | Leaf)
        is_known[id(node)] = plain or (
            isinstance(node, Apply) and not node.beyond and all(is_known[id(o)] for o in node.operands)
        )
    inside = {id(o) for node in postorder(roots) if is_known[id(node)] for o in node.operands}
    for node in postorder(roots):
        if is_known[id(node)] and id(node) not in inside and not isinstance(node, Number | Coordinate):
            yield node


# -- places ---------------------------------------------------------------------------------------------------
def _jumps_and_kinks(lines: list[Line], interval: tuple[float, float]) -> tuple[list[float], list[float]]:
    return _shared(_jumps_of, lines, interval), _shared(_kinks_of, lines, interval)


def _shared(
    find: Callable[[Line, tuple[float, float]], np.ndarray], lines: list[Line], interval: tuple[float, float]
) -> list[float]:
    """The places that are found at the same place on all lines."""
    found: list[np.ndarray] = []
    for line in lines:
        try:
            found.append(find(line, interval))
        except ProblemError:  # a source that is not finite there: it is said elsewhere if that matters
            return []
        if not len(found[-1]):
            return []
    if not found:
        return []
    apart = SAME * (interval[1] - interval[0])
    return [p for p in found[0].tolist() if all(np.min(np.abs(other - p)) < apart for other in found[1:])]


def _nodes(interval: tuple[float, float]) -> np.ndarray:
    """Uneven ends: jumps are often at halves and quarters, where a node of its own would tell little."""
    low, high = interval
    return low + (high - low) * np.linspace(1e-4, 1 - 1.7e-4, NODES)


def _jumps_of(line: Line, interval: tuple[float, float]) -> np.ndarray:
    """Where values jump."""
    places = _nodes(interval)
    values = line(places)
    changes = np.abs(np.diff(values, axis=0))
    size = np.ptp(values, axis=0)
    beside = np.maximum(np.pad(changes, ((1, 0), (0, 0)))[:-1], np.pad(changes, ((0, 1), (0, 0)))[1:])
    cells, columns = np.nonzero((changes > SHARPER * beside) & (changes > FEWEST * size) & (size > 0))
    if not 0 < len(cells) <= MOST:
        return np.empty(0)
    a, b, rows = places[cells], places[cells + 1], np.arange(len(cells))
    at_a, at_b, whole = values[cells, columns], values[cells + 1, columns], changes[cells, columns]
    for _ in range(HALVINGS):
        middle = (a + b) / 2
        here = line(middle)[rows, columns]
        left = np.abs(here - at_a) > np.abs(at_b - here)
        a, b = np.where(left, a, middle), np.where(left, middle, b)
        at_a, at_b = np.where(left, at_a, here), np.where(left, here, at_b)
    return np.unique(b[np.abs(at_b - at_a) > KEPT * whole])


def _kinks_of(line: Line, interval: tuple[float, float]) -> np.ndarray:
    """Where slopes jump and values do not: where parabolas through the nodes on both sides meet."""
    places = _nodes(interval)
    values, width = line(places), places[1] - places[0]
    slopes = np.diff(values, axis=0)
    # Of the cell between nodes k and k + 1: how the slope after it differs from that before it.
    bends = np.abs(slopes[2:] - slopes[:-2])
    far = np.pad(bends, ((3, 3), (0, 0)))
    sharp = (bends > SHARPER * np.maximum(far[:-6], far[6:])) & (bends > SLOPES * np.ptp(slopes, axis=0))
    sharp &= np.abs(slopes[1:-1]) <= SHARPER * np.maximum(np.abs(slopes[2:]), np.abs(slopes[:-2]))  # no jump
    # Cells beside the one with the kink see it too, and less of it.
    next_to = np.pad(bends, ((1, 1), (0, 0)))
    cells, columns = np.nonzero(sharp & (bends >= next_to[:-2]) & (bends >= next_to[2:]))
    if not 0 < len(cells) <= MOST:
        return np.empty(0)
    found = []
    for cell, column in zip(cells + 1, columns, strict=True):
        place, near, bend = (places[cell] + places[cell + 1]) / 2, width, bends[cell - 1, column] / width
        for look in range(LOOKS):
            place, now = _met(lambda x, c=column: line(x)[:, c], place, near)
            if not abs(now) > KEPT * bend:
                break
            near *= CLOSER if look < LOOKS - 1 else 1.0
        else:
            found.append(place)
    low, high = interval
    return np.unique([place for place in found if low < place < high])


def _met(function: Callable[[np.ndarray], np.ndarray], place: float, near: float) -> tuple[float, float]:
    """Where the parabolas through three nodes on each side meet, and by how much their slopes differ there."""
    steps = near * np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
    values = function(place + steps)
    difference = np.polyfit(steps[3:] / near, values[3:], 2) - np.polyfit(steps[:3] / near, values[:3], 2)
    slope = difference[1]
    if slope == 0 or not np.all(np.isfinite(difference)):
        return place, 0.0
    moved = 0.0
    for _ in range(3):  # Newton's method
        moved -= np.polyval(difference, moved) / np.polyval(np.polyder(difference), moved)
    if not abs(moved) <= 1:
        return place, 0.0
    return float(place + near * moved), float(np.polyval(np.polyder(difference), moved) / near)
