"""Modes: singular values σ and vectors of J, with which steps can be cut off (the paper) or damped.

With J = U Σ Vᵀ and c = Uᵀr the two families of steps are

- truncated at ε:   p = −V Σ† c,              singular values ≤ ε dropped;
- damped by λ:      p = −V [σ c / (σ² + λ)],  that is (JᵀJ + λI) p = −Jᵀr.

Factorisations of JᵀJ or JJᵀ see singular values only down to about 1e-8 σ_max; QR and SVD see them down to rounding.
Singular values below that floor are treated as zero. A matrix of zeros has the step zero and rank zero; a matrix or
residual that is not finite gives a step that is not finite and rank zero, for the caller to notice.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram.compound import Gram
from anagram.spectrum.damped import Damped, Dampings, Step


class Modes(Dampings):
    """Singular values σ and, mode by mode, what the steps are made of: p = −Σ_i source_i/(σ_i² + λ) · lift_i.

    Primal forms have the source Vᵀg, with g = Jᵀr, and lift by the right singular vectors v_i; dual forms have
    the source c = Uᵀr and lift by Jᵀu_i = σ_i v_i. `along` is Vᵀg = σ c in both. `projected` is c, and `outside` the
    length of r − U c, the part of the residual that no mode holds. Factorisations of JᵀJ know both only
    roughly.
    """

    sigma: Float[Array, " modes"]
    source: Float[Array, " modes"]
    lift: Float[Array, "modes params"]
    along: Float[Array, " modes"]
    projected: Float[Array, " modes"]
    outside: Float[Array, ""]
    floor: Float[Array, ""]

    @property
    def largest(self) -> Float[Array, ""]:
        """σ_max."""
        return jnp.max(self.sigma)

    def truncated(self, cutoff: Float[Array, ""] | float) -> Step:
        """The step with all singular values ≤ cutoff dropped."""
        return self._step(0.0, self.sigma > jnp.maximum(cutoff, self.floor))

    def at(self, damping: Float[Array, ""] | float) -> Damped:
        def solve(vector: Float[Array, " params"]) -> Float[Array, " params"]:
            # The rows of `lift` are v_i or σ_i v_i; their own lengths tell which. Below the floor they are noise.
            keep = self.sigma > self.floor
            scale = jnp.where(keep, jnp.sum(self.lift**2, axis=1) * (self.sigma**2 + damping), 1.0)
            return jnp.where(keep, self.lift @ vector / scale, 0.0) @ self.lift

        # Without damping, modes below the floor are unused: that is the pseudo-inverse, the limit λ → 0.
        return Damped(self._step(damping, (self.sigma > self.floor) | (jnp.asarray(damping) > 0)), solve)

    def _step(self, damping: Float[Array, ""] | float, keep: Array) -> Step:
        square = self.sigma**2
        shifted = jnp.where(keep, square + damping, 1.0)
        coefficients = jnp.where(keep, -self.source / shifted, 0.0)
        gain = jnp.where(keep, self.along**2 * (square + 2 * damping) / shifted**2, 0.0)
        finite = jnp.all(jnp.isfinite(self.sigma)) & jnp.all(jnp.isfinite(self.source))
        direction = jnp.where(finite, coefficients @ self.lift, jnp.nan)
        return Step(direction, jnp.sum(keep & (self.sigma > self.floor)), jnp.sum(gain))


def svd(residual: Float[Array, " rows"], features: Float[Array, "rows params"]) -> Modes:
    """The singular value decomposition of J itself: the plain one, and the oracle of the others."""
    u, sigma, vt = jnp.linalg.svd(features, full_matrices=False)
    projected = u.T @ residual
    return _primal(sigma, projected, jnp.linalg.norm(residual - u @ projected), vt, max(features.shape))


def from_triangle(triangle: Float[Array, "params1 params1"], rows: int) -> Modes:
    """The SVD of the factor R of a QR factorisation of [J r]: as accurate as that of J, and smaller."""
    size = triangle.shape[0] - 1
    u, sigma, vt = jnp.linalg.svd(triangle[:size, :size])
    return _primal(sigma, u.T @ triangle[:size, size], jnp.abs(triangle[size, size]), vt, max(rows, size))


def eigh(gram: Gram) -> Modes:
    """The eigenvectors of JᵀJ."""
    eigenvalues, v = jnp.linalg.eigh(gram.matrix)
    sigma, floor = _sigma_of_square(eigenvalues)
    along = v.T @ gram.gradient
    projected = along / jnp.where(sigma > floor, sigma, jnp.inf)
    outside = jnp.sqrt(jnp.maximum(gram.square - jnp.sum(projected**2), 0.0))
    return Modes(sigma, along, v.T, along, projected, outside, floor)


def lq(residual: Float[Array, " rows"], features: Float[Array, "rows params"]) -> Modes:
    """J = LQ for more parameters than rows: the SVD of the square factor L, at cost S²P."""
    q, r = jnp.linalg.qr(features.T)
    u, sigma, vt = jnp.linalg.svd(r.T, full_matrices=False)
    projected = u.T @ residual
    return _primal(sigma, projected, jnp.linalg.norm(residual - u @ projected), vt @ q.T, max(features.shape))


def dual_eigh(residual: Float[Array, " rows"], features: Float[Array, "rows params"]) -> Modes:
    """The eigenvectors of JJᵀ, of size S×S."""
    eigenvalues, u = jnp.linalg.eigh(features @ features.T)
    sigma, floor = _sigma_of_square(eigenvalues)
    projected = u.T @ residual
    return Modes(sigma, projected, u.T @ features, sigma * projected, projected, jnp.zeros(()), floor)


def _primal(sigma: Array, projected: Array, outside: Array, vt: Array, size: int) -> Modes:
    floor = jnp.finfo(sigma.dtype).eps * size * jnp.max(sigma)
    along = sigma * projected
    return Modes(sigma, along, vt, along, projected, outside, floor)


def _sigma_of_square(eigenvalues: Array) -> tuple[Array, Array]:
    # Squaring halves the digits: eigenvalues below a few eps·λ_max carry no information.
    sigma = jnp.sqrt(jnp.maximum(eigenvalues, 0.0))
    return sigma, 4 * jnp.sqrt(jnp.finfo(sigma.dtype).eps) * jnp.max(sigma)
