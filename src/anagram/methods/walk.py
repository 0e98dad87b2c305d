"""The walk: steps at the edge from the first parameters to the last digits.

Once the damping has passed its minimum, or the loss is tiny, an *end* is tried: steps that keep more of their promise.
An end that only crawls is given up, and the walk goes on from where it began, or starts anew from larger first
parameters; which valley a walk ends in is a matter of chance.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from anagram.methods.advance import Front, set_out

TREND = 30  # steps over which the trend of the damping is taken
SOLVED_ROUGHLY = 1e-9  # before the loss has fallen by this factor the trend says nothing
CRAWL = 0.03  # an end is over when the loss falls by less than this fraction a step
STRETCH = 1.1  # a walk that starts anew does so from parameters that are so many times as large
NEXT_END = 1e-2  # another end is tried when the loss is this fraction of what it was where the last one began


class Walk(NamedTuple):
    """A walk: where it stands, and what it remembers.

    `dampings` has the last log λ at the edge (NaN where there is none yet). `ending` says whether an end is being
    tried, `camp` where it began, and `progress` by how much log ℓ fell in its last few steps, on average. No other end
    is tried before the loss is below `end_below`. `origin` has the parameters the walk started from, `restarted` counts
    walks that were given up.
    """

    front: Front
    dampings: Float[Array, " steps"]
    ending: Bool[Array, ""]
    progress: Float[Array, ""]
    camp: Front
    end_below: Float[Array, ""]
    origin: Float[Array, " params"]
    restarted: Int[Array, ""]


def begin(theta: Float[Array, " params"], loss: Float[Array, ""], end_below: Float[Array, ""]) -> Walk:
    """A walk that starts from parameters with their loss."""
    front = set_out(theta, loss)
    return Walk(
        front=front,
        dampings=jnp.full(TREND, jnp.nan),
        ending=jnp.asarray(False),
        progress=jnp.asarray(1.0),
        camp=front,
        end_below=end_below,
        origin=theta,
        restarted=jnp.asarray(0),
    )


def select(condition: Bool[Array, ""], yes: Walk, no: Walk) -> Walk:
    """One of two."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def advanced(walk: Walk, front: Front, damping: Float[Array, ""], tiny: Float[Array, ""]) -> Walk:
    """The walk after a step: an end counts its progress; otherwise one begins if it is time to.

    It is time when the damping has passed its minimum, or the loss is below `tiny`.
    """
    on = progressed(walk, front)
    dampings = jnp.append(walk.dampings[1:], jnp.log(damping))
    ends = (front.loss < walk.end_below) & ((front.loss < tiny) | (_trend(dampings) > 0))
    rested = front._replace(rejected=jnp.asarray(0))
    camped = walk._replace(front=rested, camp=rested, ending=jnp.asarray(True), progress=jnp.asarray(1.0))
    walked = select(ends, camped, walk._replace(front=front))._replace(dampings=dampings)
    return select(walk.ending, on, walked)


def progressed(walk: Walk, front: Front) -> Walk:
    """The walk after a step, with its progress."""
    fell = jnp.log(walk.front.loss / jnp.maximum(front.loss, 1e-300))
    # A walk that has just set out knows no loss to compare with.
    progress = jnp.where(jnp.isfinite(fell), 0.7 * walk.progress + 0.3 * fell, walk.progress)
    return walk._replace(front=front, progress=progress)


def back_to_camp(walk: Walk) -> Walk:
    """The end led nowhere: walk on from where it began."""
    return walk._replace(
        front=walk.camp,
        dampings=jnp.full(TREND, jnp.nan),
        ending=jnp.asarray(False),
        end_below=NEXT_END * walk.camp.loss,
    )


def anew(walk: Walk, end_below: Float[Array, ""]) -> Walk:
    """Walk from larger first parameters; their loss is found by the first step."""
    origin = STRETCH * walk.origin
    fresh = begin(origin, jnp.asarray(jnp.nan), end_below)
    return fresh._replace(restarted=walk.restarted + 1)


def _trend(values: Float[Array, " steps"]) -> Float[Array, ""]:
    """The slope of the last values, up to a positive factor; NaN while there are too few."""
    return (jnp.arange(values.size) - (values.size - 1) / 2) @ values
