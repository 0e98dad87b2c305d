"""Line searches: the best step length η on a grid and, but for one, 0; the paper's grid is 2⁰, 2⁻¹, … 2⁻³⁰."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.environment import has_accelerator

LEVELS = 31
STRIDE = 4
HALVINGS = 2.0 ** -np.arange(LEVELS)

Loss = Callable[[Float[Array, ""]], Float[Array, ""]]


def _evaluate(loss: Loss, lengths: Float[Array, " lengths"]) -> Float[Array, " lengths"]:
    # One after the other keeps the working set of a CPU in cache; an accelerator wants them together.
    values = jax.vmap(loss)(lengths) if has_accelerator() else jax.lax.map(loss, lengths)
    return jnp.where(jnp.isfinite(values), values, jnp.inf)


def _best(lengths: Array, values: Array, loss_now: Array) -> tuple[Array, Array]:
    index = jnp.argmin(values)
    better = values[index] < loss_now
    return jnp.where(better, lengths[index], 0.0), jnp.where(better, values[index], loss_now)


def full_grid(
    loss: Loss, loss_now: Float[Array, ""], grid: np.ndarray = HALVINGS
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """η and ℓ at the minimum over the whole grid; 0 is a member, so the loss never rises."""
    lengths = jnp.asarray(grid)
    return _best(lengths, _evaluate(loss, lengths), loss_now)


def refined_grid(
    loss: Loss, loss_now: Float[Array, ""], grid: np.ndarray = HALVINGS, stride: int = STRIDE
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The same minimum from few losses: every `stride`-th length first, then the neighbours of the best.

    It is the minimum over the whole grid unless ℓ has a second valley narrower than a stride: on the paper's grid, of
    which it takes 14 losses, less than a factor 16 wide.
    """
    lengths = jnp.asarray(grid)
    coarse = jnp.arange(0, lengths.size, stride)
    first = _evaluate(loss, lengths[coarse])
    centre = coarse[jnp.argmin(first)]
    offsets = jnp.array([k for k in range(1 - stride, stride) if k != 0])
    near = jnp.clip(centre + offsets, 0, lengths.size - 1)
    values = jnp.concatenate([first, _evaluate(loss, lengths[near])])
    return _best(lengths[jnp.concatenate([coarse, near])], values, loss_now)


def first_valley(loss: Loss, loss_now: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """η and ℓ at the first length of the paper's grid, from 1 downwards, that halving does not improve.

    Two losses are enough where 1 is the best length. 0 is taken if no length lowers the loss.
    """
    lengths = jnp.asarray(HALVINGS)

    def at(level: Array) -> Array:
        value = loss(lengths[jnp.minimum(level, LEVELS - 1)])
        return jnp.where(jnp.isfinite(value), value, jnp.inf)

    def goes_on(carry: tuple[Array, Array, Array]) -> Array:
        level, value, shorter = carry
        return (level < LEVELS - 1) & ~((value < loss_now) & (shorter >= value))

    def halve(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        level, _, shorter = carry
        return level + 1, shorter, at(level + 2)

    zero = jnp.asarray(0)
    level, value, _ = jax.lax.while_loop(goes_on, halve, (zero, at(zero), at(zero + 1)))
    better = value < loss_now
    return jnp.where(better, lengths[level], 0.0), jnp.where(better, value, loss_now)


def grid_without_zero(
    loss: Loss, loss_now: Float[Array, ""], grid: np.ndarray = HALVINGS
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """η and ℓ at the minimum over the grid even if the loss rises there, as in the code of the paper's authors.

    A run never stands still: where no length lowers the loss, the shortest ones hardly raise it and lead on.
    """
    lengths = jnp.asarray(grid)
    values = _evaluate(loss, lengths)
    index = jnp.argmin(values)
    finite = jnp.isfinite(values[index])
    return jnp.where(finite, lengths[index], 0.0), jnp.where(finite, values[index], loss_now)


SEARCHES = {"full": full_grid, "refined": refined_grid, "paper": grid_without_zero}
