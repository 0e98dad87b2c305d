"""Rules by which points are drawn from a product of intervals, each with its quadrature weight.

Weights of one draw sum to one: they integrate against the probability measures μ and σ of the paper.
"""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from anagram.environment import gigabytes, physical_memory
from anagram.errors import SettingError
from anagram.statement.domains.bends import Bend
from anagram.statement.domains.intervals import (
    Interval,
    Intervals,
    Periodic,
    even_places,
    placed_along,
    placed_in,
)

MOST_POINTS = 10**12  # of any rule; numbers above are slips of the keyboard
MOST_NODES = 4000  # of Gauss–Legendre on an axis: they are the eigenvalues of a matrix of this size
EVEN_AXES = 11  # along which multiples of an irrational vector are spread evenly
BYTES = 1000  # that a point takes in a run at least: the units of a small network there, with their derivatives

Draw = tuple[np.ndarray, np.ndarray]


class PointRule(abc.ABC):
    """How points are drawn: `draw` returns points (n, k) in the given intervals and weights (n,)."""

    weights_are_final = False
    is_random = False

    @abc.abstractmethod
    def draw(
        self, intervals: Intervals, rng: np.random.Generator, *, closed: bool, fixed: Mapping[str, float] | None = None
    ) -> Draw:
        """Points and weights.

        `closed` says that the ends of the intervals belong to the region; on a face, `fixed` has the axis that is
        not drawn, with its value.
        """

    def share(self, fraction: float) -> PointRule:
        """The rule for a part of a union that makes up this fraction of its measure."""
        return self


class Tensor(PointRule):
    """Rules made of one set of nodes and weights per axis."""

    @abc.abstractmethod
    def nodes(self, axis: str, interval: Interval, closed: bool) -> Draw:
        """Nodes and weights on one axis."""

    @abc.abstractmethod
    def along(self, axis: str) -> int:
        """How many nodes there are on one axis."""

    def draw(
        self, intervals: Intervals, rng: np.random.Generator, *, closed: bool, fixed: Mapping[str, float] | None = None
    ) -> Draw:
        if not intervals:
            return np.zeros((1, 0)), np.ones(1)
        refuse_too_many(math.prod(self.along(axis) for axis in intervals), self)
        parts = [self.nodes(axis, interval, closed) for axis, interval in intervals.items()]
        grids = np.meshgrid(*(x for x, _ in parts), indexing="ij")
        weights = np.meshgrid(*(w for _, w in parts), indexing="ij")
        return np.stack([g.ravel() for g in grids], axis=1), np.prod([w.ravel() for w in weights], axis=0)


class PerAxis(Tensor):
    """A tensor rule told by one number for all axes, or one entry per axis by name.

    On a periodic axis equispaced nodes of equal weight are the best there is: n of them integrate n − 1 harmonics.
    The rules differ there in where their nodes begin, so that one has points that another has not.
    """

    shift = 0.0  # of the first node from the lower end of a periodic axis, in steps between two of them

    def __init__(self, count: int | None = None, /, **by_axis: Any) -> None:
        if (count is None) == (not by_axis):
            name = type(self).__name__
            raise SettingError(f"give {name} one number, {name}(30), or one entry per axis, {name}(t=30, x=60)")
        for axis, value in {"": count, **by_axis}.items():
            if (isinstance(value, Sequence) and not isinstance(value, str)) or getattr(value, "ndim", 0):
                _numbers(value, type(self).__name__, axis)
            elif value is not None:
                _positive(value, type(self).__name__, axis)
        self.count = count
        self.by_axis = by_axis
        self.bends: dict[str, Bend] = {}

    def bent(self, bends: Mapping[str, Bend]) -> Self:
        """The same rule for bent coordinates along some axes: its nodes crowd where these change fast."""
        other = copy.copy(self)
        other.bends = dict(bends)
        return other

    def placed(self, axis: str, interval: Interval, fraction: np.ndarray, weight: np.ndarray) -> Draw:
        """Nodes of a quadrature rule, from fractions of an interval and their weights."""
        if axis in self.bends:
            fraction, weight = self.bends[axis].nodes(fraction, weight)
        return placed_along(interval, fraction), weight

    def entry(self, axis: str) -> Any:
        """What was said about one axis."""
        if self.count is not None:
            return self.count
        if axis not in self.by_axis:
            raise SettingError(
                f"{self!r} says nothing about the axis '{axis}': add {axis}=... to it, and name no other axes"
            )
        return self.by_axis[axis]

    def around(self, axis: str, interval: Periodic) -> Draw:
        """Nodes and weights on a periodic axis."""
        count = self.along(axis)
        low, high = interval
        return low + (high - low) * (np.arange(count) + self.shift) / count, np.full(count, 1.0 / count)

    def stretched(self, factors: Mapping[str, float | None]) -> PerAxis:
        """A rule for the named axes alone, with so many times the nodes, two at least; None leaves an axis as it is."""
        entries = {axis: self.entry(axis) for axis in factors}
        for axis, factor in factors.items():
            if factor is not None:
                if np.ndim(entries[axis]):
                    raise SettingError(f"{type(self).__name__} needs a number for the axis '{axis}' of a shape")
                entries[axis] = max(2, math.ceil(entries[axis] * factor - 1e-9))
        return type(self)(**entries)

    def along(self, axis: str) -> int:
        entry = self.entry(axis)
        return int(np.size(entry)) if np.ndim(entry) else int(entry)

    def __repr__(self) -> str:
        shown = (
            [str(self.count)]
            if self.count is not None
            else [f"{k}={v if np.ndim(v) == 0 else f'<{len(v)} values>'}" for k, v in self.by_axis.items()]
        )
        return f"{type(self).__name__}({', '.join(shown)})"


