"""Climbing: one network after the other, each larger than the last, until the estimated error is below the tolerance.

Which network comes next is said by `anagram.training.ladder`. Here rungs are trained, their errors estimated and
compared. A rung is trained by a function that is handed in, so that a climb that was interrupted is done again from
the rungs it has: they are read and not trained, and all decisions are taken as before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np

from anagram.compound.batch import Batch
from anagram.errors import AnagramError
from anagram.models import MLP, count_parameters
from anagram.solution import Solution
from anagram.statement.detail import Detail, detail_of
from anagram.statement.domains import Kronecker, PointSet
from anagram.statement.problem import Problem
from anagram.statement.sizes import Sizes, in_natural_sizes, natural_sizes
from anagram.tangent.estimate import NOT_DETERMINED, ErrorEstimate, Estimator, too_far_to_linearise
from anagram.training.adaptive import AdaptivePoints
from anagram.training.budget import Budget
from anagram.training.configuration import model_to_json
from anagram.training.defaults import complete
from anagram.training.goal import FIRST, NEAR, Goal
from anagram.training.ladder import LOST, RACE, Facts, next_plan
from anagram.training.rungs import Outcome, Plan, Rung, inside_points, rung_from_json, rung_points
from anagram.training.setting import Setting
from anagram.training.trainer import Trainer

STEPS = 500  # of a rung at most
MANY_DIGITS = 1e-8  # tolerances below ask for the last digits of a network
POINTS = 1024  # on which the solutions of two rungs are compared
NOTHING = 0.1  # residuals, in natural sizes, with which nothing is solved and nothing can be estimated
ZERO = 1e-8  # of its natural size: an unknown that is smaller is taken to be zero
SAFETY = 2.0  # times what the comparison of two rungs says
FELL = 4.0  # times as large as the loss here must be that of a rung that is compared with
MOST_PARAMETERS = 1100
LATER = 120  # steps of larger networks before their floor is looked for
MOVING = 80  # steps more where points move: such networks are slow to set out
WORTH = 0.3  # of its predicted time must be left for a rung to begin
WHOLE = 200  # steps that a rung takes, about, when its time is predicted

REACHED, INTERRUPTED, TIME_UP = "tolerance reached", "interrupted", "time used up"
BY_MONITOR = "stopped by a monitor"
ROUNDED = "converged: what is left is rounding"
UNDETERMINED = "the conditions do not determine the solution"
NO_LARGER, GAVE_UP = "no larger network helps", "one network does not get hold of the solution"


class TrainRung(Protocol):
    """Trains a rung; or reads it, with its outcome, if that was done before."""

    def __call__(
        self, problem: Problem, setting: Setting, budget: Budget, goal: Callable[[Trainer], str | None] | None
    ) -> Solution:
        """The solution of the rung; its summary has the outcome if it is known."""
        ...

    def prepare(self, problem: Problem, setting: Setting) -> None:
        """Compile what a rung will need, aside; it may never come to it."""
        ...


def is_one_rung(given: Setting) -> bool:
    """Whether a setting leaves nothing to choose: it has a model, or a method of its own."""
    return given.model is not None or given.method != "auto"


@dataclass(frozen=True)
class Judgement:
    """An estimated relative error, the largest among unknowns and coefficients, and whether it can be relied on."""

    value: float
    trusted: bool
    reasons: tuple[str, ...]
    estimate: ErrorEstimate | None = None


class Climb:
    """A climb: its problem in natural sizes, the rungs so far, and their solutions.

    `give_up` is asked before every rung whether to leave the problem to someone else. `least` has sizes of unknowns
    below which errors are not relative to them: those of a whole of which this is a part.
    """

    def __init__(
        self,
        problem: Problem,
        tol: float,
        seed: int,
        train: TrainRung,
        seconds: float | None = None,
        given: Setting | None = None,
        most_parameters: int = MOST_PARAMETERS,
        least: Mapping[str, float] | None = None,
        give_up: Callable[[Sequence[Rung], Plan], bool] = lambda *_: False,
    ) -> None:
        self.give_up = give_up
        self.problem, self.tol, self.seed, self.train, self.seconds = problem, tol, seed, train, seconds
        self.given = given or Setting()
        self.sizes: Sizes = natural_sizes(problem)
        sizes = iter(self.sizes.size)
        # The error of an unknown that is zero is not relative to it.
        zero = {u.name: ZERO * max(next(sizes) for _ in range(u.components)) for u in problem.unknowns}
        self.least = {name: max(size, (least or {}).get(name, 0.0)) for name, size in zero.items()}
        self.scaled = in_natural_sizes(problem, self.sizes) if self.given.method == "auto" else problem
        has_data = any(isinstance(problem.region(key), PointSet) for key in problem.conditions)
        fixed = self.given.points is not None
        detail = Detail() if is_one_rung(self.given) else detail_of(problem, self.sizes)
        self.facts = Facts(problem.domain.dimension, problem.is_linear, has_data, tol, most_parameters, fixed, detail)
        regions = problem.sought.by_region
        self.points = [
            (region.draw(Kronecker(POINTS), np.random.default_rng(0)).x, unknowns) for region, unknowns in regions
        ]
        self.rungs: list[Rung] = []
        self.solutions: list[Solution] = []
        self.values: list[dict[str, np.ndarray]] = []
        self.judgements: list[Judgement | None] = []

    # -- the way up -----------------------------------------------------------------------------------
    def run(self, tell: Callable[[Rung], None] = lambda _: None) -> str:
        """Climb until the tolerance is met or something else ends it; says what."""
        while True:
            plan = self._next()
            if plan is None:
                return NO_LARGER if not is_one_rung(self.given) else self.solutions[-1].stopped_because
            left = None if self.seconds is None else self.seconds - self.spent
            if left is not None and self.rungs and left <= max(0.0, WORTH * self._predicted(plan)):
                return TIME_UP
            if self.give_up(self.rungs, plan):
                return GAVE_UP
            rung = self._climb(plan, left)
            tell(rung)
            if self.reached(rung):
                return REACHED if (rung.outcome.estimate or 0.0) <= self.tol else ROUNDED
            if _undetermined(rung):
                return UNDETERMINED
            if rung.outcome.stopped_because in (INTERRUPTED, BY_MONITOR):
                return rung.outcome.stopped_because

    @property
    def spent(self) -> float:
        """Seconds of training so far."""
        return sum(r.outcome.seconds for r in self.rungs)

    @property
    def best(self) -> int:
        """The place of the best rung: one that met the tolerance, or else that with the smallest expected error."""
        met = [k for k, r in enumerate(self.rungs) if self.reached(r)]
        return met[-1] if met else int(np.argmin(expected_errors(self.rungs)))

    def reached(self, rung: Rung) -> bool:
        """Whether the estimated error of a rung is below the tolerance, and can be relied on."""
        outcome = rung.outcome
        return outcome.estimate is not None and outcome.trusted and outcome.estimate <= self.facts.goal

    def _next(self) -> Plan | None:
        if is_one_rung(self.given):
            return None if self.rungs else Plan(0)
        return next_plan(self.facts, self.rungs)

    def _predicted(self, plan: Plan) -> float:
        """Seconds that a rung will take, from the pace of the last one."""
        last = self.rungs[-1]
        pace = last.outcome.seconds / max(1, last.outcome.steps)
        size = count_parameters(self._model(plan), self.problem.sought) or last.outcome.parameters
        return pace * WHOLE * (size / last.outcome.parameters) ** 2 * plan.density / last.plan.density

    def _model(self, plan: Plan) -> Any:
        given = self.given.model
        if given is None and self.given.method == "auto":
            return plan.model(self.problem, self.sizes)
        if self.given.method == "auto" and isinstance(given, MLP) and given.offset == (0.0,) and given.size == (1.0,):
            # A network that was given is used between the units of the problem.
            return MLP.from_options({**given.options(), "offset": self.sizes.offset, "size": self.sizes.size})
        return given

    def setting(self, plan: Plan) -> Setting:
        """The setting of a rung."""
        model, given = self._model(plan), self.given
        if is_one_rung(given):
            return complete(replace(given, model=model), self.problem)
        parameters = count_parameters(model, self.problem.sought) or 0
        points = rung_points(plan, self.problem, parameters) if given.points is None else given.points
        options = {"ratio": plan.ratio, "sketch": 0, "restarts": 0, **_precision(self.facts, plan), **given.options}
        return Setting(model, "auto", options, points, given.steps or STEPS)

    def _climb(self, plan: Plan, left: float | None) -> Rung:
        started = time.perf_counter()
        setting = self.setting(plan)
        judge = _Judge(self, plan)
        goal = Goal(self.facts.goal, judge.met, lambda run: self._prepare(plan, run), self._first_look(plan))
        solution = self.train(self.scaled, setting, Budget(setting.steps or STEPS, left), goal)
        if goal.run is not None:
            judge.watch(goal.run)
        known = solution.summary.get("rung")
        if known is not None:
            rung, judgement = rung_from_json(known), None
        else:
            judgement = judge.of(solution)
            rung = Rung(plan, self._outcome(solution, judgement, started), model_to_json(setting.model))
            solution.summary["rung"] = rung.as_json()
        self.rungs.append(rung)
        self.solutions.append(solution)
        self.values.append(self.fields(solution))
        self.judgements.append(judgement)
        return rung

    def _first_look(self, plan: Plan) -> int | None:
        """After how many steps the floor of a rung is looked for; never where there is no other rung."""
        if is_one_rung(self.given):
            return None
        return (FIRST if plan.level <= RACE else LATER) + (MOVING if plan.cells else 0)

    def _prepare(self, plan: Plan, run: Trainer) -> None:
        """It looks as if this rung would not do: compile the next one while it is trained."""
        if is_one_rung(self.given):
            return
        record = run.record
        seen = Outcome(0, 0, 0, 0.0, 0.0, record["loss"], record["validation_loss"], None)
        if plan.cells and seen.residual > LOST:
            return  # points that move take their time: nothing is known yet
        rungs = [*self.rungs, Rung(plan, seen)]
        likely = next_plan(self.facts, rungs)
        if likely is not None and not self.give_up(rungs, likely):
            self.train.prepare(self.scaled, self.setting(likely))

    def _outcome(self, solution: Solution, judgement: Judgement | None, started: float) -> Outcome:
        summary = solution.summary
        return Outcome(
            parameters=summary["parameters"],
            points=summary["points"],
            steps=summary["steps"],
            seconds=summary["seconds"],
            compile_seconds=max(0.0, time.perf_counter() - started - summary["seconds"]),
            loss=summary["loss"],
            validation_loss=summary["validation_loss"],
            relative_error=summary["relative_l2_error"],
            estimate=None if judgement is None else judgement.value,
            trusted=judgement is not None and judgement.trusted,
            reasons=() if judgement is None else judgement.reasons,
            stopped_because=summary["stopped_because"],
        )

    # -- the second look --------------------------------------------------------------------------------
    def fields(self, solution: Solution) -> dict[str, np.ndarray]:
        """Values on the points of comparison, by unknown and coefficient."""
        found: dict[str, np.ndarray] = {}
        for x, unknowns in self.points:
            values = solution(x)
            by_name = values if isinstance(values, dict) else {unknowns[0].name: values}
            found |= {u.name: by_name[u.name] for u in unknowns}
        return {**found, **{name: np.array([value]) for name, value in solution.coefficients.items()}}

    def judged(self, solution: Solution, found: ErrorEstimate) -> Judgement:
        """The estimate of the tangent space; where it cannot be relied on, what another rung says.

        A solution at its floor has a residual that lies outside of its tangent space, which therefore says nothing of
        its error. The distance to a rung with a larger loss is the error of that one; errors are taken to fall as
        residuals do.
        """
        if found.reliable:
            return Judgement(found.worst, True, (), found)
        loss = solution.validation_loss
        if np.sqrt(2 * loss) > NOTHING:
            return Judgement(float("inf"), False, ("the residual is as large as the equation itself",))
        others = [k for k, r in enumerate(self.rungs) if r.outcome.validation_loss >= FELL * loss]
        if not others:
            return Judgement(found.worst, False, found.reasons, found)
        near = min(others, key=lambda k: self.rungs[k].outcome.validation_loss)
        here, there = self.fields(solution), self.values[near]
        apart = max(rms(here[k] - there[k]) / max(rms(here[k]), self.least.get(k, 0.0), 1e-300) for k in here)
        compared = SAFETY * apart * float(np.sqrt(2 * loss)) / self.rungs[near].outcome.residual
        value = max(found.worst, compared)
        trusted = not too_far_to_linearise(value, linear=self.problem.is_linear)
        return Judgement(value, trusted, () if trusted else found.reasons, found)

    def estimate(self, place: int) -> Judgement:
        """The judgement of a rung, made now if it was not made before."""
        known = self.judgements[place]
        if known is None:
            known = _Judge(self, self.rungs[place].plan).of(self.solutions[place], always=True)
            assert known is not None
            outcome = self.rungs[place].outcome
            if outcome.estimate is not None:  # a rung that was read: it was judged on points that only its run had
                told = {"value": outcome.estimate, "trusted": outcome.trusted, "reasons": outcome.reasons}
                known = replace(known, **told)
            self.judgements[place] = known
        return known


class _Judge:
    """Estimates for one rung, while it is trained and afterwards; its programs are compiled when they are needed."""

    def __init__(self, climb: Climb, plan: Plan) -> None:
        self.climb, self.plan = climb, plan
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
        return judgement.trusted and judgement.value <= self.climb.facts.goal

    def of(self, solution: Solution, *, always: bool = False) -> Judgement | None:
        """The judgement of a solution; None where its residual says that the tolerance is far away."""
        near = np.sqrt(2 * solution.validation_loss) <= NEAR * self.climb.facts.goal
        return self._judged(solution) if near or always else None

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
        climb = self.climb
        try:
            if self._estimator is None:
                # As many fresh points as the rung is trained on, so that what hides between them is seen.
                points = inside_points(self.plan, climb.problem, solution.model.parameters)
                self._estimator = Estimator(
                    climb.scaled, solution.model, points, climb.seed, self._in_cells(), climb.least
                )
            return climb.judged(solution, self._estimator(jnp.asarray(solution.theta)))
        except AnagramError as error:
            return Judgement(float("inf"), False, (str(error),))


def _undetermined(rung: Rung) -> bool:
    """Whether the estimate of a rung says that the problem is not one with a single solution."""
    return any(reason.startswith(NOT_DETERMINED) for reason in rung.outcome.reasons)


def _precision(facts: Facts, plan: Plan) -> dict[str, float]:
    """How far a walk is taken: ends are tried again where many digits are wanted, and are cheap where few are."""
    if facts.tol < MANY_DIGITS:
        return {"done_at": 1e-20} if plan.level > RACE else {}
    return {} if facts.linear else {"squared_until": 1e-17}


def expected_errors(rungs: Sequence[Rung]) -> list[float]:
    """The estimated error of each rung; where there is none, what its residual would be worth in the others."""
    outcomes = [r.outcome for r in rungs]
    known = [o.estimate if o.trusted else None for o in outcomes]
    worth = [e / o.residual for e, o in zip(known, outcomes, strict=True) if e is not None and o.residual > 0]
    factor = float(np.median(worth)) if worth else 1.0
    return [factor * o.residual if e is None else e for e, o in zip(known, outcomes, strict=True)]


def rms(values: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.abs(values) ** 2)))
