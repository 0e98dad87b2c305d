"""Defaults: model, steps and options chosen from a problem when the user says nothing.

Three things are looked at: the number of dimensions, whether the problem is linear, and whether there is an
accelerator, which takes a larger model in the same time. Linear equations
with smooth data have smooth solutions, which two small layers reach to rounding. Nonlinear ones make fronts and
layers; they get a deeper network and cells of points that move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from anagram.compound.batch import enough_points
from anagram.environment import has_accelerator
from anagram.methods import Method
from anagram.models import MLP, ModelSpec
from anagram.statement.domains import Redrawn
from anagram.statement.problem import Problem
from anagram.training.setting import Setting


def complete(setting: Setting, problem: Problem) -> Setting:
    """The setting with nothing left open but the points."""
    return replace(
        setting,
        model=default_model(problem) if setting.model is None else setting.model,
        steps=default_steps(problem) if setting.steps is None else setting.steps,
        options={**default_options(problem, setting.method, setting.points), **setting.options},
    )


def default_model(problem: Problem) -> ModelSpec:
    """A network of a size that fits the problem."""
    many = problem.sought.outputs**0.5  # several unknowns share the hidden layers
    if problem.domain.dimension > 2:
        return MLP(round(80 * many))
    if problem.is_linear:
        return MLP(*[round(14 * many)] * 2)
    return MLP(*[round((30 if has_accelerator() else 20) * many)] * 3, scale=2)


def default_steps(problem: Problem) -> int:
    """The largest number of steps; most runs stop by themselves before."""
    if problem.domain.dimension > 2:
        return 200
    if problem.is_linear:
        return 800
    return 600 if has_accelerator() else 450


def default_points(problem: Problem, method: Method, parameters: int) -> int:
    """How many points the domain gets where nothing is said."""
    return enough_points(problem, parameters) if method.points_wanted is None else method.points_wanted


def default_options(problem: Problem, method: str | Method, points: Any = None) -> dict[str, float]:
    """Options of the method that depend on the problem."""
    if method != "auto":
        return {}
    options: dict[str, float] = {}
    if problem.domain.dimension > 2:
        # In many dimensions long first steps saturate the few units a network has, and it does not recover.
        options["growth"] = 1.5
    elif problem.is_linear:
        # Rounding is within reach, and a walk from the beginning is cheap.
        options |= {"done_at": 1e-20, "restarts": 2}
    if not problem.is_linear:
        # Rounding is far away, and plain normal equations take half the time of balanced ones.
        options["squared_until"] = 1e-17
    rules = points.values() if isinstance(points, Mapping) else [points]
    if any(isinstance(rule, Redrawn) for rule in rules):
        # The greedy steps of a sketch fit points that are so few that they have to be redrawn.
        options["sketch"] = 0
    return options
