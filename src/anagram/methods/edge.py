"""The search for the longest damped step that still earns a small part of what it promised.

For a damping λ the step p(λ) promises to lower ‖r‖² by m(λ); the ratio

    ρ(λ) = (‖r(θ)‖² − ‖r(θ + p)‖²) / m(λ)

tells how much of it came true. Steps are taken *at the edge*: the smallest λ with ρ(λ) ≥ ρ* and a
length of at most `growth` times the last one. The edge is looked for from the last λ on, by the slope that the
score of a trial had in log λ at the last edge, and then between an acceptable trial and one that is not, in a handful
of trials; every trial is one linear solve and one residual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

HOPELESS = 5.0  # scores are bounded by this, so that one hopeless trial does not spoil the interpolation
KEPT_ALL = 0.01  # 1 − ρ is taken to be so large at least; a ratio may well be larger than one
FIRST_SLOPE = 1.0  # of the score in log λ, before anything is known
SLOPES = (0.05, 10.0)  # what a slope is believed to be
STRIDE = 0.7  # in log λ, away from a trial whose score is out of bounds; doubled each time
OVERSHOOT = 1.25  # times the distance that the slope predicts, so that the edge is passed
PATIENCE = 3.0  # how much farther at least the next trial is, each time the edge was not passed
CLOSE = 0.1  # in log λ: a trial farther from the edge is not called close to it, however rough the search is
INSIDE = 0.1  # of a bracket at least, from either end, is the distance of the next trial


class Trial(NamedTuple):
    """A step tried: where it leads, the loss there, and what to report of it."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    length: Float[Array, ""]
    ratio: Float[Array, ""]
    bend: Float[Array, ""]


class Edge(NamedTuple):
    """The outcome of a search: the damping and its trial, whether it is acceptable, how many were tried, the slope."""

    damping: Float[Array, ""]
    trial: Trial
    found: Bool[Array, ""]
    trials: Int[Array, ""]
    slope: Float[Array, ""]


class _Bracket(NamedTuple):
    good: Float[Array, ""]  # log λ of the best acceptable trial, +inf if none
    good_score: Float[Array, ""]
    bad: Float[Array, ""]  # log λ of the closest unacceptable trial, −inf if none
    bad_score: Float[Array, ""]
    slope: Float[Array, ""]
    stride: Float[Array, ""]
    last_good: Bool[Array, ""]
    close: Bool[Array, ""]  # whether the best one is so close to the edge that another trial is not worth it
    best: Trial
    memory: Any
    trials: Int[Array, ""]


