"""The parametric model of a problem: one vector θ for the parameters of all fields and all coefficients."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from anagram.errors import SettingError
from anagram.models.features import FeatureNetwork
from anagram.models.inputs import Fixed
from anagram.models.jets import HIGHEST_ORDER
from anagram.models.mlp import Network
from anagram.models.pieces import PieceByPiece
from anagram.models.products import combined, lower
from anagram.models.separable import SeparableNetwork
from anagram.models.singular import EnrichedModule
from anagram.models.spec import ModelSpec
from anagram.models.waves import WaveNetwork
from anagram.statement.domains import Kronecker
from anagram.statement.evaluation import nested
from anagram.statement.expressions import Derivatives, Index, Leaf, Wanted
from anagram.statement.fields import Field, Frame, constant
from anagram.statement.unknowns import Unknown, Unknowns

PERIOD = 1e-6  # of its values a model may change over a period, by rounding

Factor = tuple[Index, int, float | None]  # of a term in a sum: a number, or the place of what is known later
GIVES_JETS = (Network, FeatureNetwork, WaveNetwork, SeparableNetwork)

ModelLike = ModelSpec | Callable[..., Any] | Mapping[str, Any]


def count_parameters(model: ModelLike, sought: Unknowns) -> int | None:
    """How many parameters recipes lead to, without allocating them; None for anything but recipes."""
    if isinstance(model, ModelSpec):
        return model.count(sought.domain, sought.outputs) + len(sought.coefficients)
    if not isinstance(model, Mapping) or not all(isinstance(model.get(u.name), ModelSpec) for u in sought.unknowns):
        return None
    counts = [model[u.name].count(u.box(sought.domain), u.components) for u in sought.unknowns]
    return sum(counts) + len(sought.coefficients)


class ByUnknown(eqx.Module):
    """One module for each unknown, side by side."""

    modules: dict[str, Any]
    order: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, x: Array) -> Array:
        return jnp.concatenate([jnp.ravel(self.modules[name](x)) for name in self.order])

    def rough(self) -> ByUnknown:
        """Each module that knows a rough form of itself in that form."""
        return ByUnknown({k: _roughened(m) for k, m in self.modules.items()}, self.order)


class ModelSource:
    """A module as the source of the unknown fields: networks give all derivatives that are read at once."""

    adds_up = True

    def __init__(self, module: Any, sought: Unknowns) -> None:
        self.module, self.sought = module, sought

    def derivatives(self, x: Array, wanted: dict[str, Wanted]) -> dict[str, Derivatives]:
        """The wanted derivatives of each unknown at a point."""
        made = {name: self.sought.ansatz[name] for name in wanted if name in self.sought.ansatz}
        if not made:
            return self._raw(x, wanted)
        raw = self._raw(x, {n: lower(which) if n in made else which for n, which in wanted.items()})
        return {n: combined(made[n], x, wanted[n], raw[n]) if n in made else raw[n] for n in wanted}

    def _raw(self, x: Array, wanted: dict[str, Wanted]) -> dict[str, Derivatives]:
        """Those of what the module itself gives; unknowns that do not depend on all axes have their own point."""
        axes = self.sought.domain.axes
        groups: dict[tuple[bool, ...], dict[str, Wanted]] = {}
        for unknown in self.sought.unknowns:
            if unknown.name in wanted:
                own = tuple(unknown.depends_on(axes).tolist())
                groups.setdefault(own, {})[unknown.name] = wanted[unknown.name]
        found: dict[str, Derivatives] = {}
        for own, part in groups.items():
            if all(own):
                found |= self._of_module(x, part)
            else:
                held = functools.partial(self._of_module, jnp.where(np.array(own), x, self._middle))
                found |= _without_held(held, part, own)
        return found

    @property
    def _middle(self) -> np.ndarray:
        domain = self.sought.domain
        return (domain.low + domain.high) / 2

    def _of_module(self, x: Array, wanted: dict[str, Wanted]) -> dict[str, Derivatives]:
        if isinstance(self.module, ByUnknown):
            found: dict[str, Derivatives] = {}
            for unknown in self.sought.unknowns:
                if unknown.name in wanted:
                    module = self.module.modules[unknown.name]
                    found |= _derivatives(module, {unknown: 0}, x, {unknown.name: wanted[unknown.name]})
            return found
        offsets, offset = {}, 0
        for unknown in self.sought.unknowns:
            offsets[unknown] = offset
            offset += unknown.components
        return _derivatives(self.module, offsets, x, wanted)


def _without_held(
    of_module: Callable[[dict[str, Wanted]], dict[str, Derivatives]], wanted: dict[str, Wanted], own: Sequence[bool]
) -> dict[str, Derivatives]:
    """Derivatives of unknowns that depend on some axes only: those along the others are zero."""

    def moves(index: Index) -> bool:
        return any(order and not depends for order, depends in zip(index, own, strict=True))

    # A sum has terms of the same unknown; those along other axes are left out of it.
    kept = {
        name: [tuple(term for term in terms if not moves(term[0])) for terms in which.sums]
        for name, which in wanted.items()
    }
    asked = {
        name: Wanted(which.indices, [some or terms for some, terms in zip(kept[name], which.sums, strict=True)])
        for name, which in wanted.items()
    }
    return {
        name: Derivatives(
            {index: jnp.zeros_like(value) if moves(index) else value for index, value in found.values.items()},
            [value if some else jnp.zeros_like(value) for some, value in zip(kept[name], found.sums, strict=True)],
        )
        for name, found in of_module(asked).items()
    }


def _derivatives(
    module: Any, offsets: dict[Unknown, int], x: Array, wanted: dict[str, Wanted]
) -> dict[str, Derivatives]:
    """Of the unknowns that a module gives, from the places of their first components among its outputs."""
    indices = tuple(dict.fromkeys(index for which in wanted.values() for index in which.indices))
    sums = [terms for which in wanted.values() for terms in which.sums]
    values, totals = _outputs(module, x, indices, sums)
    remaining = iter(totals)
    found: dict[str, Derivatives] = {}
    for name, which in wanted.items():
        unknown = next(u for u in offsets if u.name == name)
        pick = functools.partial(_component, offset=offsets[unknown], is_complex=unknown.is_complex)
        found[name] = Derivatives(
            {index: pick(values[index]) for index in which.indices}, [pick(next(remaining)) for _ in which.sums]
        )
    return found


def _outputs(module: Any, x: Array, indices: Sequence[Index], sums: Sequence[Any]) -> tuple[dict[Index, Array], Any]:
    """Derivatives of all outputs of a module, and sums of them: as fast as the module allows."""
    if isinstance(module, EnrichedModule | PieceByPiece):
        return module.jets(x, indices, sums, _outputs)
    orders = [sum(index) for index in indices] + [sum(terms[0][0]) for terms in sums]
    if isinstance(module, GIVES_JETS) and max(orders) <= HIGHEST_ORDER:
        # Plain numbers are part of the function; what is known later is handed to it, the same thing once.
        known = {id(c): c for terms in sums for _, c in terms if not isinstance(c, int | float)}
        number = {key: place for place, key in enumerate(known)}
        which = tuple(tuple((i, number.get(id(c), -1), None if id(c) in known else c) for i, c in t) for t in sums)
        return _jets(module, x, list(known.values()), tuple(indices), which)
    read = dict.fromkeys([*indices, *(index for terms in sums for index, _ in terms)])
    values = {index: _nested_outputs(module, x, index) for index in read}
    return values, [sum(c * values[index] for index, c in terms) for terms in sums]


@functools.partial(jax.jit, static_argnames=("indices", "which"))
def _jets(
    module: Any, x: Array, known: list[Any], indices: tuple[Index, ...], which: tuple[tuple[Factor, ...], ...]
) -> tuple[dict[Index, Array], Any]:
    """Those that a module gives by itself. As a function of its own it is traced once, and not wherever it is read."""
    sums = [tuple((index, known[place] if c is None else c) for index, place, c in terms) for terms in which]
    return module.jets(x, indices, sums)


def _nested_outputs(module: Any, x: Array, index: Index) -> Array:
    """∂^α of all outputs of a module of which nothing is known but how to call it."""
    return nested(lambda point: jnp.ravel(module(point)), index)(x)  # pyright: ignore[reportArgumentType]


class ParametricModel:
    """u: θ ↦ u_θ for all unknowns of a problem, together with its unknown coefficients.

    Args:
        sought: says how many values a point has and which coefficients are learned.
        model: a recipe such as `MLP(32)`, any equinox module from a point to values, or a mapping that gives one
            or the other for each unknown.
        seed: for the recipes.
    """

    def __init__(self, sought: Unknowns, model: ModelLike, seed: int = 0) -> None:
        self.sought = sought
        self.spec = model
        module = _build(sought, model, jax.random.key(seed))
        units, module = eqx.partition(module, _is_fixed, is_leaf=_is_fixed)
        # Coefficients are learned in units of their first guesses.
        sizes = {k: jnp.asarray(abs(v) or 1.0) for k, v in sought.coefficients.items()}
        self.placement = {"model": units, "coefficients": sizes}
        arrays, self._static = eqx.partition(module, eqx.is_inexact_array)
        leaves = jax.tree.leaves(arrays)
        if any(jnp.iscomplexobj(leaf) for leaf in leaves):
            raise SettingError(
                "the model has complex parameters; make them real (the values of a complex unknown are two outputs)"
            )
        arrays = jax.tree.map(lambda a: a.astype(float), arrays)
        tree = {"model": arrays, "coefficients": {k: v / sizes[k] for k, v in sought.coefficients.items()}}
        self.theta, self._unravel = ravel_pytree(tree)
        if self.theta.size == 0:
            raise SettingError("the model has no parameters to learn")
        self._check_values()
        if sought.domain.periodic_axes and not _closes(model):
            self._check_periods()

    @property
    def parameters(self) -> int:
        """P, the number of parameters, coefficients included."""
        return int(self.theta.size)

    @property
    def is_linear(self) -> bool:
        """Whether the fields are linear in θ: the model then is its own tangent space."""
        return isinstance(self.spec, ModelSpec) and self.spec.is_linear and not self.sought.coefficients

    def values(self, theta: Float[Array, " params"], x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        """All real components of the unknowns at one point."""
        if not self.sought.ansatz and all(u.along is None for u in self.sought.unknowns):
            return jnp.ravel(self._module(theta)(x))
        here = (0,) * len(self.sought.domain.axes)
        wanted = {u.name: Wanted([here]) for u in self.sought.unknowns}
        found = self.source(theta).derivatives(x, wanted)
        parts: list[Array] = []
        for unknown in self.sought.unknowns:
            value = found[unknown.name].values[here]
            parts += [jnp.real(value), jnp.imag(value)] if unknown.is_complex else [value]
        return jnp.stack(parts)

    def quantities(self, theta: Float[Array, " params"], frame: Frame) -> dict[str, Field]:
        """The unknown fields u_θ and the coefficients, by name, as operators receive them."""
        source, zero = self.source(theta), (0,) * len(frame.axes)
        fields = {u.name: Field(Leaf(source, u.name, zero), frame) for u in self.sought.unknowns}
        coefficients, sizes = self._unravel(theta)["coefficients"], self.placement["coefficients"]
        return fields | {name: constant(sizes[name] * value, frame) for name, value in coefficients.items()}

    @property
    def module(self) -> Any:
        """The module with its first parameters."""
        return self._module(self.theta)

    def _module(self, theta: Float[Array, " params"]) -> Any:
        learned = eqx.combine(self._unravel(theta)["model"], self._static)
        return eqx.combine(learned, self.placement["model"], is_leaf=_is_fixed)

    def placed(self, placement: Any) -> ParametricModel:
        """The same model between other units: a compiled program takes these as arguments."""
        other = copy.copy(self)
        other.placement = placement
        return other

    def source(self, theta: Float[Array, " params"]) -> ModelSource:
        """What gives the unknown fields and their derivatives at a point."""
        return ModelSource(self._module(theta), self.sought)

    def coefficients(self, theta: Float[Array, " params"]) -> dict[str, float]:
        """The learned coefficients."""
        found, sizes = self._unravel(theta)["coefficients"], self.placement["coefficients"]
        return {name: float(sizes[name] * value) for name, value in found.items()}

    def parameters_of(self, module: Any) -> Float[Array, " params"]:
        """θ of a module of the same kind; coefficients are those of the first guess."""
        learned = eqx.partition(module, _is_fixed, is_leaf=_is_fixed)[1]
        tree = {**self._unravel(self.theta), "model": eqx.filter(learned, eqx.is_inexact_array)}
        return ravel_pytree(tree)[0]

    def rough(self, theta: Float[Array, " params"]) -> Float[Array, " params"]:
        """Parameters near θ from which a rough solution is found soon; θ itself for models that know none."""
        rough = eqx.partition(_roughened(self._module(theta)), _is_fixed, is_leaf=_is_fixed)[1]
        return ravel_pytree({**self._unravel(theta), "model": eqx.filter(rough, eqx.is_inexact_array)})[0]

    def adopt(self, theta: Any) -> None:
        """Take other first parameters, of a model of the same kind."""
        theta = jnp.asarray(theta, dtype=float)
        if theta.shape != self.theta.shape:
            raise SettingError(f"the model has {self.parameters} parameters, the ones to start from are {theta.size}")
        self.theta = theta

    def _check_periods(self) -> None:
        """A module of one's own may be periodic or not: it is, if it has the same values one period later."""
        domain = self.sought.domain
        # Parameters may be zero at first, and a module that is zero is periodic.
        theta = self.theta + 0.1 * np.cos(np.arange(self.parameters))
        x = domain.draw(Kronecker(16), np.random.default_rng(0)).x
        values = jax.jit(jax.vmap(self.values, (None, 0)))
        here = np.asarray(values(theta, x))
        for axis in domain.periodic_axes:
            k = domain.axes.index(axis)
            later = np.asarray(values(theta, x + domain.lengths[k] * np.eye(len(domain.axes))[k]))
            if not np.max(np.abs(later - here)) <= PERIOD * np.max(np.abs(here)):
                raise SettingError(
                    f"the axis '{axis}' is periodic and the model is not: give it cos and sin of "
                    f"2π·{axis}/{domain.lengths[k]:g} in place of {axis}, or take a recipe such as MLP(32, 32)"
                )

    def _check_values(self) -> None:
        axes = self.sought.domain.axes
        point = jax.ShapeDtypeStruct((len(axes),), jnp.result_type(float))
        try:
            shape = jax.eval_shape(lambda t, x: jnp.ravel(self._module(t)(x)), self.theta, point)
        except Exception as error:
            raise SettingError(
                f"the model does not accept a point with the {len(axes)} coordinates {', '.join(axes)}: {error}"
            ) from error
        if shape.size != self.sought.outputs or jnp.issubdtype(shape.dtype, jnp.complexfloating):
            names = ", ".join(u.name for u in self.sought.unknowns)
            raise SettingError(
                f"the model gives {shape.size} {shape.dtype} values at a point; the unknowns ({names}) need "
                f"{self.sought.outputs} real ones (two for each complex unknown)"
            )


