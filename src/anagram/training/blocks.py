"""Blocks of steps: many steps as one compiled loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.methods.base import Step
from anagram.training.budget import BLOCK
from anagram.training.pool import batch_of


def run_block(
    take_step: Step,
    compound: ResidualMap,
    state: Any,
    batch: Batch,
    count: Any,
    pool: Batch | None = None,
    place: Any = 0,
) -> tuple[Any, dict[str, Any], Any]:
    """At most `count` steps of one stage as one compiled loop. Returns state, log, steps taken.

    A step that fails or is stuck ends it, and so does the end of the stage.

    Each step takes its own points out of a pool, from a place on, for the conditions that are in it.
    """
    step = jax.jit(lambda state, batch: take_step(compound, state, batch))  # traced once for its shapes and for itself
    template = jax.eval_shape(lambda s: step(s, batch_of(batch, pool or {}, place))[1], state)
    log = jax.tree.map(lambda leaf: jnp.zeros((BLOCK, *leaf.shape), leaf.dtype), template)

    def goes_on(carry: Any) -> Any:
        taken, _, _, halted = carry
        return (taken < count) & ~halted

    def body(carry: Any) -> Any:
        taken, state, log, _ = carry
        state, info = step(state, batch_of(batch, pool or {}, place + taken))
        log = jax.tree.map(lambda column, value: column.at[taken].set(value), log, info)
        return taken + 1, state, log, info["failed"] | info["stuck"] | info.get("over", False)

    taken, state, log, _ = jax.lax.while_loop(goes_on, body, (jnp.asarray(0), state, log, jnp.asarray(False)))
    return state, log, taken
