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
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from anagram.compound import Gram, ResidualMap, gram_of, triangle_of
from anagram.compound.batch import Batch
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


class Damped(NamedTuple):
    """What is known once the damping λ is chosen: the step, and (JᵀJ + λI)⁻¹ for vectors of the row space of J."""

    step: Step
    solve: Callable[[Float[Array, " params"]], Float[Array, " params"]]


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
    def at(self, damping: Float[Array, ""] | float) -> Damped:
        """Fix the damping λ: whatever must be factorised for it is factorised once."""

    def damped(self, damping: Float[Array, ""] | float) -> Step:
        """The step for the damping λ."""
        return self.at(damping).step

    def solve(self, vector: Float[Array, " params"], damping: Float[Array, ""] | float) -> Float[Array, " params"]:
        """(JᵀJ + λI)⁻¹ of a vector of the row space of J, for λ > 0."""
        return self.at(damping).solve(vector)


class Modes(Spectrum):
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
        return jnp.max(self.sigma)

    def truncated(self, cutoff: Float[Array, ""] | float) -> Step:
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


class Normal(Spectrum):
    """The normal equations JᵀJ, solved by Cholesky for each damping."""

    gram: Gram

    @property
    def largest(self) -> Float[Array, ""]:
        return jnp.sqrt(jnp.trace(self.gram.matrix))

    def truncated(self, cutoff: Float[Array, ""] | float) -> Step:
        raise SettingError("Cholesky has no singular values to cut off: use eigh, qr or svd")

    def at(self, damping: Float[Array, ""] | float) -> Damped:
        size = self.gram.gradient.size
        factor = jax.scipy.linalg.cho_factor(self.gram.matrix + damping * jnp.eye(size))
        direction = -jax.scipy.linalg.cho_solve(factor, self.gram.gradient)
        predicted = damping * direction @ direction - self.gram.gradient @ direction
        return Damped(
            Step(direction, jnp.asarray(size), predicted), lambda vector: jax.scipy.linalg.cho_solve(factor, vector)
        )


class Balanced(Spectrum):
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

    @property
    def largest(self) -> Float[Array, ""]:
        return jnp.sqrt(jnp.sum(self.scale**2))

    def truncated(self, cutoff: Float[Array, ""] | float) -> Step:
        raise SettingError("Cholesky has no singular values to cut off: use eigh, qr or svd")

    def at(self, damping: Float[Array, ""] | float) -> Damped:
        size = self.scale.size
        factor = jax.scipy.linalg.cho_factor(self.core + jnp.diag(damping / self.scale**2))
        y = jax.scipy.linalg.cho_solve(factor, self.source)
        rank = jnp.asarray(size)
        if self.rows is None:
            direction = -self.basis @ (y / self.scale)
            gain = self.source @ y
        else:
            direction = -self.rows.T @ y
            gain = (self.scale**2 * self.source) @ (self.core @ y)

        def solve(vector: Float[Array, " params"]) -> Float[Array, " params"]:
            if self.rows is None:
                inner = (vector @ self.basis) / self.scale
                return self.basis @ (jax.scipy.linalg.cho_solve(factor, inner) / self.scale)
            # Woodbury: (JᵀJ + λI)⁻¹ = (I − Jᵀ(JJᵀ + λI)⁻¹J)/λ.
            return (vector - self.rows.T @ jax.scipy.linalg.cho_solve(factor, self.rows @ vector)) / damping

        return Damped(Step(direction, rank, gain + damping * direction @ direction), solve)


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

    def at(self, damping: Float[Array, ""] | float) -> Damped:
        size = self.residual.size
        factor = jax.scipy.linalg.cho_factor(self.kernel + damping * jnp.eye(size))
        direction = -self.features.T @ jax.scipy.linalg.cho_solve(factor, self.residual)
        predicted = damping * direction @ direction - self.residual @ (self.features @ direction)

        def solve(vector: Float[Array, " params"]) -> Float[Array, " params"]:
            # Woodbury: (JᵀJ + λI)⁻¹ = (I − Jᵀ(JJᵀ + λI)⁻¹J)/λ.
            return (vector - self.features.T @ jax.scipy.linalg.cho_solve(factor, self.features @ vector)) / damping

        return Damped(Step(direction, jnp.asarray(size), predicted), solve)


# -- factorisations ---------------------------------------------------------------------------------------
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


def factorise(how: str, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> Spectrum:
    """The spectrum of J(θ) on a batch by one of `FACTORISATIONS`, or ``auto``.

    ``auto`` is accurate to rounding at the least cost: QR for S ≥ P and LQ for S < P, which is the
    paper's min(P²S, S²P).
    """
    rows = compound.count_rows(batch)
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
    how: str, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch, cutoff: float, relative: bool
) -> Spectrum:
    """Like `factorise`, but ``auto`` may square the matrix where singular values at the cutoff survive it.

    For a relative cutoff this is known beforehand; for an absolute one it is decided at every step, from
    ‖J‖_F² = tr JᵀJ, which is at least σ_max².
    """
    rows = compound.count_rows(batch)
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
    compound: ResidualMap, theta: Float[Array, " params"], batch: Batch
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


def choose_by_damping(
    compound: ResidualMap, theta: Float[Array, " params"], batch: Batch
) -> tuple[Float[Array, ""], Callable[[Any], Balanced]]:
    """The trace of JᵀJ, and a spectrum for dampings: of plain normal equations if told so, else balanced ones.

    With more parameters than rows the dual form is taken. J is evaluated once if it fits into memory, and in chunks
    otherwise.
    """
    if not compound.fits(theta, batch):
        gram = compound.gram(theta, batch)

        def in_eigenbasis() -> Balanced:
            basis = jnp.linalg.eigh(gram.matrix)[1]
            return balanced(compound.gram(theta, batch, basis), basis)

        return jnp.trace(gram.matrix), _either(lambda: balanced(gram, jnp.eye(theta.size)), in_eigenbasis)
    residual, features = compound.features(theta, batch)
    rows = residual.size
    if rows < theta.size:

        def dual_eigenbasis() -> Balanced:
            basis = jnp.linalg.eigh(features @ features.T)[1]
            return balanced_rows(basis.T @ residual, basis.T @ features, basis)

        return jnp.sum(features**2), _either(lambda: balanced_rows(residual, features, jnp.eye(rows)), dual_eigenbasis)
    gram = gram_of(residual, features)

    def eigenbasis() -> Balanced:
        basis = jnp.linalg.eigh(gram.matrix)[1]
        return balanced(gram_of(residual, features @ basis), basis)

    return jnp.trace(gram.matrix), _either(lambda: balanced(gram, jnp.eye(theta.size)), eigenbasis)


def _either(plain: Callable[[], Balanced], accurate: Callable[[], Balanced]) -> Callable[[Any], Balanced]:
    """One of two, by a flag; a flag that is known beforehand leaves nothing of the other to compile."""

    def chosen(squared: Bool[Array, ""] | bool) -> Balanced:
        if isinstance(squared, bool):
            return plain() if squared else accurate()
        return jax.lax.cond(squared, plain, accurate)

    return chosen


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
