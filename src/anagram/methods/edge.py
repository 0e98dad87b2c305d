"""The search for the longest damped step that still earns a small part of what it promised.

For a damping λ the step p(λ) promises to lower ‖r‖² by m(λ); the ratio

    ρ(λ) = (‖r(θ)‖² − ‖r(θ + p)‖²) / m(λ)

tells how much of it came true. Steps are taken *at the edge*: the smallest λ with ρ(λ) ≥ ρ* and a
length of at most `growth` times the last one. The edge is found by bracketing from the last λ and closing the
bracket in log λ, in a handful of trials; every trial is one linear solve and one residual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Trial(NamedTuple):
    """A step tried: where it leads, the loss there, and what to report of it."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    length: Float[Array, ""]
    ratio: Float[Array, ""]
    curvature: Float[Array, ""]
    rank: Float[Array, ""]


class Edge(NamedTuple):
    """The outcome of a search: the damping and its trial, whether it is acceptable, and how many were tried."""

    damping: Float[Array, ""]
    trial: Trial
    found: Bool[Array, ""]
    trials: Int[Array, ""]


class _Bracket(NamedTuple):
    good: Float[Array, ""]  # log λ of the best acceptable trial, +inf if none
    good_score: Float[Array, ""]
    bad: Float[Array, ""]  # log λ of the closest unacceptable trial, −inf if none
    bad_score: Float[Array, ""]
    stride: Float[Array, ""]
    last_good: Bool[Array, ""]
    best: Trial
    trials: Int[Array, ""]


def find_edge(
    attempt: Callable[[Float[Array, ""]], Trial],
    start: Float[Array, ""],
    target: Float[Array, ""] | float,
    longest: Float[Array, ""],
    *,
    smallest: Float[Array, ""],
    largest: Float[Array, ""],
    most: int = 14,
    precision: Float[Array, ""] | float = 0.05,
) -> Edge:
    """The acceptable step with the smallest λ, searched from λ = start.

    Args:
        attempt: tries the step for a damping.
        start: the damping to begin with.
        target: ρ*.
        longest: the greatest length a step may have.
        smallest: dampings below this one are not tried.
        largest: nor are dampings above this one.
        most: the largest number of trials.
        precision: the bracket is closed to this factor, in log λ.
    """
    floor, ceiling = jnp.log(smallest), jnp.log(largest)

    def score(trial: Trial) -> Float[Array, ""]:
        # Positive if acceptable; bounded, so that one hopeless trial does not spoil the interpolation.
        margin = jnp.minimum(trial.ratio - target, jnp.log(longest / trial.length))
        return jnp.where(jnp.isfinite(margin), jnp.clip(margin, -0.5, 0.5), -0.5)

    def propose(b: _Bracket) -> Float[Array, ""]:
        outward = jnp.where(jnp.isfinite(b.good), b.good - b.stride, b.bad + b.stride)
        width = b.good - b.bad
        # False position with the stale end's score halved (Illinois), kept off the ends of the bracket.
        fraction = jnp.clip(-b.bad_score / (b.good_score - b.bad_score), 0.15, 0.85)
        inside = b.bad + fraction * width
        both = jnp.isfinite(b.good) & jnp.isfinite(b.bad)
        return jnp.clip(jnp.where(both, inside, outward), floor, ceiling)

    def update(b: _Bracket, at: Float[Array, ""]) -> _Bracket:
        trial = attempt(jnp.exp(at))
        value = score(trial)
        good = value >= 0
        both = jnp.isfinite(b.good) & jnp.isfinite(b.bad)
        again = both & (good == b.last_good) & (b.trials > 0)
        return _Bracket(
            good=jnp.where(good, at, b.good),
            good_score=jnp.where(good, value, jnp.where(again, b.good_score / 2, b.good_score)),
            bad=jnp.where(good, b.bad, at),
            bad_score=jnp.where(good, jnp.where(again, b.bad_score / 2, b.bad_score), value),
            stride=b.stride * 2,
            last_good=good,
            best=jax.tree.map(lambda new, old: jnp.where(good, new, old), trial, b.best),
            trials=b.trials + 1,
        )

    def goes_on(b: _Bracket) -> Bool[Array, ""]:
        open_below = jnp.isfinite(b.good) & ~jnp.isfinite(b.bad) & (b.good > floor)
        open_above = ~jnp.isfinite(b.good) & (b.bad < ceiling)
        wide = b.good - b.bad > precision
        return (b.trials < most) & (open_below | open_above | (jnp.isfinite(b.good) & jnp.isfinite(b.bad) & wide))

    infinite = jnp.asarray(jnp.inf)
    first = jnp.clip(jnp.log(start), floor, ceiling)
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(attempt, start))
    empty = _Bracket(
        infinite,
        jnp.asarray(0.5),
        -infinite,
        jnp.asarray(-0.5),
        jnp.asarray(0.35),
        jnp.asarray(False),
        nothing,
        jnp.asarray(0),
    )
    b = jax.lax.while_loop(goes_on, lambda b: update(b, propose(b)), update(empty, first))
    found = jnp.isfinite(b.good)
    return Edge(jnp.exp(jnp.where(found, b.good, b.bad)), b.best, found, b.trials)
