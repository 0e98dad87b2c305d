"""The state of a run between two blocks: all that it needs to go on to the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anagram.compound.batch import Batch
from anagram.training.history import History


class Best(NamedTuple):
    """The parameters with the least loss on fresh points, of those at checks."""

    step: int
    validation_loss: float
    theta: np.ndarray


@dataclass(frozen=True)
class RunState:
    """What changes while a run goes; everything else follows from its configuration.

    Attributes:
        method: what the method carries, a tree of arrays.
        batch: the points.
        points_move: whether the points are others than those that the configuration leads to.
        points: what points that move keep besides the batch, arrays by name.
        history: what steps and blocks reported.
        seconds: of training.
        best: the parameters that were best on fresh points.
        start: the parameters that the run was begun with, if they were given.
    """

    method: Any
    batch: Batch
    points_move: bool
    points: dict[str, np.ndarray]
    history: History
    seconds: float
    best: Best | None
    start: np.ndarray | None
