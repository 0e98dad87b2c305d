"""Damped steps from products with JᵀJ alone: conjugate gradients, preconditioned by modes that are found at random.

The largest eigenvalues of JᵀJ are what makes conjugate gradients slow. Nyström's approximation finds them from the
products with a few random vectors, A ≈ (AΩ)(ΩᵀAΩ)⁻¹(AΩ)ᵀ = U Λ Uᵀ, and the preconditioner takes them out,

    M⁻¹ = U (Λ + λ)⁻¹ Uᵀ (Λ_k + λ) + (I − U Uᵀ),

with Λ_k the smallest of them: what is left is a matrix with eigenvalues from λ to about Λ_k + λ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anagram.spectrum.damped import Damped, Dampings, Step

Product = Callable[[Float[Array, "vectors params"]], Float[Array, "vectors params"]]


class Nystrom(NamedTuple):
    """Approximate eigenvectors U of a matrix, as rows, and its eigenvalues, the largest first."""

    vectors: Float[Array, "modes params"]
    values: Float[Array, " modes"]

    def inverse_times(self, vector: Float[Array, " params"], damping: Float[Array, ""]) -> Float[Array, " params"]:
        """M⁻¹ of a vector."""
        along = self.vectors @ vector
        shrunk = (self.values[-1] + damping) / (self.values + damping)
        return vector + (shrunk * along - along) @ self.vectors


def nystrom(product: Product, size: int, modes: int, key: Array) -> Nystrom:
    """The leading modes of a positive matrix, from its products with as many random vectors."""
    drawn = jnp.linalg.qr(jax.random.normal(key, (size, modes)))[0].T
    made = product(drawn)
    # A shift keeps rounding from making the small matrix indefinite; it is taken off the eigenvalues again.
    shift = jnp.finfo(made.dtype).eps * jnp.linalg.norm(made)
    shifted = made + shift * drawn
    core = drawn @ shifted.T
    factor = jax.lax.linalg.cholesky(0.5 * (core + core.T), symmetrize_input=False)
    half = jax.lax.linalg.triangular_solve(factor, shifted, left_side=True, lower=True)
    left, sigma, _ = jnp.linalg.svd(half.T, full_matrices=False)
    sound = jnp.all(jnp.isfinite(left)) & jnp.all(jnp.isfinite(sigma))
    # A matrix of zeros has no modes to take out.
    vectors, values = jnp.where(sound, left.T, drawn), jnp.where(sound, jnp.maximum(sigma**2 - shift, 0.0), 0.0)
    return Nystrom(vectors, values)


class Solved(NamedTuple):
    """An approximate solution of (A + λI) x = b: what is left of b, and after how many products."""

    solution: Float[Array, " params"]
    left: Float[Array, " params"]
    products: Int[Array, ""]


class Iterative(Dampings):
    """Damped steps by conjugate gradients. Those with a small damping may be rough; all of them descend."""

    product: Product
    gradient: Float[Array, " params"]
    modes: Nystrom
    accuracy: float
    most: int

    def at(self, damping: Float[Array, ""] | float, vector: Float[Array, " params"] | None = None) -> Damped:
        """Fix the damping λ; a vector that is given beside is solved for too."""
        found = self.solved(-self.gradient, damping)
        p = found.solution
        # What is left of the right-hand side says what JᵀJ p is.
        predicted = damping * p @ p - self.gradient @ p + p @ found.left

        def solve(vector: Float[Array, " params"]) -> Float[Array, " params"]:
            return self.solved(vector, damping).solution

        step = Step(p, jnp.asarray(p.size), predicted)
        return Damped(step, solve, None if vector is None else solve(vector))

    def solved(self, right: Float[Array, " params"], damping: Float[Array, ""] | float) -> Solved:
        """(JᵀJ + λI)⁻¹ of a vector, about, and what is left of it."""
        return conjugate_gradients(self.product, right, jnp.asarray(damping), self.modes, self.accuracy, self.most)


class _Iterate(NamedTuple):
    solution: Array
    left: Array
    smoothed: Array
    direction: Array
    size: Array  # of what is left, in the metric of the preconditioner
    products: Array


def conjugate_gradients(
    product: Product,
    right: Float[Array, " params"],
    damping: Float[Array, ""],
    modes: Nystrom,
    accuracy: float,
    most: int,
) -> Solved:
    """Solve (A + λI) x = b from zero, until what is left of b has this fraction of its length, or products are used up.

    Wherever it ends, the model ½xᵀ(A + λI)x − bᵀx is lower than at zero.
    """
    enough = accuracy * jnp.linalg.norm(right)

    def goes_on(at: _Iterate) -> Array:
        return (at.products < most) & (jnp.linalg.norm(at.left) > enough)

    def update(at: _Iterate) -> _Iterate:
        image = product(at.direction[None])[0] + damping * at.direction
        curvature = at.direction @ image
        length = jnp.where(curvature > 0, at.size / jnp.where(curvature > 0, curvature, 1.0), 0.0)
        left = at.left - length * image
        smoothed = modes.inverse_times(left, damping)
        size = left @ smoothed
        turn = jnp.where(at.size > 0, size / jnp.where(at.size > 0, at.size, 1.0), 0.0)
        return _Iterate(
            at.solution + length * at.direction, left, smoothed, smoothed + turn * at.direction, size, at.products + 1
        )

    smoothed = modes.inverse_times(right, damping)
    first = _Iterate(jnp.zeros_like(right), right, smoothed, smoothed, right @ smoothed, jnp.asarray(0))
    last = jax.lax.while_loop(goes_on, update, first)
    return Solved(last.solution, last.left, last.products)
