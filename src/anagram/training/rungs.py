"""Rungs of a ladder: which network is trained on which points, and what came of it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from anagram.errors import FileError
from anagram.models import (
    MLP,
    Chebyshev,
    Enriched,
    Features,
    ModelSpec,
    Separable,
    Waves,
    along_one_axis,
    kinks_of,
    rough_corners,
    singular_corners,
)
from anagram.statement.domains import Box, Cells, GaussLegendre, Graded, Kronecker, PointRule, PointSet
from anagram.statement.domains.bends import Bend
from anagram.statement.domains.rules import MOST_NODES
from anagram.statement.jumps import jumps_inside
from anagram.statement.problem import Problem
from anagram.statement.sizes import Sizes
from anagram.statement.stretches import evolution_axis

Bends = Mapping[str, Bend]

FEWEST = 40  # points inside the domain
RESOLVED = 0.9  # nodes along an axis for each function of it alone, where there is one for each parameter
CELL = 4  # points along an axis of a cell near corners
MOST_AXES = 3  # on which polynomials are few enough
# Parameters of the networks of each level, about.
LEVELS = (65, 150, 290, 430, 640, 960, 1400, 2000)


@dataclass(frozen=True)
class Plan:
    """What a rung is.

    Attributes:
        level: how large the network is, see `LEVELS`.
        depth: how many hidden layers it has.
        scale: of its input, see `anagram.MLP`.
        ratio: ρ* of its steps.
        density: rows for each parameter.
        cells: whether points move with the residual.
        features: parameters of a wide network of which only the last layer is learned, about; 0 for one that is trained
            as a whole. Level, depth, scale and ratio then mean nothing.
        steepness: of its features, see `anagram.Features`.
        times: how much steeper they are along one axis than along the others.
        axis: the number of this axis.
        below: the number of the rung on whose hidden layers they are drawn; −1 for none.
        couples: how many axes each of them depends on; 0 for all.
        waves: how many functions of the fine axes there are among them, waves around or polynomials, times polynomials
            of the others, see `fine_axes`; 0 for features of units.
        terms: products of functions of one axis of which the model is a sum, see `anagram.Separable`; 0 for others.
        degree: of these functions.
        corners: whether units see corners, see `rough_corners`, in place of singular functions there.
    """

    level: int
    depth: int = 2
    scale: float = 1.0
    ratio: float = 0.075
    density: float = 4.0
    cells: bool = False
    features: int = 0
    steepness: float = 0.0
    times: float = 1.0
    axis: int = 0
    below: int = -1
    couples: int = 0
    waves: int = 0
    corners: bool = False
    terms: int = 0
    degree: int = 0

    @property
    def is_network(self) -> bool:
        """Whether it is a network that is trained as a whole."""
        return not self.features and not self.terms

    def model(
        self,
        problem: Problem,
        sizes: Sizes,
        seed: int = 0,
        trained: dict[str, Any] | None = None,
        bends: Bends | None = None,
    ) -> ModelSpec:
        """The network of the level with so many layers, as wide as its number of parameters allows.

        It is enriched with singular functions where the domain has corners that ask for them, and with kinks where the
        equation jumps. Features are drawn with the seed, on top of the trained layers if there are some.
        """
        if self.terms:
            return Separable(self.terms, degree=self.degree, offset=sizes.offset, size=sizes.size)
        wanted, sought = self.features or LEVELS[self.level], problem.sought
        added = (*(() if self.corners else singular_corners(problem)), *kinks_of(problem))
        units: dict[str, Any] = {"offset": sizes.offset, "size": sizes.size}
        units |= {"drift": sizes.drift} if sizes.drift else {}

        def network(width: int) -> ModelSpec:
            plain = MLP(*[width] * self.depth, scale=self.scale, **units)
            if self.waves:
                places = {"offset": sizes.offset, "size": sizes.size}
                if problem.domain.periodic_axes:
                    return Waves(width, waves=self.waves, **places)
                return Chebyshev(width, finest=self.waves, along=fine_axes(problem), bends=bends, **places)
            if self.features:
                kind: dict[str, Any] = (
                    {} if trained is None else {"trained": trained, "activation": trained["activation"]}
                )
                # Other features on every rung: they are compared with each other.
                numbers = (seed, self.features, self.steepness, self.times, self.axis, self.density, self.below)
                drawn = zlib.crc32(repr(numbers).encode())
                kind |= {"couples": self.couples} if self.couples else {}
                kind |= {"corners": rough_corners(problem)} if self.corners else {}
                plain = Features(width, steepness=self._steepness(problem), seed=drawn, **kind, **units)
            return Enriched(plain, *added) if added else plain

        if self.features:
            each = network(2).count(sought.domain, sought.outputs) - network(1).count(sought.domain, sought.outputs)
            return network(max(2, round(wanted / each)))
        width = 1
        while network(width + 1).count(sought.domain, sought.outputs) <= 1.08 * wanted:
            width += 1
        return network(max(width, 2 + sought.outputs // 2))

    def _steepness(self, problem: Problem) -> float | list[float]:
        """By axis, with the same geometric mean."""
        count = problem.domain.dimension
        if self.times == 1.0 or count == 1:
            return self.steepness
        others = self.steepness / self.times ** (1 / count)
        return [others * (self.times if axis == self.axis else 1.0) for axis in range(count)]


@dataclass(frozen=True)
class Outcome:
    """What came of a rung.

    Attributes:
        parameters: of its network.
        points: in all conditions together.
        steps: taken.
        seconds: of training.
        compile_seconds: of compilation, also of the estimate.
        loss: on its own points.
        validation_loss: on fresh ones.
        relative_error: the true one, where the solution is known.
        estimate: the estimated relative error, if it was estimated.
        trusted: whether the estimate can be relied on.
        reasons: why not.
        stopped_because: why it ended.
        fine_tail: how large the last of its functions along fine axes are, see `anagram.models.waves.tails`, or those
            in a sum of products; 0 for other rungs.
        coarse_tail: the same for the last ones along the other axes.
    """

    parameters: int
    points: int
    steps: int
    seconds: float
    compile_seconds: float
    loss: float
    validation_loss: float
    relative_error: float | None
    estimate: float | None = None
    trusted: bool = False
    reasons: tuple[str, ...] = ()
    stopped_because: str = ""
    fine_tail: float = 0.0
    coarse_tail: float = 0.0

    @property
    def residual(self) -> float:
        """Root mean square of the residuals on fresh points, in natural sizes; infinite where it is not finite."""
        return _residual(self.validation_loss)

    @property
    def own_residual(self) -> float:
        """The same on its own points."""
        return _residual(self.loss)

    @property
    def overfitted(self) -> bool:
        """Whether the network fits its points and not the equation between them."""
        return self.validation_loss > OVERFITTED * self.loss


# Fields that records of earlier versions do not have.
ADDED = ("couples", "waves", "corners", "terms", "degree", "fine_tail", "coarse_tail")
OVERFITTED = 10.0  # times as large on fresh points


def _residual(loss: float) -> float:
    return float(np.sqrt(2 * float(loss))) if np.isfinite(float(loss)) else np.inf


@dataclass(frozen=True)
class Rung:
    """A plan and its outcome; the network and its parameters are kept for the best one only."""

    plan: Plan
    outcome: Outcome
    model: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For records: flat, as users read it."""
        return {**asdict(self.plan), **asdict(self.outcome), "model": self.model}


