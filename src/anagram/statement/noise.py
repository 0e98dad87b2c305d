"""Data with noise: what is said of it, and how much measured values count beside equations.

Values y_i = B(u)(x_i) + σ_i·(random numbers of size one) have the likelihood exp(−½ Σ ((B(u)(x_i) − y_i)/σ_i)²), and
their rows are divided by σ_i. The equation is no datum: it holds. Its rows therefore count much more, as if they were
known to within a standard deviation ε that is small beside what all of the data together say,

    ε = κ / √(Σ (size/σ_i)²),

with rows of conditions and of data in their natural sizes: a wave that all of them see moves the data, by their noise,
by ε/κ. With κ = 0.03 data bend an equation so little that standard errors grow by about a percent. Divided by ε all
rows are in standard deviations; multiplied by it, equations count as they do without data, and data by (ε/σ_i)².

From far away a small κ is a bad way to set out: fields that satisfy an equation are many, and most of them fit no data.
Runs are trained with κ = 1, where both count the same, and κ falls when they settle (`anagram.tangent.settling`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from anagram.errors import ProblemError
from anagram.statement.domains import PointSet

if TYPE_CHECKING:
    from anagram.statement.condition import Condition
    from anagram.statement.problem import Problem

ESTIMATE = "estimate"
HUBER = "huber"
THRESHOLD = 1.345  # standard deviations; with it errors that are Gaussian cost 5 % of efficiency
TRAINED = 1.0  # κ of runs, before they settle
FIRST_PRIOR = 0.1  # of the squares of the noise
GUESS = 0.01  # of its natural size: noise of which nothing is known, until it is estimated

Levels = Mapping[str, Float[np.ndarray, "points rows"]]


def check_belief(condition: Condition) -> None:
    """Refuse what cannot be said of noise, outliers and priors."""
    noise, robust, prior = condition.noise, condition.robust, condition.prior
    if not isinstance(prior, bool):
        raise ProblemError(f"prior= is True or False, not {prior!r}")
    if noise is not None:
        _check_noise(noise)
        for name, said in (("weight", condition.weight is not None), ("exact", condition.exact), ("prior", prior)):
            if said:
                raise ProblemError(f"a condition with noise= counts by its likelihood: leave {name}= out")
    if robust is not None:
        number = isinstance(robust, int | float | np.number) and not isinstance(robust, bool) and 0 < robust < np.inf
        if not number and robust != HUBER:
            raise ProblemError(f"robust= is 'huber' or a positive number of standard deviations, not {robust!r}")
        if noise is None:
            raise ProblemError("robust= needs noise=, the size of errors that are no outliers, or noise='estimate'")
    if prior and (condition.exact or condition.weight is not None):
        raise ProblemError(
            "a condition with prior=True counts as the noise of the data decides: leave weight= and exact= out"
        )


def _check_noise(noise: Any) -> None:
    if isinstance(noise, str):
        if noise != ESTIMATE:
            raise ProblemError(f"noise= is a standard deviation, an array of them or 'estimate', not {noise!r}")
        return
    values = np.asarray(noise)
    numbers = np.issubdtype(values.dtype, np.number) and not np.iscomplexobj(values) and values.dtype != bool
    if not numbers or not np.all(np.isfinite(values)) or not np.all(values > 0):
        wrong = ""
        if numbers and values.ndim == 1 and values.size:
            first = int(np.argmax(~(np.isfinite(values) & (values > 0))))
            wrong = f"; value {first} is {values[first]:g}"
        raise ProblemError(f"noise= needs positive standard deviations, a number or one for each value{wrong}")


def check_measured(problem: Problem) -> None:
    """Noise belongs to values at given points, and a prior to a problem with noise."""
    for key in problem.measured:
        what, region = f"condition '{key}'", problem.region(key)
        if not isinstance(region, PointSet):
            raise ProblemError(f"{what}: noise= is for values measured at points, on=domain.points(...)")
        levels_of(problem, key, 1.0)
    if problem.priors and not problem.measured:
        raise ProblemError(
            f"condition '{problem.priors[0]}' is a prior, and no condition has noise=: without noisy data nothing "
            "decides how much a prior counts; give it a weight= instead of prior=True"
        )


def threshold(condition: Condition) -> float | None:
    """Beyond how many standard deviations an error counts by its size; None if all count by their squares."""
    if condition.robust is None:
        return None
    return THRESHOLD if condition.robust == HUBER else float(condition.robust)


def levels_of(problem: Problem, key: str, size: float | np.ndarray) -> Float[np.ndarray, "points rows"]:
    """σ of each value of a condition; a part of its size where it is to be estimated."""
    noise, shape = problem.conditions[key].noise, (len(problem.region(key).x), problem.rows(key))
    if isinstance(noise, str):
        return np.broadcast_to(GUESS * np.asarray(size, dtype=float), shape)
    values = np.asarray(noise, dtype=float)
    if values.shape == shape[:1]:
        values = values[:, None]
    if values.shape not in ((), (shape[0], 1), shape):
        raise ProblemError(
            f"condition '{key}': noise= has the shape {values.shape}, it needs one number, ({shape[0]},) or {shape}"
        )
    return np.broadcast_to(values, shape)


def first_levels(problem: Problem) -> Levels:
    """σ of all measured values, before anything is estimated."""
    return {key: levels_of(problem, key, problem.row_sizes(key)) for key in problem.measured}


def tightness(problem: Problem, levels: Levels, kappa: float = TRAINED) -> float:
    """ε: to within which standard deviation equations are taken to hold, in natural sizes."""
    total = sum(float(np.sum((problem.row_sizes(key) / sigma) ** 2)) for key, sigma in levels.items())
    return kappa / np.sqrt(total)


def data_scale(problem: Problem, key: str) -> Float[np.ndarray, "points rows"]:
    """What the rows of measured values are multiplied by: √weight·ε/σ_i."""
    levels = first_levels(problem)
    return np.sqrt(problem.weight(key)) * tightness(problem, levels) / levels[key]


def first_prior_weight(problem: Problem) -> float:
    """How much a prior counts before the data decide: a field as rough as a wave costs a part of the noise."""
    levels = first_levels(problem)
    squares = [np.mean((sigma / problem.row_sizes(key)) ** 2) for key, sigma in levels.items()]
    return float(TRAINED**2 * FIRST_PRIOR * np.mean(squares))
