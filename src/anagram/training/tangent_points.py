"""Points chosen every so many steps by what they say about the tangent space; see `anagram.tangent.points`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from anagram import spectrum
from anagram.compound import Compound
from anagram.compound.batch import Batch, condition_batch, count_rows, row_scale
from anagram.statement.domains import PointRule, Tangent
from anagram.tangent.points import choose
from anagram.tangent.space import CUTOFF
from anagram.training.moving import Iterate, MovingPoints

_CANDIDATES = 4_000_037  # random numbers that never meet those of other points


class TangentPoints(MovingPoints):
    """The conditions whose points are chosen by what they say about the tangent space, and how."""

    def __init__(self, compound: Compound, rules: Mapping[str, PointRule], seed: int) -> None:
        self.compound, self.seed = compound, seed
        region = compound.problem.region
        self.rules = {k: r for k, r in rules.items() if isinstance(r, Tangent) and region(k).dimension > 0}

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(self.rules)

    def steps_left(self, step: int) -> int | None:
        return min((rule.every - step % rule.every for rule in self.rules.values()), default=None)

    def after(self, step: int, at: Iterate, batch: Batch) -> Batch | None:
        return self.choose(step, at.theta, batch) if self.due(step) else None

    @property
    def signature(self) -> tuple[Any, ...]:
        return tuple(self.rules.items())

    def due(self, step: int) -> list[str]:
        """The conditions whose points are to be chosen after so many steps."""
        return [key for key, rule in self.rules.items() if step % rule.every == 0]

    def candidates(self, step: int, batch: Batch) -> Batch:
        """Many points for each such condition; the others keep theirs."""
        problem, new = self.compound.problem, dict(batch)
        for index, (key, rule) in enumerate(self.rules.items()):
            rng = np.random.default_rng([self.seed, step, index, _CANDIDATES])
            new[key] = condition_batch(problem, key, problem.region(key).draw(rule.pool(), rng))
        return new

    @property
    def has_view(self) -> bool:
        return True

    def probes(self, batch: Batch) -> Batch:
        return self.candidates(0, batch)

    def view(self, compound: Compound, theta: Array, probes: Batch) -> tuple[Array, Array, Array]:
        """r, the orthonormal functions at all rows, and the coefficients of the gradient."""
        residual, features = compound.features(theta, probes)
        found = spectrum.from_triangle(compound.triangle_of_rows(residual, features), residual.size)
        keep = found.sigma > jnp.maximum(CUTOFF * found.largest, found.floor)
        basis = jnp.where(keep, found.lift.T / jnp.where(keep, found.sigma, 1.0), 0.0)
        return residual, features @ basis, jnp.where(keep, found.projected, 0.0)

    def choose(self, step: int, theta: Array, batch: Batch) -> Batch:
        """The batch with new points where they are due."""
        assert self.look is not None
        pool = self.candidates(step, batch)
        residual, modes, gradient = (np.asarray(a) for a in self.look(theta, pool))
        rng = np.random.default_rng([self.seed, step, _CANDIDATES])
        new, start = dict(batch), 0
        for key in self.compound.problem.soft:
            part = pool[key]
            rows = slice(start, start + part.source.size)
            start = rows.stop
            if key not in self.due(step):
                continue
            # Rows are scaled; per unit of weight they are the functions themselves.
            scale = np.asarray(part.scale).ravel()
            shape = (len(part.x), part.source.shape[1], -1)
            at_points = (modes[rows] / scale[:, None]).reshape(shape)
            sizes = np.linalg.norm((residual[rows] / scale).reshape(shape[:2]), axis=1)
            wanted = len(batch[key].x)
            index, weight = choose(self.rules[key].how, at_points, sizes, gradient, wanted, rng)
            chosen = jax.tree.map(lambda leaf, index=index: leaf[index], part)
            new[key] = chosen._replace(
                scale=jnp.asarray(row_scale(self.compound.problem, key, np.asarray(chosen.x), weight))
            )
        assert count_rows(new) == count_rows(batch), "numbers of points never change"
        return new
