"""Batches: points, weights and sources for every condition of a problem."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.compound.layout import Layout
from anagram.environment import has_accelerator
from anagram.errors import PointsWarning, SettingError
from anagram.statement.condition import source_rows
from anagram.statement.cornerweights import corner_weights
from anagram.statement.domains import Cells, Cloud, GaussLegendre, Kronecker, PointRule, Region, Sobol, Tangent
from anagram.statement.domains.rules import MOST_NODES, MOST_POINTS
from anagram.statement.noise import data_scale
from anagram.statement.problem import Problem

Points = None | int | str | PointRule | Mapping[str, Any]
FEW = 2  # points of a condition that are left alone: the ends of an interval


class ConditionBatch(NamedTuple):
    """The points (x_i) of one condition."""

    x: Float[Array, "points axes"]
    normal: Float[Array, "points axes"] | None
    source: Float[Array, "points rows"]
    scale: Float[Array, "points rows"]


Batch = dict[str, ConditionBatch]


def checked_seed(seed: Any) -> int:
    """A seed for random numbers, refused where it is none."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise SettingError(f"the seed must be a whole number that is not negative, and below 2^63, not {seed!r}")
    return int(seed)


def row_scale(problem: Problem, key: str, x: np.ndarray, point_weights: np.ndarray) -> np.ndarray:
    """The factor of each row, sqrt(weight_c(x_i) · w_i)/size, with which ½‖r‖² is the loss ℓ of the paper.

    This is the one place where weights and the natural sizes of rows enter; all sizes are one unless a problem has been
    given others (see `anagram.statement.sizes`). Measured values count by their likelihood.
    """
    if problem.conditions[key].noise is not None:
        return data_scale(problem, key)
    weights = problem.weight(key) * point_weights
    if problem.conditions[key].is_weighted_by_position:
        weights = weights * problem.weights_at(key, x.reshape(-1, x.shape[-1])).reshape(x.shape[:-1])
    if problem.corners:
        weights = weights * corner_weights(problem, key, x.reshape(-1, x.shape[-1])).reshape(x.shape[:-1])
    return np.sqrt(weights)[..., None] / problem.row_sizes(key)


def sample(problem: Problem, points: Points = None, seed: int = 0, inside: int | None = None) -> Batch:
    """Draw a batch.

    Args:
        problem: whose conditions need points.
        points: a rule for all conditions (``Grid(30)``), a number of points inside the domain, or a
            mapping from the names of the conditions to either.
        seed: the same seed gives the same points.
        inside: how many points the domain gets where nothing is said.
    """
    rules = point_rules(problem, points, inside or enough_points(problem))
    batch: Batch = {}
    for index, key in enumerate(problem.conditions):
        if key not in rules:
            continue
        try:
            cloud = problem.region(key).draw(rules[key], np.random.default_rng([seed, index]))
        except SettingError as error:
            raise SettingError(f"condition '{key}': {error}") from error
        batch[key] = condition_batch(problem, key, cloud)
    return batch


def condition_batch(problem: Problem, key: str, cloud: Cloud) -> ConditionBatch:
    """Points of a condition with their sources and the scales of their rows."""
    what = f"condition '{key}'"
    source = source_rows(problem.sources[key], problem.region(key), cloud.x, problem.components[key], what)
    # Put where they are computed with, as they are: anything else is a program to compile for every new shape.
    normal = None if cloud.normal is None else jax.device_put(cloud.normal)
    scale = jax.device_put(row_scale(problem, key, cloud.x, cloud.weight))
    return ConditionBatch(jax.device_put(cloud.x), normal, jax.device_put(source), scale)


def unweighted(batch: Batch) -> Batch:
    """The same points with rows that all count once, as in the code of the paper's authors."""
    return {key: part._replace(scale=jnp.ones_like(part.scale)) for key, part in batch.items()}


def thinned(batch: Batch, rows: int) -> Batch:
    """About so many of the rows of a batch, spread evenly over it; those that stay stand for those that go."""
    share = rows / count_rows(batch)
    if share >= 1:
        return batch
    rng = np.random.default_rng(0)
    result = {}
    for key, part in batch.items():
        count = len(part.x)
        kept = max(1, min(count, round(share * count)))
        # One out of each stretch: points that lie side by side are listed side by side.
        edges = np.arange(kept + 1) * count // kept
        index = edges[:-1] + (rng.random(kept) * np.diff(edges)).astype(int)
        chosen = jax.tree.map(lambda leaf, index=index: leaf[index], part)
        result[key] = chosen._replace(scale=chosen.scale * np.sqrt(count / kept))
    return result


