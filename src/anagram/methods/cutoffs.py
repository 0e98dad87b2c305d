"""Cutoffs read off a spectrum: its elbow, the value that keeps so many modes, and what the leading modes explain.

Modes are counted from the largest singular value on.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

# A corner less than this far from the chord, in units of log σ, is rounding: the spectrum has no elbow.
STRAIGHT = 1e-9


def elbow(
    sigma: Float[Array, " modes"], floor: Float[Array, ""] | float, start: Int[Array, ""] | int = 1
) -> Int[Array, ""]:
    """How many modes there are up to the elbow of log σ, the elbow itself among them.

    The elbow is the mode farthest from the chord that joins the mode `start` with the last resolved one, σ > floor,
    in the plane of mode index and log σ. Where it is straight it has no elbow, and all resolved modes count.
    """
    ordered = jnp.sort(sigma, descending=True)
    resolved = jnp.sum(ordered > floor)
    heights = jnp.log(jnp.where(ordered > floor, ordered, 1.0))
    index = jnp.arange(sigma.size)
    first, last = jnp.clip(start - 1, 0, sigma.size - 1), jnp.maximum(resolved - 1, 0)
    slope = (heights[last] - heights[first]) / jnp.maximum(last - first, 1)
    # Measured along the axis of log σ; at right angles to the chord it is less, by the same factor for all modes.
    distance = jnp.abs(heights - heights[first] - slope * (index - first))
    distance = jnp.where((index > first) & (index < last), distance, 0.0)
    found = jnp.max(distance) > STRAIGHT
    return jnp.where(found, jnp.argmax(distance) + 1, resolved)


def cutoff_keeping(sigma: Float[Array, " modes"], rank: Int[Array, ""] | int) -> Float[Array, ""]:
    """The largest cutoff that keeps the first `rank` modes; equal singular values stay together."""
    ordered = jnp.sort(sigma, descending=True)
    return jnp.nextafter(ordered[jnp.clip(rank - 1, 0, sigma.size - 1)], 0.0)


def unexplained(projected: Float[Array, " modes"], outside: Float[Array, ""]) -> Float[Array, " modes"]:
    """‖r − U_k U_kᵀ r‖ for k = 1, 2, …: what the first k modes cannot explain of the residual.

    From c = Uᵀr, largest singular value first, and the length of the part of r outside the range of J. The squares
    are added up from the last mode on: ‖r‖² − c_1² − … − c_k² would lose everything below 1e-8 ‖r‖.
    """
    later = jnp.cumsum(projected[::-1] ** 2)[::-1]
    return jnp.sqrt(jnp.append(later[1:], 0.0) + outside**2)
