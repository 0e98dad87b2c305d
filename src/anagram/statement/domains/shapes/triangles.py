"""Triangulations of vertices that contain given edges: Delaunay's, with edges flipped."""

from __future__ import annotations

import numpy as np

Edge = tuple[int, int]
Triangle = tuple[int, int, int]


class Triangulation:
    """Triangles of points, each known by its directed edges, counterclockwise: the edge (a, b) has the third corner c.

    Args:
        x: points (n, 2), all different.
        edges: directed edges between them that must be there; what lies to their left is inside.
    """

    def __init__(self, x: np.ndarray, edges: list[Edge]) -> None:
        # Four points far outside: all others lie inside of their hull, where edges in a line are nothing special.
        middle, reach = x.mean(axis=0), 8 * np.ptp(x, axis=0).max()
        frame = middle + reach * np.array([[-1.0, -0.9], [1.0, -1.1], [0.9, 1.0], [-1.1, 0.9]])
        self.x, self.fixed = np.concatenate([x, frame]), set(edges) | {(b, a) for a, b in edges}
        self.corner: dict[Edge, int] = {}
        self._delaunay()
        for a, b in edges:
            self._insert(a, b)
        self._improve()
        self.inside = self._to_the_left(edges)

    def _delaunay(self) -> None:
        from scipy.spatial import Delaunay

        for a, b, c in Delaunay(self.x - self.x.mean(axis=0)).simplices.tolist():
            self._add((a, b, c) if self.side(a, b, c) > 0 else (a, c, b))

    def side(self, a: int, b: int, c: int) -> float:
        """Twice the area of a triangle; negative if it goes round clockwise."""
        (ax, ay), (bx, by), (cx, cy) = self.x[a], self.x[b], self.x[c]
        return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)

    def _add(self, triangle: Triangle) -> None:
        a, b, c = triangle
        self.corner[a, b], self.corner[b, c], self.corner[c, a] = c, a, b

    def _flip(self, a: int, b: int) -> Edge:
        """The two triangles at an edge cut along the other diagonal, which is returned."""
        c, d = self.corner.pop((a, b)), self.corner.pop((b, a))
        self._add((a, d, c))
        self._add((d, b, c))
        return c, d

    def _convex(self, a: int, b: int) -> bool:
        c, d = self.corner[a, b], self.corner[b, a]
        return self.side(a, d, c) > 0 and self.side(d, b, c) > 0

    def _insert(self, a: int, b: int) -> None:
        """Makes an edge by flipping those that cross it."""
        if (a, b) in self.corner or (b, a) in self.corner:
            return
        queue = [(c, d) for c, d in self.corner if c < d and (d, c) in self.corner and self._crosses(c, d, a, b)]
        tries = 50 + 10 * len(queue) ** 2
        while queue and tries:
            tries -= 1
            c, d = queue.pop(0)
            if (c, d) in self.fixed or not self._convex(c, d):
                queue.append((c, d))
                continue
            c, d = self._flip(c, d)
            if self._crosses(c, d, a, b):
                queue.append((c, d))

    def _crosses(self, c: int, d: int, a: int, b: int) -> bool:
        if {a, b} & {c, d}:
            return False
        return (self.side(a, b, c) > 0) != (self.side(a, b, d) > 0) and (
            (self.side(c, d, a) > 0) != (self.side(c, d, b) > 0)
        )

    def _improve(self) -> None:
        """Flips edges until no circle around a triangle holds the next corner."""
        stack = [e for e in self.corner if e[0] < e[1]]
        tries = 50 * len(stack)
        while stack and tries:
            tries -= 1
            a, b = stack.pop()
            if (a, b) in self.fixed or (a, b) not in self.corner or (b, a) not in self.corner:
                continue
            if self._convex(a, b) and self._opposite_angles(a, b) > np.pi + 1e-9:
                c, d = self._flip(a, b)
                stack += [(a, d), (d, b), (b, c), (c, a)]

    def _opposite_angles(self, a: int, b: int) -> float:
        total = 0.0
        for c in (self.corner[a, b], self.corner[b, a]):
            p, q = self.x[a] - self.x[c], self.x[b] - self.x[c]
            total += np.arctan2(abs(p[0] * q[1] - p[1] * q[0]), p @ q)
        return total

    def _to_the_left(self, edges: list[Edge]) -> list[Triangle]:
        """The triangles reached from the left of the given edges without crossing one; [] if one is missing."""
        found: dict[frozenset[int], Triangle] = {}
        stack = list(edges)
        while stack:
            a, b = stack.pop()
            c = self.corner.get((a, b))
            if c is None:
                return []
            if frozenset((a, b, c)) not in found:
                found[frozenset((a, b, c))] = (a, b, c)
                stack += [(q, p) for p, q in ((b, c), (c, a), (a, b)) if (p, q) not in self.fixed]
        return list(found.values())
