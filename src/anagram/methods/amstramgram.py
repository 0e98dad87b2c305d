"""AMStraMGRAM: two cutoffs that choose themselves, one bold and one safe, at every step (arXiv 2510.15998)."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from anagram import spectrum
from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.methods.base import Method
from anagram.methods.cutoffs import cutoff_keeping, elbow, unexplained
from anagram.methods.line import checked_search
from anagram.methods.search import SEARCHES

# 101 lengths from 1 to 2⁻⁶⁰, close together near 1.
LENGTHS = 0.5 ** (60 * np.linspace(0, 1, 101) ** 2)
ACCURATE = ("auto", "svd", "qr", "lq")


class AmstramgramState(NamedTuple):
    """Parameters and loss; the ranks r_min and r_max, 0 before the first step; whether lift-off has happened."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    rank_low: Int[Array, ""]
    rank_high: Int[Array, ""]
    lifted_off: Bool[Array, ""]


class Update(NamedTuple):
    """Where a truncated step and its line search lead."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    length: Float[Array, ""]
    rank: Int[Array, ""]
    finite: Bool[Array, ""]


class Amstramgram(Method):
    """Two truncated steps: one with the first r_max modes, then one with the first r_min modes of a fresh J.

    E_k = ‖r − U_k U_kᵀ r‖ is what the first k modes cannot explain. Mode k is trusted if E_k < ϱσ_k: then nothing that
    is left of the residual could move the parameters by more than ϱ along it.

    - r_min is the number of trusted modes, or of those with E_k above rounding if they are fewer, and at least one.
    - r_max is the largest number of trusted modes so far. It begins at the elbow of log σ beyond r_min, and grows by
      one whenever r_min stands still, until r_min has caught up with it: that is lift-off.

    Args:
        reach: ϱ, a length in parameter space, or ``rms`` for √S: E_k/√S is a root mean square over the S rows, and that
            is what the paper compares with σ_k. Since E_k and σ_k come from the same rows, units and weights of the
            loss as a whole cancel.
        rows: ``weighted`` takes directions and E_k from the rows whose squares add up to the loss; ``paper`` from
            rows that all count once. The loss is the same.
        factorisation: how J is factorised, see `anagram.spectrum.factorise`; one that is accurate to rounding.
        search: ``full`` tries all of 101 lengths from 1 to 2⁻⁶⁰; ``refined`` finds the same minimum with fewer losses;
            ``paper`` takes the best of the 101 even where all of them raise the loss.
    """

    reach: float | str = eqx.field(static=True)
    rows: str = eqx.field(static=True)
    factorisation: str = eqx.field(static=True)
    search: str = eqx.field(static=True)

    def __init__(
        self,
        reach: float | str = "rms",
        rows: str = "weighted",
        factorisation: str = "auto",
        search: str = "refined",
    ) -> None:
        is_length = isinstance(reach, int | float) and not isinstance(reach, bool) and 0 < reach < float("inf")
        if reach != "rms" and not is_length:
            raise SettingError(f"reach must be a positive number or 'rms', not {reach!r}")
        if rows not in ("weighted", "paper"):
            raise SettingError(f"rows must be 'weighted' or 'paper', not {rows!r}")
        if factorisation not in ACCURATE:
            raise SettingError(
                f"what small modes explain is known only to factorisations that are accurate to rounding: "
                f"{', '.join(ACCURATE)}, not {factorisation!r}"
            )
        self.reach = reach if isinstance(reach, str) else float(reach)
        self.rows, self.factorisation, self.search = rows, factorisation, checked_search(search)

    @property
    def may_rise(self) -> bool:
        return self.search == "paper"

    def init(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> AmstramgramState:
        none = jnp.asarray(0)
        return AmstramgramState(theta, compound.loss(theta, batch), none, none, jnp.asarray(False))

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[AmstramgramState, dict[str, Array]]:
        of_rows = compound.unweighted(batch) if self.rows == "paper" else batch
        modes = self._factorise(compound, state.theta, of_rows)
        low, high = self._ranks(modes, compound.count_rows(batch), state)
        lifted_off = state.lifted_off | (low >= high)
        bold = self._update(compound, state.theta, state.loss, batch, modes, high)
        modes_again = self._factorise(compound, bold.theta, of_rows)
        safe = self._update(compound, bold.theta, bold.loss, batch, modes_again, low)
        finite = bold.finite & safe.finite & jnp.isfinite(state.loss)
        reached = AmstramgramState(safe.theta, safe.loss, low, high, lifted_off)
        new: AmstramgramState = jax.tree.map(lambda after, before: jnp.where(finite, after, before), reached, state)
        # Nothing random happens in a step: once it returns the state it was given, so will all that follow.
        same = jnp.stack([jnp.all(a == b) for a, b in zip(new, state, strict=True)])
        info = {
            "loss": new.loss,
            "rank": safe.rank,
            "rank_low": low,
            "rank_high": high,
            "lifted_off": lifted_off,
            "step_length": safe.length,
            "step_length_high": bold.length,
            "step_norm": jnp.linalg.norm(new.theta - state.theta),
            "largest_singular_value": modes.largest,
            "failed": ~finite,
            "stuck": finite & jnp.all(same),
        }
        return new, info

    def _factorise(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> spectrum.Modes:
        return spectrum.factorise_into_modes(self.factorisation, compound, theta, batch)

    def _ranks(
        self, modes: spectrum.Modes, rows: int, state: AmstramgramState
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """r_min and r_max."""
        resolved = modes.sigma > modes.floor
        left = unexplained(modes.projected, modes.outside)
        whole = jnp.sqrt(jnp.sum(modes.projected**2) + modes.outside**2)
        reach = rows**0.5 if isinstance(self.reach, str) else self.reach
        rounding = jnp.finfo(left.dtype).eps * max(rows, *modes.lift.shape)
        trusted = jnp.sum(resolved & (left < reach * modes.sigma))
        needed = jnp.sum(left >= rounding * whole)
        low = jnp.maximum(1, jnp.minimum(trusted, needed))
        grows = (low == state.rank_low) & ~state.lifted_off & (state.rank_high < jnp.sum(resolved))
        begun = state.rank_high > 0
        high = jnp.where(begun, state.rank_high + grows, elbow(modes.sigma, modes.floor, low))
        return low, jnp.maximum(trusted, high)

    def _update(
        self,
        compound: ResidualMap,
        theta: Float[Array, " params"],
        loss_now: Float[Array, ""],
        batch: Batch,
        modes: spectrum.Modes,
        rank: Int[Array, ""],
    ) -> Update:
        step = modes.truncated(cutoff_keeping(modes.sigma, rank))
        finite = jnp.all(jnp.isfinite(step.direction))
        direction = jnp.where(finite, step.direction, 0.0)
        length, loss = SEARCHES[self.search](
            lambda eta: compound.loss(theta + eta * direction, batch), loss_now, LENGTHS
        )
        return Update(theta + length * direction, loss, length, step.rank, finite)
