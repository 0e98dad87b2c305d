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
DOUBT_AFTER = 56  # steps, when the residual is far above the tolerance still
STRIDE = 0.5  # and again when it has fallen by this factor
QUARTER = 4  # the loss is compared with what it was before the last quarter of the steps


class Goal:
    """Asked after checks: a reason to stop, or None.

    `met` estimates the error and says whether it is small enough; `doubt` is called once if it does not look as if it
    would ever be. The floor is looked for after `first_look` steps; without these the run stops by rules of its own.
    """

    def __init__(
        self,
        tol: float,
        met: Callable[[Any], bool],
        doubt: Callable[[Any], None] = lambda _: None,
        first_look: int | None = FIRST,
    ) -> None:
        self.tol, self.met, self.doubt, self.first_look = tol, met, doubt, first_look
        self._doubted = False
        self.run: Any = None  # the one that was looked at last

    def __call__(self, run: Any) -> str | None:
        self.run = run
        if not is_check(run.history.count):
            return None
        if self._is_due(run.history.blocks) and self.met(run):
            return "tolerance reached"
        if not self._doubted and run.history.count >= DOUBT_AFTER:
            if np.sqrt(2 * run.record["validation_loss"]) > NEAR * self.tol:
                self.doubt(run)
            self._doubted = True
        seen = self.first_look is not None and floor_in_sight(run, self.first_look)
        return "its floor is in sight" if seen else None

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


def floor_in_sight(run: Any, first: int = FIRST) -> bool:
    """Whether the loss has fallen by little over the last quarter of the steps."""
    losses, moved = run.history.steps["loss"], run.history.moved_at
    window = max(WINDOW, len(losses) // QUARTER)
    if len(losses) - moved < max(first, window + 1):
        return False
    return bool(losses[-1] > LEAST * losses[-1 - window])
