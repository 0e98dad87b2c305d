"""The grid of a study: every choice of options and method, for every seed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anagram.errors import SettingError

LONGEST_NAME = 120  # characters of a folder


@dataclass(frozen=True)
class Combination:
    """One point of the grid, without the seed."""

    method: str
    options: tuple[tuple[str, Any], ...]
    swept: tuple[str, ...]  # the options that have more than one value in the grid

    @property
    def label(self) -> str:
        """What tells it from the others, for tables and figures."""
        return " ".join([self.method, *(f"{k}={_shown(v)}" for k, v in self.options if k in self.swept)])

    def folder(self, seed: int) -> str:
        """The name of the folder of a run."""
        parts = [self.method, *(f"{k}={_shown(v)}" for k, v in self.options)]
        name = re.sub(r"[^\w.=+-]+", "_", "-".join(parts)).strip("_.")
        return f"{name[:LONGEST_NAME]}-seed{seed}"


def combinations(methods: Sequence[str], values: Mapping[str, Sequence[Any]]) -> list[Combination]:
    """All of them; options with one value are the same everywhere."""
    for what, given in {"method": methods, **values}.items():
        if not given:
            raise SettingError(f"the study has no value for {what}")
        if len({repr(v) for v in given}) < len(given):
            raise SettingError(f"the study has a value of {what} twice")
    swept = tuple(key for key, choices in values.items() if len(choices) > 1)
    found = [
        Combination(method, tuple(zip(values, chosen, strict=True)), swept)
        for method in methods
        for chosen in itertools.product(*values.values())
    ]
    if len({c.folder(0) for c in found}) < len(found):
        raise SettingError("two combinations would share a folder: shorten the values, or split the study")
    return found


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).replace(" ", "")
