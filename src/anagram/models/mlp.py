"""Multilayer perceptrons, with inputs scaled to the domain."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.errors import SettingError
from anagram.models.inputs import (
    DRIFT,
    FirstLayer,
    Kinds,
    Placement,
    axis_kinds,
    count_inputs,
    placed,
    velocities_shape,
)
from anagram.models.jets import Jets, Sum, network_jets
from anagram.models.nearcorners import checked_corners, corners_as_options, corners_on
from anagram.models.spec import ModelSpec
from anagram.statement.domains import Domain
from anagram.statement.expressions import Index

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": jnp.tanh,
    "sin": jnp.sin,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "silu": jax.nn.silu,
    "softplus": jax.nn.softplus,
    "sigmoid": jax.nn.sigmoid,
    "gaussian": lambda x: jnp.exp(-(x**2)),
}

STEEPNESS = 2.0  # of the first layer of a rough network, and how far its biases reach
INITIALISATIONS = ("lecun", "glorot", "frequency", "small")
MOST_LAYERS = 1000  # each of them is traced; more take minutes before anything happens


class Network(eqx.Module):
    """a ↦ W_L σ(… σ(W_1 a + b_1) …) + b_L, between the units of its placement; periodic on periodic axes."""

    weights: list[Float[Array, "out in"]]
    biases: list[Float[Array, " out"]]
    velocities: Float[Array, "units closed open"] | None
    activation: str = eqx.field(static=True)
    placement: Placement
    kinds: Kinds = eqx.field(static=True)

    def __call__(self, x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        sigma, place = ACTIVATIONS[self.activation], self.placement
        a = sigma(self._first(x).value())
        for weight, bias in zip(self.weights[1:-1], self.biases[1:-1], strict=True):
            a = sigma(weight @ a + bias)
        return place.offset + place.size * (self.weights[-1] @ a + self.biases[-1])

    def jets(self, x: Float[Array, " axes"], indices: Sequence[Index], sums: Sequence[Sum]) -> Jets:
        """The derivatives of all outputs at a point, single ones by index and sums in their order."""
        place = self.placement
        values, totals = network_jets(self._first(x), self.weights[1:], self.biases[1:], self.activation, indices, sums)
        values = {index: place.size * value + (0 if any(index) else place.offset) for index, value in values.items()}
        whole = [sum(c for index, c in terms if not any(index)) for terms in sums]
        return values, [place.size * t + c * place.offset for t, c in zip(totals, whole, strict=True)]

    def _first(self, x: Float[Array, " axes"]) -> FirstLayer:
        return FirstLayer(self.weights[0], self.biases[0], self.velocities, self.placement, self.kinds, x)

    def rough(self) -> Network:
        """The same network with a steep first layer whose units bend at places all over the domain.

        It finds a rough solution in fewer steps, and an accurate one less often.
        """
        weight = self.weights[0]
        steep = STEEPNESS * weight / jnp.sqrt(jnp.mean(jnp.sum(weight**2, axis=1)))
        # Multiples of the golden ratio are spread evenly in any number.
        offsets = STEEPNESS * (2 * jnp.asarray(np.arange(1, len(weight) + 1) * (np.sqrt(5) - 1) / 2 % 1) - 1)
        return eqx.tree_at(lambda n: (n.weights[0], n.biases[0]), self, (steep, offsets))


class MLP(ModelSpec):
    """A multilayer perceptron with the given hidden widths: ``MLP(32)``, ``MLP(20, 20, 20)``.

    Args:
        widths: the width of every hidden layer.
        activation: a smooth one: tanh, sin, gelu, silu, softplus, sigmoid, gaussian.
        init: ``lecun`` (normal, zero biases), ``glorot`` (normal, zero biases; the paper's text),
            ``frequency`` (first layer 2·N(0, 1/fan_in) with biases uniform in ±2, so that the first
            features differ over the domain), ``small`` (0.1·N(0, 1) for weights and biases; the code of the
            paper's authors).
        scale: map the domain to [0, scale] on every axis before the first layer; larger means higher frequencies
            at first, 0 leaves the coordinates as they are. The origin is a corner and not the centre, which was
            better in our trials; perhaps because without biases a network of odd activations is an odd function
            about its origin, and solutions that are even about the centre are common. A periodic axis is seen as a
            circle, whose radius is multiplied by scale, a parameter with log=True by its logarithm.
        offset: added to the output: the middle of the values that are looked for, in their units. A number, or one
            for each output.
        size: the output is multiplied by it: how far the values are from the middle, about.
        drift: how fast the units of the first layer move along periodic axes at first, in radians from one end of an
            open axis to the other (see `anagram.models.inputs`). A number, or one for each open axis.
        corners: places in the plane near which the network also sees the logarithm of the distance, and the direction:
            corners at which the solution is not smooth.
    """

    closes = True

    def __init__(
        self,
        *widths: int,
        activation: str = "tanh",
        init: str = "lecun",
        scale: float = 1.0,
        offset: float | Sequence[float] = 0.0,
        size: float | Sequence[float] = 1.0,
        drift: float | Sequence[float] = DRIFT,
        corners: Sequence[Sequence[float]] | None = None,
    ) -> None:
        if len(widths) == 1 and isinstance(widths[0], tuple | list):
            widths = tuple(widths[0])
        for width in widths:
            if isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1:
                raise SettingError(f"widths of an MLP are positive whole numbers, as in MLP(32, 32), not {width!r}")
        if not widths:
            raise SettingError("an MLP needs at least one hidden layer, as in MLP(32)")
        if len(widths) > MOST_LAYERS:
            raise SettingError(f"an MLP has at most {MOST_LAYERS} hidden layers, not {len(widths)}")
        if activation not in ACTIVATIONS:
            hint = (
                " (second derivatives of relu vanish, it cannot solve a differential equation)"
                if "relu" in str(activation)
                else ""
            )
            raise SettingError(f"there is no activation '{activation}'{hint}; choose from {', '.join(ACTIVATIONS)}")
        if not isinstance(scale, int | float) or not 0 <= scale < np.inf:
            raise SettingError(f"scale must be a number, or 0 to leave the domain as it is, not {scale!r}")
        if init not in INITIALISATIONS:
            raise SettingError(f"there is no initialisation '{init}'; choose from {', '.join(INITIALISATIONS)}")
        self.widths = tuple(int(w) for w in widths)
        self.activation, self.init, self.scale = activation, init, float(scale)
        self.offset, self.size, self.drift = _units("offset", offset), _units("size", size), _units("drift", drift)
        if not np.all(np.greater(self.size, 0)):
            raise SettingError(f"the size of the output must be positive, not {size!r}")
        self.corners = checked_corners(corners, "MLP")

    def build(self, domain: Domain, outputs: int, key: jax.Array) -> Network:
        kinds = axis_kinds(domain)
        sizes = (count_inputs(kinds, len(self.corners)), *self.widths, outputs)
        # NumPy's random numbers, seeded by the key: JAX would compile a program for the shape of every layer.
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        layers = [_draw(self.init, k, *fans, rng) for k, fans in enumerate(itertools.pairwise(sizes))]
        weights, biases = ([jnp.asarray(array) for array in arrays] for arrays in zip(*layers, strict=True))
        offset, size = checked_units(self, outputs)
        placement = placed(domain, self.scale, offset, size, corners_on(domain, self.corners))
        shape = velocities_shape(kinds, self.widths[0])
        if all(shape) and len(self.drift) not in (1, shape[2]):
            raise SettingError(f"drift has {len(self.drift)} numbers, the domain has {shape[2]} axes with ends")
        velocities = jnp.asarray(np.array(self.drift) * rng.standard_normal(shape)) if all(shape) else None
        return Network(weights, biases, velocities, self.activation, placement, kinds)

    def count(self, domain: Domain, outputs: int) -> int:
        kinds = axis_kinds(domain)
        sizes = (count_inputs(kinds, len(self.corners)), *self.widths, outputs)
        return int(np.prod(velocities_shape(kinds, self.widths[0]))) + sum(
            (fan_in + 1) * fan_out for fan_in, fan_out in itertools.pairwise(sizes)
        )

    def options(self) -> dict[str, Any]:
        return {
            "widths": list(self.widths),
            "activation": self.activation,
            "init": self.init,
            "scale": self.scale,
            "offset": list(self.offset),
            "size": list(self.size),
            "drift": list(self.drift),
            **corners_as_options(self.corners),
        }

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> MLP:
        options = dict(options)
        return cls(*options.pop("widths", (32,)), **options)

    def __repr__(self) -> str:
        corners = f", {len(self.corners)} corners" if self.corners else ""
        return f"MLP({', '.join(map(str, self.widths))}, {self.activation}, {self.init}{corners})"


def checked_units(spec: MLP, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Offset and size of every output."""
    for name, values in (("offset", spec.offset), ("size", spec.size)):
        if len(values) not in (1, outputs):
            raise SettingError(f"{name} has {len(values)} numbers, the network has {outputs} outputs")
    return np.broadcast_to(np.array(spec.offset), outputs), np.broadcast_to(np.array(spec.size), outputs)


def _units(name: str, given: Any) -> tuple[float, ...]:
    values = np.atleast_1d(np.asarray(given, dtype=object))
    numbers = all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in values)
    if values.ndim != 1 or not numbers or not np.all(np.isfinite(values.astype(float))):
        raise SettingError(f"{name} must be a finite number, or one for each output, not {given!r}")
    return tuple(float(v) for v in values)


def _draw(init: str, layer: int, fan_in: int, fan_out: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    normal = rng.standard_normal((fan_out, fan_in))
    zeros = np.zeros(fan_out)
    match init:
        case "glorot":
            return normal * np.sqrt(2 / (fan_in + fan_out)), zeros
        case "small":
            return 0.1 * normal, 0.1 * rng.standard_normal(fan_out)
        case "frequency" if layer == 0:
            return 2 * normal / np.sqrt(fan_in), rng.uniform(-2.0, 2.0, fan_out)
        case _:
            return normal / np.sqrt(fan_in), zeros
