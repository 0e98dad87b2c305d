"""Choosing points by what they say about the tangent space.

The paper asks for the batch that loses least of the gradient, argmin ‖Π_span(NNTK(x_i, ·)) ∇L − ∇L‖. In the orthonormal
basis ψ_k of the tangent space a point is the vector ψ(x) and the gradient a vector c. The points to take are those
whose vectors span c (``greedy``) or, whatever c will be, everything (``pivoted``). Both are exact with as many points
as there are dimensions. With more, what counts is how well the sum over the points stands for the integral, for which
the density NNTK(x, x) is best, with weights of one over it (``leverage``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram import spectrum
from anagram.compound import Compound, triangle_of
from anagram.compound.batch import Batch, condition_batch, count_rows, row_scale
from anagram.statement.domains import PointRule, Tangent
from anagram.tangent.space import CUTOFF

_CANDIDATES = 4_000_037  # random numbers that never meet those of other points
SMALLEST = 1e-2  # of the mean: no point weighs more than a hundred times as much as it would in an even batch


class TangentPoints:
    """The conditions whose points are chosen, and how."""

    def __init__(self, compound: Compound, rules: Mapping[str, PointRule], seed: int) -> None:
        self.compound, self.seed = compound, seed
        region = compound.problem.region
        self.rules = {k: r for k, r in rules.items() if isinstance(r, Tangent) and region(k).dimension > 0}
        self.look: Callable[..., Any] | None = None

    @property
    def any(self) -> bool:
        """Whether there are such conditions."""
        return bool(self.rules)

    def steps_left(self, step: int) -> int | None:
        """Steps until points are chosen next; None if they never are."""
        return min((rule.every - step % rule.every for rule in self.rules.values()), default=None)

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

    def compile(self, theta: Array, batch: Batch) -> Callable[..., Any] | None:
        """Compile the look at the candidates, so that it does not count as training time."""
        return jax.jit(self.modes).lower(theta, self.candidates(0, batch)).compile() if self.any else None

    def modes(self, theta: Array, pool: Batch) -> tuple[Array, Array, Array]:
        """R, the orthonormal functions at all rows, and the coefficients of the gradient."""
        residual, features = self.compound.features(theta, pool)
        found = spectrum.from_triangle(triangle_of(residual, features), residual.size)
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
        for key in self.compound.problem.conditions:
            part = pool[key]
            rows = slice(start, start + part.source.size)
            start = rows.stop
            if key not in self.due(step):
                continue
            # Rows are scaled; per unit of weight they are the functions themselves.
            scale = np.repeat(np.asarray(part.scale), part.source.shape[1])
            shape = (len(part.x), part.source.shape[1], -1)
            at_points = (modes[rows] / scale[:, None]).reshape(shape)
            sizes = np.linalg.norm((residual[rows] / scale).reshape(shape[:2]), axis=1)
            wanted = len(batch[key].x)
            index, weight = choose(self.rules[key].how, at_points, sizes, gradient, wanted, rng)
            chosen = jax.tree.map(lambda leaf, index=index: leaf[index], part)
            new[key] = chosen._replace(scale=jnp.asarray(row_scale(self.compound.problem.weight(key), weight)))
        assert count_rows(new) == count_rows(batch), "numbers of points never change"
        return new


def choose(
    how: str,
    modes: Float[np.ndarray, "points components modes"],
    residual: Float[np.ndarray, " points"],
    gradient: Float[np.ndarray, " modes"],
    count: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Which of the points to take, and their weights, which sum to one."""
    if how == "residual":
        return draw(residual + residual.mean(), count, rng), np.full(count, 1 / count)
    density = np.sum(modes**2, axis=(1, 2))
    density = np.maximum(density, SMALLEST * density.mean()) if density.mean() > 0 else np.ones_like(density)
    if how == "leverage":
        index = draw(density, count, rng)
    else:
        components = modes.shape[1]
        vectors = modes.reshape(-1, modes.shape[2])
        order = spanning(vectors, count) if how == "pivoted" else matching(vectors, gradient, count)
        index = np.array(list(dict.fromkeys((order // components).tolist())), dtype=int)
        rest = np.setdiff1d(np.arange(len(modes)), index)
        more = count - len(index)
        if more > 0:
            index = np.concatenate([index, rest[draw(density[rest], more, rng)]])
    weight = 1 / density[index]
    return index, weight / weight.sum()


def draw(density: Float[np.ndarray, " points"], count: int, rng: np.random.Generator) -> np.ndarray:
    """Points with probabilities ∝ density, as evenly as possible: one in each of `count` equal parts of its sum."""
    edges = np.cumsum(density) / density.sum()
    return np.minimum(np.searchsorted(edges, (np.arange(count) + rng.random()) / count), len(density) - 1)


def spanning(vectors: Float[np.ndarray, "points modes"], count: int) -> np.ndarray:
    """Points by a QR factorisation with pivoting, at most as many as there are dimensions."""
    return pivots(vectors)[: min(count, np.linalg.matrix_rank(vectors))]


def pivots(vectors: Float[np.ndarray, "points modes"]) -> np.ndarray:
    """All points, each the one that is worst explained by those before it."""
    from scipy.linalg import qr

    *_, order = qr(vectors.T, mode="r", pivoting=True)
    return order


def matching(
    vectors: Float[np.ndarray, "points modes"], target: Float[np.ndarray, " modes"], count: int, tol: float = 1e-12
) -> np.ndarray:
    """Orthogonal matching pursuit: one after the other, the point that takes most off what is left of the target."""
    left = np.array(vectors, dtype=float)
    sizes = np.linalg.norm(left, axis=1)
    goal, first = np.array(target, dtype=float), np.linalg.norm(target)
    chosen: list[int] = []
    while len(chosen) < count and np.linalg.norm(goal) > tol * first:
        norms = np.linalg.norm(left, axis=1)
        useful = norms > 1e-8 * np.maximum(sizes, np.finfo(float).tiny)
        gain = np.where(useful, np.abs(left @ goal) / np.where(useful, norms, 1.0), -1.0)
        gain[chosen] = -1.0
        best = int(np.argmax(gain))
        if gain[best] <= 0:
            break
        direction = left[best] / norms[best]
        chosen.append(best)
        left -= np.outer(left @ direction, direction)
        goal -= (goal @ direction) * direction
    return np.array(chosen, dtype=int)


def lost(vectors: Float[np.ndarray, "points modes"], gradient: Float[np.ndarray, " modes"]) -> float:
    """‖Π_span(NNTK(x_i, ·)) ∇L − ∇L‖ for the part of ∇L in the tangent space: the paper's criterion."""
    from scipy.linalg import orth

    q, r = np.linalg.qr(vectors.T)
    independent = np.abs(np.diag(r)) > 1e-12 * np.abs(r).max()
    basis = q[:, independent] if independent.all() else orth(vectors.T)
    return float(np.linalg.norm(gradient - basis @ (basis.T @ gradient)))