def find_edge(
    attempt: Callable[[Float[Array, ""], Any], tuple[Trial, Any]],
    memory: Any,
    theta: Float[Array, " params"],
    start: Float[Array, ""],
    target: Float[Array, ""] | float,
    longest: Float[Array, ""],
    *,
    smallest: Float[Array, ""],
    largest: Float[Array, ""],
    slope: Float[Array, ""] | float = FIRST_SLOPE,
    most: int = 14,
    precision: Float[Array, ""] | float = 0.05,
) -> Edge:
    """The acceptable step with the smallest λ, searched from λ = start.

    Args:
        attempt: tries the step for a damping; it is handed what it remembers of the trial before.
        memory: what it remembers at first.
        theta: the parameters that steps start from.
        start: the damping to begin with.
        target: ρ*.
        longest: the greatest length a step may have.
        smallest: dampings below this one are not tried.
        largest: nor are dampings above this one.
        slope: of the score in log λ, at the last edge.
        most: the largest number of trials.
        precision: the edge is found to this factor, in log λ.
    """
    floor, ceiling = jnp.log(smallest), jnp.log(largest)
    first = jnp.clip(jnp.log(start), floor, ceiling)
    infinite, zero = jnp.asarray(jnp.inf), jnp.zeros(())

    def score(trial: Trial) -> Float[Array, ""]:
        """Positive if acceptable. What a step fails to keep, 1 − ρ, and its length are about powers of λ."""
        kept = jnp.log((1 - target) / jnp.maximum(1 - trial.ratio, KEPT_ALL))
        margin = jnp.minimum(kept, jnp.log(longest / trial.length))
        return jnp.where(jnp.isfinite(margin), jnp.clip(margin, -HOPELESS, HOPELESS), -HOPELESS)

    def outward(b: _Bracket) -> Float[Array, ""]:
        """From the only trials there are, past where the edge should be."""
        down = jnp.isfinite(b.good)
        value = jnp.abs(jnp.where(down, b.good_score, b.bad_score))
        # Where the slope predicts too little again and again, the distance grows all the same.
        least = precision * PATIENCE ** (b.trials - 1.0)
        predicted = jnp.clip(OVERSHOOT * value / b.slope + precision, least, 2 * b.stride)
        distance = jnp.where(value < HOPELESS, predicted, b.stride)
        return jnp.where(down, b.good - distance, b.bad + distance)

    def inside(b: _Bracket) -> Float[Array, ""]:
        """False position with the score of the end that stands still halved (Illinois), a little on the good side."""
        aim = 0.4 * precision * b.slope
        fraction = (aim - b.bad_score) / (b.good_score - b.bad_score)
        return b.bad + jnp.clip(fraction, INSIDE, 1 - INSIDE) * (b.good - b.bad)

    def propose(b: _Bracket) -> Float[Array, ""]:
        both = jnp.isfinite(b.good) & jnp.isfinite(b.bad)
        at = jnp.where(b.trials == 0, first, jnp.where(both, inside(b), outward(b)))
        return jnp.clip(at, floor, ceiling)

    def update(b: _Bracket) -> _Bracket:
        at = propose(b)
        trial, memory = attempt(jnp.exp(at), b.memory)
        value = score(trial)
        good = value >= 0
        other, other_score = jnp.where(good, b.bad, b.good), jnp.where(good, b.bad_score, b.good_score)
        both = jnp.isfinite(other)
        measured = jnp.clip((value - other_score) / (at - other), *SLOPES)
        known = both & (jnp.abs(value) < HOPELESS) & (jnp.abs(other_score) < HOPELESS)
        slope = jnp.where(known, measured, b.slope)
        again = both & (good == b.last_good)
        halved = jnp.where(again, 0.5, 1.0)
        return _Bracket(
            good=jnp.where(good, at, b.good),
            good_score=jnp.where(good, value, b.good_score * halved),
            bad=jnp.where(good, b.bad, at),
            bad_score=jnp.where(good, b.bad_score * halved, value),
            slope=slope,
            stride=b.stride * 2,
            last_good=good,
            close=jnp.where(good, value <= jnp.minimum(precision, CLOSE) * slope, b.close),
            best=jax.tree.map(lambda new, old: jnp.where(good, new, old), trial, b.best),
            memory=memory,
            trials=b.trials + 1,
        )

    def goes_on(b: _Bracket) -> Bool[Array, ""]:
        has_good, has_bad = jnp.isfinite(b.good), jnp.isfinite(b.bad)
        open_below = has_good & ~has_bad & (b.good > floor)
        open_above = ~has_good & (b.bad < ceiling)
        wide = has_good & has_bad & (b.good - b.bad > precision)
        return (b.trials == 0) | ((b.trials < most) & ~b.close & (open_below | open_above | wide))

    empty = _Bracket(
        good=infinite,
        good_score=zero + HOPELESS,
        bad=-infinite,
        bad_score=zero - HOPELESS,
        slope=zero + slope,
        stride=zero + STRIDE,
        last_good=jnp.asarray(False),
        close=jnp.asarray(False),
        best=Trial(jnp.zeros_like(theta), zero, zero, zero, zero),
        memory=memory,
        trials=jnp.asarray(0),
    )
    b = jax.lax.while_loop(goes_on, update, empty)
    found = jnp.isfinite(b.good)
    return Edge(jnp.exp(jnp.where(found, b.good, b.bad)), b.best, found, b.trials, b.slope)
