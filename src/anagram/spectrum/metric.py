"""The metric of L² on a tangent space, and the terms of Theorem 1 that follow from it, as plain algebra.

See `anagram.tangent.corrections` for what they say about the empirical natural gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class Metric(NamedTuple):
    """The tangent space as the corrections need it: parameters v_k/σ_k of an orthonormal basis, coefficients of ∇L."""

    basis: Float[Array, "params modes"]
    coefficients: Float[Array, " modes"]


def metric_correction(
    metric: Metric, features: Float[Array, "rows params"], cutoff: float
) -> tuple[Float[Array, "params rows"], Float[Array, "params rows"]]:
    """φ̂† and E_metric = (1 − V̂_r V̂_rᵀ) G† V̂_r (V̂_rᵀ G† V̂_r)† Δ̂† Ûᵀ.

    With A = Σ⁻¹ Vᵀ V̂_r the middle is V Σ⁻¹ A (AᵀA)† = V Σ⁻¹ (A†)ᵀ: no matrix is squared.
    """
    u, delta, vt = jnp.linalg.svd(features, full_matrices=False)
    keep = delta > cutoff * delta[0]
    inverse = jnp.where(keep, 1 / jnp.where(keep, delta, 1.0), 0.0)
    v = jnp.where(keep, vt.T, 0.0)
    a = metric.basis.T @ v
    through = metric.basis @ jnp.linalg.pinv(a, rtol=cutoff).T
    scaled = inverse[:, None] * u.T
    return v @ scaled, (through - v @ (v.T @ through)) @ scaled


def orthogonal_correction(
    metric: Metric, features: Float[Array, "rows params"], gradient: Float[Array, " rows"]
) -> Float[Array, " rows"]:
    """E_⊥ = (⟨NNTK(x_i, ·), ∇L⟩ − ∇L(x_i))_i."""
    return features @ (metric.basis @ metric.coefficients) - gradient


def corrected_inverse(
    metric: Metric, features: Float[Array, "rows params"], cutoff: float
) -> Float[Array, "params rows"]:
    """φ̂† + E_metric in one: V Σ⁻¹ B† with B = ψ_k(x_i).

    B is well conditioned where φ̂ is not, so that a cutoff on it harms less than one on the sum of both terms.
    """
    return metric.basis @ jnp.linalg.pinv(features @ metric.basis, rtol=cutoff)