def _is_fixed(leaf: Any) -> bool:
    return isinstance(leaf, Fixed)


def _roughened(module: Any) -> Any:
    return module.rough() if isinstance(module, Network | ByUnknown | EnrichedModule) else module


def _closes(model: ModelLike) -> bool:
    """Whether it is known that a model is periodic on periodic axes."""
    parts = model.values() if isinstance(model, Mapping) else [model]
    return all(isinstance(part, ModelSpec) and part.closes for part in parts)


def _component(values: Array, offset: int, is_complex: bool) -> Array:
    return jax.lax.complex(values[offset], values[offset + 1]) if is_complex else values[offset]


def _build(sought: Unknowns, model: ModelLike, key: jax.Array) -> Any:
    if isinstance(model, ModelSpec):
        return model.build(sought.domain, sought.outputs, key)
    if isinstance(model, Mapping):
        names = tuple(u.name for u in sought.unknowns)
        if set(model) != set(names):
            raise SettingError(
                f"models by unknown need exactly the names {', '.join(names)}; got {', '.join(map(str, model))}"
            )
        keys = jax.random.split(key, len(names))
        modules = {
            u.name: model[u.name].build(u.box(sought.domain), u.components, k)
            if isinstance(model[u.name], ModelSpec)
            else model[u.name]
            for u, k in zip(sought.unknowns, keys, strict=True)
        }
        return ByUnknown(modules, names)
    if callable(model) and jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)):
        return model
    raise SettingError(f"model= needs a recipe such as MLP(32, 32) or an equinox module with parameters, not {model!r}")
