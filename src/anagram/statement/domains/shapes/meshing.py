"""Any outline in the plane cut into patches: triangles between its corners, joined in pairs, with curved sides."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anagram.statement.domains.chart import UNIT, Chart, draw_unit
from anagram.statement.domains.rules import GaussLegendre
from anagram.statement.domains.shapes.curves import Curve, Fan, Line
from anagram.statement.domains.shapes.rings import crossing
from anagram.statement.domains.shapes.sheets import Sheet, cross
from anagram.statement.domains.shapes.triangles import Edge, Triangle, Triangulation

TURN = 1.8  # radians by which a side of a patch turns, at most
GOOD = 0.3  # sine of the angle between the directions of a patch with four sides, at least
ROUNDS = 12  # of cutting curves into shorter ones


class Sides(NamedTuple):
    """An outline as a polygon: its corners (n, 2), and a curve for each edge."""

    x: np.ndarray
    edges: dict[Edge, Curve]


def mesh(outer: Sequence[Curve], holes: Sequence[Sequence[Curve]]) -> list[Chart]:
    """Charts of what lies inside of a loop and outside of others; [] if there is no way to find them."""
    loops = [[part for curve in loop for part in _short(curve)] for loop in (outer, *holes)]
    for _ in range(ROUNDS):
        sides = _sides(loops)
        if (
            sides is None
            or crossing([np.array([c.at(np.zeros(1))[0] for c in loop]) for loop in loops], False) is not None
        ):
            loops = _finer(loops, _bulging(loops))
            continue
        triangles = Triangulation(sides.x, list(sides.edges)).inside
        charts, bad = _charts(triangles, sides)
        if triangles and not bad:
            return charts
        loops = _finer(loops, {id(sides.edges[e]) for e in bad} or _bulging(loops))
    return []


def _short(curve: Curve) -> list[Curve]:
    """A curve cut into parts that turn by little; a closed one into three at least."""
    if curve.straight:
        return [curve]
    slope = curve.slope(curve.edges)
    turns = np.abs(np.arctan2(cross(slope[:-1], slope[1:]), np.sum(slope[:-1] * slope[1:], axis=1)))
    count = max(4 if curve.closed else 1, int(np.ceil(turns.sum() / TURN)))
    if count == 1:
        return [curve]
    # Each part turns by the same amount, or nearly: half by turning, half by length of the parameter.
    progress = np.concatenate([[0], np.cumsum(turns)]) / turns.sum() + curve.edges
    cuts = np.interp(np.linspace(0, 2, count + 1), progress, curve.edges)
    return [curve.piece(a, b) for a, b in itertools.pairwise(cuts)]


def _finer(loops: list[list[Curve]], which: set[int]) -> list[list[Curve]]:
    """Loops in which some curves, by their ids, are halved."""

    def halves(curve: Curve) -> list[Curve]:
        if curve.straight or id(curve) not in which:
            return [curve]
        return [curve.piece(0.0, 0.5), curve.piece(0.5, 1.0)]

    return [[half for curve in loop for half in halves(curve)] for loop in loops]


def _bulging(loops: list[list[Curve]]) -> set[int]:
    """The curves that leave their chords most, by their ids."""
    away = {}
    for curve in (curve for loop in loops for curve in loop):
        a, b, c = curve.at(np.array([0.0, 0.5, 1.0]))
        away[id(curve)] = np.linalg.norm(b - (a + c) / 2)
    return {key for key, value in away.items() if value >= 0.6 * max(away.values())}


def _sides(loops: Sequence[Sequence[Curve]]) -> Sides | None:
    """Corners, of which those at one place are one, and directed edges; None if two edges join the same corners."""
    starts = np.array([curve.at(np.zeros(1))[0] for loop in loops for curve in loop])
    size = np.ptp(starts, axis=0).max()
    number: list[int] = []
    kept: list[np.ndarray] = []
    for x in starts:
        near = np.flatnonzero(np.linalg.norm(np.array(kept) - x, axis=1) <= 1e-8 * size) if kept else []
        number.append(int(near[0]) if len(near) else len(kept))
        if not len(near):
            kept.append(x)
    edges: dict[Edge, Curve] = {}
    first = 0
    for loop in loops:
        mine = number[first : first + len(loop)]
        first += len(loop)
        for a, b, curve in zip(mine, [*mine[1:], mine[0]], loop, strict=True):
            if a == b or (a, b) in edges or (b, a) in edges:
                return None
            edges[a, b] = curve
    return Sides(np.array(kept), edges)


def _charts(triangles: Sequence[Triangle], sides: Sides) -> tuple[list[Chart], list[Edge]]:
    """Charts of triangles, two and two together where that is good; and edges that have to be cut for the others."""
    at: dict[Edge, Triangle] = {}
    for a, b, c in triangles:
        at |= {(a, b): (a, b, c), (b, c): (b, c, a), (c, a): (c, a, b)}
    joined: dict[Triangle, dict[Triangle, tuple[float, Sheet]]] = {_key(t): {} for t in triangles}
    for (a, b), (_, _, c) in at.items():
        if a < b and (b, a) in at and (a, b) not in sides.edges and (b, a) not in sides.edges:
            d = at[b, a][2]
            sheet = Sheet((_side(sides, a, d), _side(sides, d, b), _side(sides, b, c), _side(sides, c, a)))
            quality = _quality(sheet)
            if quality >= GOOD:
                one, two = _key((a, b, c)), _key((b, a, d))
                joined[one][two] = joined[two][one] = (quality, sheet)
    charts: list[Chart] = []
    bad: list[Edge] = []
    left = set(joined)
    # Those with the fewest neighbours first, so that few remain alone; each with the best of them.
    waiting = [(len(others), triangle) for triangle, others in joined.items()]
    heapq.heapify(waiting)
    while waiting:
        count, one = heapq.heappop(waiting)
        free = [other for other in joined[one] if other in left]
        if one not in left or not free or len(free) != count:
            continue
        two = max(free, key=lambda other: joined[one][other][0])
        charts.append(joined[one][two][1])
        left -= {one, two}
        for near in {t for gone in (one, two) for t in joined[gone] if t in left}:
            heapq.heappush(waiting, (sum(other in left for other in joined[near]), near))
    for triangle in joined:
        if triangle in left:
            fans = _fans(triangle, sides)
            charts += fans
            if not fans:
                a, b, c = triangle
                curved = [e for e in ((a, b), (b, c), (c, a)) if e in sides.edges and not sides.edges[e].straight]
                bad += curved
    return charts, bad


def _key(triangle: Triangle) -> Triangle:
    a, b, c = triangle
    return min((a, b, c), (b, c, a), (c, a, b))


def _side(sides: Sides, a: int, b: int) -> Curve:
    return sides.edges[a, b] if (a, b) in sides.edges else Line(sides.x[a], sides.x[b])


def _quality(sheet: Sheet) -> float:
    """The smallest sine of the angle between the directions of a patch."""
    s, _ = draw_unit(GaussLegendre(8), (UNIT, UNIT))
    corners = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    _, along, up = sheet.with_slopes(np.concatenate([s, corners]))
    lengths = np.linalg.norm(along, axis=1) * np.linalg.norm(up, axis=1)
    return float(np.min(cross(along, up) / np.maximum(lengths, 1e-300)))


def _fans(triangle: Triangle, sides: Sides) -> Sequence[Fan | Sheet]:
    """A triangle with curved sides by fans: one from a corner if one side is curved, else three from its middle."""
    a, b, c = triangle
    curved = [e for e in ((a, b), (b, c), (c, a)) if e in sides.edges and not sides.edges[e].straight]
    if len(curved) <= 1:
        (p, q) = curved[0] if curved else (a, b)
        fan = Fan(sides.x[({a, b, c} - {p, q}).pop()], _side(sides, p, q))
        return [fan] if _opens(fan) else []
    center = np.mean([_side(sides, p, q).at(np.array([0.0, 0.5])) for p, q in ((a, b), (b, c), (c, a))], axis=(0, 1))
    fans = [Fan(center, _side(sides, p, q)) for p, q in ((a, b), (b, c), (c, a))]
    if all(_opens(fan) for fan in fans):
        return fans
    return _cusp(triangle, sides) if len(curved) == 2 else []


def _cusp(triangle: Triangle, sides: Sides) -> list[Sheet]:
    """A triangle with two curved sides that may touch where they meet: straight lines join them."""
    corner = next(
        p
        for p, q, r in (triangle, triangle[1:] + triangle[:1], triangle[2:] + triangle[:2])
        if not _side(sides, p, q).straight and not _side(sides, r, p).straight
    )
    k = triangle.index(corner)
    p, q, r = triangle[k:] + triangle[:k]
    point = Line(sides.x[p], sides.x[p])
    sheet = Sheet((_side(sides, p, q), _side(sides, q, r), _side(sides, r, p), point))
    s, _ = draw_unit(GaussLegendre(12), (UNIT, UNIT))
    _, along, up = sheet.with_slopes(s)
    return [sheet] if np.all(cross(along, up) > 0) else []


def _opens(fan: Fan) -> bool:
    """Whether the curve of a fan goes round its apex, counterclockwise and nowhere along a ray."""
    t = (np.arange(24) + 0.5) / 24  # at its ends it may begin along a ray: there the set has a cusp
    turn = cross(fan.curve.at(t) - fan.apex, fan.curve.slope(t))
    return bool(np.all(turn > 0.01 * turn.mean()))
