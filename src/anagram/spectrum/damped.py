"""Damped steps: (JᵀJ + λI) p = −Jᵀr for any damping λ, by Cholesky factors of normal equations.

Plain normal equations see singular values down to about 1e-8 σ_max. In the eigenbasis of JᵀJ, with columns scaled to
length one, they are as accurate as an SVD (`Balanced`).
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anagram.compound import Gram
from anagram.environment import has_accelerator


class Step(NamedTuple):
    """A step p in parameter space, the number of modes it uses, and its predicted reduction of ‖r‖²."""

    direction: Float[Array, " params"]
    rank: Int[Array, ""]
    predicted: Float[Array, ""]


class Damped(NamedTuple):
    """What is known once the damping λ is chosen: the step, and (JᵀJ + λI)⁻¹ for vectors of the row space of J.

    `beside` is that of the vector that was given together with the damping, if one was: both are solved for at once.
    """

    step: Step
    solve: Callable[[Float[Array, " params"]], Float[Array, " params"]]
    beside: Float[Array, " params"] | None = None


class Dampings(eqx.Module):
    """A family of damped steps p(λ): what a factorisation of J answers once a damping is chosen."""

    @abc.abstractmethod
    def at(self, damping: Float[Array, ""] | float) -> Damped:
        """Fix the damping λ: whatever must be factorised for it is factorised once."""

    def damped(self, damping: Float[Array, ""] | float) -> Step:
        """The step for the damping λ."""
        return self.at(damping).step

    def solve(self, vector: Float[Array, " params"], damping: Float[Array, ""] | float) -> Float[Array, " params"]:
        """(JᵀJ + λI)⁻¹ of a vector of the row space of J, for λ > 0."""
        return self.at(damping).solve(vector)


class Normal(Dampings):
    """The normal equations JᵀJ, solved by Cholesky for each damping."""

    gram: Gram

    def at(self, damping: Float[Array, ""] | float) -> Damped:
        size = self.gram.gradient.size
        factor = _factor(self.gram.matrix + damping * jnp.eye(size))
        direction = -_solved(factor, self.gram.gradient[:, None])[:, 0]
        predicted = damping * direction @ direction - self.gram.gradient @ direction
        return Damped(
            Step(direction, jnp.asarray(size), predicted), lambda vector: _solved(factor, vector[:, None])[:, 0]
        )


class Balanced(Dampings):
    """The normal equations in an orthonormal basis V, with the columns of JV scaled to length one.

    With B = J V D⁻¹ and C = BᵀB,

        (JᵀJ + λI)⁻¹ = V D⁻¹ (C + λD⁻²)⁻¹ D⁻¹ Vᵀ.

    In the eigenbasis of JᵀJ the columns of B are almost orthogonal, C is close to the identity, and a Cholesky
    factor of C + λD⁻² gives steps as accurate as those of an SVD: what squaring loses of the small singular
    values it loses in the basis, where it does no harm. In the standard basis this is the plain normal equations.

    The dual form (`rows` not None) does the same with JJᵀ: basis U, and rows A = D⁻¹UᵀJ.
    """

    core: Float[Array, "size size"]
    scale: Float[Array, " size"]
    source: Float[Array, " size"]
    basis: Float[Array, "size size"]
    rows: Float[Array, "size params"] | None = None

    def at(self, damping: Float[Array, ""] | float, vector: Float[Array, " params"] | None = None) -> Damped:
        """Fix the damping λ, and solve for a vector beside the step if one is given."""
        factor = _factor(self.core + jnp.diag(damping / self.scale**2))
        columns = [self.source] if vector is None else [self.source, self._inner(vector)]
        solved = _solved(factor, jnp.stack(columns, axis=1))
        y = solved[:, 0]
        if self.rows is None:
            direction = -self.basis @ (y / self.scale)
            gain = self.source @ y
        else:
            direction = -self.rows.T @ y
            gain = (self.scale**2 * self.source) @ (self.core @ y)

        def solve(vector: Float[Array, " params"]) -> Float[Array, " params"]:
            return self._outer(_solved(factor, self._inner(vector)[:, None])[:, 0], vector, damping)

        step = Step(direction, jnp.asarray(self.scale.size), gain + damping * direction @ direction)
        return Damped(step, solve, None if vector is None else self._outer(solved[:, 1], vector, damping))

    def _inner(self, vector: Float[Array, " params"]) -> Float[Array, " size"]:
        """A vector as the right-hand side of (C + λD⁻²)."""
        return (vector @ self.basis) / self.scale if self.rows is None else self.rows @ vector

    def _outer(
        self, solved: Float[Array, " size"], vector: Float[Array, " params"], damping: Float[Array, ""] | float
    ) -> Float[Array, " params"]:
        """(JᵀJ + λI)⁻¹ of a vector, from what (C + λD⁻²)⁻¹ made of it inside."""
        if self.rows is None:
            return self.basis @ (solved / self.scale)
        # Woodbury: (JᵀJ + λI)⁻¹ = (I − Jᵀ(JJᵀ + λI)⁻¹J)/λ.
        return (vector - self.rows.T @ solved) / damping


def _factor(matrix: Float[Array, "size size"]) -> Float[Array, "size size"]:
    """The Cholesky factor L of a matrix LLᵀ that is symmetric to the last bit."""
    return jax.lax.linalg.cholesky(matrix, symmetrize_input=False)


def _solved(factor: Float[Array, "size size"], columns: Float[Array, "size columns"]) -> Float[Array, "size columns"]:
    """(LLᵀ)⁻¹ of some columns; an accelerator is faster with one after the other."""
    if has_accelerator() and columns.shape[1] > 1:
        return jnp.concatenate([_solved(factor, columns[:, k, None]) for k in range(columns.shape[1])], axis=1)
    half = jax.lax.linalg.triangular_solve(factor, columns, left_side=True, lower=True)
    return jax.lax.linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True)


def balanced(gram: Gram, basis: Float[Array, "params params"]) -> Balanced:
    """From the Gram matrix of JV."""
    scale = _lengths(gram.matrix)
    return Balanced(gram.matrix / (scale * scale[:, None]), scale, gram.gradient / scale, basis)


def balanced_rows(
    residual: Float[Array, " rows"], features: Float[Array, "rows params"], basis: Float[Array, "rows rows"]
) -> Balanced:
    """From the rows UᵀJ and the residual Uᵀr."""
    kernel = features @ features.T
    scale = _lengths(kernel)
    return Balanced(kernel / (scale * scale[:, None]), scale, residual / scale, basis, features / scale[:, None])


def _lengths(square: Float[Array, "size size"]) -> Float[Array, " size"]:
    # A column of zeros is left alone; it must not divide by zero.
    diagonal = jnp.diag(square)
    return jnp.sqrt(jnp.where(diagonal > 0, diagonal, 1.0))


class DualNormal(Dampings):
    """The dual form p = −Jᵀ(JJᵀ + λI)⁻¹ r, of size S×S, solved by Cholesky for each damping."""

    kernel: Float[Array, "rows rows"]
    features: Float[Array, "rows params"]
    residual: Float[Array, " rows"]

    def at(self, damping: Float[Array, ""] | float) -> Damped:
        size = self.residual.size
        factor = _factor(self.kernel + damping * jnp.eye(size))
        direction = -self.features.T @ _solved(factor, self.residual[:, None])[:, 0]
        predicted = damping * direction @ direction - self.residual @ (self.features @ direction)

        def solve(vector: Float[Array, " params"]) -> Float[Array, " params"]:
            # Woodbury: (JᵀJ + λI)⁻¹ = (I − Jᵀ(JJᵀ + λI)⁻¹J)/λ.
            inner = _solved(factor, (self.features @ vector)[:, None])[:, 0]
            return (vector - self.features.T @ inner) / damping

        return Damped(Step(direction, jnp.asarray(size), predicted), solve)
