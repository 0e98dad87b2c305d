"""Where a stretch ends, and the next one begins: values of the last solution, with their estimated errors."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anagram.compound.reuse import quick_jit, reuse, traced_text
from anagram.solution import Solution
from anagram.statement.condition import OnPoints
from anagram.statement.stretches import State

CHUNK = 1024  # points of a face that are evaluated at once


class Ending:
    """The unknowns of a solution with their derivatives along an axis, at the end of it.

    Args:
        solution: the solution of a stretch; everything follows from its parameters.
        axis: the axis that the stretch is cut along.
        orders: by unknown, how many of them are needed: the value and the derivatives below this order.
        direction: by how much its parameters are wrong, as estimated.
    """

    def __init__(self, solution: Solution, axis: str, orders: dict[str, int], direction: np.ndarray) -> None:
        self.axis, self.orders, self.domain = axis, orders, solution.domain
        self._chunk = CHUNK if self.domain.dimension > 1 else 1
        model, frame = solution.model, self.domain.frame

        def values(units: Any, theta: Any, point: Any) -> dict[str, list[Any]]:
            fields = model.placed(units).quantities(theta, frame)
            return {
                name: [(fields[name].d(*[axis] * m) if m else fields[name]).at(point) for m in range(count)]
                for name, count in orders.items()
            }

        def both(units: Any, theta: Any, direction: Any, points: Any) -> Any:
            return jax.vmap(lambda x: jax.jvp(lambda t: values(units, t, x), (theta,), (direction,)))(points)

        arguments = (model.placement, jnp.asarray(solution.theta), jnp.asarray(direction))
        points = np.zeros((self._chunk, self.domain.dimension))
        program = reuse(f"state {traced_text(both, *arguments, points)}", lambda: quick_jit(both))
        self._program = functools.partial(program, *arguments)

    def state(self, *, corrected: bool = False) -> State:
        """What the next stretch begins with: numbers on a line, functions of the point elsewhere.

        Those that are corrected are without the estimated error.
        """
        source = self._number if self.domain.dimension == 1 else self._function
        return {
            name: tuple(source(name, m, corrected) for m in range(count))
            for name, count in self.orders.items()
            if count
        }

    def _number(self, name: str, order: int, corrected: bool) -> Any:
        end = np.array([[self.domain.intervals[self.axis][1]]])
        return self._values(name, order, corrected, end)[0].item()

    def _function(self, name: str, order: int, corrected: bool) -> OnPoints:
        return OnPoints(functools.partial(self._values, name, order, corrected))

    def _values(self, name: str, order: int, corrected: bool, x: np.ndarray) -> np.ndarray:
        """At points (n, d), in chunks of one size: the last one is filled with copies of a point."""
        count, chunk = len(x), self._chunk
        filled = np.concatenate([x, np.repeat(x[-1:], -count % chunk, axis=0)])
        parts = []
        for start in range(0, len(filled), chunk):
            here, change = self._program(filled[start : start + chunk])
            value = np.asarray(here[name][order])
            parts.append(value - np.asarray(change[name][order]) if corrected else value)
        return np.concatenate(parts)[:count]