class Grid(PerAxis):
    """Equispaced points, as in the paper: ``Grid(30)``, ``Grid(t=30, x=60)``, or coordinates ``Grid(t=…, x=array)``.

    Inside a box the ends are left out; on a face they belong to it. Coordinates given as an array are
    taken as they are.
    """

    def nodes(self, axis: str, interval: Interval, closed: bool) -> Draw:
        entry = self.entry(axis)
        low, high = interval
        if np.ndim(entry) == 0 and isinstance(interval, Periodic):
            return self.around(axis, interval)
        if np.ndim(entry) == 0:
            n = int(entry)
            x = even_places(interval, n) if closed and n > 1 else even_places(interval, n + 2)[1:-1]
        else:
            x = np.asarray(entry, dtype=float).ravel()
            if x.size == 0:
                raise SettingError(f"the coordinates given to Grid for the axis '{axis}' are empty")
            if not np.all(np.isfinite(x)) or x.min() < low or x.max() > high:
                raise SettingError(f"coordinates given to Grid for the axis '{axis}' leave [{low:g}, {high:g}]")
        return x, np.full(x.size, 1.0 / x.size)


class GaussLegendre(PerAxis):
    """Gauss–Legendre nodes with their quadrature weights; n nodes per axis integrate degree 2n − 1 exactly."""

    shift = 0.5

    def nodes(self, axis: str, interval: Interval, closed: bool) -> Draw:
        count = self.entry(axis)
        if np.ndim(count):
            raise SettingError(f"GaussLegendre needs a number of points on the axis '{axis}'; Grid takes coordinates")
        if isinstance(interval, Periodic):
            return self.around(axis, interval)
        if count > MOST_NODES:
            raise SettingError(
                f"GaussLegendre has at most {MOST_NODES} points on an axis, not {count} on '{axis}': take Grid or Sobol"
            )
        x, w = np.polynomial.legendre.leggauss(int(count))
        return self.placed(axis, interval, (x + 1) / 2, w / 2)


