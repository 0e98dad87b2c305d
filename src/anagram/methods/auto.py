"""The default method: damped natural-gradient steps taken exactly at the edge of what the model of them allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anagram import spectrum
from anagram.batch import Batch, count_rows
from anagram.compound import Compound
from anagram.errors import SettingError
from anagram.methods.base import Method
from anagram.methods.edge import Edge, Trial, find_edge


class AutoState(NamedTuple):
    """Parameters and loss; the last damping and step length; the first loss; rejections in a row."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    damping: Float[Array, ""]
    length: Float[Array, ""]
    first_loss: Float[Array, ""]
    rejected: Int[Array, ""]


class Auto(Method):
    """(JᵀJ + λI) p = −Jᵀr with the smallest λ whose step still lowers the loss by a part ρ* of its promise.

    Args:
        ratio: ρ* while the loss is large.
        end_ratio: ρ* at the end.
        end_at: the end begins when the loss has fallen by this factor.
        growth: a step is at most so many times as long as the last one.
        acceleration: add half of the geodesic acceleration a = −(JᵀJ + λI)⁻¹Jᵀ r_pp to a step when 2‖a‖ is at
            most this fraction of ‖p‖; 0 never does.
        precision: how closely the edge is found, in log λ.
        squared_until: JᵀJ is used while λ is at least this fraction of its trace; below, the QR factor of J.
    """

    ratio: float = eqx.field(static=True)
    end_ratio: float = eqx.field(static=True)
    end_at: float = eqx.field(static=True)
    growth: float = eqx.field(static=True)
    acceleration: float = eqx.field(static=True)
    precision: float = eqx.field(static=True)
    squared_until: float = eqx.field(static=True)

    def __init__(
        self,
        ratio: float = 0.075,
        end_ratio: float = 0.5,
        end_at: float = 1e-13,
        growth: float = 3.0,
        acceleration: float = 0.75,
        precision: float = 0.05,
        squared_until: float = 1e-15,
    ) -> None:
        for name, value, low, high in (
            ("ratio", ratio, 0, 1),
            ("end_ratio", end_ratio, 0, 1),
            ("growth", growth, 1, 1e6),
            ("precision", precision, 1e-6, 1),
        ):
            if isinstance(value, bool) or not isinstance(value, int | float) or not low < value < high:
                raise SettingError(f"{name} must lie between {low:g} and {high:g}, not {value!r}")
        for name, value in (("end_at", end_at), ("acceleration", acceleration), ("squared_until", squared_until)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise SettingError(f"{name} must be a number that is not negative, not {value!r}")
        self.ratio, self.end_ratio, self.end_at = float(ratio), float(end_ratio), float(end_at)
        self.growth, self.acceleration = float(growth), float(acceleration)
        self.precision, self.squared_until = float(precision), float(squared_until)

    def init(self, compound: Compound, theta: Float[Array, " params"], batch: Batch) -> AutoState:
        loss = compound.loss(theta, batch)
        return AutoState(theta, loss, jnp.asarray(1e-2) * loss, jnp.asarray(1.0), loss, jnp.asarray(0))

    def step(self, compound: Compound, state: Any, batch: Batch) -> tuple[AutoState, dict[str, Array]]:
        trace, gram, triangle = spectrum.squared_or_triangle(compound, state.theta, batch)
        rows = count_rows(batch)
        use_squared = state.damping > self.squared_until * trace
        at_end = state.loss < self.end_at * state.first_loss
        target = jnp.where(at_end, self.end_ratio, self.ratio)

        def search(modes: spectrum.Spectrum) -> Edge:
            attempt = self._attempt(compound, state, batch, modes)
            return find_edge(
                attempt,
                state.damping,
                target,
                self.growth * state.length,
                smallest=1e-30 * trace + 1e-300,
                largest=1e3 * trace + 1e-290,
                precision=self.precision,
            )

        edge = jax.lax.cond(
            use_squared,
            lambda: search(spectrum.Normal(gram())),
            lambda: search(spectrum.from_triangle(triangle(), rows)),
        )
        took = edge.found & (edge.trial.loss < state.loss)
        finite = jnp.isfinite(trace) & jnp.isfinite(state.loss)
        rejected = jnp.where(took, 0, state.rejected + 1)
        new = AutoState(
            theta=jnp.where(took, edge.trial.theta, state.theta),
            loss=jnp.where(took, edge.trial.loss, state.loss),
            damping=edge.damping,
            length=jnp.where(took, edge.trial.length, state.length / self.growth),
            first_loss=state.first_loss,
            rejected=rejected,
        )
        info = {
            "loss": new.loss,
            "damping": edge.damping,
            "ratio": edge.trial.ratio,
            "step_norm": jnp.where(took, edge.trial.length, 0.0),
            "acceleration": edge.trial.curvature,
            "trials": edge.trials,
            "squared": use_squared,
            "failed": ~finite,
            "stuck": finite & (rejected >= 8),
        }
        return new, info

    def _attempt(
        self, compound: Compound, state: AutoState, batch: Batch, modes: spectrum.Spectrum
    ) -> Callable[[Float[Array, ""]], Trial]:
        def attempt(damping: Float[Array, ""]) -> Trial:
            step = modes.damped(damping)
            p = step.direction
            length = jnp.linalg.norm(p)
            bend = jnp.asarray(0.0)
            move = p
            if self.acceleration > 0:
                second = compound.second(state.theta, batch, p)
                a = -modes.solve(compound.transposed_times(state.theta, batch, second), damping)
                bend = 2 * jnp.linalg.norm(a) / jnp.maximum(length, 1e-300)
                move = jnp.where(bend <= self.acceleration, p + 0.5 * a, p)
            theta = state.theta + move
            loss = compound.loss(theta, batch)
            ratio = 2 * (state.loss - loss) / jnp.maximum(step.predicted, 1e-300)
            return Trial(theta, loss, length, ratio, bend)

        return attempt
