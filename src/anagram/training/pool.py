"""Points drawn anew: for every step out of a pool, or every so many steps of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anagram.compound.batch import Batch, ConditionBatch, row_scale
from anagram.errors import SettingError
from anagram.statement.condition import source_rows
from anagram.statement.domains import Cloud, PointRule, Redrawn, Region, Repeated
from anagram.statement.problem import Problem
from anagram.training.moving import Iterate, MovingPoints


class Pool:
    """The points of every step, for the conditions whose rules are random; the others keep those of the batch.

    Points are drawn, and sources evaluated, for `steps` steps at a time. They depend on the seed and on the number of
    the step alone, not on how the steps of a run fall into blocks.
    """

    def __init__(self, problem: Problem, rules: Mapping[str, PointRule], seed: int, steps: int) -> None:
        self.problem, self.seed, self.steps = problem, seed, steps
        self.rules = {k: r for k, r in rules.items() if r.is_random and problem.region(k).dimension > 0}
        if not self.rules:
            raise SettingError(
                f"the method draws new points for every step, but the rules ({', '.join(map(repr, rules.values()))}) "
                "always give the same ones: use Uniform(n), Sobol(n), LatinHypercube(n) or a number of points, or keep "
                "the points with the option resample=False"
            )
        self._number, self._batches = -1, {}

    def at(self, step: int) -> tuple[Batch, int]:
        """Batches with a leading axis of steps, and where on it the batch of this step is."""
        number, place = divmod(step, self.steps)
        if number != self._number:
            self._batches = {key: self._draw(key, number) for key in self.rules}
            self._number = number
        return self._batches, place

    def _draw(self, key: str, number: int) -> ConditionBatch:
        index = list(self.problem.conditions).index(key)
        region = self.problem.region(key)
        # One number more than the points of `sample` are drawn from, and never zero: NumPy leaves out zeros at the end,
        # so that [seed, index, 0] would give the points of `sample` again.
        rng = np.random.default_rng([self.seed, index, 1 + number])
        cloud = draw_repeatedly(region, self.rules[key], rng, self.steps)
        flat = cloud.x.reshape(-1, cloud.x.shape[-1])
        source = source_rows(
            self.problem.sources[key], region, flat, self.problem.components[key], f"condition '{key}'"
        )
        return ConditionBatch(
            jnp.asarray(cloud.x),
            None if cloud.normal is None else jnp.asarray(cloud.normal),
            jnp.asarray(source.reshape(*cloud.x.shape[:2], -1)),
            jnp.asarray(row_scale(self.problem, key, cloud.x, cloud.weight)),
        )


class RedrawnPoints(MovingPoints):
    """The conditions whose points are drawn anew every so many steps.

    Like those of a pool, the points depend on the seed and the number of the step alone.
    """

    are_new = True

    def __init__(self, problem: Problem, rules: Mapping[str, PointRule], seed: int) -> None:
        by_period: dict[int, dict[str, PointRule]] = {}
        for key, rule in rules.items():
            if isinstance(rule, Redrawn) and problem.region(key).dimension > 0:
                by_period.setdefault(rule.every, {})[key] = rule.rule
        self.pools = {every: Pool(problem, group, seed, steps=1) for every, group in by_period.items()}

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(key for pool in self.pools.values() for key in pool.rules)

    def steps_left(self, step: int) -> int | None:
        return min((every - step % every for every in self.pools), default=None)

    def after(self, step: int, at: Iterate, batch: Batch) -> Batch | None:
        drawn = self.draw(step, batch)
        return None if drawn is batch else drawn

    def draw(self, step: int, batch: Batch) -> Batch:
        """The batch after so many steps, with new points where they are due."""
        for every, pool in self.pools.items():
            if step % every == 0:
                batch = batch_of(batch, *pool.at(step // every))
        return batch


def draw_repeatedly(region: Region, rule: Any, rng: np.random.Generator, times: int) -> Cloud:
    """So many clouds of a region by a random rule, along a leading axis: each like one that `Region.draw` gives."""
    fractions = region.fractions
    shares = [rule.share(f) if len(fractions) > 1 else rule for f in fractions]
    clouds = [p.scatter(Repeated(s, times), rng) for p, s in zip(region.parts, shares, strict=True)]

    def join(pieces: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([piece.reshape(times, -1, *piece.shape[1:]) for piece in pieces], axis=1)

    weight = join([f * c.weight for f, c in zip(fractions, clouds, strict=True)])
    normals = [c.normal for c in clouds if c.normal is not None]
    return Cloud(
        join([c.x for c in clouds]),
        weight / weight.sum(axis=1, keepdims=True),
        join(normals) if region.has_normal else None,
    )


def batch_of(batch: Batch, pool: Batch, place: Any) -> Batch:
    """The batch of one step: its own points where the pool has them, those of the batch elsewhere."""
    return {**batch, **jax.tree.map(lambda a: a[place], pool)}