class Fejer(PerAxis):
    """Chebyshev nodes with the weights of Fejér's first rule; n nodes per axis integrate degree n − 1 exactly."""

    shift = (3 - 5**0.5) / 2  # irrational: no node is one of the other rules', whatever their numbers

    def nodes(self, axis: str, interval: Interval, closed: bool) -> Draw:
        if isinstance(interval, Periodic):
            return self.around(axis, interval)
        count = int(self.entry(axis))
        angle = (np.arange(count) + 0.5) * np.pi / count
        order = np.arange(1, count // 2 + 1)
        weight = (1 - 2 * np.cos(2 * np.outer(angle, order)) @ (1 / (4 * order**2 - 1))) / count
        return self.placed(axis, interval, (1 - np.cos(angle)) / 2, weight)


@dataclass(frozen=True, repr=False)
class Counted(PointRule):
    """Rules told by the total number of points, which are random."""

    is_random = True
    count: int

    def __post_init__(self) -> None:
        _positive(self.count, type(self).__name__, "")

    @abc.abstractmethod
    def unit(self, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """Points of the unit cube."""

    def units(self, times: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """So many sets of points of the unit cube, one after the other, from one draw."""
        return type(self)(times * self.count).unit(dimension, rng)

    def draw(
        self, intervals: Intervals, rng: np.random.Generator, *, closed: bool, fixed: Mapping[str, float] | None = None
    ) -> Draw:
        return self.draws(1, intervals, rng)

    def draws(self, times: int, intervals: Intervals, rng: np.random.Generator) -> Draw:
        """So many draws, one after the other."""
        if not intervals:
            return np.zeros((times, 0)), np.ones(times)
        refuse_too_many(times * self.count, self)
        x = placed_in(intervals, self.units(times, len(intervals), rng))
        return x, np.full(len(x), 1.0 / len(x))

    def share(self, fraction: float) -> Counted:
        return type(self)(max(1, round(self.count * fraction)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.count})"


class Uniform(Counted):
    """Independent points, uniformly distributed."""

    def unit(self, dimension: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(size=(self.count, dimension))


class Sobol(Counted):
    """A scrambled Sobol sequence: fills the region evenly in any dimension."""

    def unit(self, dimension: int, rng: np.random.Generator) -> np.ndarray:
        from scipy.stats import qmc

        # SciPy wants a power of two; the points cut off are the last of the sequence.
        power = int(np.ceil(np.log2(self.count)))
        return qmc.Sobol(dimension, rng=rng).random_base2(power)[: self.count]


class Kronecker(Counted):
    """Multiples of an irrational vector, shifted at random: fills the region evenly, and needs no table.

    Along very many axes multiples of nearly equal numbers are no better than random ones, and some pairs of axes go
    together: the points are random there.
    """

    def unit(self, dimension: int, rng: np.random.Generator) -> np.ndarray:
        if dimension > EVEN_AXES:
            return rng.uniform(size=(self.count, dimension))
        # The generalised golden ratio φ, x^(d+1) = x + 1: its powers are as irrational as can be, together.
        golden = 2.0
        for _ in range(64):
            golden = (1 + golden) ** (1 / (dimension + 1))
        steps = golden ** -np.arange(1, dimension + 1)
        return (rng.uniform(size=dimension) + np.arange(self.count)[:, None] * steps) % 1.0


class LatinHypercube(Counted):
    """Points of which every axis sees one in each of n equal intervals."""

    def unit(self, dimension: int, rng: np.random.Generator) -> np.ndarray:
        return self.units(1, dimension, rng)

    def units(self, times: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        # Every set on its own: parts of a large hypercube would be no hypercubes.
        shape = (times, self.count, dimension)
        intervals = rng.permuted(np.broadcast_to(np.arange(self.count)[:, None], shape), axis=1)
        return ((intervals + rng.uniform(size=shape)) / self.count).reshape(-1, dimension)


class Repeated(PointRule):
    """So many draws of a random rule as one: the first set of points, then the second, and so on."""

    is_random = True

    def __init__(self, rule: Counted | Redrawn, times: int) -> None:
        self.rule, self.times = rule, times

    def draw(
        self, intervals: Intervals, rng: np.random.Generator, *, closed: bool, fixed: Mapping[str, float] | None = None
    ) -> Draw:
        return self.rule.draws(self.times, intervals, rng)

    def __repr__(self) -> str:
        return f"{self.times} times {self.rule!r}"


class Redrawn(PointRule):
    """Points of a random rule that are drawn anew every so many steps of a run.

    For points that are few beside the parameters of a model: what it fits between them is contradicted soon.
    """

    is_random = True

    def __init__(self, rule: Counted, every: int = 4) -> None:
        if not isinstance(rule, Counted):
            raise SettingError(
                f"Redrawn needs a random rule, such as Redrawn(Sobol(900)), and {rule!r} always gives the same points"
            )
        if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
            raise SettingError(f"Redrawn needs a whole number of steps, at least 1, as its every=, not {every!r}")
        self.rule, self.every = rule, int(every)

    @property
    def count(self) -> int:
        """How many points there are at a time."""
        return self.rule.count

    def draw(
        self, intervals: Intervals, rng: np.random.Generator, *, closed: bool, fixed: Mapping[str, float] | None = None
    ) -> Draw:
        return self.rule.draw(intervals, rng, closed=closed, fixed=fixed)

    def draws(self, times: int, intervals: Intervals, rng: np.random.Generator) -> Draw:
        """So many draws, one after the other."""
        return self.rule.draws(times, intervals, rng)

    def share(self, fraction: float) -> PointRule:
        return Redrawn(self.rule.share(fraction), self.every)

    def __repr__(self) -> str:
        return f"Redrawn({self.rule!r}, every={self.every})"


class Tangent(PointRule):
    """Points chosen out of many candidates by what they say about the tangent space, anew every so many steps.

    The first points are those of a Sobol sequence; see `anagram.tangent.points` for how the others are chosen.

    Args:
        count: how many points.
        how: ``leverage`` draws with the probability ∝ NNTK(x, x) and weighs with its inverse; ``pivoted`` takes
            the points that span the tangent space best; ``greedy`` those that span the gradient of the loss best;
            ``residual`` draws with the probability ∝ |r| + its mean, for comparison.
        every: steps between two choices.
        candidates: for every point that is chosen.
    """

    is_random = True
    WAYS = ("leverage", "pivoted", "greedy", "residual")

    def __init__(self, count: int, how: str = "leverage", every: int = 25, candidates: int = 4) -> None:
        _positive(count, "Tangent", "")
        if how not in self.WAYS:
            raise SettingError(f"Tangent chooses points by {', '.join(self.WAYS)}, not {how!r}")
        for name, value, least in (("every", every, 1), ("candidates", candidates, 2)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise SettingError(f"Tangent needs a whole number, at least {least}, as its {name}=, not {value!r}")
        self.count, self.how, self.every, self.candidates = int(count), how, int(every), int(candidates)

    def draw(
        self, intervals: Intervals, rng: np.random.Generator, *, closed: bool, fixed: Mapping[str, float] | None = None
    ) -> Draw:
        return Sobol(self.count).draw(intervals, rng, closed=closed, fixed=fixed)

    def pool(self) -> Sobol:
        """The rule of the candidates."""
        return Sobol(self.count * self.candidates)

    def share(self, fraction: float) -> PointRule:
        return Tangent(max(1, round(self.count * fraction)), self.how, self.every, self.candidates)

    def __repr__(self) -> str:
        return f"Tangent({self.count}, {self.how}, every={self.every})"


class Chosen(PointRule):
    """Points given by the user, with optional weights; ``Chosen(t=[…], x=[…])`` by axis name.

    On a face, those of them that lie on it.
    """

    weights_are_final = True

    def __init__(self, *, weights: Sequence[float] | np.ndarray | None = None, **coordinates: Any) -> None:
        if not coordinates:
            raise SettingError("Chosen needs the coordinates of its points, as in Chosen(t=[0, 0.5], x=[0.1, 0.2])")
        for axis, values in coordinates.items():
            _numbers(values, "Chosen", axis)
        columns = {a: np.atleast_1d(np.asarray(v, dtype=float)).ravel() for a, v in coordinates.items()}
        sizes = {a: v.size for a, v in columns.items()}
        if len(set(sizes.values())) != 1:
            raise SettingError(f"Chosen needs equally many coordinates on every axis, not {sizes}")
        if not next(iter(sizes.values())):
            raise SettingError("Chosen was given no points at all")
        self.columns = columns
        self.weights = None if weights is None else np.asarray(weights, dtype=float).ravel()
        if self.weights is not None and (
            self.weights.size != next(iter(sizes.values())) or np.any(self.weights < 0) or not self.weights.sum() > 0
        ):
            raise SettingError("Chosen needs one weight per point, none negative and not all zero")

    def draw(
        self, intervals: Intervals, rng: np.random.Generator, *, closed: bool, fixed: Mapping[str, float] | None = None
    ) -> Draw:
        x, weights = self.columns_of(tuple(intervals))
        count = len(x)
        keep = np.ones(count, dtype=bool)
        for axis, value in (fixed or {}).items():
            if axis in self.columns:
                keep &= self.columns[axis] == value
        for k, (axis, (low, high)) in enumerate(intervals.items()):
            if not np.all((x[:, k] >= low) & (x[:, k] <= high)):
                raise SettingError(f"Chosen has points outside [{low:g}, {high:g}] on the axis '{axis}'")
        return x[keep], weights[keep]

    def columns_of(self, axes: Sequence[str]) -> Draw:
        """All points (n, d), with their weights."""
        missing = [a for a in axes if a not in self.columns]
        if missing:
            raise SettingError(f"Chosen lacks coordinates for the axes {', '.join(missing)}")
        count = len(next(iter(self.columns.values())))
        x = np.stack([self.columns[a] for a in axes], axis=1) if axes else np.zeros((count, 0))
        return x, np.ones(count) if self.weights is None else self.weights

    def __repr__(self) -> str:
        return f"Chosen({len(next(iter(self.columns.values())))} points)"


def _positive(value: Any, rule: str, axis: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        where = f" on the axis '{axis}'" if axis else ""
        raise SettingError(f"{rule} needs a whole number of points, at least 1{where}, not {value!r}")
    if value > MOST_POINTS:
        raise SettingError(f"{rule} cannot have more than {MOST_POINTS:.0e} points: take fewer")


def _numbers(values: Any, rule: str, axis: str) -> None:
    try:
        np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise SettingError(f"{rule} needs numbers as the coordinates on the axis '{axis}', not {values!r}") from None


def refuse_too_many(points: int, rule: Any) -> None:
    """Say that points do not fit into memory, before any of them is drawn."""
    there, needed = physical_memory(), BYTES * points
    if there is not None and needed > there:
        raise SettingError(
            f"the points of {rule!r} take about {gigabytes(needed)} GB of memory, this machine has "
            f"{gigabytes(there)}: take fewer"
        )
