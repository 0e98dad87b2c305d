"""Theorem 1: the empirical natural gradient, and what separates it from φ̂† ∇L̂.

With the empirical tangent space T̂ = span NNTK(·, x_i) of a batch and the projection Π on it,

    d((D,B)∘u)†(Π ∇L) = (φ̂† + E_metric)(∇L̂ + E_⊥).

φ̂ holds the features at the batch's points and ∇L̂ the residual there. E_metric makes up for lengths measured by φ̂ and
not by the metric of L²; it vanishes where the points span the tangent space. E_⊥ takes out of the residual what
is orthogonal to the tangent space.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from anagram.compound.batch import Batch, ConditionBatch, unweighted
from anagram.errors import SettingError
from anagram.spectrum.metric import Metric, metric_correction, orthogonal_correction
from anagram.tangent.points import pivots
from anagram.tangent.space import TangentSpace

EMPIRICAL_CUTOFF = 1e-12  # of the largest singular value of φ̂


@dataclass(frozen=True)
class Corrections:
    """E_metric and E_⊥ of a batch, with φ̂† and ∇L̂."""

    metric: Float[np.ndarray, "params rows"]
    orthogonal: Float[np.ndarray, " rows"]
    pseudo_inverse: Float[np.ndarray, "params rows"]
    gradient: Float[np.ndarray, " rows"]

    @property
    def uncorrected(self) -> Float[np.ndarray, " params"]:
        """φ̂† ∇L̂, the direction of the paper's algorithm."""
        return self.pseudo_inverse @ self.gradient

    @property
    def corrected(self) -> Float[np.ndarray, " params"]:
        """(φ̂† + E_metric)(∇L̂ + E_⊥), the empirical natural gradient."""
        return (self.pseudo_inverse + self.metric) @ (self.gradient + self.orthogonal)


def corrections(space: TangentSpace, batch: Batch, cutoff: float = EMPIRICAL_CUTOFF) -> Corrections:
    """The correction terms for the points of a batch, in the metric of a tangent space.

    Rows count once, whatever their weights: the span of NNTK(·, x_i) does not depend on them.
    """
    if not isinstance(batch, dict):
        raise SettingError(f"the points are a batch, as from anagram.sample(problem), not {type(batch).__name__}")
    layout = space.compound.layout
    features_of = layout.program(layout.jit(space.compound.features))
    gradient, features = features_of(space.theta, unweighted(batch))
    metric = Metric(jnp.asarray(space.basis), jnp.asarray(space.coefficients))
    pseudo_inverse, of_metric = metric_correction(metric, features, cutoff)
    orthogonal = orthogonal_correction(metric, features, gradient)
    return Corrections(*(np.asarray(a) for a in (of_metric, orthogonal, pseudo_inverse, gradient)))


def spanning_points(space: TangentSpace, candidates: Batch | None = None, count: int | None = None) -> Batch:
    """Points whose empirical tangent space is the whole one, as many as it has dimensions: E_metric vanishes on them.

    They are found among candidates, by default the points of the quadrature, by a QR factorisation of the basis ψ_k(x)
    with pivoting: each point is the one that is worst explained by those before it.

    Args:
        space: the tangent space.
        candidates: points to choose from.
        count: how many; by default the dimension of the space.
    """
    pool = space.batch if candidates is None else candidates
    basis = np.concatenate([space.modes(key, part.x) for key, part in pool.items()])
    wanted = space.dimension if count is None else count
    if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer):
        raise SettingError(f"the number of points is a whole number, not {wanted!r}")
    if not 1 <= wanted <= len(basis):
        raise SettingError(f"cannot choose {wanted} points out of {len(basis)} candidates: give more candidates")
    return rows_of(pool, pivots(basis)[:wanted])


def rows_of(batch: Batch, order: np.ndarray) -> Batch:
    """The points of some rows, counted through all conditions; a point with several components is taken once."""
    result: Batch = {}
    start = 0
    for key, part in batch.items():
        components = part.source.shape[1]
        here = order[(order >= start) & (order < start + part.source.size)] - start
        start += part.source.size
        index = np.unique(here // components)
        chosen: ConditionBatch = jax.tree.map(lambda leaf, index=index: leaf[index], part)
        result[key] = chosen
    return result
