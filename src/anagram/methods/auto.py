"""The default method: a quick sketch, then damped natural-gradient steps exactly at the edge of what is allowed.

Both are the same program, with other numbers. Its pieces are tested alone: the family of steps and its factorisation
(`anagram.spectrum`), the choice among them (`anagram.methods.edge`), the acceleration (`anagram.methods.acceleration`),
one step (`anagram.methods.advance`) and what a walk remembers (`anagram.methods.walk`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.methods import walk as walking
from anagram.methods.advance import Front, StepRule, advance, set_out
from anagram.methods.base import Method
from anagram.methods.walk import CRAWL, SOLVED_ROUGHLY, Walk

SKETCH_LEAST = 10  # steps of a sketch before it is asked whether it crawls
SKETCH_CRAWL = 0.1  # a sketch is over when the loss falls by less than this fraction a step


class AutoState(NamedTuple):
    """The best parameters so far with their loss, the loss of the first ones, and the walk.

    While there is a sketch, the front of the walk is where the sketch stands, and `sketched` the number of its steps;
    −1 once it is over.
    """

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    first_loss: Float[Array, ""]
    sketched: Int[Array, ""]
    walk: Walk


class Auto(Method):
    """(JᵀJ + λI) p = −Jᵀr with the smallest λ whose step still lowers the loss by a part ρ* of its promise.

    Args:
        ratio: ρ* while the loss is large.
        end_ratio: ρ* at the end.
        end_at: an end is tried at the latest when the loss has fallen by this factor, and before when the damping has
            passed its minimum.
        done_at: an end that only crawls is the last one if the loss has fallen by this factor. Otherwise the walk goes
            on from where the end began.
        restarts: so many times at most the walk starts anew instead, from larger first parameters.
        growth: a step is at most so many times as long as the last one.
        acceleration: add half of the geodesic acceleration a = −(JᵀJ + λI)⁻¹Jᵀ r_pp to a step when 2‖a‖ is at
            most this fraction of ‖p‖; 0 never does.
        precision: how closely the edge is found, in log λ.
        squared_until: the plain normal equations are solved while λ is at least this fraction of the trace of JᵀJ;
            below, those in the eigenbasis, which are as accurate as an SVD.
        sketch: so many greedy steps at most come first, from a rough form of the model. They find a rough solution
            soon, but from there the way down is blocked: afterwards the iterate starts at the first
            parameters, and the rough solution stands until it is surpassed. With 0 there is no sketch.
    """

    ratio: float = eqx.field(static=True)
    end_ratio: float = eqx.field(static=True)
    end_at: float = eqx.field(static=True)
    done_at: float = eqx.field(static=True)
    restarts: int = eqx.field(static=True)
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
        done_at: float = 1e-16,
        restarts: int = 0,
        growth: float = 3.0,
        acceleration: float = 0.75,
        precision: float = 0.01,
        squared_until: float = 1e-15,
        sketch: int = 50,
    ) -> None:
        for name, value, low, high in (
            ("ratio", ratio, 0, 1),
            ("end_ratio", end_ratio, 0, 1),
            ("growth", growth, 1, 1e6),
            ("precision", precision, 1e-6, 1),
        ):
            if isinstance(value, bool) or not isinstance(value, int | float) or not low < value < high:
                raise SettingError(f"{name} must lie between {low:g} and {high:g}, not {value!r}")
        for name, value in (
            ("end_at", end_at),
            ("done_at", done_at),
            ("acceleration", acceleration),
            ("squared_until", squared_until),
        ):
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise SettingError(f"{name} must be a number that is not negative, not {value!r}")
        for name, value in (("sketch", sketch), ("restarts", restarts)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise SettingError(f"{name} must be a whole number that is not negative, not {value!r}")
        self.ratio, self.end_ratio, self.end_at = float(ratio), float(end_ratio), float(end_at)
        self.growth, self.acceleration = float(growth), float(acceleration)
        self.precision, self.squared_until = float(precision), float(squared_until)
        self.sketch, self.restarts, self.done_at = sketch, restarts, float(done_at)

    def init(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> AutoState:
        loss = self._loss(compound, theta, batch)
        walk = walking.begin(theta, loss, self._end_below(loss))
        if self.sketch:
            walk = walk._replace(front=set_out(compound.rough(theta), jnp.nan))
        return AutoState(theta, loss, loss, jnp.asarray(0 if self.sketch else -1), walk)

    def iterate(self, state: AutoState) -> tuple[Float[Array, " params"], Float[Array, ""]]:
        return state.walk.front.theta, state.walk.front.loss

    def moved(self, compound: ResidualMap, state: AutoState, batch: Batch) -> AutoState:
        walk = state.walk
        # One after the other, so that the residual is compiled once.
        loss, here, camp = jax.lax.map(
            lambda theta: self._loss(compound, theta, batch),
            jnp.stack([state.theta, walk.front.theta, walk.camp.theta]),
        )
        return state._replace(
            loss=loss,
            walk=walk._replace(
                front=walk.front._replace(loss=here),
                camp=walk.camp._replace(loss=camp),
                end_below=walk.end_below * camp / jnp.maximum(walk.camp.loss, 1e-300),
            ),
        )

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[AutoState, dict[str, Array]]:
        before: Walk = state.walk
        sketching = state.sketched >= 0
        target = jnp.where(before.ending, self.end_ratio, self.ratio)
        rule = StepRule(target, sketching, self.growth, self.acceleration, self.precision, self.squared_until)
        front, info = self._advance(compound, before.front, batch, rule)
        walk, stuck, anew = self._walked(state, front, info)
        sketched, count = self._sketched(state, front, info)
        after = _best(state._replace(walk=walk), front)
        if self.sketch:
            anew = jnp.where(sketching, count < 0, anew)
            after = after._replace(
                walk=walking.select(sketching, sketched, walk), sketched=jnp.where(sketching, count, state.sketched)
            )
        # A sketch that ends early or fails has still the way from the origin before it.
        return after, info | {
            "stage": jnp.where(sketching, 0, jnp.where(before.ending, 2, 1)),
            "sketch": sketching,
            "anew": anew,
            "stuck": ~sketching & stuck,
            "failed": ~sketching & info["failed"],
        }

    def _advance(
        self, compound: ResidualMap, front: Front, batch: Batch, rule: StepRule
    ) -> tuple[Front, dict[str, Array]]:
        return advance(compound, front, batch, rule)

    def _loss(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> Float[Array, ""]:
        return compound.loss(theta, batch)

    def _sketched(self, state: AutoState, front: Front, info: dict[str, Array]) -> tuple[Walk, Int[Array, ""]]:
        """The sketch after a step, and how many there were; when it is over the walk begins at its origin."""
        walk = walking.progressed(state.walk, front)
        done = front.loss < self.end_at * state.first_loss
        crawls = (walk.progress < SKETCH_CRAWL) & (state.sketched >= SKETCH_LEAST)
        over = (state.sketched + 1 >= self.sketch) | info["stuck"] | info["failed"] | done | crawls
        # A sketch that has come to the end already is where the walk goes on.
        goes_on = front._replace(rejected=jnp.asarray(0), length=jnp.asarray(1.0))
        begun = walking.begin(walk.origin, state.first_loss, walk.end_below)
        begun = walking.select(done, begun._replace(front=goes_on), begun)
        return walking.select(over, begun, walk), jnp.where(over, -1, state.sketched + 1)

    def _walked(
        self, state: AutoState, front: Front, info: dict[str, Array]
    ) -> tuple[Walk, Bool[Array, ""], Bool[Array, ""]]:
        """The walk after a step at the edge, or of an end that is being tried.

        With it comes whether it can go no further, and whether it starts anew from somewhere else.
        """
        before: Walk = state.walk
        walk = walking.advanced(before, front, info["damping"], self.end_at * state.first_loss)
        crawls = before.ending & (info["stuck"] | (walk.progress < CRAWL))
        done = front.loss < self.done_at * state.first_loss
        given_up = crawls & ~done
        stuck = jnp.where(before.ending, crawls & done, info["stuck"])
        after = walking.select(given_up, walking.back_to_camp(walk), walk)
        if self.restarts:
            # A model that starts from zeros, as series do, has no other first parameters.
            wanted = given_up | (info["stuck"] & ~done)
            wanted &= (walk.restarted < self.restarts) & jnp.any(walk.origin != 0)
            after = walking.select(wanted, walking.anew(walk, self._end_below(state.first_loss)), after)
            stuck &= ~wanted
            given_up |= wanted
        return after, stuck, given_up

    def _end_below(self, first_loss: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.maximum(SOLVED_ROUGHLY, self.end_at) * first_loss


def _best(state: AutoState, front: Front) -> AutoState:
    """Parameters become the best where their loss is lower."""
    better = front.loss < state.loss
    return state._replace(
        theta=jnp.where(better, front.theta, state.theta), loss=jnp.where(better, front.loss, state.loss)
    )
