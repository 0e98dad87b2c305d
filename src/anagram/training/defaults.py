"""Defaults: model, steps and options chosen from a problem when the user says nothing.

Three things are looked at: the number of dimensions, whether the problem is linear, and whether there is an
accelerator, which takes a larger model in the same time. Linear equations
with smooth data have smooth solutions, which two small layers reach to rounding. Nonlinear ones make fronts and
layers; they get a deeper network and cells of points that move.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from anagram.compound.batch import enough_points
from anagram.environment import device_memory, has_accelerator
from anagram.errors import SettingError
from anagram.methods import METHODS, Method
from anagram.models import MLP, ModelSpec, count_parameters
from anagram.statement.domains import Redrawn
from anagram.statement.problem import Problem
from anagram.training.setting import Setting

NEVER = {"sketch": 0, "restarts": 0}  # options that say what the method for many parameters does anyway
FRESH_STEPS = 5000  # of methods that see other points at every step: what one of them learns is little
MOST_DENSE = 20_000  # parameters; beyond, matrices of size P×P take too long even where they fit


def complete(setting: Setting, problem: Problem) -> Setting:
    """The setting with nothing left open but the points."""
    model = default_model(problem) if setting.model is None else setting.model
    setting = _without_matrices(replace(setting, model=model), problem)
    return replace(
        setting,
        steps=default_steps(problem, setting.make_method()) if setting.steps is None else setting.steps,
        options={**default_options(problem, setting.method, setting.points), **setting.options},
    )


def _without_matrices(setting: Setting, problem: Problem) -> Setting:
    """The default method in its form for many parameters, where matrices of size P×P are out of the question."""
    if setting.method != "auto":
        return setting
    parameters = count_parameters(setting.model, problem.sought)
    if parameters is None or not too_many(setting.make_method(), parameters):
        return setting
    usual = default_options(problem, "auto", setting.points)
    given = {name: value for name, value in setting.options.items() if (name, value) not in usual.items()}
    given = {name: value for name, value in given.items() if (name, value) not in NEVER.items()}
    other = [name for name in given if name not in inspect.signature(METHODS["large"]).parameters]
    if other:
        raise SettingError(
            f"a model with {parameters} parameters is trained by the method large, which has no option '{other[0]}': "
            "leave it out, or take a smaller model"
        )
    return replace(setting, method="large", options=given)


def too_many(method: Method, parameters: int) -> bool:
    """Whether a model has too many parameters for the matrices of a method."""
    there = device_memory()
    return parameters > MOST_DENSE or (there is not None and method.memory(parameters, 0) > there)


def default_model(problem: Problem) -> ModelSpec:
    """A network of a size that fits the problem."""
    many = problem.sought.outputs**0.5  # several unknowns share the hidden layers
    if problem.domain.dimension > 2:
        return MLP(round(80 * many))
    if problem.is_linear:
        return MLP(*[round(14 * many)] * 2)
    return MLP(*[round((30 if has_accelerator() else 20) * many)] * 3, scale=2)


def default_steps(problem: Problem, method: Method) -> int:
    """The largest number of steps; most runs stop by themselves before."""
    if method.fresh_points:
        return FRESH_STEPS
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
    if method not in ("auto", "large"):
        return {}
    options: dict[str, float] = {}
    if problem.domain.dimension > 2:
        # In many dimensions long first steps saturate the few units a network has, and it does not recover.
        options["growth"] = 1.5
    if method == "large":
        return options
    if problem.domain.dimension <= 2 and problem.is_linear:
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
