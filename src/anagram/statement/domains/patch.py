"""Patches: pieces of shapes and of their boundaries, each the image of a box of parameters.

Points of a piece are points of that box, and their weights are multiplied with the density of the chart: all rules
for boxes hold on shapes, and what they sum is still an integral.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from anagram.errors import SettingError
from anagram.statement.domains.chart import UNIT, Chart
from anagram.statement.domains.graded import Graded
from anagram.statement.domains.intervals import Periodic
from anagram.statement.domains.region import WITHIN, Cloud, Region, Union, unit_normals
from anagram.statement.domains.rules import Chosen, Draw, GaussLegendre, PerAxis, PointRule, Repeated

MOST_ROUNDS = 60  # of drawing more points until there are enough


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
        if isinstance(rule, Graded):
            s, weight = self._graded(rule, rng)
            cloud, density = self._placed(s)
            return cloud._replace(weight=weight * density / self.chart.measure)
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

    def _graded(self, rule: Graded, rng: np.random.Generator) -> Draw:
        """Parameters in cells that are halved towards corners, at each of the nodes of the box."""
        if not self.chart.is_smooth or len(self.space) != 2:
            raise SettingError(f"{rule!r} is for shapes in the plane with smooth pieces, which {self!r} is not")
        (s, weight), (box, factor) = rule.on(self.chart, self.size), rule.draw(self.free, rng, closed=False)
        both = np.concatenate([np.repeat(box, len(s), axis=0), np.tile(s, (len(box), 1))], axis=1)
        return both, np.outer(factor, weight).ravel()

    def _placed(self, s: np.ndarray) -> tuple[Cloud, np.ndarray]:
        """Points by their parameters, without weights, and the density of the chart there."""
        columns = dict(zip(self.parameters, s.T, strict=True))
        inner = np.stack([columns[a] for a in self.space[: len(self.chart.intervals)]], axis=1)
        found = self.chart(inner)
        columns |= dict(zip(self.space, found.x.T, strict=True))
        if self.held is not None:
            columns[self.held.axis] = np.full(len(s), self.held.value)
        normal = self._normals(len(s), found.normal)
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
        wanted = rule.count
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

    def goes_around(self, axis: str) -> bool:
        return isinstance(self.box.get(axis), Periodic)

    def distance(self, x: np.ndarray) -> np.ndarray:
        """How far points lie from it, as the nearest of many points on it tells."""
        if self.held is not None:
            return np.abs(x[:, self.axes.index(self.held.axis)] - self.held.value)
        nearest, _ = self._nearest(x)
        return nearest

    def normal_at(self, x: np.ndarray) -> np.ndarray | None:
        if not self.has_normal:
            return None
        return self._normals(len(x), self._nearest(x)[1] if self.held is None else None)

    def _normals(self, count: int, in_space: np.ndarray | None) -> np.ndarray | None:
        """Normals along all axes: that of the end of the box, or else those in the space of the shape."""
        if self.held is not None:
            return unit_normals(count, self.axes, self.held.axis, upper=self.held.upper)
        if in_space is None:
            return None
        normal = np.zeros((count, len(self.axes)))
        normal[:, [self.axes.index(a) for a in self.space]] = in_space
        return normal

    def _nearest(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The distances to the boundary piece, and the normals at the nearest points of it."""
        inner = x[:, [self.axes.index(a) for a in self.space]]
        found = self.chart.nearest(inner)
        normal = np.zeros_like(inner) if found.normal is None else found.normal
        return np.linalg.norm(found.x - inner, axis=1), normal

    def __repr__(self) -> str:
        return f"patch of {', '.join(self.space)}"


class Patches(Union):
    """A region made of patches that are one thing to a user: a shape, or a part of its boundary.

    Args:
        patches: what it is made of.
        label: how it is called where it is printed.
        owner: the domain it belongs to.
    """

    def __init__(self, patches: Sequence[Region], label: str, owner: Any = None) -> None:
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

    def called_in(self, domain: Any) -> str:
        if self.owner is None or self.end is not None:
            return self.label
        # Of a product it is the boundary of the shape in it; of the domain itself it needs no saying.
        shape = getattr(self.owner, "shape", self.owner)
        return self.label if shape is domain else f"{self.label} of {shape!r}"

    def __or__(self, other: Region) -> Union:
        if not isinstance(other, Patches):
            return super().__or__(other)
        one = self.owner if self.owner is other.owner else None
        names = (self.label, other.label) if one is not None else (self.called_in(None), other.called_in(None))
        return Patches((*self.parts, *other.parts), " | ".join(names), one)

    def __repr__(self) -> str:
        return self.label
