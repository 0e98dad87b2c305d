"""What every method has: `init` makes its state, `step` advances it and says what happened."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float

from anagram.compound import ResidualMap
from anagram.compound.batch import Batch


class State(NamedTuple):
    """The least a method carries. Methods with memory carry a record with more fields, these among them."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]


class Method(eqx.Module):
    """An optimiser of the parameters θ of a compound model.

    `step` must be traceable. Failures are values: a step that is not finite leaves the state as it was and
    sets ``info["failed"]``; a state that can never change again sets ``info["stuck"]``. A method with stages says
    ``info["anew"]`` when the next step starts from somewhere else, and ``info["sketch"]`` while its steps are to be
    thrown away.
    """

    @property
    def fresh_points(self) -> bool:
        """Whether every step is to see points of its own, drawn anew."""
        return False

    @property
    def may_rise(self) -> bool:
        """Whether the loss may be higher after a step than before it."""
        return False

    @property
    def steps_are_few(self) -> bool:
        """Whether a run has so few steps that compiling them well costs more than it saves."""
        return False

    @property
    def points_wanted(self) -> int | None:
        """How many points inside the domain suit its steps; None for as many as the model needs."""
        return None

    def memory(self, parameters: int, rows: int) -> int:
        """Bytes of the matrices that a step holds at the same time."""
        return 8 * 3 * parameters**2

    def sent(self, parameters: int, rows: int) -> int:
        """Bytes that each of several devices hands on in a step, at most: half of JᵀJ twice, or all rows of J."""
        few, even = 4 * (parameters + 1), parameters + parameters % 2
        return 8 * (few + (even * (even + 1) if rows >= parameters else 2 * rows * parameters))

    @abc.abstractmethod
    def init(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> Any:
        """The state at the start, with fields `theta` and `loss` at least."""

    @abc.abstractmethod
    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[Any, dict[str, Array]]:
        """One step: the next state, and scalars worth looking at (`loss`, `failed`, `stuck` at least)."""

    def iterate(self, state: Any) -> tuple[Float[Array, " params"], Float[Array, ""]]:
        """Where the next step starts from, and the loss there; not the best parameters if those are kept apart."""
        return state.theta, state.loss

    def moved(self, compound: ResidualMap, state: Any, batch: Batch) -> Any:
        """The state after the points have changed: the same parameters, with the loss on the new batch."""
        return state._replace(loss=compound.loss(state.theta, batch))
