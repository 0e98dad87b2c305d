"""Rings of vertices: their areas, and whether they cross."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

PAIRS = 2_000_000  # of edges that are compared together


def signed_area(ring: np.ndarray) -> float:
    """The area inside of vertices (n, 2); negative if they go round clockwise."""
    moved = ring - ring.mean(axis=0)
    x, y = moved.T
    return float(0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


def crossing(rings: Sequence[np.ndarray], touching: bool = True) -> np.ndarray | None:
    """A place (2,) where edges cross or run together, or None.

    With `touching` places count where a vertex of a ring lies on an edge of the same ring, or inside of an edge of
    another ring, and edges that two rings share; two rings may share vertices.
    """
    a = np.concatenate(rings)
    b = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    owner = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    following = np.concatenate(
        [np.roll(np.arange(len(r)), -1) + n for r, n in zip(rings, np.cumsum([0, *map(len, rings[:-1])]), strict=True)]
    )
    size = float(np.ptp(a, axis=0).max())
    tolerance = 1e-12 * max(size, float(np.abs(a).max()))
    low, high = np.minimum(a, b) - tolerance, np.maximum(a, b) + tolerance
    # In the order of their left ends, an edge meets only those that begin before it ends.
    order = np.argsort(low[:, 0], kind="stable")
    last = np.searchsorted(low[order, 0], high[order, 0], "right")
    before = np.concatenate([[0], np.cumsum(last - np.arange(len(a)) - 1)])
    first = 0
    while first < len(a):
        stop = max(first + 1, int(np.searchsorted(before, before[first] + PAIRS, "right")) - 1)
        counts = np.diff(before[first : stop + 1])
        left = np.repeat(np.arange(first, stop), counts)
        right = left + 1 + np.arange(len(left)) - np.repeat(before[first:stop] - before[first], counts)
        k, m = order[left], order[right]
        near = (low[k, 1] <= high[m, 1]) & (low[m, 1] <= high[k, 1])
        found = _meeting(a, b, k[near], m[near], owner, following, tolerance, touching)
        if found is not None:
            return found
        first = stop
    return None


def _meeting(
    a: np.ndarray,
    b: np.ndarray,
    k: np.ndarray,
    m: np.ndarray,
    owner: np.ndarray,
    following: np.ndarray,
    tolerance: float,
    touching: bool,
) -> np.ndarray | None:
    """The place of the first pair of edges k, m that meet where they must not."""

    def away(point: np.ndarray, edge: np.ndarray) -> np.ndarray:
        """Signed distances of points from the lines of edges."""
        along = b[edge] - a[edge]
        gap = point - a[edge]
        return (along[:, 0] * gap[:, 1] - along[:, 1] * gap[:, 0]) / np.linalg.norm(along, axis=1)

    sides = np.stack([away(a[k], m), away(b[k], m), away(a[m], k), away(b[m], k)], axis=1)
    neighbours = (following[k] == m) | (following[m] == k)
    strict = np.abs(sides) > tolerance
    crosses = (sides[:, 0] * sides[:, 1] < 0) & (sides[:, 2] * sides[:, 3] < 0) & strict.all(axis=1) & ~neighbours
    if crosses.any():
        n = int(np.argmax(crosses))
        share = sides[n, 0] / (sides[n, 0] - sides[n, 1])
        return a[k[n]] + share * (b[k[n]] - a[k[n]])
    if not touching:
        return None
    together = np.minimum(
        np.linalg.norm(a[k] - a[m], axis=1) + np.linalg.norm(b[k] - b[m], axis=1),
        np.linalg.norm(a[k] - b[m], axis=1) + np.linalg.norm(b[k] - a[m], axis=1),
    )
    if np.any(together <= tolerance):
        return a[k[int(np.argmin(together))]]
    for column, (point, edge) in enumerate(((a[k], m), (b[k], m), (a[m], k), (b[m], k))):
        along = b[edge] - a[edge]
        length = np.linalg.norm(along, axis=1)
        place = np.sum((point - a[edge]) * along, axis=1) / length
        on = (np.abs(sides[:, column]) <= tolerance) & (place > tolerance) & (place < length - tolerance)
        if not on.any():
            # Vertices of one ring that are one place, though not those of neighbours.
            at_end = np.minimum(np.linalg.norm(point - a[edge], axis=1), np.linalg.norm(point - b[edge], axis=1))
            on = (at_end <= tolerance) & (owner[k] == owner[m]) & ~neighbours
        if on.any():
            return point[int(np.argmax(on))]
    return None
