"""Damped natural-gradient steps with momentum in their dual form, for many parameters and few points at a time.

The direction of a step solves a least-squares problem whose anchor is not zero but what is kept of the last direction,

    φ = argmin ‖J φ + r‖² + λ‖φ − μ φ_last‖²,

so that what earlier points taught stays where the points of this step say nothing. Written for the correction
φ − μ φ_last this is a damped step with another right-hand side, and Woodbury's identity makes it a system of size
S×S. Matrices of size P×P are never formed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anagram import spectrum
from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.methods.base import Method
from anagram.methods.search import first_valley

POINTS_INSIDE = 256
REJECTIONS = 8  # so many steps in a row without a length that lowers the loss, and the run is stuck


class SpringState(NamedTuple):
    """Parameters and loss; the direction φ, the number of steps taken, and rejections in a row."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    momentum: Float[Array, " params"]
    taken: Int[Array, ""]
    rejected: Int[Array, ""]


class Spring(Method):
    """φ ← μφ + Jᵀ(JJᵀ + λI)⁻¹(−r − μJφ), then θ ← θ + ηφ.

    Args:
        damping: λ, a fraction of the mean of the diagonal of JJᵀ if `relative`, an absolute value otherwise.
        relative: how λ is meant. A fraction means the same whatever the weights and the units of the conditions are.
        momentum: μ, the most that is kept of the last direction; 0 gives plain damped steps.
        warmup: after k steps μ is at most k/(k + warmup): at first a direction is outdated soon. With 0, μ is the
            same from the first step on, and directions are divided by √(1 − μ²ᵏ), for they are short as long as
            they have gathered little.
        step_length: η. If left out it is searched for on the points of the step, so that the loss on them never
            rises: the first of 1 − μ, (1 − μ)/2, (1 − μ)/4, … that halving does not improve. At 1 − μ a direction
            is walked once while it is remembered.
        resample: every step sees points of its own, drawn anew.
    """

    damping: float = eqx.field(static=True)
    relative: bool = eqx.field(static=True)
    momentum: float = eqx.field(static=True)
    warmup: float = eqx.field(static=True)
    step_length: float | None = eqx.field(static=True)
    resample: bool = eqx.field(static=True)

    def __init__(
        self,
        damping: float = 1e-6,
        relative: bool = True,
        momentum: float = 0.99,
        warmup: float = 20,
        step_length: float | None = None,
        resample: bool = True,
    ) -> None:
        if not _is_number(damping) or not 0 < damping < float("inf"):
            raise SettingError(f"the damping must be a positive number, not {damping!r}")
        if not _is_number(momentum) or not 0 <= momentum < 1:
            raise SettingError(f"the momentum must be at least 0 and below 1, not {momentum!r}")
        if not _is_number(warmup) or not 0 <= warmup < float("inf"):
            raise SettingError(f"the warmup must be a number of steps that is not negative, not {warmup!r}")
        if step_length is not None and (not _is_number(step_length) or not 0 < step_length < float("inf")):
            raise SettingError(
                f"step_length must be a positive number, or be left out to be searched for, not {step_length!r}"
            )
        for name, value in (("relative", relative), ("resample", resample)):
            if not isinstance(value, bool):
                raise SettingError(f"{name} must be true or false, not {value!r}")
        self.damping, self.relative = float(damping), relative
        self.momentum, self.warmup = float(momentum), float(warmup)
        self.step_length = None if step_length is None else float(step_length)
        self.resample = resample

    @property
    def fresh_points(self) -> bool:
        return self.resample

    @property
    def points_wanted(self) -> int | None:
        return POINTS_INSIDE if self.resample else None

    def memory(self, parameters: int, rows: int) -> int:
        # J in its parts and as a whole, and a few vectors like θ; JJᵀ, the same damped, and its factor.
        return 8 * (2 * rows * parameters + 8 * parameters + 3 * rows**2)

    def init(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> SpringState:
        return SpringState(theta, compound.loss(theta, batch), jnp.zeros_like(theta), jnp.asarray(0), jnp.asarray(0))

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[SpringState, dict[str, Array]]:
        theta, taken = state.theta, state.taken
        residual, features = compound.features(theta, batch)
        loss_now = 0.5 * residual @ residual
        kernel = features @ features.T
        damping = self.damping * jnp.trace(kernel) / residual.size if self.relative else jnp.asarray(self.damping)
        mu = jnp.asarray(self.momentum)
        if self.warmup > 0:
            mu = jnp.minimum(mu, taken / (taken + self.warmup))
        kept = mu * state.momentum
        momentum = kept + spectrum.DualNormal(kernel, features, residual + features @ kept).damped(damping).direction
        # With a warm-up the first μ is 0, and then there is nothing to make up for.
        direction = momentum if self.warmup > 0 else momentum / jnp.sqrt(1 - mu ** (2 * (taken + 1)))

        def loss_at(length: Array) -> Array:
            return compound.loss(theta + length * direction, batch)

        if self.step_length is None:
            part, fitted = first_valley(lambda part: loss_at(part * (1 - mu)), loss_now)
            length = part * (1 - mu)
        else:
            length = jnp.asarray(self.step_length)
            fitted = loss_at(length)
        finite = jnp.all(jnp.isfinite(direction)) & jnp.isfinite(loss_now) & jnp.isfinite(fitted)
        useful = length > 0
        new = SpringState(
            theta=theta + length * direction,
            # Points seen once are judged before the step is fitted to them; the loss on them afterwards says little.
            loss=loss_now if self.resample else fitted,
            # A direction that leads nowhere is dropped: the next one is that of a plain damped step, which descends.
            momentum=jnp.where(useful, momentum, 0.0),
            taken=taken + 1,
            rejected=jnp.where(useful, 0, state.rejected + 1),
        )
        new = jax.tree.map(lambda after, before: jnp.where(finite, after, before), new, state)
        info = {
            "loss": new.loss,
            "fitted_loss": fitted,
            "damping": damping,
            "momentum": mu,
            "step_length": length,
            "step_norm": length * jnp.linalg.norm(direction),
            "failed": ~finite,
            "stuck": finite & (new.rejected >= REJECTIONS),
        }
        return new, info


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
