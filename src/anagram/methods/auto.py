"""The default method: a quick sketch, then damped natural-gradient steps exactly at the edge of what is allowed.

The pieces can be exchanged and are tested alone: the family of steps and its factorisation (`anagram.spectrum`),
the choice among them (`anagram.methods.edge`) and the acceleration (`anagram.methods.acceleration`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from anagram import spectrum
from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.methods.acceleration import accelerated
from anagram.methods.base import Method
from anagram.methods.edge import Trial, find_edge

STUCK_AFTER = 8  # rejected steps in a row
TREND = 30  # steps over which the trend of the damping is taken
SOLVED_ROUGHLY = 1e-9  # before the loss has fallen by this factor the trend says nothing
CRAWL = 0.03  # an end is over when the loss falls by less than this fraction a step
STRETCH = 1.1  # a walk that starts anew does so from parameters that are so many times as large
AGAIN = 1e-2  # another one is tried when the loss is this fraction of what it was where the last one began
SKETCH_ROWS = 2.5  # rows a parameter in the sketch


class AutoState(NamedTuple):
    """The best parameters so far with their loss; the iterate with its own, its damping and step length.

    `origin` has the parameters from which the iterate starts after the sketch; `first_loss` is the loss of the first
    ones, `sketched` the number of steps of the sketch (−1 once it is over), `rejected` counts rejections in a row;
    `dampings` has the last log λ at the edge (NaN where there is none yet). `ending` says whether an end is being
    tried, `camp` from where, `camp_loss`, `camp_damping` and `camp_length` what held there, and `progress` by
    how much log ℓ fell in its last few steps, on average. No other end is tried before the loss is below
    `end_below`. `restarted` counts the walks that were given up.
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
    progress: Float[Array, ""]
    camp: Float[Array, " params"]
    camp_loss: Float[Array, ""]
    camp_damping: Float[Array, ""]
    camp_length: Float[Array, ""]
    end_below: Float[Array, ""]
    restarted: Int[Array, ""]


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
        sketch: so many greedy steps come first, on few points and from a rough form of the model. They find a rough
            solution soon, but from there the way down is blocked: afterwards the iterate starts at the first
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
        precision: float = 0.05,
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
        loss = compound.loss(theta, batch)
        iterate, iterate_loss = theta, loss
        if self.sketch:
            iterate = compound.rough(theta)
            iterate_loss = compound.loss(iterate, self._thin(compound, theta, batch))
        return AutoState(
            theta=theta,
            loss=loss,
            iterate=iterate,
            iterate_loss=iterate_loss,
            damping=_first_damping(iterate_loss),
            length=jnp.asarray(1.0),
            origin=theta,
            first_loss=loss,
            sketched=jnp.asarray(0 if self.sketch else -1),
            rejected=jnp.asarray(0),
            dampings=jnp.full(TREND, jnp.nan),
            ending=jnp.asarray(False),
            progress=jnp.asarray(1.0),
            camp=theta,
            camp_loss=loss,
            camp_damping=jnp.asarray(1.0),
            camp_length=jnp.asarray(1.0),
            end_below=self._end_below(loss),
            restarted=jnp.asarray(0),
        )

    def iterate(self, state: AutoState) -> tuple[Float[Array, " params"], Float[Array, ""]]:
        return state.iterate, state.iterate_loss

    def moved(self, compound: ResidualMap, state: AutoState, batch: Batch) -> AutoState:
        camp_loss = compound.loss(state.camp, batch)
        return state._replace(
            loss=compound.loss(state.theta, batch),
            iterate_loss=compound.loss(state.iterate, batch),
            camp_loss=camp_loss,
            end_below=state.end_below * camp_loss / jnp.maximum(state.camp_loss, 1e-300),
        )

    def _thin(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> Batch:
        """The points of the sketch."""
        return compound.thinned(batch, round(SKETCH_ROWS * theta.size))

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[AutoState, dict[str, Array]]:
        if not self.sketch:
            return self._walk(compound, state, batch)
        return jax.lax.cond(
            state.sketched >= 0,
            lambda s: self._draw(compound, s, batch),
            lambda s: self._walk(compound, s, batch),
            state,
        )

    def _draw(self, compound: ResidualMap, state: AutoState, batch: Batch) -> tuple[AutoState, dict[str, Array]]:
        """A step of the sketch: greedy, on few points. When it is over the iterate goes back to the origin."""
        after, info = self._advance(compound, state, self._thin(compound, state.theta, batch), self.ratio, greedy=True)
        loss = compound.loss(after.iterate, batch)
        after = _best(after, loss)
        done = loss < self.end_at * state.first_loss
        over = (state.sketched + 1 >= self.sketch) | info["stuck"] | info["failed"] | done
        after = after._replace(
            iterate_loss=jnp.where(done, loss, after.iterate_loss),
            length=jnp.where(over, 1.0, after.length),
            sketched=jnp.where(over, -1, state.sketched + 1),
            rejected=jnp.where(over, 0, after.rejected),
        )
        after = _where(over & ~done, _set_out(after, state.origin, state.first_loss), after)
        # A sketch that ends early or fails has still the way from the origin before it.
        never = jnp.asarray(False)
        return after, {**info, "stage": jnp.asarray(0), "stuck": never, "failed": never}

    def _walk(self, compound: ResidualMap, state: AutoState, batch: Batch) -> tuple[AutoState, dict[str, Array]]:
        """A step at the edge, or of an end that is being tried."""
        target = jnp.where(state.ending, self.end_ratio, self.ratio)
        after, info = self._advance(compound, state, batch, target)
        after = _best(after, after.iterate_loss)
        fell = jnp.log(state.iterate_loss / jnp.maximum(after.iterate_loss, 1e-300))
        progress = 0.7 * state.progress + 0.3 * fell
        crawls = state.ending & (info["stuck"] | (progress < CRAWL))
        done = after.iterate_loss < self.done_at * state.first_loss
        given_up = crawls & ~done
        info |= {
            "stage": jnp.where(state.ending, 2, 1),
            "stuck": jnp.where(state.ending, crawls & done, info["stuck"]),
        }
        after = _where(state.ending, after._replace(progress=progress), self._camp(after, info["damping"]))
        next_ = _where(given_up, _back_to_camp(after), after)
        if self.restarts:
            # A model that starts from zeros, as series do, has no other first parameters.
            wanted = (
                (given_up | (info["stuck"] & ~done)) & (after.restarted < self.restarts) & jnp.any(after.origin != 0)
            )
            origin = STRETCH * after.origin
            loss = jax.lax.cond(wanted, lambda: compound.loss(origin, batch), lambda: jnp.asarray(jnp.nan))
            anew = wanted & jnp.isfinite(loss)
            next_ = _where(anew, self._anew(after, origin, loss), next_)
            info["stuck"] &= ~anew
        return next_, info

    def _anew(self, state: AutoState, origin: Float[Array, " params"], loss: Float[Array, ""]) -> AutoState:
        """Walk from other first parameters; which valley a walk ends in is a matter of chance."""
        return _set_out(state, origin, loss)._replace(
            origin=origin, end_below=self._end_below(state.first_loss), restarted=state.restarted + 1
        )

    def _end_below(self, first_loss: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.maximum(SOLVED_ROUGHLY, self.end_at) * first_loss

    def _camp(self, state: AutoState, damping: Float[Array, ""]) -> AutoState:
        """Begin an end if the damping has passed its minimum or the loss is tiny, and remember where it began."""
        dampings = jnp.append(state.dampings[1:], jnp.log(damping))
        tiny = state.iterate_loss < self.end_at * state.first_loss
        ends = (state.iterate_loss < state.end_below) & (tiny | (_trend(dampings) > 0))
        camped = state._replace(
            ending=jnp.asarray(True),
            progress=jnp.asarray(1.0),
            camp=state.iterate,
            camp_loss=state.iterate_loss,
            camp_damping=state.damping,
            camp_length=state.length,
            rejected=jnp.asarray(0),
        )
        return _where(ends, camped, state)._replace(dampings=dampings)

    def _advance(
        self,
        compound: ResidualMap,
        state: AutoState,
        batch: Batch,
        target: Float[Array, ""] | float,
        *,
        greedy: bool = False,
    ) -> tuple[AutoState, dict[str, Array]]:
        """Move the iterate by a step that keeps the part `target` of its promise.

        A greedy step looks for the edge roughly, may have any length, and never needs more than plain normal equations.
        """
        trace, factorise = spectrum.choose_by_damping(compound, state.iterate, batch)
        safe = self.squared_until * trace
        squared = True if greedy else state.damping > safe
        edge = find_edge(
            self._attempt(compound, state, batch, factorise(squared)),
            state.damping,
            target,
            jnp.asarray(jnp.inf) if greedy else self.growth * state.length,
            smallest=jnp.maximum(safe, state.damping / 10) if greedy else 1e-30 * trace + 1e-300,
            # A step is at most √(2 tr ℓ)/λ long: this λ makes it short enough, whatever the scales of the parameters.
            largest=1e3 * trace + jnp.sqrt(2 * trace * state.iterate_loss) / (self.growth * state.length) + 1e-290,
            precision=2.0 if greedy else self.precision,
        )
        took = edge.found & (edge.trial.loss < state.iterate_loss)
        finite = jnp.isfinite(trace) & jnp.isfinite(state.iterate_loss)
        rejected = jnp.where(took, 0, state.rejected + 1)
        after = state._replace(
            iterate=jnp.where(took, edge.trial.theta, state.iterate),
            iterate_loss=jnp.where(took, edge.trial.loss, state.iterate_loss),
            damping=edge.damping,
            length=jnp.where(took, edge.trial.length, state.length / self.growth),
            rejected=rejected,
        )
        return after, {
            "loss": after.iterate_loss,
            "damping": edge.damping,
            "ratio": edge.trial.ratio,
            "step_norm": jnp.where(took, edge.trial.length, 0.0),
            "acceleration": edge.trial.curvature,
            "trials": edge.trials,
            "squared": jnp.asarray(squared),
            "rank": edge.trial.rank,
            "failed": ~finite,
            "stuck": finite & (rejected >= STUCK_AFTER),
        }

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


def _where(condition: Bool[Array, ""], yes: AutoState, no: AutoState) -> AutoState:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def _set_out(state: AutoState, theta: Float[Array, " params"], loss: Float[Array, ""]) -> AutoState:
    """The beginning of a walk from parameters with their loss: nothing is known of the way yet."""
    return state._replace(
        iterate=theta,
        iterate_loss=loss,
        damping=_first_damping(loss),
        length=jnp.asarray(1.0),
        rejected=jnp.asarray(0),
        dampings=jnp.full(TREND, jnp.nan),
        ending=jnp.asarray(False),
    )


def _back_to_camp(state: AutoState) -> AutoState:
    """The end led nowhere: walk on from where it began."""
    return _set_out(state, state.camp, state.camp_loss)._replace(
        damping=state.camp_damping, length=state.camp_length, end_below=AGAIN * state.camp_loss
    )


def _best(state: AutoState, loss: Float[Array, ""]) -> AutoState:
    """The iterate, with its loss on all points, becomes the best where that is lower."""
    better = loss < state.loss
    return state._replace(theta=jnp.where(better, state.iterate, state.theta), loss=jnp.where(better, loss, state.loss))
