"""When a run is looked at and when it stops.

Runs must repeat to the last bit, also when they are interrupted and go on, so what decides about a run may not depend
on the clock: rules that look at the numbers are asked after steps known beforehand (`is_check`). How many steps
are taken between two looks at the clock or the keyboard changes nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from anagram.errors import SettingError

BLOCK = 64  # steps at most between two looks at the run
BLOCK_SECONDS = 0.4
CHECKS = 8  # for each doubling of the number of steps


@dataclass(frozen=True)
class Budget:
    """When to stop.

    `tol` is the relative error that is aimed at, 0 for as small as it gets; see `anagram.climbing`. A run is stagnant
    when the loss fell by less than the fraction `least_progress` in the last `patience` steps. With `early_stopping`
    it also ends when the loss on fresh points has had no new minimum for so many steps.
    """

    steps: int
    seconds: float | None = None
    tol: float | None = None
    patience: int = 100
    least_progress: float = 1e-9
    early_stopping: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int | np.integer) or self.steps < 0:
            raise SettingError(f"steps must be a whole number that is not negative, not {self.steps!r}")
        seconds, tol = self.seconds, self.tol
        if seconds is not None and (not _is_number(seconds) or not 0 < seconds < np.inf):
            raise SettingError(f"seconds must be a positive number, not {seconds!r}")
        if tol is not None and (not _is_number(tol) or not 0 <= tol < 1):
            raise SettingError(f"tol is a relative error, from 0 (rounding) to below 1, not {tol!r}")
        for name in ("patience", "early_stopping"):
            value = getattr(self, name)
            if name == "early_stopping" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise SettingError(f"{name} must be a whole number of steps, at least one, not {value!r}")

        least = self.least_progress
        if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least < 1:
            raise SettingError(f"least_progress must be a number from 0 to below 1, not {least!r}")

    def as_json(self) -> dict[str, Any]:
        """Its values by name."""
        return asdict(self) | {"steps": int(self.steps)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def check_spacing(step: int) -> int:
    """How many steps lie between two checks: a power of two, about an eighth of the steps taken so far."""
    return min(BLOCK, 1 << max(0, (step // CHECKS).bit_length() - 1))


def is_check(step: int) -> bool:
    """Whether the stopping rules are asked after this step."""
    return step % check_spacing(step) == 0


def steps_to_check(step: int) -> int:
    """Steps until the next check."""
    spacing = check_spacing(step)
    return spacing - step % spacing


def block_length(budget: Budget, done: int, seconds: float, pace: float | None, look_every: float | None) -> int:
    """How many steps to take before the next look."""
    if pace is None:
        return min(budget.steps - done, 1)
    length = max(1, min(steps_to_check(done), int((look_every or BLOCK_SECONDS) / max(pace, 1e-9))))
    if budget.seconds is not None:
        length = max(1, min(length, int((budget.seconds - seconds) / max(pace, 1e-9))))
    return min(budget.steps - done, length)
