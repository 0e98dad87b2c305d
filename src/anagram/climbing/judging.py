"""How good a rung is: the estimate of its tangent space, and what other rungs say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from anagram.compound.batch import Batch
from anagram.errors import AnagramError
from anagram.solution import Solution
from anagram.statement.problem import Problem
from anagram.tangent.estimate import (
    ESTIMATE_AT_MOST,
    LARGE,
    NOT_DETERMINED,
    ErrorEstimate,
    Estimator,
    too_far_to_linearise,
)
from anagram.training.adaptive import AdaptivePoints
from anagram.training.goal import NEAR
from anagram.training.memory import is_for_memory
from anagram.training.rungs import Bends, Plan, inside_points, node_shares
from anagram.training.trainer import Trainer

SAFETY = 2.0  # times what the comparison of two rungs says
NEAREST = 2  # rungs that a rung is compared with: the largest error counts
FELL = 4.0  # times as large as the loss here must be that of a rung that is compared with
ROUNDING = 4 * float(np.finfo(float).eps)  # of its values: no error is smaller, however well two rungs agree
NOTHING = 0.1  # residuals, in natural sizes, with which nothing is solved and nothing can be estimated

Values = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Judgement:
    """An estimated relative error, the largest among unknowns and coefficients, and whether it can be relied on."""

    value: float
    trusted: bool
    reasons: tuple[str, ...]
    estimate: ErrorEstimate | None = None


class Seen(NamedTuple):
    """What is known of a rung where others are compared with it: values on the points of comparison, loss, and kind."""

    values: Values
    validation_loss: float
    kind: str = ""


@dataclass(frozen=True)
class Asked:
    """What rungs are judged by: the problem in natural sizes, the error aimed at, sizes that count as zero."""

    problem: Problem
    goal: float
    seed: int
    least: Mapping[str, float]
    bends: Bends | None = None

    def too_far(self, value: float) -> bool:
        """Whether an error is too large to be told from a linearised equation."""
        return too_far_to_linearise(value, linear=self.problem.is_linear)


class RungJudge:
    """Judges one rung, while it is trained and afterwards; its programs are compiled when they are needed.

    `second_look` makes a judgement of a solution and its estimate; without an estimate it compares with other rungs.
    """

    def __init__(
        self, asked: Asked, plan: Plan, second_look: Callable[[Solution, ErrorEstimate | None], Judgement | None]
    ) -> None:
        self.asked, self.plan, self.second_look = asked, plan, second_look
        self.run: Trainer | None = None
        self._estimator: Estimator | None = None
        self._last: tuple[np.ndarray, Judgement] | None = None

    def watch(self, run: Trainer) -> None:
        """Remember the run that is judged; cells that have moved since are other points."""
        self.run = run
        if self.plan.cells:
            self._estimator = self._last = None

    def met(self, run: Trainer) -> bool:
        """Whether the estimated error of a run is small enough now."""
        self.watch(run)
        solution = Solution(run.problem, run.model, np.asarray(run.state.theta), run.history, {})
        solution.summary = {"validation_loss": run.record["validation_loss"]}
        judgement = self._judged(solution)
        return judgement.trusted and judgement.value <= self.asked.goal

    def of(self, solution: Solution, *, always: bool = False) -> Judgement | None:
        """The judgement of a solution; None where its residual says that the tolerance is far away.

        A model that is its own tangent space has a residual outside of it: such rungs are compared with each other.
        """
        if self.plan.features:
            found = self.second_look(solution, None)
            if found is not None or not always:
                return found
        near = np.sqrt(2 * solution.validation_loss) <= NEAR * self.asked.goal
        return self._judged(solution) if near or always else None

    def undetermined(self, solution: Solution) -> tuple[str, ...]:
        """Why the conditions do not determine the solution; nothing if they do."""
        return self._made(solution).undetermined(solution.theta)

    def _in_cells(self) -> tuple[Batch, Batch]:
        """Fresh points in cells, where there are some: elsewhere a bump is not seen."""
        cells = [moving for moving in getattr(self.run, "moving", ()) if isinstance(moving, AdaptivePoints)]
        one, two = ({key: part for c in cells for key, part in c.others(extra).items()} for extra in (1, 2))
        return one, two

    def _judged(self, solution: Solution) -> Judgement:
        """A run ends with the parameters that were found good enough: these are not judged again."""
        if self._last is None or not np.array_equal(self._last[0], solution.theta):
            self._last = (solution.theta, self._judged_now(solution))
        return self._last[1]

    def _judged_now(self, solution: Solution) -> Judgement:
        if solution.model.parameters > ESTIMATE_AT_MOST:
            return Judgement(float("inf"), False, (LARGE,))
        try:
            found = self._made(solution)(jnp.asarray(solution.theta))
        except AnagramError as error:
            return Judgement(float("inf"), False, (str(error),))
        except (MemoryError, jax.errors.JaxRuntimeError) as error:
            if not is_for_memory(error):
                raise
            return Judgement(float("inf"), False, ("there is not enough memory to estimate the error",))
        judgement = self.second_look(solution, found)
        assert judgement is not None
        return judgement

    def _made(self, solution: Solution) -> Estimator:
        if self._estimator is None:
            asked = self.asked
            # As many fresh points as the rung is trained on, so that what hides between them is seen.
            points = inside_points(self.plan, asked.problem, solution.model.parameters)
            spread = {
                "shares": node_shares(self.plan, asked.problem),
                "bends": asked.bends if self.plan.waves else None,
            }
            self._estimator = Estimator(
                asked.problem, solution.model, points, asked.seed, self._in_cells(), asked.least, **spread
            )
        return self._estimator


def judged(asked: Asked, here: Seen, others: Sequence[Seen], found: ErrorEstimate) -> Judgement:
    """The estimate of the tangent space; where it cannot be relied on, what another rung says.

    A solution at its floor has a residual that lies outside of its tangent space, which therefore says nothing of
    its error.
    """
    if found.reliable:
        return Judgement(found.worst, True, (), found)
    if are_undetermined(found.reasons):  # rungs may agree on one of many solutions
        return Judgement(found.worst, False, found.reasons, found)
    if np.sqrt(2 * here.validation_loss) > NOTHING:
        return Judgement(float("inf"), False, ("the residual is as large as the equation itself",))
    errors = compared(asked, here, others)
    if errors is None:
        return Judgement(found.worst, False, found.reasons, found)
    value = max(found.worst, *errors.values())
    trusted = not asked.too_far(value)
    return Judgement(value, trusted, () if trusted else found.reasons, found)


def are_undetermined(reasons: Sequence[str]) -> bool:
    """Whether reasons against an estimate say that the problem is not one with a single solution."""
    return any(reason.startswith(NOT_DETERMINED) for reason in reasons)


def judged_by_others(asked: Asked, here: Seen, others: Sequence[Seen], parameters: int) -> Judgement | None:
    """What other rungs alone say of the error; None if there is none to compare with."""
    if np.sqrt(2 * here.validation_loss) > NOTHING:
        return Judgement(float("inf"), False, ("the residual is as large as the equation itself",))
    errors = compared(asked, here, others)
    if errors is None:
        return None
    value, unknowns = max(errors.values()), [u.name for u in asked.problem.unknowns]
    sizes = {name: rms(here.values[name]) for name in unknowns}
    absolute = float(np.sqrt(sum((errors[name] * sizes[name]) ** 2 for name in unknowns)))
    whole = float(np.sqrt(sum(size**2 for size in sizes.values())))
    reasons = (f"the equation is not linear, and {100 * value:.0f} % is too much",) if asked.too_far(value) else ()
    estimate = ErrorEstimate(
        value=absolute,
        relative=absolute / whole if whole > 0 else float("nan"),
        seen=absolute,
        disagreement=0.0,
        unseen=0.0,
        worst=value,
        coefficients={k: errors[k] * float(np.abs(here.values[k][0])) for k in asked.problem.sought.coefficients},
        reasons=reasons,
        direction=np.zeros(parameters),
    )
    return Judgement(value, not reasons, reasons, estimate)


def compared(asked: Asked, here: Seen, others: Sequence[Seen]) -> dict[str, float] | None:
    """Relative errors by unknown and coefficient, from the distance to another rung; None if there is no other.

    The distance to a rung with a larger loss is the error of that one, up to the own error; errors are taken to fall
    as residuals do. The distance to a rung with a smaller loss, or with the same, is the own error; it counts only
    where the residual itself is as small as the error that is aimed at.
    """
    loss = here.validation_loss
    # Where nothing is solved nothing can be told: the distance to it, and how residuals fall, say nothing.
    solved = [o for o in others if np.sqrt(2 * o.validation_loss) <= NOTHING]
    known = sorted(solved, key=lambda o: o.validation_loss)
    # A loss may be zero: that of a solution which is.
    worse = [o for o in known if o.validation_loss >= FELL * max(loss, 1e-300)]
    # What an error is beside a residual differs between kinds of models.
    alike = [o for o in worse if o.kind == here.kind]
    worse = (alike if len(alike) >= NEAREST else worse)[:NEAREST]
    # A rung may have begun with the solution of another one and stayed there: their agreement says little then.
    if not known or (not worse and np.sqrt(2 * loss) > asked.goal):
        return None
    factors = [SAFETY * fell / (1 - fell) for fell in (np.sqrt(loss / o.validation_loss) for o in worse)]
    pairs = list(zip(worse, factors, strict=True)) or [(known[-1], SAFETY)]
    return {
        k: max(ROUNDING * rms(v), *(factor * rms(v - o.values[k]) for o, factor in pairs))
        / max(rms(v), asked.least.get(k, 0.0), 1e-300)
        for k, v in here.values.items()
    }


def rms(values: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.abs(values) ** 2)))
