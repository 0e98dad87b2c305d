"""How errors grow along a march: a small change of a solution is carried along, stretch after stretch.

Features are their own tangent space, which therefore says nothing of the error that a stretch began with. A change of
the beginning is another matter: one step of least squares says what becomes of it. The first change is the difference
of two rungs; from then on it is what this has become, made small again. Errors grow as it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anagram.climbing.endings import Ending
from anagram.climbing.judging import rms
from anagram.errors import AnagramError
from anagram.statement.stretches import State
from anagram.tangent.estimate import Estimator

if TYPE_CHECKING:
    from anagram.climbing.climb import Climb

SMALL = 1e-3  # relative: how large a change is made before it is carried on
NOISE = 1e-12  # relative: smaller changes are rounding


class Growth:
    """The change that is carried along: what a stretch begins with when it is added, and how large it was before."""

    def __init__(self, axis: str, orders: dict[str, int]) -> None:
        self.axis, self.orders = axis, orders
        self.state: State | None = None
        self.size = 0.0

    def over(self, estimator: Estimator | None, climb: Climb) -> float:
        """By which factor the change grew over a stretch; 1 where it is not known. It is carried to its end."""
        solution, is_wide = climb.solutions[climb.best], climb.rungs[climb.best].plan.features > 0
        if self.state is None or estimator is None or not is_wide:
            self._begin(climb, is_wide=is_wide)
            return 1.0
        try:
            size, change = estimator.projected(solution.theta)
        except AnagramError:
            size, change = np.nan, np.zeros_like(solution.theta)
        if not np.isfinite(size) or size <= NOISE:
            self._begin(climb, is_wide=is_wide)
            return 1.0
        factor = size / self.size
        self.size = SMALL
        ending = Ending(solution, self.axis, self.orders, -SMALL / size * change)
        self.state = ending.state(corrected=True)
        return factor

    def _begin(self, climb: Climb, *, is_wide: bool) -> None:
        """The difference of two rungs of features; nothing where there are not two."""
        self.state = None
        others = [k for k, r in enumerate(climb.rungs) if r.plan.features and k != climb.best]
        if not is_wide or not others:
            return
        place = min(others, key=lambda k: climb.rungs[k].outcome.residual)
        here, there, other = climb.values[climb.best], climb.values[place], climb.solutions[place]
        sizes = {k: max(rms(v), climb.least.get(k, 0.0), 1e-300) for k, v in here.items()}
        self.size = max(rms(v - there[k]) / sizes[k] for k, v in here.items())
        if self.size > NOISE:
            self.state = Ending(other, self.axis, self.orders, np.zeros_like(other.theta)).state()
