"""Parts of surfaces where a predicate is true."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from anagram.statement.domains.chart import UNIT, Chart, Placed, draw_unit
from anagram.statement.domains.rules import Draw, GaussLegendre

COARSE = 24  # places along each parameter at which a predicate is tried first
PLACES = 48  # intervals of a line, at whose ends the predicate is tried
LINES = 96  # with which an area is measured
ORDER = 8  # nodes between two changes of a predicate, with which an area is measured
HALVINGS = 35


class Part(Chart):
    """The part of a surface where a predicate is true: the chart of all of it, with a density that is zero elsewhere.

    Integrals are taken along lines of one parameter, cut where the predicate changes.
    """

    def __init__(self, chart: Chart, holds: Callable[[np.ndarray], np.ndarray], along: int) -> None:
        self.chart, self.holds, self.along = chart, holds, along
        self.intervals = chart.intervals

    @property
    def is_smooth(self) -> bool:
        return False

    @functools.cached_property
    def measure(self) -> float:
        s, weight = self._lines(LINES, ORDER)
        return float(weight @ self.chart(s).density)

    @property
    def lengths(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.chart.lengths * np.sqrt(self.measure / self.chart.measure)

    @property
    def densest(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.chart.densest

    def __call__(self, s: np.ndarray) -> Placed:
        found = self.chart(s)
        return found._replace(density=np.where(self.holds(found.x), found.density, 0.0))

    def own_nodes(self, counts: Sequence[int]) -> Draw:
        """Those of Gauss and Legendre on every line, between the places where the predicate changes."""
        s, weight = self._lines(max(4, counts[1 - self.along]), counts[self.along])
        weight = weight * self.chart(s).density
        return s, weight / weight.sum()

    def nearest(self, x: np.ndarray) -> Placed:
        """Those of all of the surface; infinitely far where the predicate is false."""
        found = self.chart.nearest(x)
        return found._replace(x=np.where(self.holds(found.x)[:, None], found.x, np.inf))

    def _lines(self, count: int, order: int) -> Draw:
        """Nodes on lines, with weights in the parameters."""
        line, share = draw_unit(GaussLegendre(count), [self.intervals[1 - self.along]])
        which, begin, end = self._spans(line[:, 0])
        node, weight = draw_unit(GaussLegendre(order), [UNIT])
        inner = begin[:, None] + (end - begin)[:, None] * node.T
        s = self._parameters(inner.ravel(), np.broadcast_to(line[which], inner.shape).ravel())
        # Where it changes twice between two places, that has not been seen.
        seen = self.holds(self.chart(s).x)
        return s[seen], np.outer(share[which] * (end - begin), weight).ravel()[seen]

    def _parameters(self, inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
        return np.stack([inner, outer] if self.along == 0 else [outer, inner], axis=1)

    def _spans(self, line: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where on lines the predicate holds: the number of the line, and from where to where on it."""
        t = np.linspace(0, 1, PLACES + 1)
        values = self._holds_at(np.tile(t, len(line)), np.repeat(line, len(t))).reshape(len(line), len(t))
        which, place = np.nonzero(values[:, 1:] != values[:, :-1])
        low, high, before = t[place], t[place + 1], values[which, place]
        for _ in range(HALVINGS if len(which) else 0):
            middle = (low + high) / 2
            same = self._holds_at(middle, line[which]) == before
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        # A line that begins or ends where the predicate holds has a span from, or to, its end.
        first, last = np.flatnonzero(values[:, 0]), np.flatnonzero(values[:, -1])
        begins = np.append(first, which[~before]), np.append(np.zeros(len(first)), high[~before])
        ends = np.append(which[before], last), np.append(low[before], np.ones(len(last)))
        one, other = np.lexsort(begins[::-1]), np.lexsort(ends[::-1])
        return begins[0][one], begins[1][one], ends[1][other]

    def _holds_at(self, inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
        return self.holds(self.chart(self._parameters(inner, outer)).x)


def part_of_surface(chart: Chart, holds: Callable[[np.ndarray], np.ndarray]) -> list[Chart]:
    """The part of a surface where a predicate of points (n, d) is true: all of it, a part, or nothing."""
    t = (np.arange(COARSE) + 0.5) / COARSE
    grid = np.stack([g.ravel() for g in np.meshgrid(t, t, indexing="ij")], axis=1)
    values = holds(chart(grid).x).reshape(COARSE, COARSE)
    if values.all():
        return [chart]
    # Lines run across the border of the part, where they can.
    changes = [int(np.sum(values[1:] != values[:-1])), int(np.sum(values[:, 1:] != values[:, :-1]))]
    return [Part(chart, holds, int(np.argmax(changes)))] if values.any() else []
