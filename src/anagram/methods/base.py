"""What every method has: `init` makes its state, `step` advances it and says what happened."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float

from anagram.batch import Batch
from anagram.compound import Compound


class State(NamedTuple):
    """The least a method carries. Methods with memory carry a record with more fields, these among them."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]


class Method(eqx.Module):
    """An optimiser of the parameters θ of a compound model.

    `step` must be traceable. Failures are values: a step that is not finite leaves the state as it was and
    sets ``info["failed"]``; a state that can never change again sets ``info["stuck"]``.
    """

    @abc.abstractmethod
    def init(self, compound: Compound, theta: Float[Array, " params"], batch: Batch) -> Any:
        """The state at the start, with fields `theta` and `loss` at least."""

    @abc.abstractmethod
    def step(self, compound: Compound, state: Any, batch: Batch) -> tuple[Any, dict[str, Array]]:
        """One step: the next state, and scalars worth looking at (`loss`, `failed`, `stuck` at least)."""
