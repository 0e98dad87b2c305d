"""Energy natural gradient: the Gram matrix of the energy in function space, and a line search.

The energy is the loss as a function of u, E(u) = ½‖D(u) − f‖² + ½‖B(u) − g‖². Its second derivative on the tangent
space is

    G_pq = ⟨D'(u)[∂_p u], D'(u)[∂_q u]⟩ + ⟨D(u) − f, D''(u)[∂_p u, ∂_q u]⟩  (and the same for B),

of which the first part is JᵀJ, with the rows as the loss weighs them, and the second is zero for linear operators.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram.compound import Compound, ResidualMap
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.methods.base import State
from anagram.methods.line import Searching, checked_search


class Engd(Searching):
    """d = G⁺ ∇ℓ, then θ ← θ − η d with η from the paper's grid.

    Args:
        rcond: eigenvalues of G below this fraction of the largest one, in absolute value, are dropped; by default P
            times the rounding of a floating-point number.
        variation: ``full`` takes both parts of G, ``gauss-newton`` the first alone.
        search: as in `anagram.methods.Anagram`. Without a cutoff the directions hold noise, and at the start no length
            lowers the loss: a search that may take 0 would stand still there.
    """

    rcond: float | None = eqx.field(static=True)
    variation: str = eqx.field(static=True)

    def __init__(self, rcond: float | None = None, variation: str = "full", search: str = "paper") -> None:
        if rcond is not None and (isinstance(rcond, bool) or not isinstance(rcond, int | float) or not 0 <= rcond < 1):
            raise SettingError(f"rcond must be a fraction, at least 0 and below 1, not {rcond!r}")
        if variation not in ("full", "gauss-newton"):
            raise SettingError(f"variation must be 'full' or 'gauss-newton', not {variation!r}")
        self.rcond = None if rcond is None else float(rcond)
        self.variation, self.search = variation, checked_search(search)

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[State, dict[str, Array]]:
        theta = state.theta
        gram = compound.gram(theta, batch)
        matrix = gram.matrix + self._second(compound, theta, batch)
        eigenvalues, basis = jnp.linalg.eigh(matrix)
        size = jnp.max(jnp.abs(eigenvalues))
        rcond = theta.size * jnp.finfo(theta.dtype).eps if self.rcond is None else self.rcond
        keep = jnp.abs(eigenvalues) > rcond * size
        along = basis.T @ gram.gradient
        direction = -basis @ jnp.where(keep, along / jnp.where(keep, eigenvalues, 1.0), 0.0)
        new, info = self.along(compound, state, batch, direction)
        return new, info | {"rank": jnp.sum(keep), "negative": jnp.sum(keep & (eigenvalues < 0))}

    def _second(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> Any:
        """The second part of G."""
        # A residual that comes from no problem is a model by itself, and its operator is the identity.
        if self.variation == "gauss-newton" or not isinstance(compound, Compound) or compound.problem.is_linear:
            return 0.0
        from anagram.compound.variation import SecondVariation

        return SecondVariation(compound).matrix(theta, batch)
