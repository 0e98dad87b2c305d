"""How much the rows of an equation count near corners at which solutions are not smooth.

At a corner u ≈ r^λ, and its derivatives of the order m grow like r^{λ − m}: their squares have no integral. Times
r^{m − 1} equations count the same at all distances, decade by decade.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from anagram.statement.sizes import unknowns_in

if TYPE_CHECKING:
    from anagram.statement.problem import Problem


def corner_weights(
    problem: Problem, condition: str, x: Float[np.ndarray, "points axes"]
) -> Float[np.ndarray, " points"]:
    """(r/L)^{2(m − 1)} with the distance r to the nearest of the corners and the highest order m; one on boundaries."""
    if not problem.corners or condition not in problem.inside:
        return np.ones(len(x))
    columns = [problem.domain.axes.index(axis) for axis in problem.domain.plane]
    read = [u.index for node in problem.expressions[condition] for u in unknowns_in(node)]
    order = max((sum(index[k] for k in columns) for index in read), default=0)
    away = np.linalg.norm(x[:, None, columns] - np.array(problem.corners), axis=-1).min(axis=1)
    return (away / float(np.max(problem.domain.lengths[columns]))) ** (2 * max(0, order - 1))
