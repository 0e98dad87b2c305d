"""Blocks of steps: many steps as one compiled loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.methods import Method
from anagram.training.budget import BLOCK
from anagram.training.pool import batch_of


def run_block(
    method: Method,
    compound: ResidualMap,
    state: Any,
    batch: Batch,
    count: Any,
    pool: Batch | None = None,
    place: Any = 0,
) -> tuple[Any, dict[str, Any], Any]:
    """At most `count` steps as one compiled loop; a failed or stuck step ends it. Returns state, log, steps taken.

    Each step takes its own points out of a pool, from a place on, for the conditions that are in it.
    """
    step = jax.jit(lambda state, batch: method.step(compound, state, batch))  # traced once, not twice
    template = jax.eval_shape(lambda s: step(s, batch_of(batch, pool or {}, place))[1], state)
    log = jax.tree.map(lambda leaf: jnp.zeros((BLOCK, *leaf.shape), leaf.dtype), template)

    def goes_on(carry: Any) -> Any:
        taken, _, _, halted = carry
        return (taken < count) & ~halted

    def body(carry: Any) -> Any:
        taken, state, log, _ = carry
        state, info = step(state, batch_of(batch, pool or {}, place + taken))
        log = jax.tree.map(lambda column, value: column.at[taken].set(value), log, info)
        return taken + 1, state, log, info["failed"] | info["stuck"]

    taken, state, log, _ = jax.lax.while_loop(goes_on, body, (jnp.asarray(0), state, log, jnp.asarray(False)))
    return state, log, taken
