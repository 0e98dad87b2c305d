"""The parametric model of a problem: one vector θ for the parameters of all fields and all coefficients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from anagram.errors import SettingError
from anagram.models.mlp import Network
from anagram.models.spec import ModelSpec
from anagram.statement.fields import Field, Frame, constant
from anagram.statement.unknowns import Unknowns

ModelLike = ModelSpec | Callable[..., Any] | Mapping[str, Any]


def count_parameters(model: ModelLike, asked: Unknowns) -> int | None:
    """How many parameters recipes lead to, without allocating them; None for anything but recipes."""
    if isinstance(model, ModelSpec):
        return model.count(asked.domain, asked.outputs) + len(asked.coefficients)
    if not isinstance(model, Mapping) or not all(isinstance(model.get(u.name), ModelSpec) for u in asked.unknowns):
        return None
    return sum(model[u.name].count(asked.domain, u.components) for u in asked.unknowns) + len(asked.coefficients)


class ByUnknown(eqx.Module):
    """One module for each unknown, side by side."""

    modules: dict[str, Any]
    order: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, x: Array) -> Array:
        return jnp.concatenate([jnp.ravel(self.modules[name](x)) for name in self.order])

    def rough(self) -> ByUnknown:
        """Each module that knows a rough form of itself in that form."""
        return ByUnknown({k: _roughened(m) for k, m in self.modules.items()}, self.order)


class ParametricModel:
    """u: θ ↦ u_θ for all unknowns of a problem, together with its unknown coefficients.

    Args:
        asked: says how many values a point has and which coefficients are learned.
        model: a recipe such as `MLP(32)`, any equinox module from a point to values, or a mapping that gives one
            or the other for each unknown.
        seed: for the recipes.
    """

    def __init__(self, asked: Unknowns, model: ModelLike, seed: int = 0) -> None:
        self.asked = asked
        self.spec = model
        module = _build(asked, model, jax.random.key(seed))
        arrays, self._static = eqx.partition(module, eqx.is_inexact_array)
        leaves = jax.tree.leaves(arrays)
        if any(jnp.iscomplexobj(leaf) for leaf in leaves):
            raise SettingError(
                "the model has complex parameters; make them real (the values of a complex unknown are two outputs)"
            )
        arrays = jax.tree.map(lambda a: a.astype(float), arrays)
        tree = {"model": arrays, "coefficients": {k: jnp.asarray(v) for k, v in asked.coefficients.items()}}
        self.theta, self._unravel = ravel_pytree(tree)
        if self.theta.size == 0:
            raise SettingError("the model has no parameters to learn")
        self._check_values()

    @property
    def parameters(self) -> int:
        """P, the number of parameters, coefficients included."""
        return int(self.theta.size)

    def values(self, theta: Float[Array, " params"], x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        """All real components of the unknowns at one point."""
        module = eqx.combine(self._unravel(theta)["model"], self._static)
        return jnp.ravel(module(x))

    def quantities(self, theta: Float[Array, " params"], frame: Frame) -> dict[str, Field]:
        """The unknown fields u_θ and the coefficients, by name, as operators receive them."""
        tree = self._unravel(theta)
        module = eqx.combine(tree["model"], self._static)
        result: dict[str, Field] = {}
        offset = 0
        for unknown in self.asked.unknowns:
            result[unknown.name] = Field(_component(module, offset, unknown.is_complex), frame)
            offset += unknown.components
        return result | {name: constant(value, frame) for name, value in tree["coefficients"].items()}

    def coefficients(self, theta: Float[Array, " params"]) -> dict[str, float]:
        """The learned coefficients."""
        return {name: float(value) for name, value in self._unravel(theta)["coefficients"].items()}

    def rough(self, theta: Float[Array, " params"]) -> Float[Array, " params"]:
        """Parameters near θ from which a rough solution is found soon; θ itself for models that know none."""
        tree = self._unravel(theta)
        module = eqx.combine(tree["model"], self._static)
        rough = _roughened(module)
        return ravel_pytree({**tree, "model": eqx.filter(rough, eqx.is_inexact_array)})[0]

    def adopt(self, theta: Any) -> None:
        """Take other first parameters, of a model of the same kind."""
        theta = jnp.asarray(theta, dtype=float)
        if theta.shape != self.theta.shape:
            raise SettingError(f"the model has {self.parameters} parameters, the ones to start from are {theta.size}")
        self.theta = theta

    def _check_values(self) -> None:
        axes = self.asked.domain.axes
        point = jax.ShapeDtypeStruct((len(axes),), jnp.result_type(float))
        try:
            shape = jax.eval_shape(self.values, self.theta, point)
        except Exception as error:
            raise SettingError(
                f"the model does not accept a point with the {len(axes)} coordinates {', '.join(axes)}: {error}"
            ) from error
        if shape.size != self.asked.outputs or jnp.issubdtype(shape.dtype, jnp.complexfloating):
            names = ", ".join(u.name for u in self.asked.unknowns)
            raise SettingError(
                f"the model gives {shape.size} {shape.dtype} values at a point; the unknowns ({names}) need "
                f"{self.asked.outputs} real ones (two for each complex unknown)"
            )


def _roughened(module: Any) -> Any:
    return module.rough() if isinstance(module, Network | ByUnknown) else module


def _component(module: Callable[[Array], Array], offset: int, is_complex: bool) -> Callable[[Array], Array]:
    def value(x: Array) -> Array:
        values = jnp.ravel(module(x))
        return jax.lax.complex(values[offset], values[offset + 1]) if is_complex else values[offset]

    return value


def _build(asked: Unknowns, model: ModelLike, key: jax.Array) -> Any:
    if isinstance(model, ModelSpec):
        return model.build(asked.domain, asked.outputs, key)
    if isinstance(model, Mapping):
        names = tuple(u.name for u in asked.unknowns)
        if set(model) != set(names):
            raise SettingError(
                f"models by unknown need exactly the names {', '.join(names)}; got {', '.join(map(str, model))}"
            )
        keys = jax.random.split(key, len(names))
        modules = {
            u.name: model[u.name].build(asked.domain, u.components, k)
            if isinstance(model[u.name], ModelSpec)
            else model[u.name]
            for u, k in zip(asked.unknowns, keys, strict=True)
        }
        return ByUnknown(modules, names)
    if callable(model) and jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)):
        return model
    raise SettingError(f"model= needs a recipe such as MLP(32, 32) or an equinox module with parameters, not {model!r}")
