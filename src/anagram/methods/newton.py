"""Gauss and Newton's method, for models that are linear in their parameters.

Such a model is its own tangent space: the natural gradient step is the projection onto it, and all that bends the way
is the equation. Steps are as long as they are, p = −J†r, and damped only where that does not lower the loss.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.methods.base import Method
from anagram.spectrum.guarded import scaled, solved

DAMPED = 1e-6  # the first damping that is more than a guard against rounding
STRONGER, WEAKER = 100.0, 1e-3
TRIALS = 7
STANDING = 0.99  # of the loss: where a damped step leaves more, it walks about its floor
LEAST = 0.3  # of the loss: where an undamped step does not even promise to leave less, it is at its floor
# An undamped step that leaves at most so many times what it promised to leave was as good as linear, and another one
# brings nothing. Where it promised to leave little, more may be left: what is missing is little beside what was gained.
KEPT, KEPT_OF_MUCH, MUCH = 1.01, 1.5, 1e-2
LEVEL = 1 + 1e-6  # times the loss: the same, to rounding


class NewtonState(NamedTuple):
    """Parameters with their loss, and the damping that the next step begins with."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    damping: Float[Array, ""]


class _Trial(NamedTuple):
    direction: Float[Array, " params"]
    loss: Float[Array, ""]
    promised: Float[Array, ""]  # the loss, were the equation linear; what damping costs is counted in
    damping: Float[Array, ""]
    tried: Array


class Newton(Method):
    """min ‖J p + r‖² + μ²‖D p‖² with D the lengths of the columns of J, by QR; μ is tiny unless a step fails.

    Args:
        guard: μ at the least, for each square root of the number of parameters. Features may be dependent to rounding.
    """

    guard: float = eqx.field(static=True)

    def __init__(self, guard: float = 1e-15) -> None:
        if isinstance(guard, bool) or not isinstance(guard, int | float) or not 0 < guard < 1:
            raise SettingError(f"guard must lie between 0 and 1, not {guard!r}")
        self.guard = float(guard)

    @property
    def steps_are_few(self) -> bool:
        return True

    def memory(self, parameters: int, rows: int) -> int:
        return 8 * (5 * parameters**2 + min(rows * parameters, 2**24))

    def sent(self, parameters: int, rows: int) -> int:
        # A triangle of [J r], folded; and a loss for each trial.
        return 8 * ((parameters + 2) * (parameters + 3) // 2 + TRIALS)

    def init(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> NewtonState:
        return NewtonState(theta, compound.loss(theta, batch), jnp.asarray(0.0))

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[NewtonState, dict[str, Array]]:
        theta, loss = state.theta, state.loss
        size = theta.size
        factor = scaled(compound.triangle(theta, batch))
        least = float(self.guard * np.sqrt(size))

        def at(damping: Float[Array, ""], tried: Array) -> _Trial:
            direction, left = solved(factor, damping, least)
            promised = 0.5 * (factor.unexplained + left)
            return _Trial(direction, compound.loss(theta + direction, batch), promised, damping, tried + 1)

        def again(trial: _Trial) -> Array:
            # What neither falls nor rises is at its floor: damping brings nothing.
            level = (trial.damping <= least) & (trial.loss <= LEVEL * loss)
            return ~(trial.loss < loss) & ~level & (trial.tried < TRIALS)

        # The first trial is one of the loop, so that it is compiled once.
        nothing = _Trial(jnp.zeros_like(theta), jnp.asarray(jnp.inf), loss, state.damping, jnp.asarray(0))
        trial = jax.lax.while_loop(
            again,
            lambda last: at(
                jnp.where(
                    last.tried == 0, jnp.maximum(last.damping, least), jnp.maximum(STRONGER * last.damping, DAMPED)
                ),
                last.tried,
            ),
            nothing,
        )
        lower = trial.loss < loss
        after = NewtonState(
            jnp.where(lower, theta + trial.direction, theta),
            jnp.where(lower, trial.loss, loss),
            jnp.where(trial.damping > DAMPED, WEAKER * trial.damping, 0.0),
        )
        full = trial.damping <= least
        finite = jnp.isfinite(loss) & jnp.all(jnp.isfinite(factor.triangle))
        standing = ~full & (trial.loss > STANDING * loss)
        kept = jnp.where(trial.promised < MUCH * loss, KEPT_OF_MUCH, KEPT)
        as_promised = trial.loss < kept * trial.promised
        at_floor = full & ((trial.promised > LEAST * loss) | as_promised)
        stuck = ~lower | standing | at_floor
        if compound.is_affine:
            stuck = jnp.asarray(True)
        return after, {
            "loss": after.loss,
            "damping": trial.damping,
            "trials": trial.tried,
            "step_norm": jnp.where(lower, jnp.linalg.norm(trial.direction), 0.0),
            "failed": ~finite,
            "stuck": finite & stuck,
        }
