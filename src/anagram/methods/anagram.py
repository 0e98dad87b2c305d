"""The paper's method: natural gradient by a truncated pseudo-inverse, and a line search (Algorithms 1 and 2).

Algorithm 1, regression of a given function, is the same on a problem whose operator is the identity.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram import spectrum
from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.methods.base import State
from anagram.methods.cutoffs import cutoff_keeping, elbow
from anagram.methods.line import Searching, checked_search
from anagram.spectrum.metric import Metric, corrected_inverse, orthogonal_correction

CORRECTIONS = ("none", "metric", "orthogonal", "both")


class Anagram(Searching):
    """d = V Σ† Uᵀ r with singular values ≤ ε dropped, then θ ← θ − η d with η = argmin ℓ(θ − η d).

    Args:
        cutoff: ε, an absolute value or, if `relative`, a fraction of σ_max; or ``elbow``, which cuts just below the
            elbow of the spectrum, found afresh at every step (`anagram.methods.cutoffs.elbow`).
        relative: how a number ε is meant.
        rows: ``weighted`` takes the direction from the rows whose squares add up to the loss; ``paper`` from
            rows that all count once, as in the code of the paper's authors. The loss is the same.
        factorisation: how J is factorised, see `anagram.spectrum.factorise`.
        search: ``full`` tries all of 2⁰ … 2⁻³⁰; ``refined`` finds the same minimum with fewer losses; ``paper`` takes
            the best of 2⁰ … 2⁻³⁰ even where all of them raise the loss.
        corrections: which terms of Theorem 1 are added to φ̂† ∇L̂: ``none``, ``metric``, ``orthogonal`` or ``both``. The
            batch then is the quadrature of the metric, and `empirical` of its rows are the points x_i.
        empirical: how many rows φ̂ has, spread evenly over the batch; all of them if left out.
    """

    cutoff: float | str = eqx.field(static=True)
    relative: bool = eqx.field(static=True)
    rows: str = eqx.field(static=True)
    factorisation: str = eqx.field(static=True)
    corrections: str = eqx.field(static=True)
    empirical: int | None = eqx.field(static=True)

    def __init__(
        self,
        cutoff: float | str = 1e-7,
        relative: bool = True,
        rows: str = "weighted",
        factorisation: str = "auto",
        search: str = "refined",
        corrections: str = "none",
        empirical: int | None = None,
    ) -> None:
        is_number = isinstance(cutoff, int | float) and not isinstance(cutoff, bool) and 0 <= cutoff < float("inf")
        if cutoff != "elbow" and not is_number:
            raise SettingError(f"the cutoff must be a number that is not negative, or 'elbow', not {cutoff!r}")
        if relative and not isinstance(cutoff, str) and cutoff >= 1:
            raise SettingError(f"a relative cutoff must be below 1, or no singular value is left; got {cutoff:g}")
        if not isinstance(relative, bool):
            raise SettingError(f"relative must be true or false, not {relative!r}")
        if rows not in ("weighted", "paper"):
            raise SettingError(f"rows must be 'weighted' or 'paper', not {rows!r}")
        if "cholesky" in spectrum.choose(factorisation, 1, 1):
            raise SettingError(
                "a cutoff needs singular values, which Cholesky does not give: use auto, svd, qr, eigh or lq"
            )
        if corrections not in CORRECTIONS:
            raise SettingError(f"corrections are {', '.join(CORRECTIONS)}, not {corrections!r}")
        if corrections != "none" and (isinstance(cutoff, str) or not relative):
            raise SettingError("corrections need a cutoff relative to the largest singular value, as in cutoff=1e-7")
        if empirical is not None and (isinstance(empirical, bool) or not isinstance(empirical, int) or empirical < 1):
            raise SettingError(f"empirical is a number of rows, at least 1, not {empirical!r}")
        self.corrections, self.empirical = corrections, empirical
        self.cutoff = cutoff if isinstance(cutoff, str) else float(cutoff)
        self.relative, self.rows = relative, rows
        self.factorisation, self.search = factorisation, checked_search(search)

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[State, dict[str, Array]]:
        of_rows = compound.unweighted(batch) if self.rows == "paper" else batch
        if self.corrections != "none":
            return self._corrected_step(compound, state, batch)
        if self.empirical is not None:
            of_rows = compound.thinned(of_rows, self.empirical)
        modes, cutoff = self._factorise(compound, state.theta, of_rows)
        step = modes.truncated(cutoff)
        new, info = self.along(compound, state, batch, step.direction)
        return new, info | {"rank": step.rank, "cutoff": cutoff, "largest_singular_value": modes.largest}

    def _factorise(
        self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch
    ) -> tuple[spectrum.Modes, Float[Array, ""]]:
        """The spectrum, and ε in absolute terms."""
        if isinstance(self.cutoff, str):
            # Where the elbow will be is not known beforehand: all singular values must be right.
            modes = spectrum.factorise_into_modes(self.factorisation, compound, theta, batch)
            return modes, cutoff_keeping(modes.sigma, elbow(modes.sigma, modes.floor))
        modes = spectrum.factorise_for_cutoff(self.factorisation, compound, theta, batch, self.cutoff, self.relative)
        return modes, self.cutoff * modes.largest if self.relative else jnp.asarray(self.cutoff)

    def _corrected_step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[State, dict[str, Array]]:
        """Along (φ̂† + E_metric)(∇L̂ + E_⊥), with the terms that were asked for."""
        assert not isinstance(self.cutoff, str), "refused above"
        modes = spectrum.factorise_into_modes(self.factorisation, compound, state.theta, batch)
        cutoff = jnp.maximum(self.cutoff * modes.largest, modes.floor)
        keep = modes.sigma > cutoff
        # Dual forms lift by σ v instead of v: lengths tell.
        lengths = jnp.linalg.norm(modes.lift, axis=1) * modes.sigma
        basis = jnp.where(keep, modes.lift.T / jnp.where(keep, lengths, 1.0), 0.0)
        metric = Metric(basis, jnp.where(keep, modes.projected, 0.0))
        chosen = batch if self.empirical is None else compound.thinned(batch, self.empirical)
        gradient, features = compound.features(state.theta, compound.unweighted(chosen))
        if self.corrections in ("orthogonal", "both"):
            gradient = gradient + orthogonal_correction(metric, features, gradient)
        if self.corrections == "orthogonal":
            inverse = jnp.linalg.pinv(features, rtol=self.cutoff)
        else:
            inverse = corrected_inverse(metric, features, self.cutoff)
        new, info = self.along(compound, state, batch, -(inverse @ gradient))
        return new, info | {"rank": jnp.sum(keep), "cutoff": cutoff, "largest_singular_value": modes.largest}
