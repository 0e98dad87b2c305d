"""Several solutions: all that a nonlinear problem has, modes of an operator, and the way along a parameter."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from anagram.climbing import TrainedRungs
from anagram.climbing.climb import STEPS, Climb
from anagram.compound.batch import checked_seed
from anagram.errors import ProblemError, RunWarning, SettingError
from anagram.solution import Solution
from anagram.solving import solve
from anagram.statement.deflation import POWER, SHIFT, distance_between
from anagram.statement.domains import Kronecker
from anagram.statement.problem import Problem
from anagram.statement.sizes import natural_sizes
from anagram.training.budget import Budget
from anagram.training.configuration import Configuration
from anagram.training.rungs import Plan, Rung
from anagram.training.setting import Setting
from anagram.training.wide import MOST_DIMENSIONS

MULTIPLES = (2.0, 4.0, -1.0, 8.0, 0.25, 16.0, -4.0)  # of a known solution, from which another one is looked for
ROUGH = 0.05  # residuals below which a rough solution is worth a better one
TRIED = 3  # sets of features at most that look for one
LOOKED_AT = 1024  # points on which residuals are looked at
APART = 1e-2  # relative: what is nearer to a known solution is that one
FOUND = 1e-2  # root mean square of the residuals of a solution that is one, in natural sizes
STEEPER = 1.3  # times the last eigenvalue is the first guess of the next
SMALLEST = 1 / 64  # of the first step along a parameter


def solutions(
    problem: Problem,
    count: int = 2,
    *,
    guesses: Sequence[Any] = (),
    power: float = POWER,
    shift: float = SHIFT,
    **options: Any,
) -> list[Solution]:
    """Several solutions of a nonlinear problem, one after the other: ``lower, upper = ag.solutions(bratu, 2)``.

    Each is looked for with those before it divided out, see `Problem.deflated`; first near the guesses that are given,
    then near multiples of the solutions that are known.

    Args:
        problem: the problem.
        count: how many are looked for at most. There may be fewer: then a warning says that no other was found, which
            does not mean that there is none.
        guesses: functions of the point, or solutions of other problems, near which others may be.
        power: see `Problem.deflated`.
        shift: see `Problem.deflated`.
        options: those of `solve`, the same for each.
    """
    _check_count(count)
    found = [solve(problem, **options)]
    _refuse_unsolved(found[0], "the first solution")
    while len(found) < count:
        plain = problem.deflated(*found, power=power, shift=shift)
        other = next((s for s in _looked_for(plain, found, guesses, options) if _is_another(problem, s, found)), None)
        if other is None:
            message = f"no solution of '{problem.name}' was found besides the {len(found)} that are returned"
            warnings.warn(message, RunWarning, stacklevel=2)
            break
        found.append(other)
    return found


def _looked_for(
    plain: Problem, found: Sequence[Solution], guesses: Sequence[Any], options: dict[str, Any]
) -> Iterator[Solution]:
    """What deflated runs come to, from one guess after the other; features look first whether there is anything."""
    multiples = [_multiple(known, factor) for factor in MULTIPLES for known in found]
    original = plain.undeflated
    assert original is not None
    for guess in [*guesses, *multiples]:
        near = plain.restated(guess=guess)
        if plain.domain.dimension <= MOST_DIMENSIONS:
            rough = _rough(near, options.get("seed", 0))
            apart = all(distance_between(original, rough, known) > APART for known in found)
            if not apart or residual_of(rough, original) > ROUGH:
                continue
            near = plain.restated(guess=rough)
        yield solve(near, **options)


def _rough(problem: Problem, seed: int) -> Solution:
    """What a few small sets of features make of a problem."""
    rungs = TrainedRungs(Configuration(Setting(), Budget(STEPS), checked_seed(seed)))

    def enough(before: Sequence[Rung], plan: Plan) -> bool:
        return plan.features == 0 or len(before) >= TRIED

    climb = Climb(problem, ROUGH, seed, rungs, give_up=enough)
    climb.run()
    return climb.solutions[climb.best]


def _multiple(known: Solution, factor: float) -> Callable[[np.ndarray], Any]:
    def values(*x: np.ndarray) -> Any:
        own = known(*x)
        return {name: factor * v for name, v in own.items()} if isinstance(own, dict) else factor * own

    return values


def _is_another(problem: Problem, solution: Solution, found: Sequence[Solution]) -> bool:
    """Whether a run came to a solution, and to none that is known."""
    return is_solved(solution) and all(distance_between(problem, solution, known) > APART for known in found)


def is_solved(solution: Solution) -> bool:
    """Whether a run came to a solution, to the tolerance or to a residual that is small beside the equations."""
    if solution.failed:
        return False
    return bool(solution.reached) or residual_of(solution, solution.stated_problem()) <= FOUND


def residual_of(solution: Solution, problem: Problem) -> float:
    """Root mean square of all residuals on fresh points, in natural sizes; infinite where they are not finite."""
    rows, squares = natural_sizes(problem).rows, []
    plain = Solution(problem, solution.model, solution.theta, solution.history, solution.summary)
    for key in problem.soft:
        x = problem.region(key).draw(Kronecker(LOOKED_AT), np.random.default_rng(1)).x
        squares.append(np.mean(plain.residual(key, x) ** 2) / np.sum(np.square(rows[key])))
    found = float(np.sqrt(np.mean(squares)))
    return found if np.isfinite(found) else np.inf


def _refuse_unsolved(solution: Solution, what: str) -> None:
    if not is_solved(solution):
        raise SettingError(
            f"{what} was not found ({solution.stopped_because}; loss on fresh points {solution.validation_loss:.1e}): "
            "give more time, another model, or a first guess, Problem(guess=...)"
        )


def _check_count(count: Any) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ProblemError(f"count= is how many are wanted, a whole number from 1 on, not {count!r}")


def modes(
    problem: Problem,
    count: int = 2,
    *,
    eigenvalue: str | None = None,
    first_guesses: Sequence[float] = (),
    **options: Any,
) -> list[Solution]:
    """Modes of an eigenvalue problem, one after the other, each orthogonal to those before it.

    Args:
        problem: a problem with an unknown coefficient, the eigenvalue, and a condition that fixes the size of the mode.
        count: how many modes.
        eigenvalue: the name of the coefficient; may be left out if there is one.
        first_guesses: of the eigenvalues, from the second mode on. A mode is found near its guess; left out it is the
            last eigenvalue times 1.3. They need not come in order.
        options: those of `solve`, the same for each.
    """
    _check_count(count)
    name = _eigenvalue(problem, eigenvalue)
    found = [solve(problem, **options)]
    _refuse_unsolved(found[0], "the first mode")
    for number in range(1, count):
        last = found[-1].coefficients[name]
        guess = first_guesses[number - 1] if number <= len(first_guesses) else STEEPER * last
        other = problem.orthogonal_to(*found, coefficients={name: guess})
        found.append(solve(other, **options))
        if not is_solved(found[-1]):
            message = (
                f"mode {number + 1} was not found from the first guess {name} = {guess:.6g}: it is returned as it is; "
                "give first_guesses="
            )
            warnings.warn(message, RunWarning, stacklevel=2)
            break
    return found


def _eigenvalue(problem: Problem, name: str | None) -> str:
    known = list(problem.coefficients)
    if name is None and len(known) == 1:
        return known[0]
    if name is None or name not in known:
        have = f"there are {', '.join(known)}" if known else "it has none"
        raise ProblemError(f"modes need the name of the coefficient that is the eigenvalue, eigenvalue=...; {have}")
    return name


def homotopy(
    problem_of: Callable[[float], Problem],
    values: Sequence[float],
    *,
    log: bool | None = None,
    told: Callable[[float, Solution], None] = lambda *_: None,
    **options: Any,
) -> Solution:
    """A solution that is hard to find, by way of easier ones: ``ag.homotopy(lambda nu: flow(nu), [1.0, 0.1, 0.01])``.

    The problem is solved for one value of a parameter after the other, each from the solution of the last one. Where
    one is not found, a value between is tried before it; after one that was found, steps are longer again.

    Args:
        problem_of: states the problem for a value of the parameter.
        values: from an easy one to the one that is wanted.
        log: whether values between two others are means of their logarithms; left out, if all are positive.
        told: called with each value and its solution.
        options: those of `solve`, the same for each. With a model that is given, its parameters are taken on.

    The solution returned is that of the last value; its summary has the values that were taken as ``homotopy``.
    """
    way = _checked_way(values, log)
    log = all(v > 0 for v in way) if log is None else log
    place, step = way[0], 1.0
    solution = solve(problem_of(place), **options)
    _refuse_unsolved(solution, f"the solution for {place:g}")
    taken = [place]
    told(place, solution)
    for goal in way[1:]:
        begin = place
        done = 0.0  # of the way from the last value to this one
        while done < 1.0:
            ahead = min(1.0, done + step)
            value = goal if ahead == 1.0 else _between(begin, goal, ahead, log=log)
            found = _next(problem_of(value), solution, options)
            if not is_solved(found):
                step /= 2
                if step < SMALLEST:
                    raise SettingError(
                        f"the way ends at {place:g}: from there the solution for {value:g} was not found "
                        f"({found.stopped_because}); give values closer to each other, more time or a larger model"
                    )
                continue
            solution, place, done = found, value, ahead
            step = min(1.0, 2 * step)
            taken.append(value)
            told(value, solution)
    solution.summary["homotopy"] = taken
    return solution


def _next(problem: Problem, last: Solution, options: dict[str, Any]) -> Solution:
    """The solution of a problem from that of the one before: from its parameters where the model stays the same."""
    if options.get("model") is None or options.get("tol") is not None:
        return solve(problem.restated(guess=last), **options)
    return solve(problem, start=last, **{name: given for name, given in options.items() if name != "model"})


def _between(low: float, high: float, share: float, *, log: bool) -> float:
    return float(low * (high / low) ** share) if log else low + share * (high - low)


def _checked_way(values: Any, log: Any) -> list[float]:
    try:
        way = [float(v) for v in values]
    except (TypeError, ValueError):
        raise ProblemError(f"a homotopy needs a list of numbers, as in [1.0, 0.1, 0.01], not {values!r}") from None
    if len(way) < 2 or not np.all(np.isfinite(way)) or not np.all(np.diff(way)):
        raise ProblemError(
            f"a homotopy needs two or more finite values, each another one than the last, not {values!r}"
        )
    if log is True and min(way) <= 0:
        raise ProblemError(f"values with log=True are positive, not {values!r}")
    return way