def rung_points(plan: Plan, problem: Problem, parameters: int, bends: Bends | None = None) -> dict[str, PointRule]:
    """Points for a rung, by condition: those of Gauss and Legendre in few dimensions, random ones in more."""
    dimension, inside = problem.domain.dimension, inside_points(plan, problem, parameters)
    rules: dict[str, PointRule] = {}
    for key in problem.soft:
        region = problem.region(key)
        if isinstance(region, PointSet) or region.dimension == 0:
            continue
        if plan.corners:
            count = max(3, round(inside ** (1 / dimension)))
            rules[key] = Graded(count, CELL, rough_corners(problem))
        elif plan.cells and key in problem.inside and region.takes_cells:
            rules[key] = Cells(inside, order=4)
        elif dimension <= (3 if plan.features else 2) and not is_of_all_axes(plan, problem):
            rules[key] = _nodes(plan, problem, inside).bent(bends if bends and plan.waves else {})
        else:
            # Most of a box of many dimensions lies near its walls: with few points there, they are all that is fitted.
            walls = inside // (4 if dimension <= 3 and not plan.waves else 2)
            rules[key] = Kronecker(inside if key in problem.inside else max(16, walls))
    return rules


def _nodes(plan: Plan, problem: Problem, inside: int) -> GaussLegendre:
    """As many nodes on every axis; more of them along the axes along which a rung is finer."""
    side = inside ** (1 / problem.domain.dimension)
    # A node in the middle may be where an equation jumps, and belong to neither side.
    even_ones = bool(jumps_inside(problem))

    def count(wanted: float) -> int:
        number = int(np.clip(round(wanted), 3, MOST_NODES))
        return number + number % 2 if even_ones else number

    shares = node_shares(plan, problem)
    return GaussLegendre(**{a: count(side * s) for a, s in shares.items()}) if shares else GaussLegendre(count(side))


