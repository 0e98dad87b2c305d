"""The configuration of a run as JSON, and back: all that is needed to do it again, or to go on with it.

What cannot be written down (modules, methods or rules of one's own) is noted by its name; it has to be given again.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields, replace
from typing import Any

from anagram.compound.batch import checked_seed
from anagram.errors import SettingError
from anagram.methods import METHODS, Method
from anagram.models import ModelSpec, spec_from_json, spec_to_json
from anagram.statement.domains.codec import points_from_json, points_to_json
from anagram.statement.stretches import Stretches, checked_stretches
from anagram.training.budget import Budget
from anagram.training.setting import Setting

CUSTOM = "custom"
KEEP = ("last", "best")


@dataclass(frozen=True)
class Configuration:
    """Setting, budget, seed, and which parameters are kept.

    `climbs` says whether the run is a climb to a tolerance; what its setting leaves open is then chosen on the way.
    `stretches` has the number of stretches of time that it is solved in, or the edges between them, if they are given.
    """

    setting: Setting
    budget: Budget
    seed: int = 0
    keep: str = "best"
    climbs: bool = False
    stretches: Stretches | None = None

    def __post_init__(self) -> None:
        if self.keep not in KEEP:
            raise SettingError(f"keep is {' or '.join(KEEP)}, not {self.keep!r}")

    def as_json(self) -> dict[str, Any]:
        """For ``run.json``."""
        return {
            "model": None if self.setting.model is None else model_to_json(self.setting.model),
            **_method_to_json(self.setting),
            "points": _points_to_json(self.setting.points),
            "budget": self.budget.as_json(),
            "seed": self.seed,
            "keep": self.keep,
            "climbs": self.climbs,
            **({"steps": self.setting.steps} if self.climbs else {}),
            **({"stretches": self.stretches} if self.stretches is not None else {}),
        }


def configuration_from_json(data: dict[str, Any], model: Any = None, method: Any = None, points: Any = None) -> Any:
    """The configuration that a record describes; what it could not hold is given by the user.

    A model, method or rule that was written down is the one that counts.
    """
    budget = Budget(**{f.name: data["budget"][f.name] for f in fields(Budget) if f.name in data["budget"]})
    setting = Setting(
        model=_given_if_custom(data["model"], model, "model", model_from_json),
        method=_given_if_custom(data["method"], method, "method", str),
        options=dict(data["options"]),
        points=_given_if_custom(data["points"], points, "points", points_from_json),
        steps=budget.steps,
    )
    climbs = data.get("climbs") is True
    if climbs:
        setting = replace(
            setting, steps=None if data.get("steps") is None else replace(budget, steps=data["steps"]).steps
        )
    stretches = None if data.get("stretches") is None else checked_stretches(data["stretches"])
    return Configuration(setting, budget, checked_seed(data["seed"]), str(data["keep"]), climbs, stretches)


def model_to_json(spec: Any) -> dict[str, Any]:
    """A recipe, recipes by unknown, or the name of a class."""
    if isinstance(spec, ModelSpec):
        return spec_to_json(spec)
    if isinstance(spec, dict) and all(isinstance(s, ModelSpec) for s in spec.values()):
        return {"kind": "by-unknown", "models": {name: spec_to_json(s) for name, s in spec.items()}}
    return {"kind": CUSTOM, "class": type(spec).__qualname__}


def model_from_json(data: dict[str, Any]) -> Any:
    """The inverse of `model_to_json`, for recipes."""
    if data.get("kind") == CUSTOM:
        raise SettingError(f"its model is a module of your own ({data.get('class')}): pass load(..., model=module)")
    if data.get("kind") == "by-unknown":
        return {str(name): spec_from_json(spec) for name, spec in data["models"].items()}
    return spec_from_json(data)


def _method_to_json(setting: Setting) -> dict[str, Any]:
    """Name and options; those of a ready method are read off it."""
    if isinstance(setting.method, str):
        return {"method": setting.method, "options": dict(setting.options)}
    name = next((n for n, kind in METHODS.items() if kind is type(setting.method)), None)
    parameters = inspect.signature(type(setting.method)).parameters
    if name is None or not all(_is_plain(getattr(setting.method, p, setting)) for p in parameters):
        return {"method": {"kind": CUSTOM, "class": type(setting.method).__qualname__}, "options": {}}
    return {"method": name, "options": {p: getattr(setting.method, p) for p in parameters}}


def _points_to_json(points: Any) -> Any:
    try:
        return points_to_json(points)
    except SettingError:
        return {"kind": CUSTOM, "class": repr(points)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_plain(v) for v in value)
    return value is None or isinstance(value, bool | int | float | str)


def _given_if_custom(data: Any, given: Any, what: str, read: Any) -> Any:
    """What was written down, or what the user gives in its place."""
    if data is None and what == "model":
        return None
    if not (isinstance(data, dict) and data.get("kind") == CUSTOM):
        if given is not None:
            raise SettingError(f"the run has its {what} written down: leave {what}= out")
        return read(data)
    if given is None:
        raise SettingError(f"its {what} is your own ({data.get('class')}): give it again, {what}=...")
    if what == "method" and not isinstance(given, Method):
        raise SettingError(f"its method is a method object of your own ({data.get('class')}), not {given!r}")
    return given
