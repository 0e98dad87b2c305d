"""Unions, intersections and differences of shapes in the plane, with their exact boundaries."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.shapes.crossings import NODE, cuts
from anagram.statement.domains.shapes.outlines import Loop, Outline, Piece
from anagram.statement.domains.shapes.planar import Planar

THIN = 1e-12  # of the area of the box around it: a loop with less is a line
ON = 1e-9  # of the size: how near a curve runs to another that it is part of
WORDS = {"|": "the union", "&": "the intersection", "-": "the difference"}
# What is kept of the first boundary, of the second, and where both run together: in the same or in opposite direction.
KEPT = {"|": ("outside", "outside", "same"), "&": ("inside", "inside", "same"), "-": ("outside", "inside", "opposite")}


class Combined(Planar):
    """A set made of two: ``a | b``, ``a & b``, ``a - b``.

    Attributes:
        first: a.
        how: ``|``, ``&`` or ``-``.
        second: b.
    """

    def __init__(self, first: Planar, how: str, second: Planar) -> None:
        if first.axes != second.axes:
            raise ProblemError(
                f"{first!r} {how} {second!r}: both need the same axes, not {', '.join(first.axes)} "
                f"and {', '.join(second.axes)}"
            )
        super().__init__(first.axes)
        self.first, self.how, self.second = first, how, second
        self._loops = combine(first, how, second)

    def loops(self) -> list[Loop]:
        return self._loops

    def __repr__(self) -> str:
        def shown(part: Planar) -> str:
            return f"({part!r})" if isinstance(part, Combined) else repr(part)

        return f"{shown(self.first)} {self.how} {shown(self.second)}"


class Stretch(NamedTuple):
    """A piece of a boundary between two cuts: which piece, from where to where, and which side of the other set."""

    piece: int
    begin: float
    end: float
    side: str


def combine(first: Planar, how: str, second: Planar) -> list[Loop]:
    """The loops of a set made of two."""
    a, b = first.edge, second.edge
    pieces = [[piece for loop in shape.loops() for piece in loop] for shape in (first, second)]
    of_first, of_second = cuts(a, b)
    keep_first, keep_second, together = KEPT[how]
    mine = [s for s in _stretches(a, of_first, b) if s.side in (keep_first, together)]
    theirs = [s for s in _stretches(b, of_second, a) if s.side == keep_second]
    # What is cut out may touch the boundary from inside: there the set has cusps, where both curves end.
    touches = how == "-"
    kept = _joined(mine, pieces[0], _ends(b, theirs) if touches else None, max(a.size, b.size))
    others = _joined(theirs, pieces[1], _ends(a, mine) if touches else None, max(a.size, b.size))
    kept += [piece.reversed() for piece in others] if how == "-" else others
    what = f"{WORDS[how]} {first!r} {how} {second!r}"
    low = np.minimum(a.bounds[0], b.bounds[0])
    lengths = np.maximum(a.bounds[1], b.bounds[1]) - low
    loops = [
        loop
        for loop in _loops(kept, max(a.size, b.size), what)
        if abs(sum(piece.curve.area for piece in loop)) > THIN * float(np.prod(lengths))
    ]
    if not loops:
        raise ProblemError(f"{what} is empty: nothing is left of both sets")
    return loops


def _stretches(mine: Outline, cut: list[list[float]], other: Outline) -> list[Stretch]:
    """The pieces of one boundary between its cuts, and where they lie: inside, outside or along the other set."""
    found: list[tuple[int, float, float]] = []
    for k, (curve, ts) in enumerate(zip(mine.curves, cut, strict=True)):
        around = [*ts, ts[0] + 1.0] if ts else [0.0, 1.0]
        ends = around if curve.closed else [0.0, *ts, 1.0]
        found += [(k, begin, end) for begin, end in itertools.pairwise(ends)]
    size = max(mine.size, other.size)
    shares = np.array([0.5, 0.2, 0.8])
    x = np.concatenate([_at(mine, k, begin + shares * (end - begin)) for k, begin, end in found])
    inside = other.contains(x[::3], 0.0)
    places = other.places(x, ON * size)
    by_point: dict[int, list[tuple[int, float]]] = {}
    for point, curve, t in zip(*places, strict=True):
        by_point.setdefault(int(point), []).append((int(curve), float(t)))
    sides = []
    for n, (k, begin, end) in enumerate(found):
        side = "inside" if inside[n] else "outside"
        if all(3 * n + m in by_point for m in range(3)):
            curve, t = by_point[3 * n][0]
            mine_slope = mine.curves[k].slope(np.array([(begin + end) / 2 % 1.0]))[0]
            side = "same" if mine_slope @ other.curves[curve].slope(np.array([t]))[0] > 0 else "opposite"
        sides.append(Stretch(k, begin, end, side))
    return sides


def _at(outline: Outline, curve: int, t: np.ndarray) -> np.ndarray:
    return outline.curves[curve].at(t % 1.0 if outline.curves[curve].closed else t)


def _ends(outline: Outline, stretches: list[Stretch]) -> np.ndarray:
    """The places (n, 2) where pieces of a boundary begin."""
    return np.array([_at(outline, s.piece, np.array([s.begin]))[0] for s in stretches]).reshape(-1, 2)


def _joined(stretches: list[Stretch], pieces: list[Piece], nodes: np.ndarray | None, size: float) -> list[Piece]:
    """Pieces of a boundary; those that follow each other on one curve are one again, unless a node lies between."""

    def stays(piece: Piece, t: float) -> bool:
        if nodes is None or not len(nodes):
            return False
        x = piece.curve.at(np.array([t % 1.0 if piece.curve.closed else t]))
        return bool(np.linalg.norm(nodes - x, axis=1).min() <= 4 * NODE * size)

    found: list[Piece] = []
    for k, group in itertools.groupby(stretches, key=lambda s: s.piece):
        piece, runs = pieces[k], list[list[float]]()
        for stretch in group:
            if runs and runs[-1][1] == stretch.begin and not stays(piece, stretch.begin):
                runs[-1][1] = stretch.end
            else:
                runs.append([stretch.begin, stretch.end])
        first, last = runs[0], runs[-1]
        if piece.curve.closed and len(runs) > 1 and last[1] == first[0] + 1.0 and not stays(piece, first[0]):
            first[0] = runs.pop()[0] - 1.0
        for begin, end in runs:
            if piece.curve.closed and end == begin + 1.0:
                opened = piece.cut(begin, end)
                found.append(opened._replace(curve=opened.curve.opened()) if stays(piece, begin) else piece)
            else:
                found.append(piece if (begin, end) == (0.0, 1.0) else piece.cut(begin, end))
    return found


def _loops(pieces: list[Piece], size: float, what: str) -> list[Loop]:
    """Directed pieces put together to closed loops."""
    loops: list[Loop] = [[piece] for piece in pieces if piece.curve.closed]
    rest = [piece for piece in pieces if not piece.curve.closed]
    return _in_order([*loops, *_open_loops(rest, size, what)], pieces) if rest else loops


def _in_order(loops: list[Loop], pieces: list[Piece]) -> list[Loop]:
    """Loops in the order of their first pieces: parts of the first shape come first."""
    place = {id(piece): k for k, piece in enumerate(pieces)}
    return sorted(loops, key=lambda loop: min(place[id(piece)] for piece in loop))


def _open_loops(rest: list[Piece], size: float, what: str) -> list[Loop]:
    """Directed pieces with ends put together to closed loops."""
    loops: list[Loop] = []
    ends = np.array([piece.curve.at(np.array([0.0, 1.0])) for piece in rest])
    node = _nodes(ends.reshape(-1, 2), 4 * NODE * size).reshape(-1, 2)
    leaving: dict[int, list[int]] = {}
    for k, (start, _) in enumerate(node.tolist()):
        leaving.setdefault(start, []).append(k)
    arriving = np.bincount(node[:, 1], minlength=node.max() + 1)
    if any(arriving[n] != len(leaving.get(n, ())) for n in range(len(arriving))):
        raise ProblemError(f"{what} cannot be made: their boundaries come too close to each other to tell them apart")
    reach = 1e-3 * min(piece.curve.length for piece in rest)
    while leaving:
        k = next(iter(leaving.values()))[0]
        loop, first = [], k
        while True:
            leaving[node[k, 0]].remove(k)
            if not leaving[node[k, 0]]:
                del leaving[node[k, 0]]
            loop.append(rest[k])
            onward = leaving.get(node[k, 1], [])
            if node[k, 1] == node[first, 0] and not _goes_on(rest, k, onward, first, reach):
                break
            k = _next(rest, k, onward, reach)
        loops.append(loop)
    return loops


def _goes_on(pieces: list[Piece], k: int, onward: list[int], first: int, reach: float) -> bool:
    """Whether a loop that is back at its beginning passes it on another way."""
    return bool(onward) and _next(pieces, k, [first, *onward], reach) != first


def _next(pieces: list[Piece], k: int, onward: list[int], reach: float) -> int:
    """Of pieces that leave a node, the one that bounds the same part of the set: the first one clockwise."""
    if len(onward) == 1:
        return onward[0]
    back = _direction(pieces[k].reversed(), reach)
    turns = [np.angle(back / _direction(pieces[m], reach)) % (2 * np.pi) for m in onward]
    return onward[int(np.argmin(turns))]


def _direction(piece: Piece, reach: float) -> complex:
    """Where a piece goes, a little away from its beginning: curves that touch there are told apart."""
    x, y = np.diff(piece.curve.at(np.array([0.0, min(0.5, reach / piece.curve.length)])), axis=0)[0]
    return complex(x, y)


def _nodes(x: np.ndarray, reach: float) -> np.ndarray:
    """Numbers of points (n, 2): those within reach of each other have the same one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree

    pairs = KDTree(x).query_pairs(reach, output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(x), len(x)))
    return connected_components(links, directed=False)[1]
