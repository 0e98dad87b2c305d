"""Batches: points, weights and sources for every condition of a problem."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.condition import source_rows
from anagram.domains import GaussLegendre, PointRule, Region, Sobol
from anagram.errors import PointsWarning, SettingError
from anagram.problem import Problem

Points = None | int | PointRule | Mapping[str, Any]


class ConditionBatch(NamedTuple):
    """The points (x_i) of one condition."""

    x: Float[Array, "points axes"]
    normal: Float[Array, "points axes"] | None
    source: Float[Array, "points rows"]
    scale: Float[Array, " points"]


Batch = dict[str, ConditionBatch]


def row_scale(weight: float, point_weights: np.ndarray) -> np.ndarray:
    """The factor of each row, sqrt(weight_c · w_i), with which ½‖r‖² is the loss ℓ of the paper.

    This is the one place where weights enter.
    """
    return np.sqrt(weight * point_weights)


def sample(problem: Problem, points: Points = None, seed: int = 0, inside: int | None = None) -> Batch:
    """Draw a batch.

    Args:
        problem: whose conditions need points.
        points: a rule for all conditions (``Grid(30)``), a number of points inside the domain, or a
            mapping from the names of the conditions to either.
        seed: the same seed gives the same points.
        inside: how many points the domain gets where nothing is said.
    """
    rules = point_rules(problem, points, inside or default_points(problem))
    batch: Batch = {}
    for index, (key, condition) in enumerate(problem.conditions.items()):
        region = problem.region(key)
        what = f"condition '{key}'"
        try:
            cloud = region.draw(rules[key], np.random.default_rng([seed, index]))
        except SettingError as error:
            raise SettingError(f"{what}: {error}") from error
        source = source_rows(condition.equals, region, cloud.x, problem.components[key], what)
        batch[key] = ConditionBatch(
            jnp.asarray(cloud.x),
            None if cloud.normal is None else jnp.asarray(cloud.normal),
            jnp.asarray(source),
            jnp.asarray(row_scale(condition.weight, cloud.weight)),
        )
    return batch


def unweighted(batch: Batch) -> Batch:
    """The same points with rows that all count once, as in the code of the paper's authors."""
    return {key: part._replace(scale=jnp.ones_like(part.scale)) for key, part in batch.items()}


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


def default_points(problem: Problem, parameters: int = 0) -> int:
    """Enough points inside the domain that a model cannot fit them without solving the equation."""
    least = 900 if problem.domain.dimension <= 2 else 4000
    return max(least, 4 * parameters)


def point_rules(problem: Problem, points: Points, inside: int) -> dict[str, PointRule]:
    """One rule for every condition."""
    if isinstance(points, Mapping):
        unknown = set(points) - set(problem.conditions)
        if unknown:
            raise SettingError(
                f"points= names '{min(unknown)}', which is no condition; they are {', '.join(problem.conditions)}"
            )
        return {key: _rule(problem, key, points.get(key), inside) for key in problem.conditions}
    return {key: _rule(problem, key, points, inside) for key in problem.conditions}


def _rule(problem: Problem, key: str, points: Any, inside: int) -> PointRule:
    if isinstance(points, PointRule):
        return points
    if points is None:
        points = inside
    if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 1:
        raise SettingError(f"points= needs a rule such as Grid(30) or a positive number of points, not {points!r}")
    return default_rule(problem.domain, problem.region(key), int(points))


def default_rule(domain: Region, region: Region, inside: int) -> PointRule:
    """A rule for one region when `inside` points are wanted in the whole domain.

    Gauss–Legendre points crowd towards the boundary: the residual of a model trained on an equispaced grid is
    largest in the strip beyond its last row.
    """
    if domain.dimension <= 2:
        return GaussLegendre(max(2, round(inside ** (1 / domain.dimension))))
    return Sobol(inside if region.dimension == domain.dimension else max(1, inside // 8) * min(len(region.parts), 4))
