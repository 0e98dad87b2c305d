"""Recipes for models: what a user writes, `MLP(32, 32)`, before domain, unknowns and seed are known."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax

from anagram.errors import SettingError
from anagram.statement.domains import Domain


class ModelSpec(abc.ABC):
    """A recipe: `build` makes the module that maps a point to values. Recipes can be written to JSON."""

    closes = False  # whether its modules are periodic on periodic axes; of others it is found by trying
    is_linear = False  # whether its modules are linear in their parameters: they are their own tangent space
    kinds: ClassVar[dict[str, type[ModelSpec]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__name__ in ModelSpec.kinds:
            raise SettingError(f"there is a model '{cls.__name__}' already: choose another name for yours")
        ModelSpec.kinds[cls.__name__] = cls

    @abc.abstractmethod
    def build(self, domain: Domain, outputs: int, key: jax.Array) -> eqx.Module:
        """The module, with its initial parameters."""

    def count(self, domain: Domain, outputs: int) -> int:
        """How many parameters the module has, found without allocating any."""
        shapes = eqx.filter_eval_shape(self.build, domain, outputs, jax.random.key(0))
        arrays = jax.tree.leaves(eqx.filter(shapes, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)))
        return sum(leaf.size for leaf in arrays)

    @abc.abstractmethod
    def options(self) -> dict[str, Any]:
        """Everything that `from_options` needs, as JSON values."""

    @classmethod
    @abc.abstractmethod
    def from_options(cls, options: dict[str, Any]) -> ModelSpec:
        """The inverse of `options`."""


def spec_to_json(spec: ModelSpec) -> dict[str, Any]:
    """A recipe as JSON."""
    return {"kind": type(spec).__name__, **spec.options()}


def spec_from_json(data: dict[str, Any]) -> ModelSpec:
    """A recipe from JSON."""
    options = dict(data)
    kind = options.pop("kind", None)
    if kind not in ModelSpec.kinds:
        raise SettingError(f"there is no model '{kind}'; known are {', '.join(ModelSpec.kinds)}")
    return ModelSpec.kinds[kind].from_options(options)
