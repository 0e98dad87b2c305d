"""Climbing: one network after the other, each larger than the last, until the estimated error is below the tolerance.

Which network comes next is said by `anagram.training.ladder`. Here rungs are trained, their errors estimated and
compared. A rung is trained by a function that is handed in, so that a climb that was interrupted is done again from
the rungs it has: they are read and not trained, and all decisions are taken as before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from anagram.climbing.judging import (
    NOTHING,
    Asked,
    Judgement,
    RungJudge,
    Seen,
    are_undetermined,
    judged,
    judged_by_others,
)
from anagram.climbing.noisy import good_enough, is_noise
from anagram.climbing.starts import fitted, grown, layers_of, tails_of
from anagram.environment import has_accelerator
from anagram.models import (
    MLP,
    Chebyshev,
    Features,
    ParametricModel,
    Separable,
    Waves,
    corners_seen,
    count_parameters,
    rough_corners,
)
from anagram.solution import Solution
from anagram.statement.detail import Detail, detail_of
from anagram.statement.domains import Kronecker, PointSet
from anagram.statement.problem import Problem
from anagram.statement.sizes import Sizes, in_natural_sizes, natural_sizes
from anagram.tangent.estimate import ErrorEstimate
from anagram.training.bending import bends_for_data
from anagram.training.budget import Budget
from anagram.training.configuration import model_to_json
from anagram.training.defaults import complete
from anagram.training.goal import FIRST, NEAR, Goal
from anagram.training.guesses import Values, features_near
from anagram.training.ladder import LOST, RACE, Facts, next_plan
from anagram.training.rungs import Bends, Outcome, Plan, Rung, fine_axes, rung_from_json, rung_points
from anagram.training.setting import Setting
from anagram.training.splits import ROUNDING
from anagram.training.terms import HELD
from anagram.training.trainer import Trainer
from anagram.training.wide import MOST, MOST_IN_SPACE, MOST_ON_ACCELERATORS, SIZES

STEPS = 500  # of a rung at most
SOLVES, SOLVES_NEAR = 25, 10  # steps of a rung of features at most; those that begin near a solution take fewer
NEAR_STEPS = 5  # steps of a rung of features that begins near a solution
MANY_DIGITS = 1e-8  # tolerances below ask for the last digits of a network
NARROW = 18.0  # polynomials that data need to two digits: coordinates may be bent for them
CLOSER = 3e-4  # times the tolerance: bends that suit the data so well are smooth, and errors go on falling in them
POINTS = 1024  # on which the solutions of two rungs are compared
ZERO = 1e-8  # of its natural size: an unknown that is smaller is taken to be zero
MOST_PARAMETERS, MORE_PARAMETERS = 1100, 2000  # the second one on an accelerator
LATER = 120  # steps of larger networks before their floor is looked for
MOVING = 80  # steps more where points move: such networks are slow to set out
IN_UNITS = ("auto", "newton", "large", "spring")  # methods that are used between the units of a problem
WORTH = 0.3  # of its predicted time must be left for a rung to begin
WHOLE = 200  # steps that a rung takes, about, when its time is predicted

REACHED, INTERRUPTED, TIME_UP = "tolerance reached", "interrupted", "time used up"
BY_MONITOR = "stopped by a monitor"
ROUNDED = "converged: what is left is rounding"
UNDETERMINED = "the conditions do not determine the solution"
NOISE = "the noise of the data is reached"
NO_LARGER, GAVE_UP = "no larger network helps", "one network does not get hold of the solution"


class TrainRung(Protocol):
    """Trains a rung; or reads it, with its outcome, if that was done before."""

    def __call__(
        self,
        problem: Problem,
        setting: Setting,
        budget: Budget,
        goal: Callable[[Trainer], str | None] | None,
        start: Callable[[ParametricModel], np.ndarray | None] | None = None,
    ) -> Solution:
        """The solution of the rung; its summary has the outcome if it is known. `start` gives first parameters."""
        ...

    def prepare(self, problem: Problem, setting: Setting) -> None:
        """Compile what a rung will need, aside; it may never come to it."""
        ...

    def leaves(self, what: str, decide: Callable[[], bool]) -> bool:
        """Whether this is left here for something else; it is decided once, as the clock has a say in it."""
        ...


def is_one_rung(given: Setting) -> bool:
    """Whether a setting leaves nothing to choose: it has a model, or a method of its own."""
    return given.model is not None or given.method != "auto"


class Climb:
    """A climb: its problem in natural sizes, the rungs so far, and their solutions.

    `give_up` is asked before every rung whether to leave the problem to someone else. `least` has sizes of unknowns
    below which errors are not relative to them: those of a whole of which this is a part. `known` is a rung of
    features that was good enough for the part before it, and `near` gives unknowns near which features begin.
    `marches` says that it is a stretch of an evolution in space, and `bends` along which coordinates it is solved for.
    """

    def __init__(
        self,
        problem: Problem,
        tol: float,
        seed: int,
        train: TrainRung,
        seconds: float | None = None,
        given: Setting | None = None,
        least: Mapping[str, float] | None = None,
        give_up: Callable[[Sequence[Rung], Plan], bool] = lambda *_: False,
        known: Plan | None = None,
        near: Values | None = None,
        marches: bool = False,
        bends: Bends | None = None,
    ) -> None:
        self.give_up, self.near = give_up, near
        self.problem, self.tol, self.seed, self.train, self.seconds = problem, tol, seed, train, seconds
        self.given = given or Setting()
        self.sizes: Sizes = natural_sizes(problem)
        sizes = iter(self.sizes.size)
        # The error of an unknown that is zero is not relative to it.
        zero = {u.name: ZERO * max(next(sizes) for _ in range(u.components)) for u in problem.unknowns}
        self.least = {name: max(size, (least or {}).get(name, 0.0)) for name, size in zero.items()}
        self.scaled = in_natural_sizes(problem, self.sizes) if self.given.method in IN_UNITS else problem
        has_data = any(isinstance(problem.region(key), PointSet) for key in problem.conditions)
        fixed = self.given.points is not None
        detail = Detail() if is_one_rung(self.given) else detail_of(problem, self.sizes)
        self.bends = bends or {}
        if bends is None and detail.data >= NARROW and not fixed:
            self.bends = bends_for_data(problem, self.sizes, max(CLOSER * tol, ROUNDING))
        dimension, fields = problem.domain.dimension, problem.sought.outputs
        noise = bool(problem.measured)
        linear = problem.is_linear
        # An accelerator factorises in the same time what is twice as wide, and more.
        fast = has_accelerator()
        most = MORE_PARAMETERS if fast else MOST_PARAMETERS
        # A stretch that takes so many features is better cut.
        most_features = MOST_IN_SPACE if dimension == 3 and not marches else MOST
        wide = {
            "known": known,
            "most_features": MOST_ON_ACCELERATORS if fast else most_features,
            "fine": len(fine_axes(problem)),
            "marches": marches,
            "bent": bool(self.bends) and not marches,
            "corners": len(rough_corners(problem)),
        }
        self.facts = Facts(dimension, linear, has_data, tol, most, fixed, detail, fields, noise, **wide)
        # Where known solutions were divided out, errors are those of the equations themselves.
        plain = problem.undeflated
        judged_by = self.scaled if plain is None else in_natural_sizes(plain, natural_sizes(plain))
        self.asked = Asked(judged_by, self.facts.goal, seed, self.least, self.bends)
        regions = problem.sought.by_region
        self.points = [
            (region.draw(Kronecker(POINTS), np.random.default_rng(0)).x, unknowns) for region, unknowns in regions
        ]
        self.rungs: list[Rung] = []
        self.solutions: list[Solution] = []
        self.values: list[dict[str, np.ndarray]] = []
        self._looked: tuple[Solution, dict[str, np.ndarray]] | None = None  # the last one, and its values
        self.judgements: list[Judgement | None] = []
        # What determined the part before this one determines it, too.
        self._is_determined = known is not None
        self.left_open: tuple[str, ...] = ()  # why the conditions do not determine the solution

    # -- the way up -----------------------------------------------------------------------------------
    def run(self, tell: Callable[[Rung], None] = lambda _: None) -> str:
        """Climb until the tolerance is met or something else ends it; says what."""
        while True:
            plan = self._next()
            if plan is None:
                return NO_LARGER if not is_one_rung(self.given) else self.solutions[-1].stopped_because
            left = None if self.seconds is None else self.seconds - self.spent
            if self._goes_without(plan, left):
                self.facts = replace(self.facts, most_features=max(s for s in SIZES if s < plan.features))
                continue
            # Half a network is worth something; features that were not solved for are not.
            worth = 1.0 if plan.features else WORTH
            if left is not None and self.rungs and left <= max(0.0, worth * self._predicted(plan)):
                return TIME_UP
            if self.give_up(self.rungs, plan):
                return GAVE_UP
            rung = self._climb(plan, left)
            tell(rung)
            rung = self._better_one(rung)
            if self.reached(rung):
                return REACHED if (rung.outcome.estimate or 0.0) <= self.tol else ROUNDED
            if are_undetermined(rung.outcome.reasons):
                return UNDETERMINED
            if rung.outcome.stopped_because in (INTERRUPTED, BY_MONITOR):
                return rung.outcome.stopped_because
            if self.problem.measured and not is_one_rung(self.given) and is_noise(self.scaled, self._losses):
                return NOISE

    @property
    def spent(self) -> float:
        """Seconds of training so far."""
        return sum(r.outcome.seconds for r in self.rungs)

    @property
    def best(self) -> int:
        """The place of the best rung: one that met the tolerance, or else that with the smallest expected error."""
        if self.problem.measured:
            # What no network can do better is done by the smallest that can do it.
            place = good_enough(self.scaled, self._losses, [r.outcome.parameters for r in self.rungs])
            if place is not None:
                return place
        met = [k for k, r in enumerate(self.rungs) if self.reached(r)]
        errors = expected_errors(self.rungs)
        return min(met or range(len(errors)), key=lambda k: errors[k])

    @property
    def _losses(self) -> list[Mapping[str, float]]:
        """The losses of all rungs by condition."""
        return [solution.summary["condition_losses"] for solution in self.solutions]

    def reached(self, rung: Rung) -> bool:
        """Whether the estimated error of a rung is below the tolerance, and can be relied on."""
        outcome = rung.outcome
        return outcome.estimate is not None and outcome.trusted and outcome.estimate <= self.facts.goal

    def _next(self) -> Plan | None:
        if is_one_rung(self.given):
            return None if self.rungs else Plan(0)
        return next_plan(self.facts, self.rungs)

    def _goes_without(self, plan: Plan, left: float | None) -> bool:
        """Whether so many features would not be done in time: fewer of them, or networks, are then tried instead."""
        if not self.rungs or self.facts.marches or not SIZES[0] < plan.features <= self.facts.most_features:
            return False
        too_long = left is not None and 0 < left <= self._predicted(plan)
        return self.train.leaves(f"{plan.features} features", lambda: too_long)

    def _predicted(self, plan: Plan) -> float:
        """Seconds that a rung will take, from the pace of the last one."""
        if plan.features:
            known = [r for r in self.rungs if r.plan.features]
            if not known:
                return 0.0
            last = known[-1]
            # It begins near a solution and takes fewer steps than one that began far away.
            steps = last.outcome.steps
            pace = last.outcome.seconds * min(steps, NEAR_STEPS) / max(1, steps)
            return pace * (plan.features / last.plan.features) ** 3 * plan.density / last.plan.density
        networks = [r for r in self.rungs if not r.plan.features]
        if not networks:
            return 0.0
        last = networks[-1]
        pace = last.outcome.seconds / max(1, last.outcome.steps)
        size = count_parameters(self._model(plan), self.problem.sought) or last.outcome.parameters
        return pace * WHOLE * (size / last.outcome.parameters) ** 2 * plan.density / last.plan.density

    def _model(self, plan: Plan) -> Any:
        given = self.given.model
        if given is None and self.given.method == "auto":
            trained = layers_of(self.solutions[plan.below]) if plan.below >= 0 else None
            return plan.model(self.problem, self.sizes, self.seed, trained, self.bends)
        if self.given.method not in IN_UNITS or not isinstance(given, MLP | Chebyshev | Features | Separable | Waves):
            return given
        options = given.options()
        if options["offset"] != [0.0] or options["size"] != [1.0]:
            return given
        # A network that was given is used between the units of the problem.
        return type(given).from_options({**options, "offset": self.sizes.offset, "size": self.sizes.size})

    def setting(self, plan: Plan) -> Setting:
        """The setting of a rung."""
        model, given = self._model(plan), self.given
        if is_one_rung(given):
            return complete(replace(given, model=model), self.problem)
        parameters = count_parameters(model, self.problem.sought) or 0
        points = given.points
        if points is None:
            points = rung_points(plan, self.problem, parameters, self.bends)
        if plan.features:
            most = SOLVES if self.near is None else SOLVES_NEAR
            return Setting(model, "newton", {}, points, min(most, given.steps or most))
        options = {"ratio": plan.ratio, "sketch": 0, "restarts": 0, **_precision(self.facts, plan), **given.options}
        return Setting(model, "auto", options, points, given.steps or STEPS)

    def _problem(self, plan: Plan) -> Problem:
        """The problem in natural sizes, as a rung is trained on it."""
        seen = rough_corners(self.problem) if plan.corners else corners_seen(self.given.model)
        return self.scaled.restated(corners=seen) if seen else self.scaled

    def _climb(self, plan: Plan, left: float | None) -> Rung:
        started = time.perf_counter()
        setting, problem = self.setting(plan), self._problem(plan)
        judge = self._judge(plan)
        goal = Goal(self.facts.goal, judge.met, lambda run: self._prepare(plan, run), self._first_look(plan))
        budget = Budget(setting.steps or STEPS, left)
        if plan.features:
            solution = self.train(problem, setting, budget, None, self._start)
        elif plan.terms:
            solution = self.train(problem, setting, budget, goal, self._grown)
        else:
            solution = self.train(problem, setting, budget, goal)
        if goal.run is not None:
            judge.watch(goal.run)
        known = solution.summary.get("rung")
        if known is not None:
            rung, judgement = rung_from_json(known), None
            self.left_open = rung.outcome.reasons if are_undetermined(rung.outcome.reasons) else self.left_open
        else:
            judgement = self._determined(judge, solution, judge.of(solution))
            rung = Rung(plan, self._outcome(solution, judgement, started), model_to_json(setting.model))
            solution.summary["rung"] = rung.as_json()
        self.rungs.append(rung)
        self.values.append(self.fields(solution))
        self.solutions.append(solution)
        self.judgements.append(judgement)
        return rung

    def _better_one(self, last: Rung) -> Rung:
        """The best rung of features, if the last one was worse and says now that it is good enough; else the last."""
        wide = [k for k, r in enumerate(self.rungs) if r.plan.features]
        if self.reached(last) or not last.plan.features or self.left_open:
            return last
        place = min(wide, key=lambda k: self.rungs[k].outcome.residual)
        rung, solution = self.rungs[place], self.solutions[place]
        found = None if rung is last else self._second_look(solution, None)
        if found is None or not found.trusted or found.value > self.facts.goal:
            return last
        found = self._determined(self._judge(rung.plan), solution, found)
        assert found is not None
        told = {"estimate": found.value, "trusted": found.trusted, "reasons": found.reasons}
        self.rungs[place] = replace(rung, outcome=replace(rung.outcome, **told))
        self.judgements[place] = found
        return self.rungs[place]

    def _start(self, model: ParametricModel) -> np.ndarray | None:
        """First parameters of features: what is known of the solution; a linear equation has no use for them."""
        if self.problem.is_linear:
            return None
        if self.rungs:
            errors = expected_errors(self.rungs)
            best = int(np.argmin(errors))
            if self.rungs[best].outcome.residual < NOTHING:
                return fitted(model, self.solutions[best])
        return None if self.near is None else features_near(model, self.near)

    def _grown(self, model: ParametricModel) -> np.ndarray | None:
        """First parameters of a sum of products: those of the best one so far, if it has got hold of anything."""
        known = [k for k, r in enumerate(self.rungs) if r.plan.terms and r.outcome.residual <= HELD]
        if not known:
            return None
        best = min(known, key=lambda k: self.rungs[k].outcome.residual)
        return grown(model, self.solutions[best], self.seed)

    def _determined(self, judge: RungJudge, solution: Solution, judgement: Judgement | None) -> Judgement | None:
        """Whether the conditions leave something open is looked for once, where wide networks satisfy all of them.

        They agree with each other also where all of them leave out the same, or never agree.
        """
        if not judge.plan.features or judgement is None or self._is_determined:
            return judgement
        fine = judgement.trusted and judgement.value <= self.facts.goal
        if not fine and np.sqrt(2 * solution.validation_loss) > NEAR * self.facts.goal:
            return judgement
        # The smallest network that there is says it as well as a large one.
        if self.solutions:
            place = int(np.argmin([s.model.parameters for s in self.solutions]))
            judge, solution = self._judge(self.rungs[place].plan), self.solutions[place]
        self.left_open = judge.undetermined(solution)
        self._is_determined = not self.left_open
        return self._if_determined(judgement)

    def _if_determined(self, judgement: Judgement) -> Judgement:
        if not self.left_open:
            return judgement
        return Judgement(judgement.value, False, self.left_open, judgement.estimate)

    def _first_look(self, plan: Plan) -> int | None:
        """After how many steps the floor of a rung is looked for; never where there is no other rung."""
        if is_one_rung(self.given):
            return None
        if plan.terms:
            return FIRST // 2
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
        # Features on top of this rung are not known before it has ended.
        if likely is not None and likely.below < len(self.rungs) and not self.give_up(rungs, likely):
            self.train.prepare(self._problem(likely), self.setting(likely))

    def _outcome(self, solution: Solution, judgement: Judgement | None, started: float) -> Outcome:
        summary = solution.summary
        fine_tail, coarse_tail = tails_of(solution)
        return Outcome(
            parameters=summary["parameters"],
            points=summary["points"],
            steps=summary["steps"],
            seconds=summary["seconds"],
            compile_seconds=max(0.0, time.perf_counter() - started - summary["seconds"]),
            loss=summary["loss"],
            validation_loss=summary["validation_loss"],
            relative_error=summary["relative_l2_error"],
            # Where nothing can be estimated the value is infinite, which records do not have.
            estimate=judgement.value if judgement is not None and np.isfinite(judgement.value) else None,
            trusted=judgement is not None and judgement.trusted,
            reasons=() if judgement is None else judgement.reasons,
            stopped_because=summary["stopped_because"],
            fine_tail=fine_tail,
            coarse_tail=coarse_tail,
        )

    # -- the second look --------------------------------------------------------------------------------
    def fields(self, solution: Solution) -> dict[str, np.ndarray]:
        """Values on the points of comparison, by unknown and coefficient; those of a rung are not computed again."""
        if self._looked is not None and self._looked[0] is solution:
            return self._looked[1]
        for known, values in zip(self.solutions, self.values, strict=True):
            if known is solution:
                return values
        found: dict[str, np.ndarray] = {}
        for x, unknowns in self.points:
            values = solution(x)
            by_name = values if isinstance(values, dict) else {unknowns[0].name: values}
            found |= {u.name: by_name[u.name] for u in unknowns}
        found |= {name: np.array([value]) for name, value in solution.coefficients.items()}
        self._looked = (solution, found)
        return found

    def _judge(self, plan: Plan) -> RungJudge:
        return RungJudge(self.asked, plan, self._second_look)

    def _second_look(self, solution: Solution, found: ErrorEstimate | None) -> Judgement | None:
        """What is made of an estimate, or of none, when the other rungs are looked at."""
        here = Seen(self.fields(solution), solution.validation_loss, _kind(solution))
        others = [
            Seen(values, rung.outcome.validation_loss, _kind(other))
            for values, rung, other in zip(self.values, self.rungs, self.solutions, strict=True)
            if other is not solution
        ]
        if found is None:
            return judged_by_others(self.asked, here, others, solution.model.parameters)
        return judged(self.asked, here, others, found)

    def estimate(self, place: int) -> Judgement:
        """The judgement of a rung, made now if it was not made before."""
        known = self.judgements[place]
        if known is None:
            known = self._judge(self.rungs[place].plan).of(self.solutions[place], always=True)
            assert known is not None
            outcome = self.rungs[place].outcome
            if outcome.estimate is not None:  # a rung that was read: it was judged on points that only its run had
                told = {"value": outcome.estimate, "trusted": outcome.trusted, "reasons": outcome.reasons}
                known = replace(known, **told)
            self.judgements[place] = known
        return self._if_determined(known)


def _kind(solution: Solution) -> str:
    """Of its model."""
    return type(solution.model.spec).__name__


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