def filled(part: ConditionBatch, multiple: int, arrays: Any = jnp) -> ConditionBatch:
    """A number of points that can be divided: the last one is repeated, with copies that weigh nothing.

    `arrays` is the module whose arrays these are: those of NumPy are filled without compiling anything.
    """
    missing = -len(part.x) % multiple
    if not missing:
        return part
    more = jax.tree.map(lambda a: arrays.concatenate([a, arrays.repeat(a[-1:], missing, axis=0)]), part)
    nothing = arrays.zeros((missing, *part.scale.shape[1:]))
    return more._replace(scale=arrays.concatenate([part.scale, nothing]))


def in_round_numbers(batch: Batch) -> Batch:
    """Numbers of points of which there are few, so that batches of almost the same size share their programs."""
    most = max((len(part.x) for part in batch.values()), default=0)
    plain = {key: jax.tree.map(np.asarray, part) for key, part in batch.items() if len(part.x) > FEW}
    rounded = {key: filled(part, _round_multiple(len(part.x), most), np) for key, part in plain.items()}
    return {**batch, **jax.device_put(rounded)}


def _round_multiple(count: int, most: int) -> int:
    """A quarter to a half of a number of points; where there are many others, few points are not told apart so well."""
    return 2 ** max(0, count.bit_length() - 2, most.bit_length() - 4)


def share_of(part: ConditionBatch, layout: Layout) -> ConditionBatch:
    """The points that lie on this device, filled up with copies that weigh nothing."""
    own = jax.tree.map(layout.own, part)
    return own._replace(scale=layout.own(part.scale, weighs=False))


def count_rows(batch: Batch) -> int:
    """S, the number of rows of the compound model."""
    return sum(part.source.size for part in batch.values())


def warn_if_few(batch: Batch, parameters: int) -> None:
    """Warn when a model can fit the points without solving the equation."""
    rows = count_rows(batch)
    if rows < 1.5 * parameters:
        warnings.warn(
            f"{rows} rows for {parameters} parameters: with fewer than about 1.5 rows a parameter the model can "
            "make the loss vanish on the points while the solution is wrong between them. Use more points or a "
            "smaller model, and trust the validation loss, not the loss.",
            PointsWarning,
            stacklevel=3,
        )


def enough_points(problem: Problem, parameters: int = 0) -> int:
    """So many points inside the domain that a model cannot fit them without solving the equation.

    Nonlinear equations, and many dimensions, hide more between the points.
    """
    if problem.domain.dimension > 2:
        return max(4000, 9 * parameters)
    # An accelerator takes more points in the same time.
    hidden = 10 if has_accelerator() else 6
    return max(900, (3 if problem.is_linear else hidden) * parameters)


def point_rules(problem: Problem, points: Points, inside: int, random: bool = False) -> dict[str, PointRule]:
    """One rule for every condition; a random one, if asked for, where only a number or nothing is said."""
    if isinstance(points, Mapping):
        unknown = set(points) - set(problem.conditions)
        if unknown:
            raise SettingError(
                f"points= names '{min(unknown)}', which is no condition; they are {', '.join(problem.conditions)}"
            )
        exact = set(points) - set(problem.soft)
        if exact:
            raise SettingError(f"points= names '{min(exact)}', which holds exactly and needs none: leave it out")
        return {key: _rule(problem, key, points.get(key), inside, random) for key in problem.soft}
    return {key: _rule(problem, key, points, inside, random) for key in problem.soft}


def _rule(problem: Problem, key: str, points: Any, inside: int, random: bool) -> PointRule:
    if isinstance(points, PointRule):
        return points
    if points is None:
        points = inside
    if isinstance(points, str):
        if points != "tangent":
            raise SettingError(f"points= knows one rule by name, 'tangent', and not {points!r}")
        inner = problem.region(key).dimension == problem.domain.dimension
        return Tangent(inside if inner else max(1, inside // 6))
    if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 1:
        raise SettingError(f"points= needs a rule such as Grid(30) or a positive number of points, not {points!r}")
    if points > MOST_POINTS:
        raise SettingError(f"points= cannot be more than {MOST_POINTS:.0e}: take fewer")
    return default_rule(problem, problem.region(key), int(points), random)


def default_rule(problem: Problem, region: Region, inside: int, random: bool = False) -> PointRule:
    """A rule for one region when `inside` points are wanted in the whole domain.

    Gauss–Legendre points crowd towards the boundary: the residual of a model trained on an equispaced grid is
    largest in the strip beyond its last row. Nonlinear equations make thin layers, for which cells can move.
    """
    dimension = problem.domain.dimension
    inner = region.dimension == dimension
    if random:
        return Kronecker(inside if inner else max(1, inside // 6))
    if dimension > 3 or (dimension > 2 and problem.is_linear):
        return Sobol(inside if inner else max(1, inside // 6))
    nodes = max(2, round((1.0 if problem.is_linear else 1.5) * inside ** (1 / dimension)))
    if inner and not region.takes_cells:
        return Sobol(inside)
    if inner and not problem.is_linear:
        return Cells(inside, order=4 if dimension <= 2 else 3)
    return GaussLegendre(nodes) if nodes <= MOST_NODES else Sobol(nodes**region.dimension)
