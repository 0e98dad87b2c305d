"""Entries of the catalogue: a ready problem, what it is called, and the paper's setting where it has one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anagram.errors import ProblemError, SettingError
from anagram.statement.problem import Problem
from anagram.training.setting import Setting


@dataclass(frozen=True)
class Entry:
    """A problem of the catalogue.

    `state` states it (with its own parameters, such as a viscosity); `kind` is the heading under which it is listed.
    `paper` is the setting of the paper's experiment, for the problems of the paper. Otherwise it is solved with the
    defaults of any other problem (`anagram.training.defaults`).
    """

    name: str
    title: str
    equation: str
    kind: str
    state: Callable[..., Problem]
    paper: Setting | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the problem with their default values."""
        return {k: p.default for k, p in inspect.signature(self.state).parameters.items()}

    def problem(self, paper: bool = False, **parameters: Any) -> Problem:
        """The problem, with the setting it is to be solved with."""
        unknown = set(parameters) - set(self.parameters)
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise SettingError(f"the problem '{self.name}' has no parameter '{min(unknown)}'; its parameters: {known}")
        if paper and self.paper is None:
            raise SettingError(f"the problem '{self.name}' is not one of the paper: it has no setting of the paper")
        problem = self.state(**parameters)
        origin = {"catalogue": self.name, "parameters": {**self.parameters, **parameters}, "paper": paper}
        if not paper:
            return problem.restated(origin=origin)
        # In the paper all conditions count the same.
        weights = {key: condition.weight or 1.0 for key, condition in problem.conditions.items()}
        return problem.restated(weights=weights, setting=self.paper, origin=origin)


def number(what: str, value: Any, low: float, high: float) -> float:
    """A parameter that is a number between two others."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ProblemError(f"{what} must be a number from {low:g} to {high:g}, not {value!r}")
    return float(value)


def whole(what: str, value: Any, low: int, high: int) -> int:
    """A parameter that is a whole number between two others."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ProblemError(f"{what} must be a whole number from {low} to {high}, not {value!r}")
    return value
