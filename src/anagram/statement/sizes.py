"""Natural sizes: how large values, and the rows of every condition, are by the problem's own account.

A problem in metres and the same one in kilometres must be solved with the same digits. What a network gives is
therefore offset + size·N with N of the order of one, and every row is divided by what its operator makes of a wave of
the domain's own length. Both follow from sources, operators and domain alone, and change with the units as the problem
does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anagram.statement.condition import source_rows, with_fields
from anagram.statement.domains import Cloud, Domain, GaussLegendre, Kronecker, Region
from anagram.statement.evaluation import evaluate_many
from anagram.statement.expressions import Derivatives, Leaf, Node, Unknown, Wanted, degree, everything
from anagram.statement.fields import Field, Frame, constant

if TYPE_CHECKING:
    from anagram.statement.problem import Problem

# Half waves along every axis, and whole ones along periodic axes: more than one, because an operator may vanish on it.
WAVES = (1.0, 1.5, 1.0, 1.5)
WAVES_AROUND = (1.0, 2.0, 1.0, 2.0)
NEXT_PAIR = 1.2  # times as many on the third and fourth axis as on the first and second, and so on
# A product over a hundred axes is zero nearly everywhere, and huge where it is not: with more axes than these, waves
# are sums of products over a few axes each.
MOST_TOGETHER, TOGETHER = 12, 4
SLOWEST, FASTEST, DRIFTS = 1.0, 100.0, 24  # radians along an open axis that are looked at, and how many of them
SMALLEST, LARGEST = 1e-60, 1e60  # of sizes that are looked for
CANCELLED = 1e-6  # of what a shift changes: waves that change less cancel each other
HALVINGS = 14  # of the logarithm of an amplitude, which is found to a thousandth
FAR_LARGER = 1e3  # times what another unknown changes, relative to what is known of both
SAME = 1e-9  # values that differ by less than this fraction of their size are taken to be constant


@dataclass(frozen=True)
class Sizes:
    """The natural sizes of a problem.

    Attributes:
        offset: the middle of the values of each unknown, for every real component of a model's output.
        size: how far from the middle they are, about.
        rows: by condition, how large the rows of each of its real components are.
        drift: by open axis, how fast a wave around periodic axes changes along it, about, in radians from one end to
            the other; nothing if there are no such axes.
    """

    offset: tuple[float, ...]
    size: tuple[float, ...]
    rows: dict[str, tuple[float, ...]]
    drift: tuple[float, ...] = ()


def natural_sizes(problem: Problem) -> Sizes:
    """Offsets and sizes of the unknowns, and what the rows of the conditions are to be divided by."""
    trial = Trial(problem)
    offset, spread = trial.given_values()
    size = trial.amplitudes(offset, spread)
    if problem.guess is not None:
        offset, size = trial.of_guess(offset, size)
    rows = trial.row_sizes(offset, size)
    return Sizes(trial.per_output(offset), trial.per_output(size), rows, trial.drifts(offset, size))


def in_natural_sizes(problem: Problem, sizes: Sizes) -> Problem:
    """The same problem with the rows of every condition divided by their natural sizes."""
    return problem.restated(row_sizes=sizes.rows)


class Trial:
    """Conditions at some points of their regions, applied to waves."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.names = [u.name for u in problem.unknowns]
        self.clouds: dict[str, Cloud] = {}
        self.sources: dict[str, np.ndarray] = {}
        self._waves = _AnyWaves()
        self._bound: dict[str, list[Node]] = {}
        self._rest: dict[tuple[Any, ...], np.ndarray] = {}
        for key in problem.conditions:
            region = problem.region(key)
            cloud = region.draw(_points(region, problem.domain), np.random.default_rng(0))
            self.clouds[key] = cloud
            self.sources[key] = source_rows(
                problem.sources[key], region, cloud.x, problem.components[key], f"condition '{key}'"
            )

    def rows(
        self,
        key: str,
        offset: Mapping[str, float],
        size: Mapping[str, float],
        wave: int,
        half_waves: Sequence[float] | np.ndarray | None = None,
    ) -> np.ndarray:
        """D of offset + size·wave at the points of a condition: (points, real components).

        `half_waves` has the number of half waves along every axis, where it is not that of `WAVES`.
        """
        self._waves.now = _Waves(self.problem, offset, size, wave, half_waves)
        columns: list[np.ndarray] = []
        values = evaluate_many(self._expressions(key), self.clouds[key].x)
        for value, is_complex in zip(values, self.problem.components[key], strict=True):
            columns += [np.real(value), np.imag(value)] if is_complex else [np.real(value)]
        return np.stack(columns, axis=1)

    def _expressions(self, key: str) -> list[Node]:
        """The expressions of a condition with waves for its unknowns; which waves these are is said later."""
        if key not in self._bound:
            problem, cloud = self.problem, self.clouds[key]
            frame = Frame(problem.domain.axes)
            fields: dict[str, Field] = {
                name: Field(Leaf(self._waves, name, (0,) * len(frame.axes)), frame) for name in self.names
            }
            fields |= {name: constant(guess, frame) for name, guess in problem.coefficients.items()}
            normal = None if cloud.normal is None else cloud.normal.T
            self._bound[key] = list(with_fields(problem.expressions[key], fields, problem.domain.axes, normal))
        return self._bound[key]

    def at_rest(self, key: str, offset: Mapping[str, float]) -> np.ndarray:
        """D of the offsets alone."""
        what = (key, *offset.values())
        if what not in self._rest:
            self._rest[what] = self.rows(key, offset, dict.fromkeys(self.names, 0.0), 0)
        return self._rest[what]

    def response(
        self,
        key: str,
        offset: Mapping[str, float],
        size: Mapping[str, float],
        half_waves: Sequence[float] | np.ndarray | None = None,
    ) -> np.ndarray:
        """By how much the rows of each component change when waves are added to the offsets, root mean square."""
        rest = self.at_rest(key, offset)
        changes = [self.rows(key, offset, size, wave, half_waves) - rest for wave in range(len(WAVES))]
        found = _rms(np.concatenate(changes))
        if half_waves is not None or not self.problem.domain.periodic_axes:
            return found
        # Waves around a ring have no mean: an integral sees them only if they are shifted.
        shifted = _rms(self.at_rest(key, {name: offset[name] + size[name] for name in offset}) - rest)
        return np.where(found < CANCELLED * shifted, shifted, found)

    def drifts(self, offset: Mapping[str, float], size: Mapping[str, float]) -> tuple[float, ...]:
        """How fast a wave around changes along each open axis: so that both change the rows as much."""
        domain = self.problem.domain
        closed = np.array([axis in domain.periodic_axes for axis in domain.axes])
        if not closed.any():
            return ()
        # Frames do not move along parameters.
        moving = [not around and a not in domain.parameter_axes for a, around in zip(domain.axes, closed, strict=True)]
        return tuple(self._drift(k, closed, offset, size) for k in np.flatnonzero(moving).tolist())

    def _drift(self, along: int, closed: np.ndarray, offset: Mapping[str, float], size: Mapping[str, float]) -> float:
        domain, found = self.problem.domain, [SLOWEST]
        for key in self.problem.conditions:
            if self.problem.region(key).dimension < domain.dimension:
                continue
            around = self.response(key, offset, size, 2.0 * closed)
            for column in np.flatnonzero(np.isfinite(around) & (around > 0)).tolist():

                def response(turns: float, key: str = key, column: int = column) -> float:
                    return float(self.response(key, offset, size, turns / np.pi * np.eye(len(closed))[along])[column])

                steps = np.geomspace(SLOWEST, FASTEST, DRIFTS)
                enough = [v for v in steps.tolist() if response(v) >= around[column]]
                found.append(enough[0] if enough else SLOWEST)
        return max(found)

    def given_values(self) -> tuple[dict[str, float], dict[str, float]]:
        """The middle of the values that conditions give each unknown, and how far from it they are."""
        offset, spread = dict.fromkeys(self.names, 0.0), dict.fromkeys(self.names, 0.0)
        complex_ones = {u.name for u in self.problem.unknowns if u.is_complex}
        given: dict[str, list[np.ndarray]] = {name: [] for name in self.names}
        others: dict[str, list[np.ndarray]] = {name: [] for name in self.names}
        for key in self.problem.conditions:
            for name, values, plain in self._values(key):
                (given if plain else others)[name].append(values)
        # Conditions such as Robin's count where there is no other.
        given = {name: parts or others[name] for name, parts in given.items()}
        for name, parts in given.items():
            if not parts:
                continue
            values = np.concatenate(parts)
            middle = 0.0 if name in complex_ones else float(values.mean())
            around = float(_rms(values - middle))
            # A middle that is small beside the values is none.
            if abs(middle) < around:
                middle, around = 0.0, float(_rms(values))
            offset[name], spread[name] = middle, around if around > SAME * abs(middle) else 0.0
        return offset, spread

    def _values(self, key: str) -> list[tuple[str, np.ndarray, bool]]:
        """The values that a condition gives to one unknown, if it does, and whether it speaks of nothing else."""
        found: list[tuple[str, np.ndarray, bool]] = []
        inside = self.problem.region(key).dimension == self.problem.domain.dimension
        zero, column = dict.fromkeys(self.names, 0.0), 0
        for node, is_complex in zip(self.problem.expressions[key], self.problem.components[key], strict=True):
            read = unknowns_in(node)
            names = {u.name for u in read}
            plain = not any(any(u.index) for u in read)
            if len(names) == 1 and degree(node) == 1 and (plain or not inside):
                name = names.pop()
                rest = self.at_rest(key, zero)[:, column]
                slope = self.at_rest(key, zero | {name: 1.0})[:, column] - rest
                if np.all(np.abs(slope) > 0):
                    values = (self.sources[key][:, column] - rest) / slope
                    if is_complex:
                        values = np.concatenate([values, self.sources[key][:, column + 1]])
                    found.append((name, values, plain))
            column += 2 if is_complex else 1
        return found

    def amplitudes(self, offset: Mapping[str, float], spread: Mapping[str, float]) -> dict[str, float]:
        """How far from its middle each unknown is: by the values given, and by what sources ask of the operators."""
        size = dict(spread)
        known = {name: max(abs(offset[name]), spread[name]) for name in self.names}
        for key in self.problem.conditions:
            for name, amplitude in self._asked(key, offset, known).items():
                size[name] = max(size[name], amplitude)
        for _ in self.names:  # unknowns that no source speaks of balance the others
            missing = [name for name in self.names if size[name] == 0]
            for name in missing:
                size[name] = max(
                    [self._balanced(key, name, offset, size) for key in self.problem.conditions], default=0.0
                )
        return {name: s if s > 0 else (abs(offset[name]) or 1.0) for name, s in size.items()}

    def of_guess(
        self, offset: Mapping[str, float], size: Mapping[str, float]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """The sizes of a first guess, which says more than the conditions do; where it vanishes, theirs."""
        assert self.problem.guess is not None
        sizes = dict(size)
        for region, unknowns in self.problem.sought.by_region:
            values = self.problem.guess(region.draw(Kronecker(128), np.random.default_rng(0)).x)
            for unknown in unknowns:
                around = float(_rms(np.abs(np.asarray(values[unknown.name]) - offset[unknown.name])))
                sizes[unknown.name] = around if around > SAME * size[unknown.name] else size[unknown.name]
        return dict(offset), sizes

    def _is_affine(self, key: str) -> bool:
        return all(degree(node) == 1 for node in self.problem.expressions[key])

    def _reads(self, key: str, name: str) -> bool:
        return any(u.name == name for node in self.problem.expressions[key] for u in unknowns_in(node))

    def _asked(self, key: str, offset: Mapping[str, float], known: Mapping[str, float]) -> dict[str, float]:
        """The sizes of unknowns with which an operator is as large as its source, each with the others at rest.

        `known` has how large unknowns are by the values given. One that would have to be far larger than that is not
        asked where another can do it: in a' = −k a + b c with b and c nearly zero it is a that changes.
        """
        excess = _rms(self.sources[key] - self.at_rest(key, offset))
        scale = np.maximum(_rms(self.sources[key]), _rms(self.at_rest(key, offset)))
        asked = dict.fromkeys((name for name in self.names if self._reads(key, name)), 0.0)
        for column in np.flatnonzero(excess > SAME * scale).tolist():

            def response(amplitude: float, name: str, column: int = column) -> float:
                sizes = dict.fromkeys(self.names, 0.0) | {name: amplitude}
                return float(self.response(key, offset, sizes)[column])

            linear, wanted = self._is_affine(key), float(excess[column])
            found = {n: _solved(functools.partial(response, name=n), wanted, linear=linear) for n in asked}
            times = {n: found[n] / known[n] for n in asked if known[n] > 0 and found[n] > 0}
            least = min(times.values(), default=np.inf)
            for name in asked:
                if times.get(name, 0.0) <= max(1.0, FAR_LARGER * least):
                    asked[name] = max(asked[name], found[name])
        return asked

    def _balanced(self, key: str, name: str, offset: Mapping[str, float], size: Mapping[str, float]) -> float:
        """The size of an unknown with which it changes the rows of a condition as much as all others do."""
        if not self._reads(key, name):
            return 0.0
        others = self.response(key, offset, size)
        alone = dict.fromkeys(self.names, 0.0)
        found = [0.0]
        for column in np.flatnonzero(others > 0).tolist():

            def response(amplitude: float, column: int = column) -> float:
                return float(self.response(key, offset, alone | {name: amplitude})[column])

            found.append(_solved(response, float(others[column]), linear=self._is_affine(key)))
        return max(found)

    def row_sizes(self, offset: Mapping[str, float], size: Mapping[str, float]) -> dict[str, tuple[float, ...]]:
        """How large the rows of every condition are for waves of natural size; their sources where that is nothing."""
        found = {}
        for key in self.problem.conditions:
            response = self.response(key, offset, size)
            fallback = _rms(self.sources[key] - self.at_rest(key, offset))
            fallback = np.where(np.isfinite(fallback) & (fallback > 0), fallback, 1.0)
            usable = np.isfinite(response) & (response > 0)
            found[key] = tuple(float(s) for s in np.where(usable, response, fallback))
        return found

    def per_output(self, values: Mapping[str, float]) -> tuple[float, ...]:
        """A number for each real component of the unknowns."""
        return tuple(values[u.name] for u in self.problem.unknowns for _ in range(u.components))


class _AnyWaves:
    """Waves that are exchanged while an expression stays what it is."""

    adds_up = False
    now: _Waves

    def derivatives(self, x: Any, wanted: dict[str, Wanted]) -> dict[str, Derivatives]:
        """The wanted derivatives of the present waves."""
        return self.now.derivatives(x, wanted)


class _Waves:
    """offset + size·√2ⁿ Π cos(π k z_i + φ_i) for each unknown, z from 0 to 1 along every axis; periodic where it is.

    Of many axes, a sum of such products over a few of them each.
    """

    adds_up = False

    def __init__(
        self,
        problem: Problem,
        offset: Mapping[str, float],
        size: Mapping[str, float],
        wave: int,
        half_waves: Sequence[float] | np.ndarray | None = None,
    ) -> None:
        self.offset, self.size = offset, size
        domain = problem.domain
        # As long as the box that an unknown lives in.
        boxes = {u.name: u.box(domain) for u in problem.unknowns}
        # Other numbers on every axis: on a wave that is the same along two of them, u_tt − u_xx vanishes.
        most = domain.dimension if domain.dimension <= MOST_TOGETHER else TOGETHER
        halves = [
            2 * WAVES_AROUND[(wave + k) % len(WAVES)]
            if axis in domain.periodic_axes
            else WAVES[(wave + k) % len(WAVES)] * NEXT_PAIR ** (k % most // 2)
            for k, axis in enumerate(domain.axes)
        ]
        # As many half waves from one end of every axis to the other.
        along = np.array(halves if half_waves is None else half_waves)
        own = {u.name: along * u.depends_on(domain.axes) for u in problem.unknowns}
        self.places = {name: (box.low, np.pi * own[name] / box.lengths) for name, box in boxes.items()}
        count = len(problem.unknowns)
        phases = np.random.default_rng(wave).uniform(0, 2 * np.pi, (count, 2, domain.dimension))
        self.phases = {u.name: (phases[k], u.is_complex) for k, u in enumerate(problem.unknowns)}

    def derivatives(self, x: Any, wanted: dict[str, Wanted]) -> dict[str, Derivatives]:
        """The wanted derivatives at points, given as arrays of coordinates."""
        found = {}
        for name, which in wanted.items():
            phases, is_complex = self.phases[name]
            values = {}
            for index in which.indices:
                parts = [self._wave(name, x, phase, index) for phase in phases[: 1 + is_complex]]
                value = parts[0] + 1j * parts[1] if is_complex else parts[0]
                values[index] = self.size[name] * value + (0.0 if any(index) else self.offset[name])
            found[name] = Derivatives(values)
        return found

    def _wave(self, name: str, x: Any, phase: np.ndarray, index: tuple[int, ...]) -> Any:
        low, number = self.places[name]
        if any(order and number[axis] == 0 for axis, order in enumerate(index)):
            return 0.0
        moving = np.flatnonzero(number).tolist()
        size = len(moving) if len(moving) <= MOST_TOGETHER else TOGETHER
        groups = [moving[first : first + size] for first in range(0, len(moving), max(1, size))] or [[]]
        total = 0.0
        for group in groups:
            if any(order and axis not in group for axis, order in enumerate(index)):
                continue
            product = 1.0
            for axis in group:
                order = index[axis]
                argument = number[axis] * (x[axis] - low[axis]) + phase[axis] + order * np.pi / 2
                product = product * np.sqrt(2) * number[axis] ** order * np.cos(argument)
            total = total + product
        return total / np.sqrt(len(groups))


def _points(region: Region, domain: Domain) -> Any:
    # A harmonic is constant on as many equispaced points of a periodic axis; on other points it never is.
    return GaussLegendre(6) if region.dimension <= 2 and not domain.periodic_axes else Kronecker(128)


def _rms(values: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.sqrt(np.mean(np.square(values), axis=0))


def unknowns_in(node: Node) -> list[Unknown]:
    """The derivatives of unknowns that an expression reads."""
    return [part for part in everything([node]) if isinstance(part, Unknown)]


def _solved(response: Callable[[float], float], wanted: float, *, linear: bool) -> float:
    """The smallest amplitude with which a response is as large as wanted; 0 if there is none.

    A response that saturates, as that of a force which falls with the distance, may come close to what is wanted and
    never get there. So an amplitude is at most twice the one that is good for half of it.
    """
    if linear:
        slope = response(1.0)
        return wanted / slope if slope > 0 else 0.0
    grid = np.linspace(np.log(SMALLEST), np.log(LARGEST), 61)
    values = np.array([response(float(np.exp(a))) for a in grid])
    half = _first(response, grid, values, wanted / 2)
    return min(_first(response, grid, values, wanted) or np.inf, 2 * half)


def _first(response: Callable[[float], float], grid: np.ndarray, values: np.ndarray, wanted: float) -> float:
    """The smallest amplitude with which a response is as large as wanted, from its values on a grid of logarithms."""
    enough = np.isfinite(values) & (values >= wanted)
    if not enough.any() or enough[0]:
        return 0.0
    low, high = grid[np.argmax(enough) - 1], grid[np.argmax(enough)]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        value = response(float(np.exp(middle)))
        low, high = (low, middle) if np.isfinite(value) and value >= wanted else (middle, high)
    return float(np.exp(high))
