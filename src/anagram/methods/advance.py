"""One damped step at the edge: what the stages of the default method have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from anagram import spectrum
from anagram.compound import Linearisation, ResidualMap, Unformed
from anagram.compound.batch import Batch
from anagram.methods.acceleration import Curvature, accelerated, unknown_curvature
from anagram.methods.edge import FIRST_SLOPE, Trial, find_edge

STUCK_AFTER = 8  # rejected steps in a row
GREEDY_PRECISION = 2.0  # how closely a greedy step looks for the edge, in log λ


class Front(NamedTuple):
    """Where a walk stands: parameters, their loss (NaN if it is not known yet), and what held at the last step.

    That is the damping, the slope of the score there (see `anagram.methods.edge`) and the length of the step;
    `rejected` counts steps in a row that were not taken.
    """

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    damping: Float[Array, ""]
    slope: Float[Array, ""]
    length: Float[Array, ""]
    rejected: Int[Array, ""]


class StepRule(NamedTuple):
    """How steps are chosen: the options of `anagram.methods.auto.Auto` that one step needs.

    A greedy step looks for the edge roughly, may have any length, and never needs more than plain normal equations.
    Which of the two kinds a step is, and ρ*, may be known at run time only: both are the same program.
    """

    target: Float[Array, ""] | float
    greedy: Bool[Array, ""] | bool
    growth: float
    acceleration: float
    precision: float
    squared_until: float


def set_out(theta: Float[Array, " params"], loss: Float[Array, ""] | float) -> Front:
    """The beginning of a walk: nothing is known of the way yet. A loss that is NaN is found by the first step."""
    return Front(
        theta=theta,
        loss=jnp.asarray(loss),
        damping=jnp.asarray(jnp.nan),
        slope=jnp.asarray(FIRST_SLOPE),
        length=jnp.asarray(1.0),
        rejected=jnp.asarray(0),
    )


class Family(NamedTuple):
    """The damped steps that there are at some parameters, the trace of JᵀJ, and the smallest damping that is safe.

    `squared` says whether they come from plain normal equations, of which smaller dampings lose digits.
    """

    linear: Linearisation | Unformed
    dampings: Any
    trace: Float[Array, ""]
    safe: Float[Array, ""]
    squared: Bool[Array, ""] | bool


def factorised(compound: ResidualMap, front: Front, batch: Batch, rule: StepRule) -> Family:
    """Damped steps by a factorisation of JᵀJ or JJᵀ."""
    linear = Linearisation(compound, front.theta, batch)
    safe = rule.squared_until * linear.trace
    squared = rule.greedy | (_damping(front, linear.loss) > safe)
    return Family(linear, spectrum.for_dampings(linear, squared), linear.trace, safe, squared)


def _damping(front: Front, loss: Float[Array, ""]) -> Float[Array, ""]:
    """The damping to begin with: the last one. A step is at most √(2 tr ℓ)/λ long."""
    known = jnp.where(jnp.isnan(front.loss), loss, front.loss)
    return jnp.where(jnp.isnan(front.damping), 1e-2 * known, front.damping)


def advance(
    compound: ResidualMap,
    front: Front,
    batch: Batch,
    rule: StepRule,
    family: Callable[[ResidualMap, Front, Batch, StepRule], Family] = factorised,
) -> tuple[Front, dict[str, Array]]:
    """Move by a step that keeps the part `target` of its promise."""
    linear, dampings, trace, safe, squared = family(compound, front, batch, rule)
    loss = jnp.where(jnp.isnan(front.loss), linear.loss, front.loss)
    damping = _damping(front, linear.loss)
    longest = rule.growth * front.length

    def attempt(at: Float[Array, ""], known: Curvature) -> tuple[Trial, Curvature]:
        damped = dampings.at(at, known.pulled if rule.acceleration > 0 else None)
        move, bend, curvature = accelerated(linear, damped, at, known, rule.acceleration)
        theta = front.theta + move
        after = linear.loss_at(theta)
        ratio = 2 * (loss - after) / jnp.maximum(damped.step.predicted, 1e-300)
        return Trial(theta, after, jnp.linalg.norm(damped.step.direction), ratio, bend), curvature

    edge = find_edge(
        attempt,
        unknown_curvature(front.theta),
        front.theta,
        damping,
        rule.target,
        jnp.where(rule.greedy, jnp.inf, longest),
        smallest=jnp.where(rule.greedy, jnp.maximum(safe, damping / 10), 1e-30 * trace + 1e-300),
        # This damping makes a step short enough, whatever the scales of the parameters.
        largest=1e3 * trace + jnp.sqrt(2 * trace * loss) / longest + 1e-290,
        slope=front.slope,
        precision=jnp.where(rule.greedy, GREEDY_PRECISION, rule.precision),
    )
    took = edge.found & (edge.trial.loss < loss)
    finite = jnp.isfinite(trace) & jnp.isfinite(loss)
    rejected = jnp.where(took, 0, front.rejected + 1)
    after = Front(
        theta=jnp.where(took, edge.trial.theta, front.theta),
        loss=jnp.where(took, edge.trial.loss, loss),
        damping=edge.damping,
        slope=edge.slope,
        length=jnp.where(took, edge.trial.length, front.length / rule.growth),
        rejected=rejected,
    )
    return after, {
        "loss": after.loss,
        "damping": edge.damping,
        "ratio": edge.trial.ratio,
        "step_norm": jnp.where(took, edge.trial.length, 0.0),
        "acceleration": edge.trial.bend,
        "trials": edge.trials,
        "squared": jnp.asarray(squared),
        "failed": ~finite,
        "stuck": finite & (rejected >= STUCK_AFTER),
    }
