"""Residual maps: θ ↦ r(θ) on a batch, and what follows from it. All that spectra and methods know of a model."""

from __future__ import annotations

import abc
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram.compound.batch import Batch

Theta = Float[Array, " params"]

# Products with fewer columns are too small to gain from being cut into blocks.
SMALL = 256


class Gram(NamedTuple):
    """The normal equations: JᵀJ, Jᵀr and ‖r‖²."""

    matrix: Float[Array, "params params"]
    gradient: Float[Array, " params"]
    square: Float[Array, ""]


class ResidualMap(abc.ABC):
    """θ ↦ r(θ) on a batch, and what follows from it: all that spectra and methods know of a compound model."""

    @abc.abstractmethod
    def residual(self, theta: Theta, batch: Batch) -> Float[Array, " rows"]:
        """r(θ)."""

    @abc.abstractmethod
    def features(self, theta: Theta, batch: Batch) -> tuple[Float[Array, " rows"], Float[Array, "rows params"]]:
        """R and J. All of J is in memory: see `gram` and `triangle` for batches that do not allow it."""

    @abc.abstractmethod
    def count_rows(self, batch: Batch) -> int:
        """S, the number of rows."""

    @property
    def laid(self) -> ResidualMap:
        """The same on rows as they lie: where devices share them, in another order and with rows of zeros among them.

        For whoever adds up over rows alone. Where nothing is shared it is the residual map itself.
        """
        return self

    def unweighted(self, batch: Batch) -> Batch:
        """A batch whose rows all count once; the same batch where rows have no weights."""
        return batch

    @property
    def is_affine(self) -> bool:
        """Whether r is known to be affine in θ: one step then is all there is to do."""
        return False

    def fits(self, theta: Theta, batch: Batch) -> bool:
        """Whether J is small enough to be held as a whole."""
        return True

    def rough(self, theta: Theta) -> Theta:
        """Other first parameters, from which a rough solution is found sooner; θ itself if none are known."""
        return theta

    def thinned(self, batch: Batch, rows: int) -> Batch:
        """A batch of about so many rows that stands for all; the same batch where rows cannot be left out."""
        return batch

    def loss(self, theta: Theta, batch: Batch) -> Float[Array, ""]:
        """ℓ(θ) = ½‖r(θ)‖²."""
        return 0.5 * jnp.sum(self.residual(theta, batch) ** 2)

    def gradient(self, theta: Theta, batch: Batch) -> Theta:
        """∇ℓ = Jᵀr."""
        return jax.grad(self.loss)(theta, batch)

    def times(self, theta: Theta, batch: Batch, v: Theta) -> Float[Array, " rows"]:
        """J·v."""
        return jax.jvp(lambda t: self.residual(t, batch), (theta,), (v,))[1]

    def transposed_times(self, theta: Theta, batch: Batch, w: Float[Array, " rows"]) -> Theta:
        """Jᵀ·w."""
        return jax.vjp(lambda t: self.residual(t, batch), theta)[1](w)[0]

    def square(self, theta: Theta, batch: Batch) -> Float[Array, ""]:
        """‖r‖², with no more in memory than a few points need."""
        return jnp.sum(self.residual(theta, batch) ** 2)

    def square_and_gradient(self, theta: Theta, batch: Batch) -> tuple[Float[Array, ""], Theta]:
        """‖r‖² and Jᵀr, with no more in memory than a few points need."""
        residual, pull_back = jax.vjp(lambda t: self.residual(t, batch), theta)
        return jnp.sum(residual**2), pull_back(residual)[0]

    def normal_times(
        self, theta: Theta, batch: Batch, vectors: Float[Array, "vectors params"]
    ) -> Float[Array, "vectors params"]:
        """JᵀJ times each of some vectors, without J."""
        return jax.lax.map(lambda v: self.transposed_times(theta, batch, self.times(theta, batch, v)), vectors)

    def second(self, theta: Theta, batch: Batch, v: Theta) -> Float[Array, " rows"]:
        """d²/dt² r(θ + t·v) at t = 0."""
        return jax.jvp(lambda t: self.times(t, batch, v), (theta,), (v,))[1]

    def bend(self, theta: Theta, batch: Batch, v: Theta) -> Theta:
        """Jᵀ of the second derivative along v, with no more in memory than a few points need."""
        return self.transposed_times(theta, batch, self.second(theta, batch, v))

    def gram(self, theta: Theta, batch: Batch, basis: Float[Array, "params columns"] | None = None) -> Gram:
        """JᵀJ, Jᵀr and ‖r‖², with JV for J if a basis V is given."""
        residual, features = self.features(theta, batch)
        return gram_of(residual, features if basis is None else features @ basis)

    def triangle(self, theta: Theta, batch: Batch) -> Float[Array, "params1 params1"]:
        """The triangular factor of [J r]; its last column is Qᵀr and Q is never formed."""
        return triangle_of(*self.features(theta, batch))

    def gram_of_rows(self, residual: Float[Array, " rows"], features: Float[Array, "rows params"]) -> Gram:
        """The normal equations of rows that are there already, or of a basis of theirs."""
        return gram_of(residual, features)

    def triangle_of_rows(
        self, residual: Float[Array, " rows"], features: Float[Array, "rows params"]
    ) -> Float[Array, "params1 params1"]:
        """The triangular factor of rows that are there already."""
        return triangle_of(residual, features)


def gram_of(residual: Float[Array, " rows"], features: Float[Array, "rows params"]) -> Gram:
    """The normal equations of J and r."""
    return Gram(square(features), features.T @ residual, residual @ residual)


def square(matrix: Float[Array, "rows columns"]) -> Float[Array, "columns columns"]:
    """AᵀA. Half of it is enough: blocks below the diagonal are those above it, transposed."""
    columns = matrix.shape[1]
    if columns < SMALL:
        return matrix.T @ matrix
    left, right = matrix[:, : columns // 2], matrix[:, columns // 2 :]
    corner = left.T @ right
    return jnp.block([[square(left), corner], [corner.T, square(right)]])


def triangle_of(
    residual: Float[Array, " rows"], features: Float[Array, "rows params"]
) -> Float[Array, "params1 params1"]:
    """The triangular factor of [J r]."""
    factor = jnp.linalg.qr(jnp.concatenate([features, residual[:, None]], axis=1), mode="r")
    # Fewer rows than columns: rows of zeros complete the factor.
    missing = factor.shape[1] - factor.shape[0]
    return jnp.pad(factor, ((0, max(missing, 0)), (0, 0)))
