"""What a climb or a march found: one solution, its estimated error, and plain words on whether that is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from anagram.climbing.climb import (
    BY_MONITOR,
    GAVE_UP,
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
from anagram.climbing.judging import Judgement
from anagram.climbing.march import STOPPED, March
from anagram.compound import Compound
from anagram.compound.batch import sample
from anagram.compound.judge import Judge
from anagram.solution import Solution
from anagram.statement.condition import describe_point
from anagram.statement.domains import Along, Kronecker
from anagram.statement.jumps import jumps_along
from anagram.statement.problem import Problem
from anagram.statement.sizes import in_natural_sizes, natural_sizes
from anagram.statement.stretches import evolution_axis, stretch_edges
from anagram.training.history import History
from anagram.training.ladder import LOST, RACE, best
from anagram.training.rungs import Plan, Rung, fine_axes
from anagram.training.setting import Setting

LOOKED_AT = 2048  # points at which the largest residual is looked for
TINY = 1e-12  # a relative error that is rounding, about
CLOSER = 300.0  # times the tolerance: errors of a march that smaller ones on each stretch may bring below it
NO_TIME = 1e-9  # seconds: a budget with which one rung is begun, and stopped after its first steps

Tell = Callable[[Rung], None]


class Found:
    """A solution with the judgement on it and the rungs that led to it."""

    def __init__(self, solution: Solution, judgement: Judgement, rungs: list[Rung], reason: str, tol: float) -> None:
        self.solution, self.judgement, self.rungs, self.reason, self.tol = solution, judgement, rungs, reason, tol

    @property
    def reached(self) -> bool | None:
        """Whether the tolerance is met; a tolerance of 0 is one of which nobody can tell."""
        if self.tol == 0:
            return None
        return bool(self.judgement.trusted and self.judgement.value <= self.tol)

    def finished(self, problem: Problem) -> Solution:
        """The solution of the problem as it was stated, with all of this in its summary."""
        solution, judgement, summary = self.solution, self.judgement, self.solution.summary
        solution.problem = problem if problem.undeflated is None else problem.undeflated
        summary.pop("rung", None)
        summary["problem"] = problem.name
        summary["seconds"] = sum(r.outcome.seconds for r in self.rungs)
        summary["compile_seconds"] = sum(r.outcome.compile_seconds for r in self.rungs)
        summary["total_steps"] = sum(r.outcome.steps for r in self.rungs)
        summary["tol"], summary["reached"] = self.tol, self.reached
        summary["relative_error_estimate"] = _finite(judgement.value)
        summary["error_estimate"] = self._estimate()
        summary["rungs"] = [r.as_json() for r in self.rungs]
        summary["stopped_because"] = self.reason
        if judgement.estimate is not None:
            solution.note_worst_members(judgement.estimate)
        if self.reached is False:
            summary["missing"] = missing(solution, judgement, self.reason)
        return solution

    def _estimate(self) -> dict[str, Any]:
        found = self.judgement.estimate
        if found is None:
            reasons = list(self.judgement.reasons) or ["the residual is far too large"]
            return {"value": None, "relative": None, "reliable": False, "reasons": reasons}
        # What the comparison of two rungs adds to the estimate of the tangent space.
        factor = self.judgement.value / found.worst if found.worst > 0 else 1.0
        return {
            "value": found.value * factor,
            "relative": found.relative * factor,
            "reliable": self.judgement.trusted,
            "reasons": [] if self.judgement.trusted else list(self.judgement.reasons),
            "coefficients": {name: value * factor for name, value in found.coefficients.items()},
        }


def find(
    problem: Problem,
    tol: float,
    seed: int,
    train: TrainRung,
    seconds: float | None,
    given: Setting,
    tell: Tell,
    stretches: Any = None,
) -> Found:
    """Climb; where a network does not get hold of an evolution, march. With `stretches`, march along these at once."""
    if stretches is not None:
        axis, edges = stretch_edges(problem, stretches)
        march = March(problem, axis, tol, seed, train, seconds, given, edges)
        return _marched(march, None, march.run(tell))
    axis = None if is_one_rung(given) or given.points is not None else evolution_axis(problem)
    on_a_line = problem.domain.dimension == 1
    earlier: list[Rung] = []
    between, first = [], 0  # rungs of a march after the first ones of the climb
    if axis is not None and jumps_along(problem, axis):
        # Where something is switched on or off, a stretch ends: the solution is smooth on both sides.
        march = March(problem, axis, tol, seed, train, seconds, given)
        reason = march.run(tell)
        if march.is_whole or (march.solutions and reason in STOPPED):
            return _marched(march, None, reason)
        axis, earlier = None, march.rungs
        # One rung is begun in any case: there would be no solution at all.
        seconds = None if seconds is None else max(NO_TIME, seconds - march.spent)

    # In space the ladder is climbed to its end, unless stretches can be solved without a ladder for each of them.
    solves_stretches = axis is not None and not on_a_line and tol > 0 and bool(fine_axes(problem))

    def give_up(rungs: Sequence[Rung], plan: Plan) -> bool:
        if axis is None or plan.features or not (on_a_line or solves_stretches):
            return False
        raced = any(r.plan.level >= RACE or (r.plan.features and on_a_line) for r in rungs)
        lost = raced and best(rungs).outcome.residual > LOST
        expects_fronts = not problem.is_linear and climb.facts.fineness >= 1
        return lost or (not on_a_line and (plan.level > RACE or expects_fronts))

    climb = Climb(problem, tol, seed, train, seconds, given, give_up=give_up)
    reason = climb.run(tell)
    if reason == GAVE_UP and solves_stretches:
        assert axis is not None
        march, reason = _in_stretches(problem, axis, tol, seed, train, climb, given, tell)
        if march.is_whole or reason in (INTERRUPTED, BY_MONITOR):
            return _marched(march, climb, reason)
        # Not even stretches are solved for: larger networks are what is left. One rung is there in any case.
        axis, between, first, climb.give_up = None, march.rungs, len(climb.rungs), lambda *_: False
        climb.seconds = None if seconds is None else max(NO_TIME, seconds - march.spent)
        reason = climb.run(tell)
    # As many initial values as derivatives determine an ordinary equation: where the whole seems to be left open,
    # it has grown so much that rounding hides where it began.
    leaves = (GAVE_UP, NO_LARGER, UNDETERMINED) if on_a_line else (GAVE_UP, NO_LARGER)
    # In space a stretch has no more digits than the whole: a tolerance of 0 is not what a march is for.
    if axis is not None and reason in leaves and (on_a_line or tol > 0):
        left = None if seconds is None else max(0.0, seconds - climb.spent)
        march = March(problem, axis, tol, seed, train, left, given)
        return _marched(march, climb, march.run(tell))
    # Where the conditions do not determine the solution, no agreement of rungs says that one of them is it.
    place = climb.best if reason != UNDETERMINED else len(climb.rungs) - 1
    judgement = climb.estimate(place)
    if reason == NO_LARGER and judgement.value <= TINY:
        reason = ROUNDED
    elif reason in (NO_LARGER, TIME_UP) and judgement.trusted and judgement.value <= tol:
        reason = REACHED  # it was not looked at before
    rungs = [*earlier, *climb.rungs[:first], *between, *climb.rungs[first:]]
    return Found(climb.solutions[place], judgement, rungs, reason, tol)


def _in_stretches(
    problem: Problem,
    axis: str,
    tol: float,
    seed: int,
    train: TrainRung,
    climb: Climb,
    given: Setting,
    tell: Tell,
) -> tuple[March, str]:
    """A march whose stretches are solved for and not trained; a closer one after it, if errors have grown too much."""
    left = None if climb.seconds is None else climb.seconds - climb.spent
    march = March(problem, axis, tol, seed, train, left, given, solves=True)
    reason = march.run(tell)
    beyond = march.judgement.value / tol
    if not march.is_whole or not 1 < beyond < CLOSER:
        return march, reason
    left = None if climb.seconds is None else climb.seconds - climb.spent - march.spent
    closer = March(problem, axis, tol, seed, train, left, given, solves=True)
    closer.local /= 2 * beyond
    again = closer.run(tell)
    closer.rungs = [*march.rungs, *closer.rungs]
    if closer.is_whole:
        return closer, again
    march.rungs = closer.rungs  # the first one is what there is of the whole
    return march, again if again in STOPPED else reason


def _marched(march: March, climb: Climb | None, reason: str) -> Found:
    """What a march came to, after a climb that did not get hold of the whole, if there was one."""
    problem, tol = march.problem, march.tol
    rungs = [*(climb.rungs if climb is not None else ()), *march.rungs]
    if climb is not None and climb.rungs and not march.is_whole:
        # It did not come to the end: what one network found of the whole is all there is.
        return Found(climb.solutions[climb.best], climb.estimate(climb.best), rungs, reason, tol)
    model, theta = march.joined()
    history = _joined([s.history for s in march.solutions])
    last = march.solutions[-1].summary
    summary = {
        **last,
        "model": repr(model.spec),
        "parameters": model.parameters,
        "points": sum(s.summary["points"] for s in march.solutions),
        "rows": sum(s.summary["rows"] for s in march.solutions),
        "steps": history.count,
        "loss": float(np.mean([s.loss for s in march.solutions])),
        "best": {"step": history.count, "validation_loss": last["validation_loss"]},
        "stretches": list(march.edges),
        "stretch_errors": [_finite(error.value) for error in march.errors],
    }
    solution = Solution(problem, model, theta, history, summary)
    in_sizes = climb is None and march.given.method == "auto"
    scaled = (
        in_natural_sizes(problem, natural_sizes(problem)) if in_sizes else problem if climb is None else climb.scaled
    )
    measure(solution, scaled, march.seed)
    judgement = march.judgement
    if march.is_whole:
        enough, tiny = judgement.trusted and judgement.value <= tol, judgement.value <= TINY
        reason = REACHED if enough else ROUNDED if tiny else NO_LARGER if reason == REACHED else reason
    return Found(solution, judgement, rungs, reason, tol)


def measure(solution: Solution, scaled: Problem, seed: int) -> None:
    """Losses on fresh points, and errors where the solution is known, of parameters that no run has ended with."""
    compound = Compound(scaled, solution.model)
    judge = Judge(compound, sample(scaled, None, seed), seed)
    measure = compound.layout.program(compound.layout.quick_jit(judge.measure))
    measured = measure(compound.numbers, jnp.asarray(solution.theta), *judge.data)
    known = scaled.knows_solution
    solution.summary |= {
        "validation_loss": float(measured.validation_loss),
        "l2_error": float(measured.l2_error) if known else None,
        "relative_l2_error": float(measured.relative_l2_error) if known else None,
        "condition_losses": {key: float(measured.condition_losses[key]) for key in scaled.soft},
    }


def _joined(histories: list[History]) -> History:
    """Histories one after the other."""
    whole = History()
    seconds = 0.0
    for history in histories:
        before = whole.count
        if history.steps:  # a stretch for which no time was left has none
            shifted = {**history.steps, "seconds": history.steps["seconds"] + seconds}
            shared = shifted if not whole.steps else {k: v for k, v in shifted.items() if k in whole.steps}
            whole.steps = {k: np.concatenate([whole.steps[k], v]) if whole.steps else v for k, v in shared.items()}
        whole.blocks += [{**b, "step": b["step"] + before, "seconds": b["seconds"] + seconds} for b in history.blocks]
        seconds = whole.blocks[-1]["seconds"]
    return whole


def missing(solution: Solution, judgement: Judgement, reason: str) -> str:
    """Why a tolerance was not met: which condition, where, and what would help."""
    problem = solution.stated_problem()
    losses = solution.summary["condition_losses"]
    key = max(losses, key=lambda k: losses[k])
    region = problem.region(key)
    x = region.draw(Kronecker(LOOKED_AT), np.random.default_rng(0)).x
    residual = solution.residual(key, x)
    place = describe_point(problem.domain.axes, x[int(np.argmax(residual))])
    near = f"the residual is largest in '{key}'" + (
        "" if isinstance(region, Along) and not region.dimension else f", near {place}"
    )
    doubt = "" if judgement.trusted else f"; the estimate is not to be relied on ({'; '.join(judgement.reasons)})"
    helps = {
        UNDETERMINED: "state the condition that is missing, such as a value at a point",
        TIME_UP: "more time may help: a larger seconds=",
        INTERRUPTED: "it was interrupted, and can go on: resume",
        BY_MONITOR: "it was stopped, and can go on: resume",
        NO_LARGER: "larger networks did not help: look for a layer, a kink, noise in the data or a condition too few "
        "there, or give a model and points of your own",
    }.get(reason, "a larger model or more steps may help")
    return f"{near}{doubt}; {helps}"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
