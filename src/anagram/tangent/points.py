"""Choosing points by what they say about the tangent space.

The paper asks for the batch that loses least of the gradient, argmin ‖Π_span(NNTK(x_i, ·)) ∇L − ∇L‖. In the orthonormal
basis ψ_k of the tangent space a point is the vector ψ(x) and the gradient a vector c. The points to take are those
whose vectors span c (``greedy``) or, whatever c will be, everything (``pivoted``). Both are exact with as many points
as there are dimensions. With more, what counts is how well the sum over the points stands for the integral, for which
the density NNTK(x, x) is best, with weights of one over it (``leverage``).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

SMALLEST = 1e-2  # of the mean: no point weighs more than a hundred times as much as it would in an even batch


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
