"""Measuring a model on points it was not trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.compound.batch import Batch, sample
from anagram.compound.compound import Compound, Numbers
from anagram.statement.domains import Graded, Kronecker, PointRule
from anagram.statement.evaluation import evaluate
from anagram.statement.problem import Problem

ERROR_POINTS = 10_000
MAX_VALIDATION = 20_000
# Streams of random numbers that never meet those of the training points.
_VALIDATION, _ERROR = 1_000_003, 1_000_033


class Measured(NamedTuple):
    """Loss on fresh points, whole and by condition, and RMS and relative RMS errors where a solution is known."""

    condition_losses: dict[str, Float[Array, ""]]
    validation_loss: Float[Array, ""]
    l2_error: Float[Array, ""]
    relative_l2_error: Float[Array, ""]


class Judge:
    """Fresh points of every condition, and points with the known solution."""

    def __init__(
        self, compound: Compound, batch: Batch, seed: int, trained_on: Mapping[str, PointRule] | None = None
    ) -> None:
        """`trained_on` are the rules of the batch: where its points crowd, fresh ones do."""
        self.compound = compound
        problem = compound.problem
        fresh = {key: _fresh_rule((trained_on or {}).get(key), len(part.x)) for key, part in batch.items()}
        self.fresh = compound.layout.put(sample(problem, fresh, seed=seed + _VALIDATION))
        self.points, self.weight, self.exact = compound.layout.put(_known(problem, seed))

    def measure(
        self,
        numbers: Numbers,
        theta: Array,
        fresh: Batch,
        points: list[Array],
        weights: list[Array],
        exact: list[dict[str, Array]],
    ) -> Measured:
        """Traceable; the data, and the numbers in operators, are arguments so that they are not compiled in.

        Means are integrals: on a shape of many pieces each point stands for its share.
        """
        compound = self.compound.with_numbers(numbers)
        squares = compound.squares(theta, fresh)
        parts = {key: square / 2 for key, square in squares.items()}
        loss = jnp.sum(jnp.stack(list(parts.values())))
        if not points:
            return Measured(parts, loss, jnp.asarray(jnp.nan), jnp.asarray(jnp.nan))
        error, size = jnp.zeros(()), jnp.zeros(())
        for x, weight, known in zip(points, weights, exact, strict=True):
            off, all_of_it = self.compound.layout.summed(self._squares, (numbers, theta), (x, known), weight)
            error, size = error + off, size + all_of_it
        error, size = jnp.sqrt(error), jnp.sqrt(size)
        return Measured(parts, loss, error, jnp.where(size > 0, error / jnp.where(size > 0, size, 1.0), jnp.nan))

    def _squares(self, same: tuple[Numbers, Array], points: tuple[Array, dict[str, Array]], weight: Array) -> Any:
        """Weighted squares of the errors at some points, and of the known solution."""
        (numbers, theta), (x, known) = same, points
        compound = self.compound.alone.with_numbers(numbers)
        fields = compound.model.quantities(theta, compound.problem.domain.frame)
        found = jax.vmap(lambda x: evaluate([fields[name].node for name in known], x))(x)
        off = sum(weight @ jnp.abs(u - v) ** 2 for u, v in zip(found, known.values(), strict=True))
        return off, sum(weight @ jnp.abs(values) ** 2 for values in known.values())

    @property
    def data(self) -> tuple[Batch, list[Array], list[Array], list[dict[str, Array]]]:
        """The arguments of `measure` after θ."""
        return self.fresh, self.points, self.weight, self.exact


def _fresh_rule(trained_on: PointRule | None, count: int) -> PointRule:
    """Twice as many points as there are, spread evenly; where those crowd at corners, between them."""
    if isinstance(trained_on, Graded):
        return trained_on.between()
    return Kronecker(min(MAX_VALIDATION, max(256, 2 * count)))


def _known(problem: Problem, seed: int) -> tuple[list[Array], list[Array], list[dict[str, Array]]]:
    """Points of every set on which unknowns live, their weights, and the known solutions of these there."""
    points, weights, exact = [], [], []
    for region, unknowns in problem.sought.by_region if problem.knows_solution else ():
        cloud = region.draw(Kronecker(ERROR_POINTS), np.random.default_rng([seed, _ERROR]))
        known = problem.exact(cloud.x) or {}
        own = {u.name: jnp.asarray(known[u.name]) for u in unknowns if u.name in known}
        if own:
            points.append(jnp.asarray(cloud.x))
            weights.append(jnp.asarray(cloud.weight))
            exact.append(own)
    return points, weights, exact
