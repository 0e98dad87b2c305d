"""Line searches: the best step length η on the grid 2⁰, 2⁻¹, … 2⁻³⁰ and 0."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

LEVELS = 31
STRIDE = 4

Loss = Callable[[Float[Array, ""]], Float[Array, ""]]


def _evaluate(loss: Loss, lengths: Float[Array, " lengths"]) -> Float[Array, " lengths"]:
    # One after the other keeps the working set of a CPU in cache; an accelerator wants them together.
    values = jax.lax.map(loss, lengths) if jax.default_backend() == "cpu" else jax.vmap(loss)(lengths)
    return jnp.where(jnp.isfinite(values), values, jnp.inf)


def _best(lengths: Array, values: Array, loss_now: Array) -> tuple[Array, Array]:
    index = jnp.argmin(values)
    better = values[index] < loss_now
    return jnp.where(better, lengths[index], 0.0), jnp.where(better, values[index], loss_now)


def full_grid(loss: Loss, loss_now: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """η and ℓ at the minimum over the whole grid; 0 is a member, so the loss never rises."""
    lengths = 2.0 ** -jnp.arange(LEVELS)
    return _best(lengths, _evaluate(loss, lengths), loss_now)


def refined_grid(loss: Loss, loss_now: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The same minimum from 14 losses: every fourth length first, then the neighbours of the best.

    It is the minimum over the whole grid unless ℓ has a second valley less than a factor 16 wide.
    """
    coarse = jnp.arange(0, LEVELS, STRIDE)
    first = _evaluate(loss, 2.0**-coarse)
    centre = coarse[jnp.argmin(first)]
    offsets = jnp.array([k for k in range(1 - STRIDE, STRIDE) if k != 0])
    near = jnp.clip(centre + offsets, 0, LEVELS - 1)
    lengths = 2.0 ** -jnp.concatenate([coarse, near])
    values = jnp.concatenate([first, _evaluate(loss, 2.0**-near)])
    return _best(lengths, values, loss_now)


SEARCHES = {"full": full_grid, "refined": refined_grid}
