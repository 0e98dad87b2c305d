"""What a rung is watched for: whether its tolerance is met, and whether its own floor is in sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anagram.training.budget import is_check

FIRST = 80  # steps before the floor is looked for
WINDOW = 30  # steps over which the loss must fall
LEAST = 0.5  # of the loss may be left after these, or the floor is in sight
NEAR = 30.0  # an estimate is made when the residual is below so many times the tolerance
STRIDE = 0.5  # and again when it has fallen by this factor
GONE_BY = 4.0  # as a last share of the steps taken so far: how long a run is watched


class Goal:
    """Asked after checks: a reason to stop, or None. `met` estimates the error and says whether it is small enough."""

    def __init__(self, tol: float, met: Callable[[Any], bool], *, watch_floor: bool = True) -> None:
        self.tol, self.met, self.watch_floor = tol, met, watch_floor

    def __call__(self, run: Any) -> str | None:
        if not is_check(run.history.count):
            return None
        if self._is_due(run.history.blocks) and self.met(run):
            return "tolerance reached"
        return "its floor is in sight" if self.watch_floor and floor_in_sight(run) else None

    def _is_due(self, blocks: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the last check is one after which the error is estimated.

        All checks are gone through again, so that a run that was interrupted is asked where it would have been.
        """
        asked, due = np.inf, False
        for block in blocks:
            if is_check(block["step"]):
                residual = np.sqrt(2 * block["validation_loss"])
                due = residual <= NEAR * self.tol and residual <= STRIDE * asked
                asked = residual if due else asked
        return bool(due)


def floor_in_sight(run: Any) -> bool:
    """Whether the loss has fallen by little over the last quarter of the steps."""
    losses, moved = run.history.steps["loss"], run.history.moved_at
    window = max(WINDOW, int(len(losses) / GONE_BY))
    if len(losses) - moved < max(FIRST, window + 1):
        return False
    return bool(losses[-1] > LEAST * losses[-1 - window])
