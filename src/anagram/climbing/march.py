"""Evolutions over long times: stretch after stretch, each by a climb of its own, joined to one solution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from anagram.climbing.climb import BY_MONITOR, INTERRUPTED, NO_LARGER, REACHED, TIME_UP, Climb, TrainRung
from anagram.climbing.judging import rms
from anagram.compound.reuse import quick_jit, reuse, traced_text
from anagram.models import ParametricModel, Pieces
from anagram.solution import Solution
from anagram.statement.problem import Problem
from anagram.statement.sizes import in_natural_sizes
from anagram.statement.stretches import State, orders, stretch
from anagram.tangent.estimate import ErrorEstimate, Estimator
from anagram.training.ladder import LOST, RACE, best
from anagram.training.rungs import Plan, Rung
from anagram.training.setting import Setting

FIRST = 0.25  # of the whole is tried first
SHORTEST = 1 / 4096
LONGER = 1.6
SLIVER = 1.2  # times a stretch: what is left after it is not left alone
LOCAL = 0.05  # of the tolerance is left to a stretch: errors add up, and grow


def _shorten(rungs: Sequence[Rung], plan: Plan) -> bool:
    """Whether a shorter stretch is worth more than another network: it is, unless small ones come near."""
    if plan.features:
        return False
    return plan.level > RACE or (bool(rungs) and best(rungs).outcome.residual > LOST)


class March:
    """A march along an axis: the stretches that are done, with their solutions and the errors at their ends."""

    def __init__(
        self,
        problem: Problem,
        axis: str,
        tol: float,
        seed: int,
        train: TrainRung,
        seconds: float | None,
        given: Setting | None = None,
    ) -> None:
        self.given = given or Setting()
        self.problem, self.axis, self.tol, self.seed, self.train = problem, axis, tol, seed, train
        self.seconds = seconds
        self.low, self.high = problem.domain.intervals[axis]
        self.edges = [self.low]
        self.solutions: list[Solution] = []
        self.rungs: list[Rung] = []
        self.errors: list[ErrorEstimate] = []

    @property
    def spent(self) -> float:
        """Seconds of training so far."""
        return sum(r.outcome.seconds for r in self.rungs)

    def run(self, tell: Callable[[Rung], None] = lambda _: None) -> str:
        """March to the end, or as far as it goes; says why it stopped."""
        length, least = FIRST * (self.high - self.low), {}
        state = corrected = None
        while self.edges[-1] < self.high:
            begin = self.edges[-1]
            end = self.high if begin + SLIVER * length >= self.high else begin + length
            left = None if self.seconds is None else self.seconds - self.spent
            if left is not None and left <= 0:
                return TIME_UP
            problem = stretch(self.problem, self.axis, begin, end, state)
            climb = Climb(
                problem, LOCAL * self.tol, self.seed, self.train, left, self.given, least=least, give_up=_shorten
            )
            why = climb.run(tell)
            self.rungs += climb.rungs
            if why in (INTERRUPTED, BY_MONITOR, TIME_UP):
                return why
            if why != REACHED:
                length /= 2
                if length < SHORTEST * (self.high - self.low):
                    return NO_LARGER
                continue
            solution = climb.solutions[climb.best]
            self.solutions.append(solution)
            self.edges.append(end)
            # The error that came with the beginning is carried on: this stretch is measured against a corrected one.
            against = problem if corrected is None else stretch(self.problem, self.axis, begin, end, corrected)
            scaled = in_natural_sizes(against, climb.sizes)
            found = Estimator(scaled, solution.model, None, self.seed, least=climb.least)(solution.theta)
            self.errors.append(found)
            values = climb.values[climb.best]
            least = {k: max(least.get(k, 0.0), rms(v)) for k, v in values.items()}
            state, change = self._state(solution, end, found.direction)
            corrected = {k: tuple(v - e for v, e in zip(state[k], change[k], strict=True)) for k in state}
            if len(climb.rungs) == 1:
                length *= LONGER
        return REACHED

    @property
    def worst(self) -> float:
        """The largest relative error of a stretch, with what it inherited."""
        return max((error.worst for error in self.errors), default=float("inf"))

    def _state(self, solution: Solution, at: float, direction: np.ndarray) -> tuple[State, State]:
        """The unknowns with their derivatives at an end, and their estimated errors."""
        model, frame = solution.model, solution.domain.frame
        order = orders(self.problem)

        def values(units: Any, theta: Any, point: Any) -> dict[str, list[Any]]:
            fields = model.placed(units).quantities(theta, frame)
            return {
                name: [(fields[name].d(*[self.axis] * m) if m else fields[name]).at(point) for m in range(count)]
                for name, count in order.items()
            }

        def both(units: Any, theta: Any, direction: Any, point: Any) -> Any:
            return jax.jvp(lambda t: values(units, t, point), (theta,), (direction,))

        arguments = (model.placement, jnp.asarray(solution.theta), jnp.asarray(direction), jnp.asarray([at]))
        program = reuse(f"state {traced_text(both, *arguments)}", lambda: quick_jit(both))
        here, change = program(*arguments)
        plain = lambda tree: {k: tuple(np.asarray(v).item() for v in vs) for k, vs in tree.items()}  # noqa: E731
        return plain(here), plain(change)

    def joined(self) -> tuple[ParametricModel, np.ndarray]:
        """All stretches as one model with its parameters."""
        specs: list[Any] = [s.model.spec for s in self.solutions]
        spec = Pieces(*specs, axis=self.axis, edges=self.edges)
        sought = self.problem.sought
        model = ParametricModel(sought, spec, 0)
        modules = [s.model._module(jnp.asarray(s.theta)) for s in self.solutions]
        whole = eqx.tree_at(lambda m: m.parts, model.module, modules)
        return model, np.asarray(model.parameters_of(whole))
