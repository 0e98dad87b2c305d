"""Which factorisation is taken: by name, by the cutoff, or by the damping a step needs."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from anagram.compound import Gram, Linearisation, ResidualMap
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.spectrum.damped import Balanced, Dampings, DualNormal, Normal, balanced, balanced_rows
from anagram.spectrum.modes import Modes, dual_eigh, eigh, from_triangle, lq, svd

# Eigenvalues of JᵀJ are wrong by a few eps·σ_max²; singular values above this fraction of σ_max are
# then right to better than one percent.
SQUARE_RESOLVES = 2e-7

FACTORISATIONS = ("svd", "qr", "eigh", "cholesky", "lq", "dual-eigh", "dual-cholesky")


def factorise(how: str, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> Dampings:
    """The spectrum of J(θ) on a batch by one of `FACTORISATIONS`, or ``auto``.

    ``auto`` is accurate to rounding at the least cost: QR for S ≥ P and LQ for S < P, which is the
    paper's min(P²S, S²P).
    """
    rows = compound.count_rows(batch)
    chosen = choose(how, rows, theta.size)
    if how == "auto" and chosen == "svd" and compound.laid is not compound:
        chosen = "qr"  # rows that lie on several devices stay there
    match chosen:
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


def factorise_into_modes(how: str, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> Modes:
    """Like `factorise`, with singular values; Cholesky factors, which have none, are refused."""
    modes = factorise(how, compound, theta, batch)
    if not isinstance(modes, Modes):
        raise SettingError("Cholesky has no singular values to cut off: use eigh, qr or svd")
    return modes


def factorise_for_cutoff(
    how: str, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch, cutoff: float, relative: bool
) -> Modes:
    """Like `factorise`, but ``auto`` may square the matrix where singular values at the cutoff survive it.

    For a relative cutoff this is known beforehand; for an absolute one it is decided at every step, from
    ‖J‖_F² = tr JᵀJ, which is at least σ_max².
    """
    rows = compound.count_rows(batch)
    if how == "auto" and relative and cutoff >= SQUARE_RESOLVES:
        how = "eigh" if rows >= theta.size else "dual-eigh"
    if how != "auto" or relative or rows < theta.size:
        return factorise_into_modes(how, compound, theta, batch)
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
        laid = compound.laid
        residual, features = laid.features(theta, batch)
        return (
            jnp.sum(features**2),
            lambda: laid.gram_of_rows(residual, features),
            lambda: laid.triangle_of_rows(residual, features),
        )
    gram = compound.gram(theta, batch)
    return jnp.trace(gram.matrix), lambda: gram, lambda: compound.triangle(theta, batch)


def for_dampings(linear: Linearisation, squared: Bool[Array, ""] | bool) -> Balanced:
    """Damped steps of a linearisation: by plain normal equations if `squared`, else by balanced ones.

    With more parameters than rows the dual form is taken. A flag that is known beforehand leaves nothing of the other
    kind to compile.
    """
    if linear.is_wide:
        residual, features = linear.residual, linear.features
        assert residual is not None
        assert features is not None

        def plain_rows() -> Balanced:
            return balanced_rows(residual, features, jnp.eye(residual.size))

        def rows_in_eigenbasis() -> Balanced:
            basis = _eigenvectors(features @ features.T)
            return balanced_rows(basis.T @ residual, basis.T @ features, basis)

        return _either(squared, plain_rows, rows_in_eigenbasis)
    gram = linear.gram()

    def in_eigenbasis() -> Balanced:
        basis = _eigenvectors(gram.matrix)
        return balanced(linear.gram(basis), basis)

    return _either(squared, lambda: balanced(gram, jnp.eye(gram.gradient.size)), in_eigenbasis)


def _eigenvectors(matrix: Float[Array, "size size"]) -> Float[Array, "size size"]:
    return jax.lax.linalg.eigh(matrix, symmetrize_input=False)[0]


def _either(
    squared: Bool[Array, ""] | bool, plain: Callable[[], Balanced], accurate: Callable[[], Balanced]
) -> Balanced:
    if isinstance(squared, bool):
        return plain() if squared else accurate()
    return jax.lax.cond(squared, plain, accurate)


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
