"""How the paper measures: the L² error on ten times as many points as in training, the loss on five times as many.

Losses are sums of mean squares, as the code of the paper's authors has them, without the factor ½ of its text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.catalogue.burgers import paper_grid
from anagram.compound import Compound
from anagram.compound.batch import Batch, sample
from anagram.statement.domains import Uniform
from anagram.statement.problem import Problem

_ERROR, _TEST = 2_000_003, 2_000_029  # random numbers that never meet those of the training points
WITHOUT_HALF = 2.0  # times ℓ
OWN_GRID = {"allen-cahn": (201, 512)}  # in time and space, of the solution the paper compares with


class Measured(NamedTuple):
    """The root mean square error and the test loss."""

    l2_error: Float[Array, ""]
    test_loss: Float[Array, ""]


class Evaluation:
    """Points for the error and for the test loss; the same for all methods and seeds."""

    def __init__(self, problem: Problem, batch: Batch) -> None:
        self.problem = problem
        x = self._error_points(problem, len(batch["equation"].x))
        exact = problem.exact(x)
        assert exact is not None, "the solutions of the paper's problems are known"
        self.data = (jnp.asarray(x), jnp.asarray(next(iter(exact.values()))), self._test_batch(problem, batch))

    @staticmethod
    def _error_points(problem: Problem, inside: int) -> np.ndarray:
        if problem.name in OWN_GRID:
            counts = OWN_GRID[problem.name]
            lines = [
                np.linspace(*interval, n) for n, interval in zip(counts, problem.domain.intervals.values(), strict=True)
            ]
            return np.stack([g.ravel() for g in np.meshgrid(*lines, indexing="ij")], axis=1)
        return problem.domain.draw(Uniform(10 * inside), np.random.default_rng(_ERROR)).x

    @staticmethod
    def _test_batch(problem: Problem, batch: Batch) -> Batch:
        if problem.name == "burgers":
            along_time = len(np.unique(batch["walls"].x[:, 0]))
            return sample(problem, paper_grid(4 * round(along_time * 5**0.5 / 4)))
        return sample(problem, {key: Uniform(5 * len(part.x)) for key, part in batch.items()}, seed=_TEST)

    @staticmethod
    def measure(compound: Compound, theta: Array, data: Any) -> Measured:
        """Traceable; the data are arguments so that they are not compiled in."""
        x, exact, test = data
        field = compound.model.quantities(theta, compound.problem.domain.frame)[compound.problem.unknowns[0].name]
        error = jnp.sqrt(jnp.mean((jax.lax.map(field.at, x, batch_size=8192) - exact) ** 2))
        return Measured(error, WITHOUT_HALF * compound.loss(theta, test))
