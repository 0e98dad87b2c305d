"""Charts and patches: pieces of shapes and of their boundaries, each the image of a box of parameters.

Points of a piece are points of that box, and their weights are multiplied with the density of the chart: all rules
for boxes hold on shapes, and what they sum is still an integral.
"""

from __future__ import annotations

import abc
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from anagram.errors import SettingError
from anagram.statement.domains.intervals import Periodic
from anagram.statement.domains.region import WITHIN, Cloud, Region, Union
from anagram.statement.domains.rules import Chosen, Draw, GaussLegendre, PerAxis, PointRule, Repeated

UNIT = (0.0, 1.0)
AROUND = Periodic(0.0, 1.0)
COARSE = 12  # nodes an axis on which lengths are measured
MOST_ALONG, MOST_IN_ALL = 2048, 2**20  # nodes on an axis, and together, with which an integral is measured
MANY = 512  # places of a curve at which a predicate is tried
MOST_ROUNDS = 60  # of drawing more points until there are enough


class Placed(NamedTuple):
    """Points of a chart: where they lie, how much the parameters are stretched there, and normals on a boundary."""

    x: np.ndarray
    density: np.ndarray
    normal: np.ndarray | None


class Chart(abc.ABC):
    """A map from a box of parameters, [0, 1]^k, onto a piece of R^d that is smooth up to the boundary of the box.

    Attributes:
        intervals: `UNIT` or, where the chart is periodic in a parameter, `AROUND`, for each parameter.
        labels: names by which a piece of a boundary is found, beside that of the part it belongs to.
    """

    intervals: tuple[tuple[float, float], ...]
    labels: tuple[str, ...] = ()

    @abc.abstractmethod
    def __call__(self, s: np.ndarray) -> Placed:
        """The points (n, d) at parameters (n, k).

        The density is √det(∂xᵀ∂x), the volume that a unit of parameters has there; on pieces of a boundary there are
        unit normals (n, d), outward.
        """

    def implicit(self) -> Callable[[Any], Any] | None:
        """On a boundary, a function of points in space that vanishes on the piece and what it is a part of.

        It grows like the distance, with one sign on each side; None where no such function is known.
        """
        return None

    @functools.cached_property
    def measure(self) -> float:
        """Length, area or volume: the integral of the density."""
        return settled_integral(lambda s: self(s).density, self.intervals)

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """How long it is along each parameter, on average; the product is its measure."""
        s, weight = draw_unit(GaussLegendre(COARSE), self.intervals)
        mean = weight * self(s).density
        step, found = 1e-3, []
        for k in range(len(self.intervals)):
            ahead, behind = s.copy(), s.copy()
            ahead[:, k], behind[:, k] = np.minimum(1, s[:, k] + step), np.maximum(0, s[:, k] - step)
            chord = np.linalg.norm(self(ahead).x - self(behind).x, axis=1)
            found.append(mean @ (chord / (ahead - behind)[:, k]) / mean.sum())
        found = np.array(found)
        return found * (self.measure / np.prod(found)) ** (1 / len(found))

    @functools.cached_property
    def densest(self) -> float:
        """The largest density, about."""
        s, _ = draw_unit(GaussLegendre(2 * COARSE), self.intervals)
        corners = np.stack(np.meshgrid(*[[0.0, 0.5, 1.0]] * len(self.intervals), indexing="ij"), axis=-1)
        return 1.05 * float(np.max(self(np.concatenate([s, corners.reshape(-1, s.shape[1])])).density))

    def nearest(self, x: np.ndarray) -> Placed:
        """Its points nearest to given ones (n, d)."""
        return self(nearest_parameters(self, x))

    def where(self, holds: Callable[[np.ndarray], np.ndarray]) -> list[Chart]:
        """Its pieces where a predicate of points (n, d) is true."""
        return chart_where(self, holds)

    def own_nodes(self, counts: Sequence[int]) -> Draw | None:
        """Nodes in its parameters, about as many as the product of counts, and weights with the density in them.

        None where those of the box of parameters will do, as they do on every chart that is smooth.
        """
        return None

    @property
    def is_smooth(self) -> bool:
        """Whether rules for boxes integrate over it as they do over a box."""
        return True


def settled_integral(density: Callable[[np.ndarray], np.ndarray], intervals: Sequence[tuple[float, float]]) -> float:
    """The integral of a smooth function of parameters (n, k), with nodes doubled until it no longer changes."""
    count, old = 8, np.nan
    while True:
        s, weight = draw_unit(GaussLegendre(count), intervals)
        new = float(weight @ density(s))
        # Sums of so many terms differ in their last digit for ever.
        if abs(new - old) <= 1e-14 * abs(new) or 2 * count > MOST_ALONG or (2 * count) ** len(intervals) > MOST_IN_ALL:
            return new
        count, old = 2 * count, new


