"""Entries of the catalogue: a ready problem with the paper's setting and a good one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anagram.errors import SettingError
from anagram.statement.problem import Problem
from anagram.training.setting import Setting


@dataclass(frozen=True)
class Entry:
    """A problem of the catalogue.

    `state` states it (with its own parameters, such as a viscosity); `paper` is the setting of the paper's
    experiment. Otherwise it is solved with the defaults of any other problem (`anagram.training.defaults`).
    """

    name: str
    title: str
    equation: str
    state: Callable[..., Problem]
    paper: Setting

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
        problem = self.state(**parameters)
        origin = {"catalogue": self.name, "parameters": {**self.parameters, **parameters}, "paper": paper}
        if not paper:
            return problem.restated(origin=origin)
        # In the paper all conditions count the same.
        weights = {key: condition.weight or 1.0 for key, condition in problem.conditions.items()}
        return problem.restated(weights=weights, setting=self.paper, origin=origin)
