"""When a climb with noisy data is at its end: where networks fit the data as well as the noise lets them.

Larger networks cannot lower such a residual, and the tolerance is not what ends a climb. A rung counts as a fit if its
equations are satisfied far better than its data, and what is left of the data is their noise: because it is as large as
the noise that was given, or because another rung comes to the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from anagram.statement.noise import first_levels, tightness
from anagram.statement.problem import Problem

SMALL, WITH_PRIOR = 0.1, 0.3  # of the loss of the data: that of equations which are satisfied; a first prior bends them
GIVEN = 1.3  # times the square of the noise that was given
ALIKE = 1.1  # losses of the data of two rungs that come to the same

Losses = Mapping[str, float]


def is_noise(problem: Problem, losses: Sequence[Losses]) -> bool:
    """Whether the losses of rungs, by condition, say that only noise is left."""
    found = sorted(_of_data(problem, entry) for entry in losses if _is_fit(problem, entry))
    if not found:
        return False
    expected = _expected(problem)
    if expected is not None:
        return found[0] <= GIVEN * expected
    return len(found) > 1 and found[1] <= ALIKE * found[0]


def good_enough(problem: Problem, losses: Sequence[Losses], sizes: Sequence[int]) -> int | None:
    """The place of the smallest rung that fits the data as well as any; None if none does."""
    fits = [k for k, entry in enumerate(losses) if _is_fit(problem, entry)]
    if not fits:
        return None
    least = min(_of_data(problem, losses[k]) for k in fits)
    return min((k for k in fits if _of_data(problem, losses[k]) <= ALIKE * least), key=lambda k: sizes[k])


def _of_data(problem: Problem, losses: Losses) -> float:
    return sum(losses[key] for key in problem.measured)


def _is_fit(problem: Problem, losses: Losses) -> bool:
    rest = sum(loss for key, loss in losses.items() if key not in (*problem.measured, *problem.priors))
    return bool(np.isfinite(rest)) and rest <= (WITH_PRIOR if problem.priors else SMALL) * _of_data(problem, losses)


def _expected(problem: Problem) -> float | None:
    """The loss of data at their noise; None where it is not known, or there may be outliers."""
    conditions = [problem.conditions[key] for key in problem.measured]
    if any(isinstance(c.noise, str) or c.robust is not None for c in conditions):
        return None
    levels = first_levels(problem)
    return 0.5 * tightness(problem, levels) ** 2 * sum(sigma.size for sigma in levels.values())