def is_of_all_axes(plan: Plan, problem: Problem) -> bool:
    """Whether a rung is of polynomials of low total degree in space, for which a grid of nodes has too many of them."""
    axes = problem.domain.axes
    return plan.waves > 0 and len(axes) > 2 and fine_axes(problem) == axes and not problem.domain.periodic_axes


def node_shares(plan: Plan, problem: Problem) -> dict[str, float]:
    """By axis, how many times as many nodes it has as a rung that is as fine along all axes; nothing for such a one."""
    domain, count = problem.domain, problem.domain.dimension
    if not isinstance(domain, Box):
        return {}
    if plan.waves and not is_of_all_axes(plan, problem):
        fine, width = fine_axes(problem), plan.features / problem.sought.outputs
        waves = min(plan.waves, width) if len(fine) < count else width

        # Functions of several axes are those of a low total degree: along one of them there are more than their root.
        def each(functions: float, axes: int, *, around: bool) -> float:
            alone = along_one_axis(round(functions), axes, around=around) if axes else 1
            return max(functions ** (1 / max(1, axes)), RESOLVED * alone)

        along = each(waves, len(fine), around=bool(domain.periodic_axes))
        across = each(width / waves, count - len(fine), around=False)
        return {a: (along if a in fine else across) / width ** (1 / count) for a in domain.axes}
    if plan.times == 1.0 or plan.waves:
        return {}
    others = plan.times ** (-1 / count)
    return {a: others * (plan.times if number == plan.axis else 1.0) for number, a in enumerate(domain.axes)}


def fine_axes(problem: Problem) -> tuple[str, ...]:
    """The axes that share the functions of a plan with `waves`; none where such functions are not for the problem.

    Polynomials and waves reach all over the domain, and are not for solutions with kinks. On a box these are its
    periodic axes; without any, all but the one along which the problem evolves. Without time it is one of the two axes
    of a plane, and all three in space.
    """
    domain, everywhere = problem.domain, all(u.on is None and u.along is None for u in problem.unknowns)
    if not (isinstance(domain, Box) and everywhere) or domain.parameter_axes or kinks_of(problem):
        return ()
    if domain.periodic_axes:
        return tuple(domain.periodic_axes)
    if not 2 <= domain.dimension <= MOST_AXES:
        return ()
    time = evolution_axis(problem)
    if time is not None:
        return tuple(axis for axis in domain.axes if axis != time)
    return domain.axes[1:] if domain.dimension == 2 else domain.axes


def inside_points(plan: Plan, problem: Problem, parameters: int) -> int:
    """How many points a rung has inside the domain."""
    rows = sum(problem.rows(key) for key in problem.inside)
    if plan.waves:  # on a grid no row makes up for nodes that are missing
        rows = min(rows, problem.sought.outputs)
    return max(FEWEST, round(plan.density * parameters / max(1, rows)))


def rung_from_json(data: Mapping[str, Any]) -> Rung:
    """The inverse of `Rung.as_json`; a file may come from someone else, and what makes no sense is refused."""
    try:
        plan = Plan(**_read(Plan, data))
        outcome = Outcome(**_read(Outcome, data))
        if plan.density <= 0 or outcome.parameters < 1:
            raise ValueError("it has no points or no parameters")
        return Rung(plan, outcome, dict(data["model"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"the record of a rung is damaged ({type(error).__name__}: {error})") from error


def _read(kind: type[Plan | Outcome], data: Mapping[str, Any]) -> dict[str, Any]:
    values = {f.name: data.get(f.name, f.default) if f.name in ADDED else data[f.name] for f in fields(kind)}
    # Losses that were not finite are null in files.
    values |= {name: np.nan for name in ("loss", "validation_loss") if name in values and values[name] is None}
    for f in fields(kind):
        if not _fits(str(f.type), values[f.name]):
            raise ValueError(f"its {f.name} makes no sense")
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}


def _fits(kind: str, value: Any) -> bool:
    """Whether a value of a file is one of a field, by its annotation."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "bool":
            return isinstance(value, bool)
        case "int":
            return number and isinstance(value, int) and -1 <= value < 2**31
        case "float":
            return number and not value < 0
        case "float | None":
            return value is None or number
        case "str":
            return isinstance(value, str)
    return isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
