"""Spectra: a factorisation of J, hidden behind "give me the step for this cutoff or this damping".

With J = U Σ Vᵀ and c = Uᵀr the two families of steps are

- truncated at ε:   p = −V Σ† c,              singular values ≤ ε dropped (the paper);
- damped by λ:      p = −V [σ c / (σ² + λ)],  that is (JᵀJ + λI) p = −Jᵀr.

Every factorisation gives the same steps where it is accurate. Those of JᵀJ or JJᵀ see singular values
only down to about 1e-8 σ_max; QR and SVD see them down to rounding. Singular values below that floor
are treated as zero. A matrix of zeros has the step zero and rank zero; a matrix or residual that is
not finite gives a step that is not finite and rank zero, for the caller to notice.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anagram.batch import Batch, count_rows
from anagram.compound import Compound, Gram, gram_of, triangle_of
from anagram.errors import SettingError

# Eigenvalues of JᵀJ are wrong by a few eps·σ_max²; singular values above this fraction of σ_max are
# then right to better than one percent.
SQUARE_RESOLVES = 2e-7

FACTORISATIONS = ("svd", "qr", "eigh", "cholesky", "lq", "dual-eigh", "dual-cholesky")


class Step(NamedTuple):
    """A step p in parameter space, the number of modes it uses, and its predicted reduction of ‖r‖²."""

    direction: Float[Array, " params"]
    rank: Int[Array, ""]
    predicted: Float[Array, ""]


class Spectrum(eqx.Module):
    """What a factorisation of J can answer."""

    @property
    @abc.abstractmethod
    def largest(self) -> Float[Array, ""]:
        """σ_max (an upper bound of it where singular values are not computed)."""

    @abc.abstractmethod
    def truncated(self, cutoff: Float[Array, ""] | float) -> Step:
        """The step with all singular values ≤ cutoff dropped."""

    @abc.abstractmethod
    def damped(self, damping: Float[Array, ""] | float) -> Step:
        """The step for the damping λ."""

    @abc.abstractmethod
    def solve(self, vector: Float[Array, " params"], damping: Float[Array, ""] | float) -> Float[Array, " params"]:
        """(JᵀJ + λI)⁻¹ of a vector of the row space of J, for λ > 0."""


class Modes(Spectrum):
    """Singular values σ and, mode by mode, what the steps are made of: p = −Σ_i source_i/(σ_i² + λ) · lift_i.

    Primal forms have the source Vᵀg, with g = Jᵀr, and lift by the right singular vectors v_i; dual forms have
    the source c = Uᵀr and lift by Jᵀu_i = σ_i v_i. `along` is Vᵀg = σ c in both.
    """

    sigma: Float[Array, " modes"]
    source: Float[Array, " modes"]
    lift: Float[Array, "modes params"]
    along: Float[Array, " modes"]
    floor: Float[Array, ""]

    @property
    def largest(self) -> Float[Array, ""]:
        return jnp.max(self.sigma)

    def truncated(self, cutoff: Float[Array, ""] | float) -> Step:
        return self._step(0.0, self.sigma > jnp.maximum(cutoff, self.floor))

    def damped(self, damping: Float[Array, ""] | float) -> Step:
        # Without damping, modes below the floor are unused: that is the pseudo-inverse, the limit λ → 0.
        return self._step(damping, (self.sigma > self.floor) | (jnp.asarray(damping) > 0))

    def solve(self, vector: Float[Array, " params"], damping: Float[Array, ""] | float) -> Float[Array, " params"]:
        # The rows of `lift` are v_i or σ_i v_i; their own lengths tell which.
        lengths = jnp.sum(self.lift**2, axis=1)
        scale = jnp.where(lengths > 0, lengths, 1.0) * (self.sigma**2 + damping)
        return (self.lift @ vector / scale) @ self.lift

    def _step(self, damping: Float[Array, ""] | float, keep: Array) -> Step:
        square = self.sigma**2
        shifted = jnp.where(keep, square + damping, 1.0)
        coefficients = jnp.where(keep, -self.source / shifted, 0.0)
        gain = jnp.where(keep, self.along**2 * (square + 2 * damping) / shifted**2, 0.0)
        finite = jnp.all(jnp.isfinite(self.sigma)) & jnp.all(jnp.isfinite(self.source))
        direction = jnp.where(finite, coefficients @ self.lift, jnp.nan)
        return Step(direction, jnp.sum(keep & (self.sigma > self.floor)), jnp.sum(gain))


class Normal(Spectrum):
    """The normal equations JᵀJ, solved by Cholesky for each damping."""

    gram: Gram

    @property
    def largest(self) -> Float[Array, ""]:
        return jnp.sqrt(jnp.trace(self.gram.matrix))

    def truncated(self, cutoff: Float[Array, ""] | float) -> Step:
        raise SettingError("Cholesky has no singular values to cut off: use eigh, qr or svd")

    def damped(self, damping: Float[Array, ""] | float) -> Step:
        size = self.gram.gradient.size
        factor = jax.scipy.linalg.cho_factor(self.gram.matrix + damping * jnp.eye(size))
        direction = -jax.scipy.linalg.cho_solve(factor, self.gram.gradient)
        predicted = damping * direction @ direction - self.gram.gradient @ direction
        return Step(direction, jnp.asarray(size), predicted)

    def solve(self, vector: Float[Array, " params"], damping: Float[Array, ""] | float) -> Float[Array, " params"]:
        return jnp.linalg.solve(self.gram.matrix + damping * jnp.eye(vector.size), vector)


class DualNormal(Spectrum):
    """The dual form p = −Jᵀ(JJᵀ + λI)⁻¹ r, of size S×S, solved by Cholesky for each damping."""

    kernel: Float[Array, "rows rows"]
    features: Float[Array, "rows params"]
    residual: Float[Array, " rows"]

    @property
    def largest(self) -> Float[Array, ""]:
        return jnp.sqrt(jnp.trace(self.kernel))

    def truncated(self, cutoff: Float[Array, ""] | float) -> Step:
        raise SettingError("Cholesky has no singular values to cut off: use dual-eigh, lq or svd")

    def damped(self, damping: Float[Array, ""] | float) -> Step:
        size = self.residual.size
        factor = jax.scipy.linalg.cho_factor(self.kernel + damping * jnp.eye(size))
        direction = -self.features.T @ jax.scipy.linalg.cho_solve(factor, self.residual)
        predicted = damping * direction @ direction - self.residual @ (self.features @ direction)
        return Step(direction, jnp.asarray(size), predicted)

    def solve(self, vector: Float[Array, " params"], damping: Float[Array, ""] | float) -> Float[Array, " params"]:
        # Woodbury: (JᵀJ + λI)⁻¹ = (I − Jᵀ(JJᵀ + λI)⁻¹J)/λ.
        shifted = self.kernel + damping * jnp.eye(self.residual.size)
        return (vector - self.features.T @ jnp.linalg.solve(shifted, self.features @ vector)) / damping


# -- factorisations ---------------------------------------------------------------------------------------
def svd(residual: Float[Array, " rows"], features: Float[Array, "rows params"]) -> Modes:
    """The singular value decomposition of J itself: the plain one, and the oracle of the others."""
    u, sigma, vt = jnp.linalg.svd(features, full_matrices=False)
    return _primal(sigma, sigma * (u.T @ residual), vt, max(features.shape))


def from_triangle(triangle: Float[Array, "params1 params1"], rows: int) -> Modes:
    """The SVD of the factor R of a QR factorisation of [J r]: as accurate as that of J, and smaller."""
    size = triangle.shape[0] - 1
    u, sigma, vt = jnp.linalg.svd(triangle[:size, :size])
    return _primal(sigma, sigma * (u.T @ triangle[:size, size]), vt, max(rows, size))


def eigh(gram: Gram) -> Modes:
    """The eigenvectors of JᵀJ."""
    eigenvalues, v = jnp.linalg.eigh(gram.matrix)
    sigma, floor = _sigma_of_square(eigenvalues)
    along = v.T @ gram.gradient
    return Modes(sigma, along, v.T, along, floor)


def lq(residual: Float[Array, " rows"], features: Float[Array, "rows params"]) -> Modes:
    """J = LQ for more parameters than rows: the SVD of the square factor L, at cost S²P."""
    q, r = jnp.linalg.qr(features.T)
    u, sigma, vt = jnp.linalg.svd(r.T, full_matrices=False)
    return _primal(sigma, sigma * (u.T @ residual), vt @ q.T, max(features.shape))


def dual_eigh(residual: Float[Array, " rows"], features: Float[Array, "rows params"]) -> Modes:
    """The eigenvectors of JJᵀ, of size S×S."""
    eigenvalues, u = jnp.linalg.eigh(features @ features.T)
    sigma, floor = _sigma_of_square(eigenvalues)
    projected = u.T @ residual
    return Modes(sigma, projected, u.T @ features, sigma * projected, floor)


def _primal(sigma: Array, along: Array, vt: Array, size: int) -> Modes:
    floor = jnp.finfo(sigma.dtype).eps * size * jnp.max(sigma)
    return Modes(sigma, along, vt, along, floor)


def factorise(how: str, compound: Compound, theta: Float[Array, " params"], batch: Batch) -> Spectrum:
    """The spectrum of J(θ) on a batch by one of `FACTORISATIONS`, or ``auto``.

    ``auto`` is accurate to rounding at the least cost: QR for S ≥ P and LQ for S < P, which is the
    paper's min(P²S, S²P).
    """
    rows = count_rows(batch)
    match choose(how, rows, theta.size):
        case "svd":
            return svd(*compound.features(theta, batch))
        case "qr":
            return from_triangle(compound.triangle(theta, batch), rows)
        case "eigh":
            return eigh(compound.gram(theta, batch))
        case "cholesky":
            return Normal(compound.gram(theta, batch))
        case "lq":
            return lq(*compound.features(theta, batch))
        case "dual-eigh":
            return dual_eigh(*compound.features(theta, batch))
        case _:
            residual, features = compound.features(theta, batch)
            return DualNormal(features @ features.T, features, residual)


def factorise_for_cutoff(
    how: str, compound: Compound, theta: Float[Array, " params"], batch: Batch, cutoff: float, relative: bool
) -> Spectrum:
    """Like `factorise`, but ``auto`` may square the matrix where singular values at the cutoff survive it.

    For a relative cutoff this is known beforehand; for an absolute one it is decided at every step, from
    ‖J‖_F² = tr JᵀJ, which is at least σ_max².
    """
    rows = count_rows(batch)
    if how != "auto":
        return factorise(how, compound, theta, batch)
    if relative:
        if cutoff >= SQUARE_RESOLVES:
            return factorise("eigh" if rows >= theta.size else "dual-eigh", compound, theta, batch)
        return factorise("auto", compound, theta, batch)
    if rows < theta.size:
        return factorise("auto", compound, theta, batch)
    trace, gram, triangle = squared_or_triangle(compound, theta, batch)
    return jax.lax.cond(
        cutoff**2 >= SQUARE_RESOLVES**2 * trace,
        lambda: eigh(gram()),
        lambda: from_triangle(triangle(), rows),
    )


def squared_or_triangle(
    compound: Compound, theta: Float[Array, " params"], batch: Batch
) -> tuple[Float[Array, ""], Callable[[], Gram], Callable[[], Float[Array, "params1 params1"]]]:
    """The trace of JᵀJ, and two ways to go on: JᵀJ, which is fast, or the factor R of J, accurate to rounding.

    J is evaluated once if it fits into memory, and in chunks by whichever way needs it otherwise.
    """
    if compound.fits(theta, batch):
        residual, features = compound.features(theta, batch)
        return (
            jnp.sum(features**2),
            lambda: gram_of(residual, features),
            lambda: triangle_of(residual, features),
        )
    gram = compound.gram(theta, batch)
    return jnp.trace(gram.matrix), lambda: gram, lambda: compound.triangle(theta, batch)


def choose(how: str, rows: int, parameters: int) -> str:
    """The factorisation meant by ``auto`` for these sizes; any other name is checked and returned."""
    if how == "auto":
        if rows < parameters:
            return "lq"
        # R is hardly smaller than J then, and QR is wasted work.
        return "svd" if rows < 1.2 * parameters else "qr"
    if how not in FACTORISATIONS:
        raise SettingError(f"there is no factorisation '{how}'; choose from auto, {', '.join(FACTORISATIONS)}")
    return how


def _sigma_of_square(eigenvalues: Array) -> tuple[Array, Array]:
    # Squaring halves the digits: eigenvalues below a few eps·λ_max carry no information.
    sigma = jnp.sqrt(jnp.maximum(eigenvalues, 0.0))
    return sigma, 4 * jnp.sqrt(jnp.finfo(sigma.dtype).eps) * jnp.max(sigma)
