"""Sets in the plane of which one can ask whether points lie in them: their edges as curves, their insides as triangles.

Squares of a grid are looked at one by one; where an edge crosses a side of one of them is found by halving.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from anagram.statement.domains.outline import closed_loops
from anagram.statement.domains.triangulation import Triangulation

ROUNDS = 24  # of halving
THIN = 1e-3  # of a side: an edge that comes nearer to a node of the grid goes through it, or triangles would be slivers

Contains = Callable[[np.ndarray], np.ndarray]
Pair = tuple[int, int]


class CrossedGrid:
    """A grid, which of its nodes lie in a set, and where the edge of the set crosses between neighbours."""

    def __init__(self, contains: Contains, horizontal: np.ndarray, vertical: np.ndarray) -> None:
        across, up = np.meshgrid(horizontal, vertical)
        self.nodes = np.stack([across.ravel(), up.ravel()], axis=1)
        self.contains = contains
        self.inside = contains(self.nodes).reshape(across.shape)
        self.index = np.arange(self.inside.size).reshape(self.inside.shape)

    @functools.cached_property
    def crossings(self) -> dict[Pair, np.ndarray]:
        """By the numbers of two neighbours, the lesser first, where the edge runs between them."""
        index, flat = self.index, self.inside.ravel()
        beside = np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], axis=1)
        above = np.stack([index[:-1].ravel(), index[1:].ravel()], axis=1)
        pairs = np.concatenate([beside, above])
        pairs = pairs[flat[pairs[:, 0]] != flat[pairs[:, 1]]]
        within = np.where(flat[pairs[:, 0]], *pairs.T)
        beyond = np.where(flat[pairs[:, 0]], *pairs.T[::-1])
        low, high = self.nodes[within], self.nodes[beyond]
        for _ in range(ROUNDS):
            middle = (low + high) / 2
            here = self.contains(middle)[:, None]
            low, high = np.where(here, middle, low), np.where(here, high, middle)
        return {(a, b): place for (a, b), place in zip(pairs.tolist(), low, strict=True)}

    @property
    def mixed(self) -> list[tuple[list[int], list[bool]]]:
        """The squares that the edge crosses: the numbers of their corners, counterclockwise, and which lie inside."""
        corners = [np.s_[:-1, :-1], np.s_[:-1, 1:], np.s_[1:, 1:], np.s_[1:, :-1]]
        inside = np.stack([self.inside[at] for at in corners], axis=-1).reshape(-1, 4)
        numbers = np.stack([self.index[at] for at in corners], axis=-1).reshape(-1, 4)
        mixed = inside.any(axis=1) & ~inside.all(axis=1)
        return list(zip(numbers[mixed].tolist(), inside[mixed].tolist(), strict=True))


def contours(contains: Contains, horizontal: np.ndarray, vertical: np.ndarray) -> list[np.ndarray]:
    """The edges of a set as closed polylines (k, 2), outer ones counterclockwise."""
    # A rim of points outside closes the loops.
    lines = [
        np.concatenate([c[:1] - (c[1] - c[0]) / 8, c, c[-1:] + (c[-1] - c[-2]) / 8]) for c in (horizontal, vertical)
    ]
    grid = CrossedGrid(contains, *lines)
    follows: dict[Pair, list[Pair]] = {}
    for numbers, inside in grid.mixed:
        for one, other in _cuts(numbers, inside):
            follows.setdefault(one, []).append(other)
            follows.setdefault(other, []).append(one)
    loops, left = [], dict.fromkeys(follows)
    while left:
        here, loop = next(iter(left)), []
        while here is not None:
            loop.append(grid.crossings[here])
            del left[here]
            here = next((other for other in follows[here] if other in left), None)
        loops.append(np.array([*loop, loop[0]]))
    return closed_loops([("", loop) for loop in loops if len(loop) > 3])


def _cuts(numbers: list[int], inside: list[bool]) -> list[tuple[Pair, Pair]]:
    """Which sides of a square the edge joins."""
    crossed = [_side(numbers, k) for k in range(4) if inside[k] != inside[(k + 1) % 4]]
    # Where two corners inside stand across from each other, each of them is cut off by itself.
    if len(crossed) == 4 and inside[0]:
        crossed = [crossed[3], *crossed[:3]]
    return list(zip(crossed[::2], crossed[1::2], strict=True))


def _side(numbers: list[int], k: int) -> Pair:
    ends = sorted((numbers[k], numbers[(k + 1) % 4]))
    return ends[0], ends[1]


def triangles(contains: Contains, horizontal: np.ndarray, vertical: np.ndarray) -> Triangulation:
    """The inside of a set: squares halved, and those that the edge crosses cut off there."""
    grid = CrossedGrid(contains, horizontal, vertical)
    places, number = list(grid.nodes), {}
    side = min(horizontal[1] - horizontal[0], vertical[1] - vertical[0])
    for pair, place in grid.crossings.items():
        within = pair[0] if grid.inside.ravel()[pair[0]] else pair[1]
        if np.linalg.norm(place - grid.nodes[within]) < THIN * side:
            number[pair] = within
        else:
            number[pair] = len(places)
            places.append(place)
    whole = grid.inside[:-1, :-1] & grid.inside[:-1, 1:] & grid.inside[1:, 1:] & grid.inside[1:, :-1]
    a, b, c, d = (grid.index[at][whole] for at in (np.s_[:-1, :-1], np.s_[:-1, 1:], np.s_[1:, 1:], np.s_[1:, :-1]))
    found = [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    cut = [polygon for square in grid.mixed for polygon in _inner_polygons(*square, number)]
    fans = [[corners[0], *corners[k : k + 2]] for corners in cut for k in range(1, len(corners) - 1)]
    cells = np.concatenate([*found, np.array(fans, dtype=int).reshape(-1, 3)])
    used, cells = np.unique(cells, return_inverse=True)
    return Triangulation(np.array(places)[used], cells.reshape(-1, 3))


def _inner_polygons(numbers: list[int], inside: list[bool], number: dict[Pair, int]) -> list[list[int]]:
    """What of a square lies inside, as polygons; two where corners across from each other do."""
    if inside in ([True, False, True, False], [False, True, False, True]):
        found = [[number[_side(numbers, k - 1)], numbers[k], number[_side(numbers, k)]] for k in range(4) if inside[k]]
    else:
        around = []
        for k in range(4):
            around += [numbers[k]] if inside[k] else []
            around += [number[_side(numbers, k)]] if inside[k] != inside[(k + 1) % 4] else []
        found = [around]
    plain = [list(dict.fromkeys(polygon)) for polygon in found]  # a node that the edge goes through counts once
    return [polygon for polygon in plain if len(polygon) > 2]
