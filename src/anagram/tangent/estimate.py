"""Estimating the error of a solution without knowing the true one.

The residual r = (D,B)(u_θ) − (f,g) of a solution and its error e = u_θ − u* belong together by (D,B)'[e] = r, to first
order, and the Green's function on the tangent space solves this equation: e ≈ ∫ g(·, y) r(y) dy. That is the natural
gradient step of the solution, taken on fresh points and seen as a function. What it cannot see is the residual
that is orthogonal to the tangent space; that part is taken to count as much as the part that was seen.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram import spectrum
from anagram.compound import Compound
from anagram.compound.batch import Batch, checked_seed, count_rows, enough_points, in_round_numbers, point_rules, sample
from anagram.compound.reuse import reuse, shapes_text
from anagram.environment import device_memory, gigabytes
from anagram.errors import EstimateWarning, ProblemError, SettingError
from anagram.models import ParametricModel
from anagram.spectrum import guarded
from anagram.statement.domains import GaussLegendre, Kronecker, PointRule
from anagram.statement.domains.bends import Bend
from anagram.statement.domains.rules import MOST_NODES, Fejer
from anagram.statement.expressions import Derivatives, Leaf, Wanted
from anagram.statement.fields import Field, Frame
from anagram.statement.jumps import jumps_inside
from anagram.statement.problem import Problem
from anagram.statement.sizes import in_natural_sizes, natural_sizes
from anagram.statement.unknowns import Unknowns

CUTOFF = 1e-11  # of the largest singular value: what is below amplifies rounding
FIELD_POINTS = 4096  # on which fields are compared
FREE_POINTS = 128  # on which directions that no condition sees are looked for
FRESH = 3_000_017  # random numbers that never meet those of training and validation points
GUARD = 1e-12  # of the lengths of columns: features may be dependent to rounding
ROWS_PER_PARAMETER = 3
ESTIMATE_AT_MOST = 3000  # parameters; above, an estimate takes longer than many runs: it is made where it is asked for
LARGE = "the model is large; solution.estimate_error() takes the time for it"
MATRICES = 6  # of size P×P that an estimate holds at the same time
# Beyond these the estimate is called unreliable; see docs/theory.md for how often it was wrong on either side.
DISAGREE, UNSEEN = 0.5, 0.95
LINEAR_BELOW = (
    0.03  # relative errors above say that an equation that is not linear was linearised too far from its solution
)
# Directions that no condition sees move the fields by 1e-12 of what others do where the conditions determine the
# solution, and by a percent or more where they do not.
FREE = 1e-6
NOT_DETERMINED = ("the conditions do not determine the solution", "no condition holds inside")


@dataclass(frozen=True)
class ErrorEstimate:
    """The estimated root mean square of u_θ − u*, and what it rests on.

    Attributes:
        value: the estimate; `float(estimate)` is the same.
        relative: as a fraction of the root mean square of the solution.
        seen: root mean square of the error field alone, without what is orthogonal to the tangent space.
        disagreement: how far the error fields of two independent batches are apart, relative to their mean.
        unseen: the share of the residual on one batch that is left when the error found on the other one is taken off
            the solution. The equation is evaluated again for it: where it is not linear, this also measures how far
            linearising can be trusted.
        worst: the largest relative error among the unknowns, each by itself, and the coefficients.
        coefficients: the estimated errors of learned coefficients.
        reasons: why the estimate is not to be relied on; empty if it is.
        direction: the error as a direction in parameter space.
    """

    value: float
    relative: float
    seen: float
    disagreement: float
    unseen: float
    worst: float
    coefficients: dict[str, float]
    reasons: tuple[str, ...]
    direction: Float[np.ndarray, " params"]

    @property
    def reliable(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons

    def as_json(self) -> dict[str, Any]:
        """What the summary of a run keeps of it."""
        return {
            "value": self.value,
            "relative": self.relative,
            "reliable": self.reliable,
            "reasons": list(self.reasons),
            "coefficients": self.coefficients,
        }

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.1e}" + ("" if self.reliable else f" (not reliable: {'; '.join(self.reasons)})")


class Moved:
    """u_θ + du_θ(δ): a model moved along a tangent direction, as a function and not in its parameters.

    Its parameters are θ and δ, one after the other.
    """

    def __init__(self, model: ParametricModel) -> None:
        self.model, self.sought, self.placement = model, model.sought, model.placement

    def placed(self, placement: Any) -> Moved:
        """The same between other units."""
        return Moved(self.model.placed(placement))

    def quantities(self, both: Float[Array, " twice"], frame: Frame) -> dict[str, Field]:
        """The unknown fields and the coefficients, by name."""
        theta, direction = jnp.split(both, 2)
        source, zero = MovedSource(self.model, theta, direction), (0,) * len(frame.axes)
        fields = {u.name: Field(Leaf(source, u.name, zero), frame) for u in self.sought.unknowns}
        at, along = self.model.quantities(theta, frame), self.model.quantities(direction, frame)
        # Coefficients are parameters themselves: along a direction they move by its own.
        return fields | {name: at[name] + along[name] for name in self.sought.coefficients}


class MovedSource:
    """What gives u_θ + du_θ(δ) and its derivatives at a point."""

    adds_up = True

    def __init__(self, model: ParametricModel, theta: Array, direction: Array) -> None:
        self.model, self.theta, self.direction = model, theta, direction

    def derivatives(self, x: Array, wanted: dict[str, Wanted]) -> dict[str, Derivatives]:
        """The wanted derivatives of each unknown at a point."""

        def here(theta: Array) -> dict[str, tuple[Any, Any]]:
            found = self.model.source(theta).derivatives(x, wanted)
            return {name: (list(d.values.values()), d.sums) for name, d in found.items()}

        at, along = jax.jvp(here, (self.theta,), (self.direction,))
        moved = jax.tree.map(jnp.add, at, along)
        return {
            name: Derivatives(dict(zip(wanted[name].indices, values, strict=True)), sums)
            for name, (values, sums) in moved.items()
        }


class Estimator:
    """Fresh points and compiled functions; estimates for any parameters of a model."""

    def __init__(
        self,
        problem: Problem,
        model: ParametricModel,
        points: int | None = None,
        seed: int = 0,
        instead: Sequence[Batch] = ({}, {}),
        least: Mapping[str, float] | None = None,
        shares: Mapping[str, float] | None = None,
        bends: Mapping[str, Bend] | None = None,
        on: Batch | None = None,
    ) -> None:
        """`instead` has other points for some conditions, in both batches: those of cells that have moved.

        `least` has sizes of unknowns below which errors are not relative to what they are, but to these. `shares` says
        by axis how many times as many nodes it has as others, for models that are finer along some axes, and `bends`
        where they crowd. `on` has points that are taken in place of fresh ones, for what `projected` does.
        """
        self.least = least or {}
        if points is not None and (isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 1):
            raise SettingError(f"points is the number of fresh points inside the domain, at least 1, not {points!r}")
        self.problem, self.model = problem, model
        _refuse_too_large(model.parameters)
        if on is None:
            enough = max(round(ROWS_PER_PARAMETER * model.parameters), enough_points(problem))
            inside = max(int(points or 0), enough)
            numbers = [k + 2 * checked_seed(seed) for k in range(2)]
            rules = [_fresh_rules(problem, inside, number, shares or {}, bends or {}) for number in numbers]
            drawn = [sample(problem, r, seed=FRESH + 2 * seed + k) for k, r in enumerate(rules)]
            self.batches = [{**batch, **other} for batch, other in zip(drawn, instead, strict=True)]
        else:
            self.batches = [in_round_numbers(on)] * 2
        self.points = _field_points(model.sought)
        self.compound = Compound(problem, model)
        key = f"estimate {self.compound.fingerprint} {shapes_text(self.batches, self.points)}"
        programs = reuse(key, lambda: _programs(self.compound))
        self._direction, self._left, self._fields, self._projection = (
            functools.partial(program, self.compound.numbers) for program in programs
        )

    def __call__(self, theta: Any) -> ErrorEstimate:
        """The estimate for some parameters."""
        theta = jnp.asarray(theta, dtype=float)
        few = self.points[:, :FREE_POINTS]
        # As arrays of NumPy: every operation of JAX outside of a program is compiled by itself.
        (one, free), (two, _) = (tuple(map(np.asarray, self._direction(theta, batch, few))) for batch in self.batches)
        values, first = np.asarray(self._fields(theta, one, self.points))
        second = np.asarray(self._fields(theta, two, self.points))[1]
        if not (np.all(np.isfinite(one)) and np.all(np.isfinite(two))):
            raise ProblemError("the residual is not finite on fresh points: the error cannot be estimated")
        left = [float(self._left(theta, one, self.batches[1])), float(self._left(theta, two, self.batches[0]))]
        mean = _rms((first + second) / 2)
        disagreement = _rms(first - second) / mean if mean > 0 else 0.0
        unseen = float(np.sqrt(np.mean(np.square(left))))
        # What no direction of the tangent space holds is taken to count as much as what they hold.
        value = mean / np.sqrt(1 - min(unseen, UNSEEN) ** 2)
        size = _rms(values)
        middle = -(one + two) / 2
        errors = self.model.coefficients(jnp.asarray(middle)) if self.model.sought.coefficients else {}
        share = value / mean if mean > 0 else 1.0
        worst = self._worst(values, (first + second) / 2, theta, errors) * share
        return ErrorEstimate(
            value=float(value),
            relative=float(value / size) if size > 0 else float("nan"),
            seen=mean,
            disagreement=disagreement,
            unseen=unseen,
            worst=float(worst),
            coefficients=errors,
            reasons=(*self._undetermined(float(free)), *_reasons(disagreement, unseen, worst, self.problem.is_linear)),
            direction=middle,
        )

    def undetermined(self, theta: Any) -> tuple[str, ...]:
        """Why the conditions do not determine the solution; nothing if they do. It is quicker than an estimate."""
        free = self._direction(jnp.asarray(theta, dtype=float), self.batches[0], self.points[:, :FREE_POINTS])[1]
        return self._undetermined(float(free))

    def projected(self, theta: Any) -> tuple[float, np.ndarray]:
        """The change that solves the problem, were it linear: how large it is, relative, and its direction.

        For models that are their own tangent space, and a problem that is a little different from what they solve: one
        step of least squares, which is quicker than an estimate.
        """
        theta = jnp.asarray(theta, dtype=float)
        direction = np.asarray(self._projection(theta, self.batches[0]))
        values, change = np.asarray(self._fields(theta, direction, self.points))
        return self._worst(values, change, theta, {}), direction

    def _worst(self, values: np.ndarray, error: np.ndarray, theta: Any, of_coefficients: dict[str, float]) -> float:
        """The largest relative error of the unknowns and coefficients."""
        found, start = [0.0], 0
        for unknown in self.model.sought.unknowns:
            part = slice(start, start + unknown.components)
            start = part.stop
            size = max(_rms(values[:, part]), self.least.get(unknown.name, 0.0))
            found.append(_ratio(_rms(error[:, part]), size))
        known = self.model.coefficients(theta) if of_coefficients else {}
        found += [_ratio(abs(of_coefficients[name]), abs(value)) for name, value in known.items()]
        return max(found)

    def _undetermined(self, free: float) -> tuple[str, ...]:
        """Whether the conditions leave the solution open; then its residual says nothing about its error."""
        inner = self.problem.domain.dimension
        if all(self.problem.region(key).dimension < inner for key in self.problem.soft):
            return (f"{NOT_DETERMINED[1]} the domain",)
        if free > FREE:
            return (f"{NOT_DETERMINED[0]}: it can be changed without any of them noticing",)
        return ()


def _refuse_too_large(parameters: int) -> None:
    """An estimate needs all of a spectrum; where that does not fit there is none, and it says so."""
    there, needed = device_memory(), 8 * MATRICES * (parameters + 1) ** 2
    if there is not None and needed > there:
        raise SettingError(
            f"the error of a model with {parameters} parameters is not estimated: that takes matrices of about "
            f"{gigabytes(needed)} GB, and there are {gigabytes(there)}; solve the problem with two models and compare"
        )


def _field_points(sought: Unknowns) -> Float[np.ndarray, "sets points axes"]:
    """Points on which fields are compared, in every set on which unknowns live."""
    rule = Kronecker(FIELD_POINTS)
    drawn = [region.draw(rule, np.random.default_rng(FRESH)).x for region, _ in sought.by_region]
    # Parts of a set may have a point more or less.
    fewest = min(map(len, drawn))
    return np.stack([x[:fewest] for x in drawn])


def _on_own_sets(sought: Unknowns, function: Callable[[Array], Any], points: Array) -> Any:
    """Values of all outputs of a model, each on the points of the set on which its unknown lives."""
    columns: dict[str, list[int]] = {}
    for unknown in sought.unknowns:
        first = sum(map(len, columns.values()))
        columns[unknown.name] = list(range(first, first + unknown.components))
    if len(points) == 1:
        return jax.vmap(function)(points[0])
    found, places = [], []
    for x, (_, unknowns) in zip(points, sought.by_region, strict=True):
        own = np.array([c for u in unknowns for c in columns[u.name]])
        places += own.tolist()
        found.append(jax.tree.map(lambda values, own=own: values[:, own], jax.vmap(function)(x)))
    order = np.argsort(places)
    return jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=1)[:, order], *found)


def _fresh_rules(
    problem: Problem, inside: int, which: int, shares: Mapping[str, float], bends: Mapping[str, Bend]
) -> dict[str, PointRule]:
    """Points that no run was trained on.

    On a line and in the plane they are the nodes of quadrature rules, alternately of Gauss and of Fejér: they see
    layers at the boundary, and integrate smooth functions to rounding. In more dimensions they are spread at random.
    """
    rules = point_rules(problem, None, inside, random=True)
    if problem.domain.dimension > 2:
        return rules
    side = inside ** (1 / problem.domain.dimension)
    # A node in the middle may be where an equation jumps, and belong to neither side.
    even_ones = bool(jumps_inside(problem))

    def count(wanted: float) -> int:
        number = min(MOST_NODES, max(3, round(wanted)) + which // 2)
        return number + number % 2 if even_ones else number

    nodes = {axis: count(side * share) for axis, share in shares.items()}
    even = [] if nodes else [count(side)]
    rule = GaussLegendre(*even, **nodes) if which % 2 == 0 else Fejer(*even, **nodes)
    return {**rules, **{key: rule.bent(bends) for key in problem.soft if problem.region(key).dimension > 0}}


def _programs(compound: Compound) -> tuple[Callable[..., Any], ...]:
    """The direction of the error, the residual that is left without it, and the fields; numbers in operators first."""
    moved = Compound(compound.problem, Moved(compound.model))  # pyright: ignore[reportArgumentType]
    own = functools.partial(_on_own_sets, compound.model.sought)

    def direction(numbers: Any, theta: Array, batch: Batch, few: Array) -> tuple[Array, Array]:
        modes = spectrum.from_triangle(compound.with_numbers(numbers).triangle(theta, batch), count_rows(batch))
        cutoff = CUTOFF * modes.largest
        # How far the fields move along directions that the conditions do not see.
        slopes = own(lambda x: jax.jacrev(compound.model.placed(numbers.units).values)(theta, x), few)
        sizes = jnp.sqrt(jnp.mean((slopes @ modes.lift.T) ** 2, axis=(0, 1)))
        free = jnp.max(jnp.where(modes.sigma <= cutoff, sizes, 0.0)) / jnp.max(sizes)
        return modes.truncated(cutoff).direction, free

    def left(numbers: Any, theta: Array, direction: Array, batch: Batch) -> Array:
        # One map over two: the residual is compiled once. Without its direction a model is not moved.
        both = jnp.stack([jnp.concatenate([theta, 0 * direction]), jnp.concatenate([theta, direction])])
        before, after = jax.lax.map(lambda t: jnp.linalg.norm(moved.with_numbers(numbers).residual(t, batch)), both)
        return after / jnp.where(before > 0, before, 1.0)

    def fields(numbers: Any, theta: Array, direction: Array, points: Array) -> Array:
        model = compound.model.placed(numbers.units)
        return jnp.stack(own(lambda x: jax.jvp(lambda t: model.values(t, x), (theta,), (direction,)), points))

    def projection(numbers: Any, theta: Array, batch: Batch) -> Array:
        factor = guarded.scaled(compound.with_numbers(numbers).triangle(theta, batch))
        return guarded.solved(factor, jnp.asarray(GUARD), GUARD)[0]

    layout = compound.layout
    return tuple(layout.program(layout.quick_jit(program)) for program in (direction, left, fields, projection))


def estimate_error(
    problem: Problem, model: ParametricModel, theta: Any, points: int | None = None, seed: int = 0
) -> ErrorEstimate:
    """Estimate the error of u_θ on fresh points; see `ErrorEstimate`.

    Args:
        problem: what it solves.
        model: the family of fields.
        theta: the parameters.
        points: fresh points inside the domain, in each of two batches; three for every parameter at least.
        seed: for these points.
    """
    # Whatever the units: a direction that no condition sees must not be one that is seen in small units only.
    return Estimator(in_natural_sizes(problem, natural_sizes(problem)), model, points, seed)(theta)


def warn_if_unreliable(estimate: ErrorEstimate) -> None:
    """A number that is not to be relied on does not come silently."""
    if not estimate.reliable:
        warn_of_doubt(estimate.value, estimate.reasons, stacklevel=4)


def warn_of_doubt(value: float, reasons: Sequence[str], stacklevel: int = 3) -> None:
    """Say why an estimate is not to be relied on."""
    message = f"the error estimate {value:.1e} is not reliable: {'; '.join(reasons)}"
    warnings.warn(message, EstimateWarning, stacklevel=stacklevel)


def _ratio(error: float, size: float) -> float:
    return error / size if size > 0 else (0.0 if error == 0 else np.inf)


def too_far_to_linearise(relative: float, *, linear: bool) -> bool:
    """Whether a relative error is too large to be told from an equation that was linearised."""
    return not linear and relative > LINEAR_BELOW


def _reasons(disagreement: float, unseen: float, relative: float, linear: bool) -> tuple[str, ...]:
    reasons = []
    if too_far_to_linearise(relative, linear=linear):
        reasons.append(f"the equation is not linear, and {100 * relative:.0f} % is too much to linearise it")
    if disagreement > DISAGREE:
        reasons.append(f"two batches of points lead to errors that differ by {100 * disagreement:.0f} %")
    if unseen > UNSEEN:
        where = "lies outside the tangent space" if linear else "lies outside the tangent space, or is not linear"
        reasons.append(f"{100 * min(unseen, 1):.0f} % of the residual {where}")
    return tuple(reasons)


def _rms(values: np.ndarray) -> float:
    """Over points; the squares of components add up."""
    return float(np.sqrt(np.mean(np.sum(np.abs(values) ** 2, axis=-1))))
