"""Shapes in the plane covered by few charts, exactly: fans, rings and patches with four sides."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.chart import UNIT, Chart, draw_unit
from anagram.statement.domains.rules import GaussLegendre
from anagram.statement.domains.shapes.curves import Curve, Fan, Line
from anagram.statement.domains.shapes.meshing import mesh
from anagram.statement.domains.shapes.outlines import Loop, Outline
from anagram.statement.domains.shapes.sheets import Ring, Sheet, cross

FEW = 4  # curves of a loop that are joined to one point
MANY = 12  # curves around a ring that are joined to its other side
ROOMY = 0.12  # distance of a centre from the tangents around it, compared with the root of the area
WIDEST = 2 * np.pi / 3  # angle at which a patch of a ring is seen from its middle
EXACT = 1e-9  # relative difference of the area of all charts from that inside of the loops


def cover(loops: Sequence[Loop], shape: Any) -> list[Chart]:
    """Charts that cover what lies inside of loops, and do not overlap."""
    charts = [chart for outer, holes in components(loops) for chart in _covered(outer, holes)]
    area = sum(piece.curve.area for loop in loops for piece in loop)
    if not charts or _folded(charts) or abs(sum(chart.measure for chart in charts) - area) > EXACT * area:
        raise ProblemError(
            f"{shape!r} could not be cut into patches: some part of it is too thin; make it of simpler shapes, or "
            "leave small pieces out"
        )
    return charts


def _folded(charts: Sequence[Chart]) -> bool:
    """Whether some chart covers more than lies between its sides."""
    for chart in charts:
        s, weight = draw_unit(GaussLegendre(16), chart.intervals)
        if abs(weight @ chart(s).density - chart.measure) > 0.01 * chart.measure:
            return True
    return False


def components(loops: Sequence[Loop]) -> list[tuple[list[Curve], list[list[Curve]]]]:
    """The outer loops, each with the holes in it."""
    curves = [[piece.curve for piece in loop] for loop in loops]
    areas = [sum(curve.area for curve in loop) for loop in curves]
    outer = [k for k, area in enumerate(areas) if area > 0]
    holes: dict[int, list[list[Curve]]] = {k: [] for k in outer}
    outlines = {k: Outline([loops[k]]) for k in outer}
    for k, area in enumerate(areas):
        if area < 0:
            x = curves[k][0].at(np.array([0.31, 0.52, 0.73]))
            around = [m for m in outer if outlines[m].contains(x, 0.0).sum() >= 2]
            holes[min(around, key=lambda m: areas[m], default=outer[0])].append(curves[k])
    return [(curves[k], holes[k]) for k in outer]


def _covered(outer: list[Curve], holes: list[list[Curve]]) -> list[Chart]:
    if not holes and len(outer) <= FEW and not all(curve.straight for curve in outer):
        center, room = middle(outer)
        if room >= ROOMY * np.sqrt(sum(curve.area for curve in outer)):
            return [Fan(center, curve) for curve in outer]
    if len(holes) == 1:
        charts = _ring(outer, holes[0])
        if charts:
            return charts
    return mesh(outer, holes)


def middle(loop: Sequence[Curve]) -> tuple[np.ndarray, float]:
    """The point inside of a loop that lies farthest from all tangents, to their left, and how far.

    From a point to the left of all tangents all of the loop is seen.
    """
    from scipy.optimize import linprog

    t = (np.arange(48) + 0.5) / 48
    x = np.concatenate([c.at(t[:1] if c.straight else t) for c in loop])
    slope = np.concatenate([c.slope(t[:1] if c.straight else t) for c in loop])
    slope = slope / np.linalg.norm(slope, axis=1)[:, None]
    origin, size = x.mean(axis=0), float(np.ptp(np.concatenate([x, loop[0].at(np.array([0.0, 1.0]))]), axis=0).max())
    # cross(slope, c − x) ≥ r, with c from the origin in units of the size.
    rows = np.stack([slope[:, 1], -slope[:, 0], np.ones(len(x))], axis=1)
    found = linprog([0, 0, -1], rows, -cross(slope, x - origin) / size, bounds=[(-2, 2), (-2, 2), (None, None)])
    if not found.success:
        return origin, 0.0
    return origin + size * found.x[:2], float(size * found.x[2])


def _ring(outer: list[Curve], hole: list[Curve]) -> list[Chart]:
    """Charts between an outer loop and one hole, or none where that is no good way."""
    inner = [curve.reversed() for curve in reversed(hole)]
    center, room = middle(inner)
    if room <= 0 or not _seen(center, outer):
        return []
    if len(outer) == 1 and len(inner) == 1:
        start = outer[0].at(np.zeros(1))[0] - center
        shift = _facing(inner[0], center, start)
        ring = Ring(inner[0].piece(shift, shift + 1.0), outer[0])
        if _unfolded(ring, 0.1):
            return [ring]
    if len(outer) + len(inner) > MANY:
        return []  # fewer patches the other way
    if len(inner) == 1:
        pairs = _matched(outer, inner[0], center)
    elif len(outer) == 1:
        pairs = [(b, a) for a, b in _matched(inner, outer[0], center)]
    else:
        return []
    charts = [_between(a, b) for a, b in pairs]
    return list(charts) if all(_unfolded(chart, 0.05) for chart in charts) else []


def _seen(center: np.ndarray, loop: Sequence[Curve]) -> bool:
    t = np.linspace(0.001, 0.999, 40)
    return all(bool(np.all(cross(curve.at(t) - center, curve.slope(t)) > 0)) for curve in loop)


def _matched(loop: list[Curve], around: Curve, center: np.ndarray) -> list[tuple[Curve, Curve]]:
    """The curves of a loop, cut where they are wide, each with the part of a closed curve in the same directions."""
    parts: list[Curve] = []
    for curve in loop:
        t = np.linspace(0, 1, 33)
        rays = curve.at(t) - center
        width = np.sum(np.arctan2(cross(rays[:-1], rays[1:]), np.sum(rays[:-1] * rays[1:], axis=1)))
        count = int(np.ceil(width / WIDEST - 1e-9))
        cuts = np.linspace(0, 1, count + 1)
        parts += [curve.piece(p, q) if count > 1 else curve for p, q in itertools.pairwise(cuts)]
    starts = [_facing(around, center, part.at(np.zeros(1))[0] - center) for part in parts]
    found = []
    for part, begin, end in zip(parts, starts, [*starts[1:], starts[0]], strict=True):
        found.append((part, around.piece(begin, end if end > begin else end + 1.0)))
    return found


def _facing(curve: Curve, center: np.ndarray, direction: np.ndarray) -> float:
    """The parameter of a closed curve at which it is seen from a point in a direction."""

    def turn(t: np.ndarray) -> np.ndarray:
        ray = curve.at(t) - center
        return np.arctan2(direction[0] * ray[:, 1] - direction[1] * ray[:, 0], ray @ direction)

    t = np.linspace(0, 1, 257)
    angle = turn(t)
    k = int(np.argmax((angle[:-1] <= 0) & (angle[1:] > 0) & (np.abs(angle[1:] - angle[:-1]) < np.pi)))
    low, high = t[k], t[k + 1]
    for _ in range(60):
        half = (low + high) / 2
        low, high = (half, high) if turn(np.array([half]))[0] <= 0 else (low, half)
    return float(low)


def _between(outer: Curve, inner: Curve) -> Sheet:
    """The patch between two curves that run in the same direction, the outer one to the right of the inner one."""
    (a, b), (d, c) = outer.at(np.array([0.0, 1.0])), inner.at(np.array([0.0, 1.0]))
    return Sheet((outer, Line(b, c), inner.reversed(), Line(d, a)))


def _unfolded(chart: Sheet | Ring, least: float) -> bool:
    """Whether the sine of the angle between the two directions of a chart is nowhere too small."""
    s, _ = draw_unit(GaussLegendre(12), (UNIT, UNIT))
    _, along, up = chart.with_slopes(s)
    sine = cross(along, up) / (np.linalg.norm(along, axis=1) * np.linalg.norm(up, axis=1))
    return bool(np.all(sine > least))
