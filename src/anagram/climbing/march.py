"""Evolutions over long times: stretch after stretch, each by a climb of its own, joined to one solution.

Families are cut along a parameter in the same way; members need no others, so that nothing is handed on there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from anagram.climbing.climb import (
    BY_MONITOR,
    INTERRUPTED,
    NO_LARGER,
    REACHED,
    ROUNDED,
    TIME_UP,
    UNDETERMINED,
    Climb,
    TrainRung,
    is_one_rung,
)
from anagram.climbing.endings import Ending
from anagram.climbing.growth import Growth
from anagram.climbing.judging import Judgement, rms
from anagram.compound.batch import sample
from anagram.errors import AnagramError
from anagram.models import ParametricModel, Pieces
from anagram.solution import Solution
from anagram.statement.domains import Chosen
from anagram.statement.domains.cutting import cut_points
from anagram.statement.jumps import jumps_along
from anagram.statement.problem import Problem
from anagram.statement.sizes import in_natural_sizes
from anagram.statement.stretches import State, held_at_beginning, orders, stretch
from anagram.tangent.estimate import ErrorEstimate, Estimator, too_far_to_linearise
from anagram.training.bending import bend_for, needed_terms
from anagram.training.guesses import Values
from anagram.training.ladder import LOST, RACE, best
from anagram.training.rungs import Bends, Plan, Rung, fine_axes, inside_points, node_shares, rung_points
from anagram.training.setting import Setting
from anagram.training.splits import ROUNDING, TAIL, fitting, is_too_fine, needed
from anagram.training.wide import SIZES

FIRST = 0.25  # of the whole is tried first
SHORTEST = 1 / 4096
SHORTEST_IN_SPACE = 1 / 64  # what takes a ladder for each stretch is not done thousands of times
SHORTEST_SOLVED = 1 / 256  # one that is solved for is quick
LONGER = 1.6
FEWEST_OVER_TIME, MOST_OVER_TIME = 6, 11  # polynomials over a stretch: with fewer it is short, with more it is long
HELD = 0.3  # residuals above say nothing of what the next stretch needs
SLIVER = 1.2  # times a stretch: what is left after it is not left alone
ENOUGH_SEEN = 0.2  # of the time that it may take: the pace of a march is known by then
HOPEFUL = 1.5  # times as long as it may take: stretches become longer where they are easy
LOCAL = 0.05  # of the tolerance is left to a stretch: errors add up, and grow
TOO_LARGE = "errors of stretches have added up to more than can be told from an equation that was linearised"
STOPPED = (INTERRUPTED, BY_MONITOR, TIME_UP)


def _shorten(rungs: Sequence[Rung], plan: Plan) -> bool:
    """Whether a shorter stretch is worth more than another network: it is, unless small ones come near."""
    if plan.features:
        return False
    return plan.level > RACE or (bool(rungs) and best(rungs).outcome.residual > LOST)


def _shorten_in_space(rungs: Sequence[Rung], plan: Plan) -> bool:
    """Solutions in space and time need larger networks: a stretch is given up if none of the race gets hold of it."""
    return plan.level > RACE and bool(rungs) and best(rungs).outcome.residual > LOST


def _not_solved(_: Sequence[Rung], plan: Plan) -> bool:
    """Where features do not solve a stretch, a shorter one is tried."""
    return not plan.features


def _never(_: Sequence[Rung], __: Plan) -> bool:
    """Stretches that are given stay as they are."""
    return False


def _dealt(points: Any, axis: str, low: float, high: float) -> Any:
    """Points that were chosen, to the stretch in which they lie; rules are the same for all of them."""
    if isinstance(points, Mapping):
        return {key: _dealt(rule, axis, low, high) for key, rule in points.items()}
    return cut_points(points, axis, low, high) if isinstance(points, Chosen) else points


def _good_enough(climb: Climb, times: float, finer: float) -> Plan | None:
    """The features with which the next stretch begins, that many times as long as the last one, and as fine.

    Of those as wide as the best ones, what left the least. Functions that are split between axes are as many as their
    tails ask for, on a stretch of any length; of others nothing is known on one of another length.
    """
    if not climb.rungs:
        return None
    best = climb.rungs[climb.best]
    if not best.plan.features or best.plan.below >= 0 or best.outcome.residual > HELD:
        return None
    alike = [r for r in climb.rungs if r.plan.features == best.plan.features and r.plan.below < 0]
    rung = min(alike, key=lambda r: r.outcome.residual)
    if rung.plan.waves:
        width = climb.facts.width()
        return fitting(width, rung, [s for s in SIZES if s <= width.most], times, finer)
    return rung.plan if np.isclose(times, 1.0) else None


def _is_hopeless(climb: Climb) -> bool:
    """Whether shorter stretches would not do either: they are too fine along space."""
    splits, width = [r for r in climb.rungs if r.plan.waves], climb.facts.width()
    return width.marches and bool(splits) and is_too_fine(width, splits, [s for s in SIZES if s <= width.most])


def _longer(climb: Climb) -> float:
    """How many times as long the next stretch is: what is easy over time may take longer, what is hard is cut."""
    best = climb.rungs[climb.best]
    if not best.plan.waves:
        return LONGER if len(climb.rungs) == 1 or all(r.plan.features for r in climb.rungs) else 1.0
    _, coarse = needed(climb.facts.width(), best)
    return LONGER if coarse < FEWEST_OVER_TIME else 1 / LONGER if coarse > MOST_OVER_TIME else 1.0


class March:
    """A march along an axis: the stretches that are done, with their solutions and the errors at their ends.

    With `edges` these are its stretches, and each is taken as well as it is solved. Otherwise their lengths follow from
    how easy they are, and each reaches its part of the tolerance; none goes beyond a moment at which something jumps.
    With `solves` a stretch is left and cut where features do not solve it: no network is trained. Networks on the whole
    are then what is left to be tried, and a march that would not end in time is given up for them.
    """

    def __init__(
        self,
        problem: Problem,
        axis: str,
        tol: float,
        seed: int,
        train: TrainRung,
        seconds: float | None,
        given: Setting | None = None,
        edges: Sequence[float] | None = None,
        *,
        solves: bool = False,
    ) -> None:
        self.given = given or Setting()
        self.problem, self.axis, self.tol, self.seed, self.train = problem, axis, tol, seed, train
        self.seconds, self.planned = seconds, edges
        self.low, self.high = problem.domain.intervals[axis]
        self.orders = orders(problem, axis)
        self.jumps = jumps_along(problem, axis)
        self.edges = [self.low]
        self.solutions: list[Solution] = []
        self.rungs: list[Rung] = []
        self.errors: list[Judgement] = []
        self.growth = Growth(axis, self.orders)
        self.bends: Bends = {}
        self.bent_at: float | None = None
        self.lost = 0.0  # of the errors: what is not carried along by corrected beginnings
        in_space = problem.domain.dimension > 1
        self.shortest = SHORTEST_IN_SPACE if in_space else SHORTEST
        self.give_up = _never if edges is not None else _shorten_in_space if in_space else _shorten
        if solves:
            self.shortest, self.give_up = SHORTEST_SOLVED, _not_solved
        self.has_others = solves
        self.taken = 0.0, 0.0  # seconds when the last stretch was taken, and those that it took
        self.alone = axis in problem.domain.parameter_axes  # stretches that know nothing of each other
        # Errors of few stretches add up to less; those of members do not.
        self.local = 1.0 if self.alone else LOCAL if edges is None else max(LOCAL, 0.5 / (len(edges) - 1))

    @property
    def spent(self) -> float:
        """Seconds of training so far."""
        return sum(r.outcome.seconds for r in self.rungs)

    @property
    def is_whole(self) -> bool:
        """Whether it came to the end."""
        return self.edges[-1] >= self.high and len(self.errors) == len(self.solutions)

    def run(self, tell: Callable[[Rung], None] = lambda _: None) -> str:
        """March to the end, or as far as it goes; says why it stopped."""
        length, least, reason = (1.0 if self.jumps else FIRST) * (self.high - self.low), {}, REACHED
        state: State | None = None
        corrected: State | None = None
        climb: Climb | None = None
        lasted = length
        while self.edges[-1] < self.high:
            begin, end = self.edges[-1], self._end(length)
            left = None if self.seconds is None else self.seconds - self.spent
            # Of stretches that were given the first is begun in any case: there would be no solution at all.
            used_up = (left is not None and left <= 0) or getattr(self.train, "is_over", False)
            if self.has_others:
                used_up = self.train.leaves("march", lambda used_up=used_up: used_up or self._is_too_slow())
            if used_up and (self.planned is None or self.solutions):
                return TIME_UP
            problem = stretch(self.problem, self.axis, begin, end, state)
            finer = self._bend(problem, begin, least)
            # Features that were good enough for one stretch are tried first on the next one.
            known = None if climb is None else _good_enough(climb, (end - begin) / lasted, finer)
            climb, lasted = self._climb(problem, left, least, known, self._near(problem)), end - begin
            why = climb.run(tell)
            self.rungs += climb.rungs
            if why in STOPPED:
                if self.planned is not None or not self.solutions:  # what is there of it is better than nothing
                    self._take(climb, end)
                return why
            reached = why in (REACHED, ROUNDED)
            if not reached and self.planned is None:
                if length / 2 >= self.shortest * (self.high - self.low) and not _is_hopeless(climb):
                    length /= 2
                    continue
                if not self._does(climb):
                    return why if why == UNDETERMINED else NO_LARGER
            reason = reason if reached else why
            self._take(climb, end)
            if self.alone:
                self.errors.append(climb.estimate(climb.best))
                continue
            # The error that came with the beginning is carried on: this stretch is measured against a corrected one.
            against = problem if corrected is None else stretch(self.problem, self.axis, begin, end, corrected)
            ending = self._judge(climb, against)
            values = climb.values[climb.best]
            least = {k: max(least.get(k, 0.0), rms(v)) for k, v in values.items()}
            state, corrected = ending.state(), ending.state(corrected=True)
            length *= _longer(climb)
        return reason

    def _does(self, climb: Climb) -> bool:
        """Whether a stretch that cannot be shorter comes to the tolerance itself, if not to its part of it."""
        if not climb.rungs:
            return False
        judgement = climb.estimate(climb.best)
        return judgement.trusted and judgement.value <= self.tol

    def _is_too_slow(self) -> bool:
        """Whether it will not come to the end in time at the pace so far, where something else is left to be tried."""
        if self.seconds is None:
            return False
        enough = ENOUGH_SEEN * self.seconds
        spent, cost = self.taken  # when the last stretch was taken, and what it took
        if not self.solutions or self.spent - spent > enough:
            return self.spent > enough
        length, rest = self.edges[-1] - self.edges[-2], self.high - self.edges[-1]
        return self.spent > enough and spent + cost * rest / length > HOPEFUL * self.seconds

    def _end(self, length: float) -> float:
        """Where the next stretch ends."""
        if self.planned is not None:
            return self.planned[len(self.edges)]
        begin = self.edges[-1]
        last = next((place for place in self.jumps if place > begin), self.high)
        return last if begin + SLIVER * length >= last else begin + length

    def _near(self, problem: Problem) -> Values | None:
        """The unknowns as they are where a stretch begins: features begin near them."""
        if self.alone or problem.domain.dimension == 1 or problem.is_linear:
            return None
        return self._held(problem)

    def _held(self, problem: Problem) -> Values | None:
        """The unknowns as they are where a stretch begins, all along it; None where that is not known."""
        if not self.solutions:
            return held_at_beginning(problem, self.axis)
        last, column = self.solutions[-1], problem.domain.axes.index(self.axis)
        names = [u.name for u in problem.unknowns]

        def held(x: np.ndarray) -> dict[str, np.ndarray]:
            there = x.copy()
            there[:, column] = self.edges[-1]
            found = last(there)
            return found if isinstance(found, dict) else {names[0]: found}

        return held

    def _bend(self, problem: Problem, begin: float, least: Mapping[str, float]) -> float:
        """Bend the axis of space for what a stretch begins with; says how many times as many functions that takes."""
        if is_one_rung(self.given) or self.given.points is not None:
            return 1.0
        domain, fine = problem.domain, fine_axes(problem)
        held = self._held(problem) if domain.dimension == 2 and len(fine) == 1 and not domain.periodic_axes else None
        if held is None or begin == self.bent_at or self.alone:
            return 1.0
        (low, high), column = domain.intervals[fine[0]], domain.axes.index(fine[0])

        def functions(z: np.ndarray) -> np.ndarray:
            x = np.full((len(z), 2), begin)
            x[:, column] = low + (high - low) * (z + 1) / 2
            found = [np.zeros((0, len(z)))]
            for name, value in held(x).items():
                size = max(float(np.max(np.abs(value))), least.get(name, 0.0), np.finfo(float).tiny)
                columns = np.asarray(value).reshape(len(z), -1).T / size
                found += [np.real(columns), np.imag(columns)]
            return np.concatenate(found)

        allowed = max(TAIL * self.local * self.tol, ROUNDING)
        before = needed_terms(functions, self.bends.get(fine[0]), allowed, least=1.0)
        bend, now = bend_for(functions, allowed, least=1.0)
        self.bends, self.bent_at = {} if bend is None else {fine[0]: bend}, begin
        return now / before if now and before else 1.0

    def _climb(
        self, problem: Problem, left: float | None, least: dict[str, float], known: Plan | None, near: Values | None
    ) -> Climb:
        low, high = problem.domain.intervals[self.axis]
        given = replace(self.given, points=_dealt(self.given.points, self.axis, low, high))
        give_up = self.give_up
        tol = self.local * self.tol
        options = {
            "least": least,
            "give_up": give_up,
            "known": known,
            "near": near,
            "marches": problem.domain.dimension > 1 and not self.alone,
            "bends": self.bends,
        }
        return Climb(problem, tol, self.seed, self.train, left, given, **options)

    def _take(self, climb: Climb, end: float) -> None:
        self.taken = self.spent, climb.spent
        self.solutions.append(climb.solutions[climb.best])
        self.edges.append(end)

    def _judge(self, climb: Climb, against: Problem) -> Ending:
        """Estimate the error of the stretch that was taken last, with what it inherited; returns what it ends with."""
        solution, own = self.solutions[-1], climb.estimate(climb.best)
        changed, estimator = self.growth.state, None
        if changed is not None:
            begin, end = self.edges[-2:]
            problem = stretch(self.problem, self.axis, begin, end, changed)
            estimator = self._estimator(climb, problem, solution, as_trained=True)
        growth = self.growth.over(estimator, climb)
        found = None if climb.rungs[climb.best].plan.features else self._carried(climb, against, solution)
        estimate = own.estimate
        if found is not None and found.reliable:
            value, direction, estimate = found.worst + self.lost, found.direction, found
        else:
            # The tangent space does not say how what came with the beginning goes on: it grows as a change would that
            # is carried along. Where there is none it is taken to stay as it is.
            inherited = growth * self.errors[-1].value if self.errors else 0.0
            value, direction = own.value + inherited, np.zeros_like(solution.theta)
            self.lost = value
        trusted = own.trusted and not too_far_to_linearise(value, linear=self.problem.is_linear)
        reasons = own.reasons if not own.trusted else (TOO_LARGE,) if not trusted else ()
        self.errors.append(Judgement(value, trusted, reasons, estimate))
        return Ending(solution, self.axis, self.orders, direction)

    def _carried(self, climb: Climb, against: Problem, solution: Solution) -> ErrorEstimate | None:
        """The estimated error against what the stretch would have begun with, had the last one had no error."""
        try:
            return self._estimator(climb, against, solution)(solution.theta)
        except AnagramError:
            return None

    def _estimator(self, climb: Climb, against: Problem, solution: Solution, *, as_trained: bool = False) -> Estimator:
        """Of a stretch that began with something else: on fresh points, or on those of its best rung."""
        scaled = in_natural_sizes(against, climb.sizes) if self.given.method == "auto" else against
        plan, parameters = climb.rungs[climb.best].plan, solution.model.parameters
        options: dict[str, Any] = {"least": climb.least}
        if as_trained and self.given.points is None and not is_one_rung(self.given):
            options["on"] = sample(scaled, rung_points(plan, against, parameters, climb.bends), self.seed)
        else:
            options |= {"shares": node_shares(plan, against), "bends": climb.bends if plan.waves else {}}
        return Estimator(scaled, solution.model, inside_points(plan, against, parameters), self.seed, **options)

    @property
    def judgement(self) -> Judgement:
        """On all stretches: the largest relative error of one of them, with what it inherited."""
        if not self.is_whole:
            came = self.edges[len(self.errors)]
            reason = f"{self.axis} was solved to {came:.6g} of {self.high:.6g} only"
            return Judgement(float("inf"), False, (reason,))
        worst = max(self.errors, key=lambda e: e.value)
        doubtful = [e for e in self.errors if not e.trusted]
        reasons = worst.reasons if not worst.trusted or not doubtful else doubtful[0].reasons
        return Judgement(worst.value, not doubtful, reasons, worst.estimate)

    def joined(self) -> tuple[ParametricModel, np.ndarray]:
        """All stretches as one model with its parameters; beyond the last one it goes on as it is."""
        specs: list[Any] = [s.model.spec for s in self.solutions]
        spec = Pieces(*specs, axis=self.axis, edges=self.edges)
        sought = self.problem.sought
        model = ParametricModel(sought, spec, 0)
        modules = [s.model._module(jnp.asarray(s.theta)) for s in self.solutions]
        whole = eqx.tree_at(lambda m: m.parts, model.module, modules)
        return model, np.asarray(model.parameters_of(whole))
