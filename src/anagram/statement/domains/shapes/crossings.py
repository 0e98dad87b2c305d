"""Where two outlines meet: crossings and touching points of their curves, to rounding."""

from __future__ import annotations

import itertools

import numpy as np

from anagram.statement.domains.shapes.curves import Curve
from anagram.statement.domains.shapes.outlines import Outline

MEETS = 1e-13  # of the largest coordinate: distance of two curves that meet
NODE = 1e-9  # of the size: places this near to each other are one
TANGENT = 1e-4  # sine of the angle below which curves touch: the place of a touch is known to half the digits only
ROUNDS = 60  # of Newton's method; at a touch every one halves the error
PAIRS = 4_000_000  # of chords that are compared together

Cuts = list[list[float]]


def cuts(a: Outline, b: Outline) -> tuple[Cuts, Cuts]:
    """The parameters at which the curves of two outlines are to be cut so that none crosses another one.

    The ends of curves are not among them; those of closed curves, which are no corners, neither.
    """
    size = max(a.size, b.size)
    found: tuple[Cuts, Cuts] = ([[] for _ in a.curves], [[] for _ in b.curves])
    for one, two, mine in ((a, b, found[0]), (b, a, found[1])):
        ends = np.array([x for c in two.curves if not c.closed for x in c.at(np.array([0.0]))]).reshape(-1, 2)
        places = one.places(ends, NODE * size)
        for curve, t in zip(places.curve, places.t, strict=True):
            mine[curve].append(float(t))
    for i, j in _near(a, b):
        if not a.curves[i].same_path(b.curves[j]):
            for s, t in _meetings(a, i, b, j, size):
                found[0][i].append(s)
                found[1][j].append(t)
    return (
        [_distinct(c, ts, size) for c, ts in zip(a.curves, found[0], strict=True)],
        [_distinct(c, ts, size) for c, ts in zip(b.curves, found[1], strict=True)],
    )


def _near(a: Outline, b: Outline) -> list[tuple[int, int]]:
    """Pairs of curves of which some chords come near each other."""
    found: set[tuple[int, int]] = set()
    block = max(1, PAIRS // len(b.owner))
    for first in range(0, len(a.owner), block):
        k, m = np.nonzero(_overlap(a, slice(first, first + block), b, slice(None)))
        found |= set(zip(a.owner[first + k].tolist(), b.owner[m].tolist(), strict=True))
    return sorted(found)


def _overlap(a: Outline, some: slice | np.ndarray, b: Outline, others: slice | np.ndarray) -> np.ndarray:
    """Whether the boxes around chords overlap, (of a, of b)."""
    slack = 1e-9 * max(a.size, b.size)
    low_a = np.minimum(a.start, a.stop)[some] - (a.height[some] + slack)[:, None]
    high_a = np.maximum(a.start, a.stop)[some] + (a.height[some] + slack)[:, None]
    low_b = np.minimum(b.start, b.stop)[others] - b.height[others][:, None]
    high_b = np.maximum(b.start, b.stop)[others] + b.height[others][:, None]
    return np.all((low_a[:, None] <= high_b) & (low_b <= high_a[:, None]), axis=2)


def _meetings(a: Outline, i: int, b: Outline, j: int, size: float) -> list[tuple[float, float]]:
    """Parameters of two curves at which they meet."""
    mine, theirs = np.flatnonzero(a.owner == i), np.flatnonzero(b.owner == j)
    k, m = np.nonzero(_overlap(a, mine, b, theirs))
    k, m = mine[k], theirs[m]
    one, two = a.curves[i], b.curves[j]
    # Two curves may meet twice on one pair of chords: from all its corners the nearest meeting is found.
    shares = [*itertools.product((0.02, 0.98), repeat=2), (0.5, 0.5)]
    s = np.concatenate([a.begin[k] + u * (a.end - a.begin)[k] for u, _ in shares])
    t = np.concatenate([b.begin[m] + v * (b.end - b.begin)[m] for _, v in shares])
    steps = np.tile(np.stack([(a.end - a.begin)[k], (b.end - b.begin)[m]], axis=1), (len(shares), 1))
    s, t = _newton(one, two, s, t, steps)
    x, y = one.at(s), two.at(t)
    largest = max(size, np.abs(a.start).max(), np.abs(b.start).max())
    meets = np.linalg.norm(x - y, axis=1) <= MEETS * largest
    s, t, x = s[meets], t[meets], x[meets]
    p, q = one.slope(s), two.slope(t)
    sine = np.abs(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]) / (np.linalg.norm(p, axis=1) * np.linalg.norm(q, axis=1))
    found: list[tuple[float, float]] = []
    kept: list[np.ndarray] = []
    # Crossings first: a touch near one is the same place, seen less clearly.
    for n in np.argsort(-sine):
        reach = size * (NODE if sine[n] > TANGENT else 1e-6)
        if all(np.linalg.norm(x[n] - other) > reach for other in kept):
            kept.append(x[n])
            found.append((float(s[n]), float(t[n])))
    return found


def _newton(one: Curve, two: Curve, s: np.ndarray, t: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Newton's method for one(s) = two(t), from many places at once; no step is longer than its chord."""
    for _ in range(ROUNDS):
        gap = one.at(s) - two.at(t)
        jacobian = np.stack([one.slope(s), -two.slope(t)], axis=2)
        square = np.einsum("nki,nkj->nij", jacobian, jacobian)
        # Where curves touch, the least bit of damping keeps steps finite.
        square += 1e-15 * np.trace(square, axis1=1, axis2=2)[:, None, None] * np.eye(2)
        move = np.linalg.solve(square, np.einsum("nki,nk->ni", jacobian, gap)[..., None])[..., 0]
        move = np.clip(move, -steps, steps)
        new_s, new_t = _inside(one, s - move[:, 0]), _inside(two, t - move[:, 1])
        done = np.all(np.abs(new_s - s) <= 1e-16) and np.all(np.abs(new_t - t) <= 1e-16)
        s, t = new_s, new_t
        if done:
            break
    return s, t


def _inside(curve: Curve, t: np.ndarray) -> np.ndarray:
    return t % 1.0 if curve.closed else np.clip(t, 0.0, 1.0)


def _distinct(curve: Curve, ts: list[float], size: float) -> list[float]:
    """Parameters of different places, in order, and none at the ends of an open curve."""
    if not ts:
        return []
    t = np.sort(np.array(ts) % 1.0 if curve.closed else np.array(ts))
    x = curve.at(t)
    ends = curve.at(np.array([0.0, 1.0]))
    found: list[tuple[float, np.ndarray]] = []
    for value, place in zip(t.tolist(), x, strict=True):
        others = [other for _, other in found[-1:]] + ([] if curve.closed else list(ends))
        if curve.closed and found:
            others.append(found[0][1])
        if all(np.linalg.norm(place - other) > NODE * size for other in others):
            found.append((value, place))
    return [value for value, _ in found]
