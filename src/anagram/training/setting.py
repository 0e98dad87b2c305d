"""Settings: with which model, points, method and number of steps a problem is solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anagram.errors import SettingError
from anagram.methods import METHODS, Method, make_method
from anagram.models import MLP, Fourier, ModelSpec, Polynomial

MODEL_KEYS = {"width", "widths", "depth", "activation", "init", "scale", "order", "degree", "basis", "model"}


@dataclass(frozen=True)
class Setting:
    """A way to solve a problem. What is None is chosen from the problem, see `anagram.training.defaults`."""

    model: Any = None
    method: str | Method = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    points: Any = None
    steps: int | None = None

    def make_method(self) -> Method:
        """The method with its options."""
        return make_method(self.method, **self.options)

    def with_method(self, name: str | Method) -> Setting:
        """The same with another method; options of the old one do not carry over."""
        if name == self.method:
            return self
        return replace(self, method=name, options={})

    def with_changes(self, changes: Mapping[str, Any]) -> Setting:
        """Apply ``key=value`` changes: options of the model, the method, or ``points`` and ``steps``."""
        setting = self
        of_model = {k: v for k, v in changes.items() if k in MODEL_KEYS}
        if of_model:
            setting = replace(setting, model=_changed_model(setting.model, of_model))
        of_method = dict(setting.options)
        for key, value in changes.items():
            if key in MODEL_KEYS:
                continue
            if key in ("points", "steps"):
                setting = replace(setting, **{key: value})
            elif key in _method_options(setting.method):
                of_method[key] = value
            else:
                others = [name for name in METHODS if key in _method_options(name)]
                if others:
                    raise SettingError(
                        f"'{key}' is an option of the method {others[0]}; the method is {setting.method}"
                    )
                known = sorted({*MODEL_KEYS, "points", "steps", *_method_options(setting.method)})
                raise SettingError(
                    f"there is no option '{key}'; with the method {setting.method} there are {', '.join(known)}"
                )
        return replace(setting, options=of_method)


def _method_options(method: str | Method) -> list[str]:
    import inspect

    if isinstance(method, Method) or method not in METHODS:
        return []
    return list(inspect.signature(METHODS[method]).parameters)


def _changed_model(model: Any, changes: Mapping[str, Any]) -> ModelSpec:
    if not isinstance(model, ModelSpec):
        raise SettingError(
            "options of the model can be changed only for recipes such as MLP(32), not for a ready module"
        )
    changes = dict(changes)
    kinds: dict[str, ModelSpec] = {"mlp": MLP(20, 20), "fourier": Fourier(8), "polynomial": Polynomial(12)}
    kind, options = type(model), model.options()
    if "model" in changes:
        name = str(changes.pop("model")).lower()
        if name not in kinds:
            raise SettingError(f"there is no model '{name}'; choose from {', '.join(kinds)}")
        if type(kinds[name]) is not kind:
            kind, options = type(kinds[name]), kinds[name].options()
    if kind is MLP:
        widths = changes.pop("widths", options["widths"])
        widths = list(widths) if isinstance(widths, tuple | list) else [widths]
        depth = changes.pop("depth", len(widths))
        width = changes.pop("width", None)
        if width is not None or depth != len(widths):
            widths = [width if width is not None else widths[0]] * _whole(depth, "depth")
        options = {**options, "widths": widths}
    for key in changes:
        if key not in options:
            raise SettingError(f"the model {kind.__name__} has no option '{key}'; it has {', '.join(options)}")
    return kind.from_options({**options, **changes})


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingError(f"{name} must be a positive whole number, not {value!r}")
    return value
