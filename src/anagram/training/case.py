"""Cases: a problem and the setting it is solved with, side by side."""

from __future__ import annotations

from dataclasses import dataclass, field

from anagram.errors import SettingError
from anagram.statement.problem import Problem
from anagram.training.setting import Setting


@dataclass(frozen=True)
class Case:
    """What an entry of the catalogue or a file states.

    `source` is the text of the file that states the problem, if there is one: runs keep a copy of it.
    """

    problem: Problem
    setting: Setting = field(default_factory=Setting)
    source: str | None = None


def case_of(given: Problem | Case) -> Case:
    """A problem as a case: with the setting that it carries, or with one that leaves all open."""
    if isinstance(given, Case):
        return given
    if not isinstance(given, Problem):
        raise SettingError(
            f"solve needs a Problem, not {type(given).__name__}; those of the catalogue: catalogue.problem(name)"
        )
    setting = Setting() if given.setting is None else given.setting
    if not isinstance(setting, Setting):
        raise SettingError(f"the setting of a problem is a Setting(...), not {type(setting).__name__}")
    return Case(given, setting)
