"""The linearisation r + J p of a residual map at some parameters, made once a step and shared by all that need it."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram.compound.batch import Batch
from anagram.compound.residual_map import Gram, ResidualMap, Theta


class Linearisation:
    """r and J at θ: J itself where it fits into memory, and its sums over chunks of points otherwise.

    `is_wide` says whether there are more parameters than rows, and all of J is there: there are no normal equations
    then, and whoever needs a square matrix takes JJᵀ.
    """

    def __init__(self, compound: ResidualMap, theta: Theta, batch: Batch) -> None:
        fits = compound.fits(theta, batch)
        self.is_wide = fits and compound.count_rows(batch) < theta.size
        # JJᵀ needs all rows in one place; all else adds up over them, wherever they lie.
        compound = compound if self.is_wide else compound.laid
        self.compound, self.theta, self.batch = compound, theta, batch
        self.features: Float[Array, "rows params"] | None = None
        self.residual: Float[Array, " rows"] | None = None
        self._gram: Gram | None = None
        if fits:
            self.residual, self.features = compound.features(theta, batch)
            self.trace = jnp.sum(self.features**2)
        else:
            self._gram = compound.gram(theta, batch)
            self.trace = jnp.trace(self._gram.matrix)

    @property
    def loss(self) -> Float[Array, ""]:
        """ℓ(θ) = ½‖r‖²."""
        if self.residual is not None:
            return 0.5 * jnp.sum(self.residual**2)
        assert self._gram is not None
        return 0.5 * self._gram.square

    def gram(self, basis: Float[Array, "params columns"] | None = None) -> Gram:
        """JᵀJ, Jᵀr and ‖r‖², with JV for J if a basis V is given."""
        if self.features is not None:
            assert self.residual is not None
            rows = self.features if basis is None else self.features @ basis
            return self.compound.gram_of_rows(self.residual, rows)
        if basis is None:
            assert self._gram is not None
            return self._gram
        return self.compound.gram(self.theta, self.batch, basis)

    def transposed_times(self, w: Float[Array, " rows"]) -> Theta:
        """Jᵀ·w, from J where it is there."""
        if self.features is not None:
            return w @ self.features
        return self.compound.transposed_times(self.theta, self.batch, w)

    def second(self, v: Theta) -> Float[Array, " rows"]:
        """d²/dt² r(θ + t·v) at t = 0."""
        return self.compound.second(self.theta, self.batch, v)

    def bend(self, v: Theta) -> Theta:
        """Jᵀ of the second derivative along v."""
        return self.transposed_times(self.second(v))

    def loss_at(self, theta: Theta) -> Float[Array, ""]:
        """The loss at other parameters."""
        return self.compound.loss(theta, self.batch)


class Unformed:
    """r + J p at θ by products alone: neither J nor JᵀJ is ever formed."""

    def __init__(self, compound: ResidualMap, theta: Theta, batch: Batch) -> None:
        self.compound, self.theta, self.batch = compound, theta, batch
        self.square, self.gradient = compound.square_and_gradient(theta, batch)

    @property
    def loss(self) -> Float[Array, ""]:
        """ℓ(θ) = ½‖r‖²."""
        return 0.5 * self.square

    def normal_times(self, vectors: Float[Array, "vectors params"]) -> Float[Array, "vectors params"]:
        """JᵀJ times each of some vectors."""
        return self.compound.normal_times(self.theta, self.batch, vectors)

    def bend(self, v: Theta) -> Theta:
        """Jᵀ of the second derivative along v."""
        return self.compound.bend(self.theta, self.batch, v)

    def loss_at(self, theta: Theta) -> Float[Array, ""]:
        """The loss at other parameters."""
        return 0.5 * self.compound.square(theta, self.batch)
