"""What methods share that take a direction and search along it."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.methods.base import Method, State
from anagram.methods.search import SEARCHES


def checked_search(search: Any) -> str:
    """The name of a line search; an error if there is none of that name."""
    if search not in SEARCHES:
        raise SettingError(f"search must be one of {', '.join(SEARCHES)}, not {search!r}")
    return search


class Searching(Method):
    """θ ← θ + η d: subclasses find the direction d, the search finds η."""

    search: str = eqx.field(static=True)

    @property
    def may_rise(self) -> bool:
        return self.search == "paper"

    def init(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> State:
        return State(theta, compound.loss(theta, batch))

    def along(
        self, compound: ResidualMap, state: State, batch: Batch, direction: Float[Array, " params"]
    ) -> tuple[State, dict[str, Array]]:
        """The state at the best length, and what every step reports; a direction that is not finite leads nowhere."""
        theta, loss_now = state
        finite = jnp.all(jnp.isfinite(direction)) & jnp.isfinite(loss_now)
        direction = jnp.where(finite, direction, 0.0)
        length, loss = SEARCHES[self.search](lambda eta: compound.loss(theta + eta * direction, batch), loss_now)
        info = {
            "loss": loss,
            "step_length": length,
            "step_norm": length * jnp.linalg.norm(direction),
            "failed": ~finite,
            "stuck": finite & (length == 0.0),
        }
        return State(theta + length * direction, loss), info
