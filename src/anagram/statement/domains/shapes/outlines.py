"""Outlines: closed loops of curves, which points lie inside of them, and which on them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from anagram.statement.domains.shapes.curves import Curve

BLOCK = 100_000  # points that are looked at together
NEWTON = 12  # steps to the place of a curve over a point of its chord


class Piece(NamedTuple):
    """A curve of an outline: the set lies to its left.

    Attributes:
        curve: the curve.
        part: the name of the part of the boundary that it belongs to.
        labels: other names by which it is found, such as that of the whole polygon and its own number.
    """

    curve: Curve
    part: str
    labels: tuple[str, ...] = ()

    def cut(self, begin: float, end: float) -> Piece:
        """A part of it, see `Curve.piece`."""
        return self._replace(curve=self.curve.piece(begin, end))

    def reversed(self) -> Piece:
        """The same from its end to its beginning."""
        return self._replace(curve=self.curve.reversed())


Loop = list[Piece]


class Places(NamedTuple):
    """Where on an outline points lie: which of the points, on which curve, at which parameter."""

    point: np.ndarray
    curve: np.ndarray
    t: np.ndarray


class Outline:
    """Loops of curves, each cut into short chords."""

    def __init__(self, loops: Sequence[Sequence[Piece]]) -> None:
        self.curves = [piece.curve for loop in loops for piece in loop]
        owner, begin, end, start, stop = [], [], [], [], []
        count = 0
        for loop in loops:
            corners = []
            for piece in loop:
                edges = piece.curve.edges
                at = piece.curve.at(edges)
                owner.append(np.full(len(edges) - 1, count))
                begin.append(edges[:-1])
                end.append(edges[1:])
                start.append(at[:-1])
                corners.append(at[1:])
                count += 1
            # Every curve ends exactly where the next one begins: no ray slips through.
            for k, at in enumerate(corners):
                at[-1] = start[k + 1 - len(corners)][0] if k + 1 < len(corners) else start[-len(corners)][0]
            stop += corners
        self.owner, self.begin, self.end = np.concatenate(owner), np.concatenate(begin), np.concatenate(end)
        self.start, self.stop = np.concatenate(start), np.concatenate(stop)
        self.length = np.linalg.norm(self.stop - self.start, axis=1)
        self.along = (self.stop - self.start) / np.maximum(self.length, 1e-300)[:, None]
        self.across = np.stack([-self.along[:, 1], self.along[:, 0]], axis=1)
        self.straight = np.array([self.curves[k].straight for k in self.owner])
        self.height = self._heights()
        self.size = float(max(np.ptp(self.start, axis=0).max(), 1e-300))

    def _heights(self) -> np.ndarray:
        """How far each piece of a curve leaves its chord, at most."""
        height = np.zeros(len(self.owner))
        for k, curve in enumerate(self.curves):
            if not curve.straight:
                mine = np.flatnonzero(self.owner == k)
                for share in (0.25, 0.5, 0.75):
                    at = curve.at(self.begin[mine] + share * (self.end - self.begin)[mine])
                    away = np.abs(np.sum((at - self.start[mine]) * self.across[mine], axis=1))
                    height[mine] = np.maximum(height[mine], 1.4 * away)
        return height

    @functools.cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper corner of the box around it."""
        ends = [curve.bounds for curve in self.curves]
        return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)

    def contains(self, x: np.ndarray, tolerance: float) -> np.ndarray:
        """Whether points (n, 2) lie inside, or on a curve up to an absolute tolerance; NaN is nowhere."""
        inside = np.zeros(len(x), dtype=bool)
        for first in range(0, len(x), BLOCK):
            block = np.asarray(x[first : first + BLOCK], dtype=float)
            finite = np.flatnonzero(np.all(np.isfinite(block), axis=1))
            inside[first + finite] = self._contains(block[finite], tolerance)
        return inside

    def _contains(self, x: np.ndarray, tolerance: float) -> np.ndarray:
        crossings, touched = np.zeros(len(x), dtype=np.int64), np.zeros(len(x), dtype=bool)
        # Rays to the right, through chords; then what lies between a chord and its curve changes sides.
        for point, chord in self._beside(x, 0.0):
            a, b, p = self.start[chord], self.stop[chord], x[point]
            upward = b[:, 1] > a[:, 1]
            meets = np.where(
                upward, (a[:, 1] <= p[:, 1]) & (p[:, 1] < b[:, 1]), (b[:, 1] <= p[:, 1]) & (p[:, 1] < a[:, 1])
            )
            turn = (b[:, 0] - a[:, 0]) * (p[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (p[:, 0] - a[:, 0])
            np.add.at(crossings, point[meets & ((turn > 0) == upward) & (turn != 0)], 1)
        for point, chord, height, over, _ in self._over_chords(x, tolerance):
            away = np.abs(height - over)
            touched[point[away <= tolerance]] = True
            between = ((height >= 0) & (height < over)) | ((height < 0) & (height >= over))
            np.add.at(crossings, point[between & ~self.straight[chord]], 1)
        return (crossings % 2 == 1) | touched

    def places(self, x: np.ndarray, tolerance: float) -> Places:
        """All places of curves within an absolute tolerance of points (n, 2)."""
        found = [
            Places(point[near], self.owner[chord[near]], t[near])
            for point, chord, height, over, t in self._over_chords(x, tolerance)
            for near in [np.abs(height - over) <= tolerance]
        ]
        none = Places(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0))
        return Places(*(np.concatenate(columns) for columns in zip(none, *found, strict=True)))

    def _beside(self, x: np.ndarray, reach: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of points and chords of which the heights over the first axis overlap up to `reach`."""
        order = np.argsort(x[:, 1], kind="stable")
        heights = x[order, 1]
        low = np.minimum(self.start[:, 1], self.stop[:, 1]) - reach - self.height * (reach > 0)
        high = np.maximum(self.start[:, 1], self.stop[:, 1]) + reach + self.height * (reach > 0)
        first, last = np.searchsorted(heights, low, "left"), np.searchsorted(heights, high, "right")
        counts = last - first
        before = np.concatenate([[0], np.cumsum(counts)])
        a = 0
        while a < len(counts):  # in blocks of chords, so that memory stays small
            b = max(a + 1, int(np.searchsorted(before, before[a] + 20 * BLOCK, "right")) - 1)
            some = counts[a:b]
            if some.sum():
                chord = np.repeat(np.arange(a, b), some)
                within = np.arange(some.sum()) - np.repeat(before[a:b] - before[a], some)
                yield order[first[chord] + within], chord
            a = b

    def _over_chords(
        self, x: np.ndarray, tolerance: float
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Points near chords: point, chord, height over the chord, height of the curve there, its parameter."""
        for points, chords in self._beside(x, max(tolerance, 1e-300)):
            away = x[points] - self.start[chords]
            height = np.sum(away * self.across[chords], axis=1)
            length = np.maximum(self.length[chords], 1e-300)
            share = np.sum(away * self.along[chords], axis=1) / length
            beyond = np.maximum(-share, share - 1) * length
            near = (np.abs(height) <= self.height[chords] + tolerance) & (beyond <= tolerance)
            point, chord, height, share = points[near], chords[near], height[near], np.clip(share[near], 0, 1)
            t = self.begin[chord] + share * (self.end - self.begin)[chord]
            over = np.zeros(len(point))
            for k in np.unique(self.owner[chord[~self.straight[chord]]]):
                mine = np.flatnonzero((self.owner[chord] == k) & ~self.straight[chord])
                t[mine], over[mine] = self._above(self.curves[k], chord[mine], share[mine])
            yield point, chord, height, over, t

    def _above(self, curve: Curve, chord: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The parameters at which a curve lies over given shares of its chords, and its heights there."""
        begin, end = self.begin[chord], self.end[chord]
        start, along, wanted = self.start[chord], self.along[chord], share * self.length[chord]
        t = begin + share * (end - begin)
        for _ in range(NEWTON):
            gap = np.sum((curve.at(t) - start) * along, axis=1) - wanted
            new = np.clip(t - gap / np.sum(curve.slope(t) * along, axis=1), begin, end)
            done = np.all(np.abs(new - t) <= 1e-16)
            t = new
            if done:
                break
        return t, np.sum((curve.at(t) - start) * self.across[chord], axis=1)