def draw_unit(rule: PointRule, intervals: Sequence[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in a box of parameters, with weights that sum to one."""
    return rule.draw({str(k): i for k, i in enumerate(intervals)}, np.random.default_rng(0), closed=False)


class Restricted(Chart):
    """A chart on a smaller box of parameters."""

    def __init__(self, chart: Chart, low: np.ndarray, high: np.ndarray) -> None:
        self.chart, self.low, self.high = chart, low, high
        self.intervals = (UNIT,) * len(chart.intervals)

    def __call__(self, s: np.ndarray) -> Placed:
        found = self.chart(self.low + s * (self.high - self.low))
        return found._replace(density=found.density * float(np.prod(self.high - self.low)))

    def implicit(self) -> Callable[[Any], Any] | None:
        return self.chart.implicit()


def chart_where(chart: Chart, holds: Callable[[np.ndarray], np.ndarray]) -> list[Chart]:
    """The pieces of a chart where a predicate of points (n, d) is true.

    A curve is cut where it changes.
    """
    if len(chart.intervals) == 1:
        edges, inside = _changes(chart, holds)
        if len(inside) == 1:
            return [chart] if inside[0] else []
        return [
            Restricted(chart, np.array([a]), np.array([b]))
            for (a, b), here in zip(itertools.pairwise(edges), inside, strict=True)
            if here
        ]
    from anagram.statement.domains.parted import part_of_surface

    return part_of_surface(chart, holds)


def _changes(chart: Chart, holds: Callable[[np.ndarray], np.ndarray]) -> tuple[list[float], list[bool]]:
    """Where on a curve a predicate changes, with both ends, and whether it holds between."""
    t = (np.arange(MANY) + 0.5) / MANY

    def at(t: np.ndarray) -> np.ndarray:
        return holds(chart(t[:, None]).x)

    values = at(t)
    flips = np.flatnonzero(values[1:] != values[:-1])
    low, high = t[flips], t[flips + 1]
    for _ in range(60):
        middle = (low + high) / 2
        same = at(middle) == values[flips] if len(flips) else np.zeros(0, dtype=bool)
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    # A change at a round number, such as the corner x = 1, is meant to be there.
    edges = [0.0, *np.where(np.abs(high - np.round(high, 12)) < 1e-13, np.round(high, 12), high).tolist(), 1.0]
    return edges, [bool(values[0]), *(bool(v) for v in values[flips + 1])]


class Held(NamedTuple):
    """An axis of a box that is held at one of its ends."""

    axis: str
    value: float
    upper: bool


class Patch(Region):
    """A piece of a shape or of its boundary, alone or times a box.

    Args:
        chart: where it lies in the space of the shape.
        space: the axes of the shape.
        size: what a length is compared with: that of the shape.
        axes: all axes, those of the shape and of a box; left out, those of the shape.
        box: the intervals of the axes of the box.
        held: an axis of the box at one of its ends, where the patch belongs to that face.
    """

    def __init__(
        self,
        chart: Chart,
        space: tuple[str, ...],
        size: float,
        axes: tuple[str, ...] | None = None,
        box: Mapping[str, tuple[float, float]] | None = None,
        held: Held | None = None,
    ) -> None:
        self.chart, self.space, self.size, self.held = chart, space, size, held
        self.axes = axes or space
        self.box = dict(box or {})

    def times(self, axes: tuple[str, ...], box: Mapping[str, tuple[float, float]], held: Held | None = None) -> Patch:
        """The same piece for all points of a box."""
        return Patch(self.chart, self.space, self.size, axes, box, held)

    @property
    def free(self) -> dict[str, tuple[float, float]]:
        """The intervals of the axes of the box that are not held."""
        return {a: i for a, i in self.box.items() if self.held is None or a != self.held.axis}

    @property
    def dimension(self) -> int:
        return len(self.chart.intervals) + len(self.free)

    @property
    def measure(self) -> float:
        return self.chart.measure * float(np.prod([high - low for low, high in self.free.values()]))

    @property
    def is_boundary(self) -> bool:
        """Whether its chart is one of the boundary of the shape."""
        return len(self.chart.intervals) < len(self.space)

    @property
    def has_normal(self) -> bool:
        return self.held is not None or self.is_boundary

    @property
    def takes_cells(self) -> bool:
        return self.chart.is_smooth

    @property
    def end(self) -> tuple[str, bool] | None:
        return None if self.held is None else (self.held.axis, self.held.upper)

    def lies_in(self, box: Any) -> bool:
        cloud = self.scatter(GaussLegendre(4), np.random.default_rng(0))
        return self.axes == box.axes and bool(np.all(box.contains(cloud.x)))

    @property
    def parameters(self) -> dict[str, tuple[float, float]]:
        """The box of parameters: axes of the box by their names, those of the chart by the first ones of the space."""
        return {**self.free, **dict(zip(self.space, self.chart.intervals, strict=False))}

    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        if isinstance(rule, PerAxis):
            lengths = dict(zip(self.space, self.chart.lengths / self.size, strict=False))
            rule = rule.stretched({axis: lengths.get(axis) for axis in self.parameters})
            own = self.chart.own_nodes([rule.along(axis) for axis in self.parameters if axis not in self.free])
            if own is not None:
                return self._on_own_nodes(rule, own, rng)
        if rule.is_random:
            return self._spread(rule, rng)
        if not self.chart.is_smooth:
            raise SettingError(f"{rule!r} needs a smooth piece, which {self!r} is not: take a random rule, as Sobol")
        s, weight = rule.draw(self.parameters, rng, closed=False)
        cloud, density = self._placed(s)
        return cloud._replace(weight=weight * density / self.chart.measure)

    def _on_own_nodes(self, rule: PerAxis, own: Draw, rng: np.random.Generator) -> Cloud:
        """The nodes of a chart that has its own, at each of those of the box."""
        (s, weight), (box, factor) = own, rule.draw(self.free, rng, closed=False)
        both = np.concatenate([np.repeat(box, len(s), axis=0), np.tile(s, (len(box), 1))], axis=1)
        return self._placed(both)[0]._replace(weight=np.outer(factor, weight).ravel())

    def _placed(self, s: np.ndarray) -> tuple[Cloud, np.ndarray]:
        """Points by their parameters, without weights, and the density of the chart there."""
        columns = dict(zip(self.parameters, s.T, strict=True))
        inner = np.stack([columns[a] for a in self.space[: len(self.chart.intervals)]], axis=1)
        found = self.chart(inner)
        columns |= dict(zip(self.space, found.x.T, strict=True))
        normal = None
        if self.held is not None:
            columns[self.held.axis] = np.full(len(s), self.held.value)
            normal = np.zeros((len(s), len(self.axes)))
            normal[:, self.axes.index(self.held.axis)] = 1.0 if self.held.upper else -1.0
        elif found.normal is not None:
            normal = np.zeros((len(s), len(self.axes)))
            normal[:, [self.axes.index(a) for a in self.space]] = found.normal
        x = np.stack([columns[a] for a in self.axes], axis=1)
        return Cloud(x, np.full(len(s), 1 / max(1, len(s))), normal), found.density

    def _spread(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        """Random points, as many in every unit of volume: those in excess where the chart is dense are left out."""
        times, single = (rule.times, rule.rule) if isinstance(rule, Repeated) else (1, rule)
        clouds = [self._spread_once(single, rng) for _ in range(times)]
        return Cloud(
            np.concatenate([c.x for c in clouds]),
            np.concatenate([c.weight for c in clouds]) / times,
            np.concatenate([np.asarray(c.normal) for c in clouds]) if self.has_normal else None,
        )

    def _spread_once(self, rule: Any, rng: np.random.Generator) -> Cloud:
        wanted = rule.count if hasattr(rule, "count") else rule.rule.count
        most = self.chart.densest
        # One parameter more than there are: whether a point is kept.
        box, found = {**self.parameters, "": UNIT}, []
        more = rule.share(1.2 * most / self.chart.measure + 8 / wanted)
        for _ in range(MOST_ROUNDS):
            s, _ = more.draw(box, rng, closed=False)
            cloud, density = self._placed(s[:, :-1])
            keep = (s[:, -1] * most <= density) & (density > 0)
            found.append((cloud.x[keep], None if cloud.normal is None else cloud.normal[keep]))
            if sum(len(x) for x, _ in found) >= wanted:
                break
        else:
            raise SettingError(f"{rule!r} finds no points on {self!r}: its density varies too much")
        x = np.concatenate([x for x, _ in found])[:wanted]
        normal = np.concatenate([np.asarray(n) for _, n in found])[:wanted] if self.has_normal else None
        return Cloud(x, np.full(len(x), 1 / len(x)), normal)

    def where(self, holds: Callable[[np.ndarray], np.ndarray]) -> list[Patch]:
        """Its pieces where a predicate of points (n, d) of the shape's space is true."""
        return [
            self if chart is self.chart else Patch(chart, self.space, self.size, self.axes, self.box, self.held)
            for chart in self.chart.where(holds)
        ]

    def distance(self, x: np.ndarray) -> np.ndarray:
        """How far points lie from it, as the nearest of many points on it tells."""
        if self.held is not None:
            return np.abs(x[:, self.axes.index(self.held.axis)] - self.held.value)
        nearest, _ = self._nearest(x)
        return nearest

    def normal_at(self, x: np.ndarray) -> np.ndarray | None:
        if not self.has_normal:
            return None
        if self.held is not None:
            normal = np.zeros(x.shape)
            normal[:, self.axes.index(self.held.axis)] = 1.0 if self.held.upper else -1.0
            return normal
        normal = np.zeros(x.shape)
        normal[:, [self.axes.index(a) for a in self.space]] = self._nearest(x)[1]
        return normal

    def _nearest(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The distances to the boundary piece, and the normals at the nearest points of it."""
        inner = x[:, [self.axes.index(a) for a in self.space]]
        found = self.chart.nearest(inner)
        normal = np.zeros_like(inner) if found.normal is None else found.normal
        return np.linalg.norm(found.x - inner, axis=1), normal

    def __repr__(self) -> str:
        return f"patch of {', '.join(self.space)}"


def nearest_parameters(chart: Chart, x: np.ndarray) -> np.ndarray:
    """The parameters of the points of a chart nearest to given points (n, d): the best of a grid, then Gauss–Newton."""
    from scipy.spatial import KDTree

    count = {1: 257, 2: 49}.get(len(chart.intervals), 17)
    lines = [np.linspace(low, high, count) for low, high in chart.intervals]
    grid = np.stack([g.ravel() for g in np.meshgrid(*lines, indexing="ij")], axis=1)
    s = grid[np.asarray(KDTree(chart(grid).x).query(x)[1])]
    around = np.array([isinstance(i, Periodic) for i in chart.intervals])
    step = 1e-6
    for _ in range(8):
        there = chart(s).x
        slopes = []
        for k in range(s.shape[1]):
            ahead, behind = s.copy(), s.copy()
            ahead[:, k] += step
            behind[:, k] -= step
            slopes.append((chart(ahead).x - chart(behind).x) / (2 * step))
        jacobian = np.stack(slopes, axis=2)
        metric = np.einsum("nik,nil->nkl", jacobian, jacobian)
        metric += 1e-14 * np.trace(metric, axis1=1, axis2=2)[:, None, None] * np.eye(s.shape[1])
        move = np.linalg.solve(metric, np.einsum("nik,ni->nk", jacobian, x - there)[..., None])[..., 0]
        new = s + np.clip(move, -0.1, 0.1)
        new = np.where(around, new % 1.0, np.clip(new, 0, 1))
        better = np.linalg.norm(chart(new).x - x, axis=1) <= np.linalg.norm(there - x, axis=1)
        s = np.where(better[:, None], new, s)
    return s


class Patches(Union):
    """A region made of patches that are one thing to a user: a shape, or a part of its boundary.

    Args:
        patches: what it is made of.
        label: how it is called where it is printed.
        owner: the domain it belongs to.
    """

    def __init__(self, patches: Sequence[Patch], label: str, owner: Any = None) -> None:
        super().__init__(tuple(patches))
        self.label, self.owner = label, owner

    @property
    def end(self) -> tuple[str, bool] | None:
        ends = {patch.end for patch in self.parts}
        return ends.pop() if len(ends) == 1 else None

    def lies_in(self, box: Any) -> bool:
        return (self.owner is not None and self.owner is box) or super().lies_in(box)

    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        if isinstance(rule, Chosen):
            return self._chosen(rule)
        return super().scatter(rule, rng)

    def _chosen(self, rule: Chosen) -> Cloud:
        """Of given points, those that lie here: in a domain all of them must, on a boundary some may."""
        x, weight = rule.columns_of(self.axes)
        if not self.has_normal:
            self.owner.refuse_outside(x, f"points of {rule!r}")
            return Cloud(x, weight, None)
        distance = np.min([p.distance(x) for p in self.parts], axis=0)
        here = distance <= WITHIN * max(p.size for p in self.parts if isinstance(p, Patch))
        return Cloud(x[here], weight[here], self.normal_at(x[here]) if here.any() else None)

    def __repr__(self) -> str:
        return self.label
