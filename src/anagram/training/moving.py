"""Points that move while a run goes: what all kinds of them have in common.

They move between blocks of steps, after steps that are known beforehand. How many there are never changes, so that
nothing is compiled again.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from anagram.compound import Compound
from anagram.compound.batch import Batch


class Iterate(NamedTuple):
    """Where the next step starts from: its parameters, the loss there, and that on fresh points if it is asked for."""

    theta: jax.Array
    loss: jax.Array
    fresh_loss: Callable[[], jax.Array]


class MovingPoints(abc.ABC):
    """The points of some conditions, and when and how they move.

    Attributes:
        noisy: whether they move whatever the losses say, so that the loss rises and falls with them.
        are_new: whether they are others each time, so that a model cannot fit a few of them.
        look: `view`, compiled for this run.
    """

    noisy: ClassVar[bool] = True
    are_new: ClassVar[bool] = False
    look: Callable[..., Any] | None = None

    @property
    @abc.abstractmethod
    def conditions(self) -> tuple[str, ...]:
        """Whose points move; if there are none, nothing here is of use."""

    @abc.abstractmethod
    def steps_left(self, step: int) -> int | None:
        """Steps until points may move next; None if they never do."""

    @abc.abstractmethod
    def after(self, step: int, at: Iterate, batch: Batch) -> Batch | None:
        """The batch after so many steps, or None if its points stay where they are."""

    @property
    def signature(self) -> tuple[Any, ...]:
        """What `view` depends on besides the shapes of batches."""
        return ()

    @property
    def has_view(self) -> bool:
        """Whether points move by what a compiled program sees of them."""
        return False

    def view(self, compound: Compound, theta: jax.Array, probes: Batch) -> Any:
        """What is looked at before points move; traceable."""
        return None

    def probes(self, batch: Batch) -> Batch:
        """The points that `view` looks at."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """What a run has to keep of them besides the batch, by name."""
        return {}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take back what `arrays` gave; a ValueError or KeyError if it is something else."""
        return
