"""Least squares from the triangular factor of [J r], guarded against columns that are dependent to rounding.

Columns are brought to length one first: features of all sizes count alike.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

INDEPENDENT = 1e-9  # diagonals of R, for columns of length one, above which they are far from dependent


class Scaled(NamedTuple):
    """The triangular factor of [J r] with columns of length one, these lengths, and what no direction explains."""

    triangle: Float[Array, "params params1"]
    lengths: Float[Array, " params"]
    unexplained: Float[Array, ""]
    independent: Bool[Array, ""]


def scaled(triangle: Float[Array, "params1 params1"]) -> Scaled:
    """The factor of [J r] with columns of J of length one."""
    size = triangle.shape[1] - 1
    unexplained, triangle = triangle[size, size] ** 2, triangle[:size]
    lengths = jnp.linalg.norm(triangle[:, :size], axis=0)
    lengths = jnp.where(lengths > 0, lengths, 1.0)
    triangle = jnp.concatenate([triangle[:, :size] / lengths, triangle[:, size:]], axis=1)
    return Scaled(triangle, lengths, unexplained, jnp.min(jnp.abs(jnp.diagonal(triangle))) > INDEPENDENT)


def solved(of: Scaled, damping: Float[Array, ""], guard: float) -> tuple[Float[Array, " params"], Float[Array, ""]]:
    """p with the least ‖J p + r‖² + μ²‖D p‖², D the lengths of columns, and by how much ‖r‖² is not what `of` says.

    A damping μ not above `guard` is meant against rounding alone: independent columns need none, and no second
    factorisation.
    """
    size = len(of.lengths)

    def undamped(_: Array) -> tuple[Array, Array]:
        return jax.scipy.linalg.solve_triangular(of.triangle[:, :size], of.triangle[:, size]), jnp.asarray(0.0)

    def damped(damping: Array) -> tuple[Array, Array]:
        below = jnp.concatenate([damping * jnp.eye(size), jnp.zeros((size, 1))], axis=1)
        factor = jnp.linalg.qr(jnp.concatenate([of.triangle, below]), mode="r")
        return jax.scipy.linalg.solve_triangular(factor[:size, :size], factor[:size, size]), factor[size, size] ** 2

    found, left = jax.lax.cond(of.independent & (damping <= guard), undamped, damped, damping)
    return -found / of.lengths, left
