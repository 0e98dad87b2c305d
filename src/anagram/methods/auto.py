"""The default method: a quick sketch, then damped natural-gradient steps exactly at the edge of what is allowed.

The pieces can be exchanged and are tested alone: the family of steps and its factorisation (`anagram.spectrum`),
the choice among them (`anagram.methods.edge`) and the acceleration (`anagram.methods.acceleration`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from anagram import spectrum
from anagram.batch import Batch
from anagram.compound import ResidualMap
from anagram.errors import SettingError
from anagram.methods.acceleration import accelerated
from anagram.methods.base import Method
from anagram.methods.edge import Trial, find_edge

STUCK_AFTER = 8  # rejected steps in a row
TREND = 30  # steps over which the trend of the damping is taken
SOLVED_ROUGHLY = 1e-9  # before the loss has fallen by this factor the trend says nothing


class AutoState(NamedTuple):
    """The best parameters so far with their loss; the iterate with its own, its damping and step length.

    `origin` has the first parameters, from which the iterate starts again after the sketch; `first_loss` is the loss
    there, `sketched` the number of steps of the sketch (−1 once it is over), `rejected` counts rejections in a row;
    `dampings` has the last log λ (NaN where there is none yet), `ending` whether the end has begun.
    """

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    iterate: Float[Array, " params"]
    iterate_loss: Float[Array, ""]
    damping: Float[Array, ""]
    length: Float[Array, ""]
    origin: Float[Array, " params"]
    first_loss: Float[Array, ""]
    sketched: Int[Array, ""]
    rejected: Int[Array, ""]
    dampings: Float[Array, " steps"]
    ending: Bool[Array, ""]


class Auto(Method):
    """(JᵀJ + λI) p = −Jᵀr with the smallest λ whose step still lowers the loss by a part ρ* of its promise.

    Args:
        ratio: ρ* while the loss is large.
        end_ratio: ρ* at the end.
        end_at: the end begins when the loss has fallen by this factor, or before, when the damping has passed its
            minimum: the features have spread, and what is left is to converge.
        growth: a step is at most so many times as long as the last one.
        acceleration: add half of the geodesic acceleration a = −(JᵀJ + λI)⁻¹Jᵀ r_pp to a step when 2‖a‖ is at
            most this fraction of ‖p‖; 0 never does.
        precision: how closely the edge is found, in log λ.
        squared_until: the plain normal equations are solved while λ is at least this fraction of the trace of JᵀJ;
            below, those in the eigenbasis, which are as accurate as an SVD.
        sketch: so many greedy steps come first. They find a rough solution soon, but from there the way down is
            blocked: afterwards the iterate starts anew, and the rough solution stands until it is surpassed.
            With 0 there is no sketch.
    """

    ratio: float = eqx.field(static=True)
    end_ratio: float = eqx.field(static=True)
    end_at: float = eqx.field(static=True)
    growth: float = eqx.field(static=True)
    acceleration: float = eqx.field(static=True)
    precision: float = eqx.field(static=True)
    squared_until: float = eqx.field(static=True)
    sketch: int = eqx.field(static=True)

    def __init__(
        self,
        ratio: float = 0.075,
        end_ratio: float = 0.5,
        end_at: float = 1e-13,
        growth: float = 3.0,
        acceleration: float = 0.75,
        precision: float = 0.05,
        squared_until: float = 1e-15,
        sketch: int = 45,
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
        if isinstance(sketch, bool) or not isinstance(sketch, int) or sketch < 0:
            raise SettingError(f"sketch must be a whole number of steps that is not negative, not {sketch!r}")
        self.ratio, self.end_ratio, self.end_at = float(ratio), float(end_ratio), float(end_at)
        self.growth, self.acceleration = float(growth), float(acceleration)
        self.precision, self.squared_until = float(precision), float(squared_until)
        self.sketch = sketch

    def init(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> AutoState:
        loss = compound.loss(theta, batch)
        return AutoState(
            theta=theta,
            loss=loss,
            iterate=theta,
            iterate_loss=loss,
            damping=_first_damping(loss),
            length=jnp.asarray(1.0),
            origin=theta,
            first_loss=loss,
            sketched=jnp.asarray(0 if self.sketch else -1),
            rejected=jnp.asarray(0),
            dampings=jnp.full(TREND, jnp.nan),
            ending=jnp.asarray(False),
        )

    def iterate(self, state: AutoState) -> Float[Array, " params"]:
        return state.iterate

    def moved(self, compound: ResidualMap, state: AutoState, batch: Batch) -> AutoState:
        loss, iterate_loss = compound.loss(state.theta, batch), compound.loss(state.iterate, batch)
        return _best(state._replace(loss=loss, iterate_loss=iterate_loss))

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[AutoState, dict[str, Array]]:
        trace, factorise = spectrum.choose_by_damping(compound, state.iterate, batch)
        squared = state.damping > self.squared_until * trace
        sketching = state.sketched >= 0
        at_rounding = state.iterate_loss < self.end_at * state.first_loss
        smallest = 1e-30 * trace + 1e-300
        edge = find_edge(
            self._attempt(compound, state, batch, factorise(squared)),
            state.damping,
            jnp.where(at_rounding | state.ending, self.end_ratio, self.ratio),
            jnp.where(sketching, jnp.inf, self.growth * state.length),
            # The sketch is greedy: it looks for the edge roughly, and steps may have any length.
            smallest=jnp.where(sketching, jnp.maximum(smallest, state.damping / 10), smallest),
            # A step is at most √(2 tr ℓ)/λ long: this λ makes it short enough, whatever the scales of the parameters.
            largest=1e3 * trace + jnp.sqrt(2 * trace * state.iterate_loss) / (self.growth * state.length) + 1e-290,
            precision=jnp.where(sketching, 2.0, self.precision),
        )
        dampings = jnp.where(sketching, jnp.nan, jnp.append(state.dampings[1:], jnp.log(edge.damping)))
        roughly = state.iterate_loss < SOLVED_ROUGHLY * state.first_loss
        took = edge.found & (edge.trial.loss < state.iterate_loss)
        finite = jnp.isfinite(trace) & jnp.isfinite(state.iterate_loss)
        rejected = jnp.where(took, 0, state.rejected + 1)
        stuck = finite & (rejected >= STUCK_AFTER)
        after = _best(
            state._replace(
                iterate=jnp.where(took, edge.trial.theta, state.iterate),
                iterate_loss=jnp.where(took, edge.trial.loss, state.iterate_loss),
                damping=edge.damping,
                length=jnp.where(took, edge.trial.length, state.length / self.growth),
                rejected=rejected,
                dampings=dampings,
                ending=state.ending | (roughly & (_trend(dampings) > 0)),
            )
        )
        info = {
            "loss": after.iterate_loss,
            "damping": edge.damping,
            "ratio": edge.trial.ratio,
            "step_norm": jnp.where(took, edge.trial.length, 0.0),
            "acceleration": edge.trial.curvature,
            "trials": edge.trials,
            "squared": squared,
            "rank": edge.trial.rank,
            "stage": jnp.where(sketching, 0, jnp.where(at_rounding | state.ending, 2, 1)),
            "failed": ~finite,
            # A sketch that ends early has still the way from the origin before it.
            "stuck": stuck & ~(sketching & ~at_rounding),
        }
        return self._after_sketch(after, stuck, at_rounding), info

    def _after_sketch(self, state: AutoState, stuck: Bool[Array, ""], done: Bool[Array, ""]) -> AutoState:
        """Count the steps of the sketch; when they are used up go back to the origin, unless all is done."""
        sketching = state.sketched >= 0
        over = sketching & ((state.sketched + 1 >= self.sketch) | stuck | done)
        again = over & ~done
        return state._replace(
            iterate=jnp.where(again, state.origin, state.iterate),
            iterate_loss=jnp.where(again, state.first_loss, state.iterate_loss),
            damping=jnp.where(again, _first_damping(state.first_loss), state.damping),
            length=jnp.where(over, 1.0, state.length),
            sketched=jnp.where(over, -1, jnp.where(sketching, state.sketched + 1, state.sketched)),
            rejected=jnp.where(again, 0, state.rejected),
        )

    def _attempt(
        self, compound: ResidualMap, state: AutoState, batch: Batch, modes: spectrum.Spectrum
    ) -> Callable[[Float[Array, ""]], Trial]:
        def attempt(damping: Float[Array, ""]) -> Trial:
            damped = modes.at(damping)
            move, bend = accelerated(compound, state.iterate, batch, damped, self.acceleration)
            theta = state.iterate + move
            loss = compound.loss(theta, batch)
            ratio = 2 * (state.iterate_loss - loss) / jnp.maximum(damped.step.predicted, 1e-300)
            return Trial(theta, loss, jnp.linalg.norm(damped.step.direction), ratio, bend, damped.step.rank)

        return attempt


def _first_damping(loss: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.asarray(1e-2) * loss


def _trend(values: Float[Array, " steps"]) -> Float[Array, ""]:
    """The slope of the last values, up to a positive factor; NaN while there are too few."""
    return (jnp.arange(values.size) - (values.size - 1) / 2) @ values


def _best(state: AutoState) -> AutoState:
    """The iterate becomes the best where its loss is lower."""
    better = state.iterate_loss < state.loss
    return state._replace(
        theta=jnp.where(better, state.iterate, state.theta), loss=jnp.where(better, state.iterate_loss, state.loss)
    )
