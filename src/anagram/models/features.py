"""Wide networks of which only the last layer is learned: u_θ = Σ_k θ_k φ_k, linear in its parameters.

The hidden layers stay as they were drawn. The tangent space of such a model is the model itself, so that a natural
gradient step is the projection onto it: a linear equation is solved in one step, a nonlinear one in a few. What is lost
is that features do not move to where they are needed. Many of them make up for it where a solution is smooth; where it
is not, they can be drawn on top of the hidden layers of a small network that was trained before.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.errors import SettingError
from anagram.models.inputs import (
    DRIFT,
    Fixed,
    Kind,
    Kinds,
    Placement,
    axis_kinds,
    count_inputs,
    placed,
    places,
    velocities_shape,
)
from anagram.models.jets import Jets, Sum
from anagram.models.mlp import ACTIVATIONS, MLP, Network, checked_units
from anagram.models.nearcorners import DECADES, Corners, checked_corners, corners_as_options, corners_on
from anagram.models.spec import ModelSpec
from anagram.statement.domains import Domain, Kronecker
from anagram.statement.domains.intervals import placed_in
from anagram.statement.expressions import Index

BEYOND = 0.1  # of the domain: so far outside of it units may have their middle
# Drawn numbers are rounded to multiples of this: other processors draw the same ones, to the last bit.
GRAIN = 2.0**-20
LOOKED_AT = 1024  # points at which trained layers are looked at
MOST_WIDE = 100_000


class Hidden(Fixed):
    """The hidden layers of a network, which are not learned."""

    weights: list[Float[Array, "out in"]]
    biases: list[Float[Array, " out"]]
    velocities: Float[Array, "units closed open"] | None


class FeatureNetwork(eqx.Module):
    """a ↦ W φ(a) + b between the units of its placement; W and b are learned, φ is not."""

    hidden: Hidden
    weight: Float[Array, "outputs features"]
    bias: Float[Array, " outputs"]
    activation: str = eqx.field(static=True)
    placement: Placement
    kinds: Kinds = eqx.field(static=True)

    @property
    def network(self) -> Network:
        """The same as a network, all of it."""
        hidden = self.hidden
        weights, biases = [*hidden.weights, self.weight], [*hidden.biases, self.bias]
        return Network(weights, biases, hidden.velocities, self.activation, self.placement, self.kinds)

    def __call__(self, x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        return self.network(x)

    def jets(self, x: Float[Array, " axes"], indices: Sequence[Index], sums: Sequence[Sum]) -> Jets:
        """The derivatives of all outputs at a point, single ones by index and sums in their order."""
        return self.network.jets(x, indices, sums)

    def features(self, x: Float[np.ndarray, "points axes"]) -> Float[np.ndarray, "points features"]:
        """φ at some points."""
        return hidden_values(self.hidden, self.activation, self.placement, self.kinds, x)


class Features(ModelSpec):
    """A wide network of which only the last layer is learned: ``Features(400)``.

    Args:
        width: the number of features.
        steepness: of the steepest features, in units of the domain: σ(s d·(x − c)) with directions d and middles c all
            over the domain, and s between 0 and this. A number, or one for each axis.
        activation: see `anagram.MLP`.
        seed: for the features; the parameters are zero at first.
        trained: the hidden layers of a network on top of which the features are drawn, see `trained_layers`.
        couples: how many axes a feature depends on, all sets of so many in turn; 0 for all axes. Sums of functions of
            one axis or two, in many dimensions, need no others.
        corners: see `anagram.MLP`; half of the features have their middle near one of them, at all distances.
        offset, size, drift: see `anagram.MLP`.
    """

    closes = is_linear = True

    def __init__(
        self,
        width: int,
        *,
        steepness: float | Sequence[float] = 8.0,
        activation: str = "gaussian",
        seed: int = 0,
        trained: dict[str, Any] | None = None,
        couples: int = 0,
        corners: Sequence[Sequence[float]] | None = None,
        offset: float | Sequence[float] = 0.0,
        size: float | Sequence[float] = 1.0,
        drift: float | Sequence[float] = DRIFT,
    ) -> None:
        if isinstance(width, bool) or not isinstance(width, int | np.integer) or not 1 <= width <= MOST_WIDE:
            raise SettingError(f"the number of features is a whole number from 1 to {MOST_WIDE}, not {width!r}")
        steep = np.atleast_1d(np.asarray(steepness, dtype=object))
        if steep.ndim != 1 or not all(_is_positive(value) for value in steep):
            raise SettingError(f"the steepness of features is a positive number, or one by axis, not {steepness!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise SettingError(f"the seed of features is a whole number that is not negative, not {seed!r}")
        if isinstance(couples, bool) or not isinstance(couples, int | np.integer) or couples < 0:
            raise SettingError(f"the number of axes that features couple is a whole number or 0, not {couples!r}")
        if couples and corners is not None and len(corners):
            raise SettingError("features of a few axes do not see corners: leave couples= or corners= out")
        if couples and trained is not None:
            raise SettingError("features on top of trained layers depend on all of them: leave couples= out")
        # The recipe of a network says what else is wrong.
        layers = [] if trained is None else _checked(trained)
        widths = [*(len(b) for _, b in layers), int(width)]
        self.corners = checked_corners(corners, "Features")
        self.like = MLP(
            *widths, activation=activation, offset=offset, size=size, drift=drift, corners=self.corners or None
        )
        self.width, self.seed, self.trained = int(width), int(seed), trained
        self.steepness = tuple(float(value) for value in steep)
        self.activation, self.layers, self.couples = activation, layers, int(couples)
        self.scale = 1.0 if trained is None else float(trained["scale"])
        if trained is not None and trained["activation"] != activation:
            raise SettingError(f"the trained layers have the activation '{trained['activation']}', not '{activation}'")

    def build(self, domain: Domain, outputs: int, key: jax.Array) -> FeatureNetwork:
        like, kinds = self.like, axis_kinds(domain)
        offset, size = checked_units(like, outputs)
        placement = placed(domain, self.scale, offset, size, corners_on(domain, self.corners))
        self._check(kinds)
        rng = np.random.default_rng([self.seed, 0])
        hidden = self._above(domain, placement, rng) if self.layers else self._spread(domain, placement, rng)
        weight = jnp.zeros((outputs, self.width))
        return FeatureNetwork(hidden, weight, jnp.zeros(outputs), self.activation, placement, kinds)

    def _check(self, kinds: Kinds) -> None:
        """Whether the recipe is one for a domain with such axes."""
        shape = velocities_shape(kinds, len(self.layers[0][1]) if self.layers else self.width)
        if self.trained is None:
            if all(shape) and len(self.like.drift) not in (1, shape[2]):
                raise SettingError(
                    f"drift has {len(self.like.drift)} numbers, the domain has {shape[2]} axes with ends"
                )
            return
        velocities = self.trained["velocities"]
        fit = np.shape(velocities) == shape if all(shape) else velocities is None
        if self.layers[0][0].shape[1] != count_inputs(kinds, len(self.corners)) or not fit:
            raise SettingError("the trained layers are those of a network on a domain with other axes")

    def _spread(self, domain: Domain, placement: Placement, rng: np.random.Generator) -> Hidden:
        """One layer of units that bend at places all over the domain, in all directions."""
        kinds = axis_kinds(domain)
        inputs, shape = count_inputs(kinds, len(self.corners)), velocities_shape(kinds, self.width)
        # Row by row, so that a wider network has the features of a narrower one among its own.
        numbers = rng.standard_normal((self.width, inputs + int(np.prod(shape[1:]))))
        numbers[:, :inputs] *= self._coupled(kinds)
        direction = numbers[:, :inputs] / np.linalg.norm(numbers[:, :inputs], axis=1, keepdims=True)
        uniform = np.random.default_rng([self.seed, 1]).uniform(size=(self.width, 1 + len(kinds)))
        if len(self.steepness) not in (1, len(kinds)):
            raise SettingError(f"steepness has {len(self.steepness)} numbers, the domain has {len(kinds)} axes")
        steep = np.repeat(np.broadcast_to(self.steepness, len(kinds)), _inputs_by_axis(kinds))
        of_corners = np.full(inputs - len(steep), np.prod(self.steepness) ** (1 / len(self.steepness)))
        steep = np.concatenate([steep, of_corners])
        weight = _grained(steep * uniform[:, :1] * direction)
        drift = np.broadcast_to(np.array(self.like.drift), shape[2:])
        velocities = _grained(drift * numbers[:, inputs:].reshape(shape)) if all(shape) else None
        # Where a unit has its middle; a periodic axis has no outside.
        place = (1 + 2 * BEYOND) * uniform[:, 1:] - BEYOND
        around = [kind is Kind.AROUND for kind in kinds]
        middle = placed_in(domain.intervals, np.where(around, uniform[:, 1:], place))
        if placement.corners is not None:
            middle = _near(placement.corners.in_numpy(), middle, np.random.default_rng([self.seed, 2]))
        bias = -_grained(np.sum(weight * _seen(placement, kinds, velocities, middle[:, None])[:, 0], axis=1))
        return Hidden(
            [jnp.asarray(weight)], [jnp.asarray(bias)], None if velocities is None else jnp.asarray(velocities)
        )

    def _coupled(self, kinds: Kinds) -> np.ndarray:
        """One where a unit sees an input, zero where it does not."""
        if self.couples > len(kinds):
            raise SettingError(f"features couple {self.couples} axes, the domain has {len(kinds)}")
        if not self.couples:
            return np.ones((1, count_inputs(kinds, len(self.corners))))
        sets = list(itertools.islice(itertools.combinations(range(len(kinds)), self.couples), self.width))
        sees = np.zeros((self.width, len(kinds)))
        for unit in range(self.width):
            sees[unit, list(sets[unit % len(sets)])] = 1.0
        return np.repeat(sees, _inputs_by_axis(kinds), axis=1)

    def _above(self, domain: Domain, placement: Placement, rng: np.random.Generator) -> Hidden:
        """One layer more on top of the trained ones, of units that bend where these have their values."""
        assert self.trained is not None
        kinds = axis_kinds(domain)
        velocities = (
            None if self.trained["velocities"] is None else jnp.asarray(self.trained["velocities"], dtype=float)
        )
        below = Hidden([jnp.asarray(w) for w, _ in self.layers], [jnp.asarray(b) for _, b in self.layers], velocities)
        x = domain.draw(Kronecker(LOOKED_AT), np.random.default_rng(0)).x
        values = hidden_values(below, self.activation, placement, kinds, x)
        direction = rng.standard_normal((self.width, values.shape[1]))
        spread = np.std(values @ direction.T, axis=0)
        uniform = np.random.default_rng([self.seed, 1]).uniform(size=(self.width, 2))
        weight = _grained(self.steepness[0] * uniform[:, :1] * direction / np.maximum(spread, GRAIN)[:, None])
        middle = values[(uniform[:, 1] * len(values)).astype(int)]
        bias = -_grained(np.sum(weight * middle, axis=1))
        return Hidden([*below.weights, jnp.asarray(weight)], [*below.biases, jnp.asarray(bias)], velocities)

    def count(self, domain: Domain, outputs: int) -> int:
        return outputs * (self.width + 1)

    def options(self) -> dict[str, Any]:
        units = self.like.options()
        return {
            "width": self.width,
            "steepness": list(self.steepness),
            "activation": self.activation,
            "seed": self.seed,
            "trained": self.trained,
            "couples": self.couples,
            **corners_as_options(self.corners),
            **{name: units[name] for name in ("offset", "size", "drift")},
        }

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Features:
        options = dict(options)
        return cls(options.pop("width"), **options)

    def __repr__(self) -> str:
        below = "".join(f"{len(b)}, " for _, b in self.layers)
        couples = f", couples={self.couples}" if self.couples else ""
        corners = f", {len(self.corners)} corners" if self.corners else ""
        return f"Features({below}{self.width}, {self.activation}{couples}{corners})"


def _inputs_by_axis(kinds: Kinds) -> list[int]:
    """How many inputs see each axis: a periodic one is seen as a pair."""
    return [1 + (kind is Kind.AROUND) for kind in kinds]


def trained_layers(network: Network, scale: float) -> dict[str, Any]:
    """The hidden layers of a network as JSON values; `scale` is that of its recipe."""
    velocities = network.velocities
    return {
        "weights": [np.asarray(w).tolist() for w in network.weights[:-1]],
        "biases": [np.asarray(b).tolist() for b in network.biases[:-1]],
        "velocities": None if velocities is None else np.asarray(velocities).tolist(),
        "activation": network.activation,
        "scale": float(scale),
    }


def _checked(trained: dict[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases of trained layers; they may come from a file of someone else."""
    try:
        weights = [np.array(w, dtype=float) for w in trained["weights"]]
        biases = [np.array(b, dtype=float) for b in trained["biases"]]
        fit = all(w.ndim == 2 and b.shape == w.shape[:1] for w, b in zip(weights, biases, strict=True))
        chained = all(v.shape[1] == w.shape[0] for w, v in itertools.pairwise(weights))
        finite = all(np.all(np.isfinite(a)) for a in (*weights, *biases))
        if not (weights and fit and chained and finite and trained["activation"] in ACTIVATIONS):
            raise ValueError("their shapes do not fit")
        velocities = trained["velocities"]
        if velocities is not None and np.shape(np.array(velocities, dtype=float))[:1] != biases[0].shape:
            raise ValueError("their velocities do not fit")
        if not 0 <= float(trained["scale"]) < np.inf:
            raise ValueError("their scale makes no sense")
    except (KeyError, TypeError, ValueError) as error:
        raise SettingError(f"these are no trained layers ({error}): see trained_layers") from error
    return list(zip(weights, biases, strict=True))


def hidden_values(
    hidden: Hidden, activation: str, place: Placement, kinds: Kinds, x: Float[np.ndarray, "points axes"]
) -> Float[np.ndarray, "points units"]:
    """The values of the last hidden layer. In NumPy: operations of JAX outside of programs are compiled one by one."""
    velocities = None if hidden.velocities is None else np.asarray(hidden.velocities)
    weights, biases = ([np.asarray(a) for a in arrays] for arrays in (hidden.weights, hidden.biases))
    if velocities is None:
        seen = _seen(place, kinds, None, x[None])[0] @ weights[0].T
    else:
        every = _seen(place, kinds, velocities, np.broadcast_to(x, (len(velocities), *x.shape)))
        seen = np.einsum("upi,ui->pu", every, weights[0])
    a = _activated(activation, seen + biases[0])
    for weight, bias in zip(weights[1:], biases[1:], strict=True):
        a = _activated(activation, a @ weight.T + bias)
    return a


def _seen(
    place: Placement, kinds: Kinds, velocities: np.ndarray | None, x: Float[np.ndarray, "units points axes"]
) -> Float[np.ndarray, "units points inputs"]:
    """What units see of points, each of its own ones: see `anagram.models.inputs.FirstLayer`."""
    seen = np.where([kind is Kind.LOG for kind in kinds], np.log(np.maximum(x, np.finfo(float).tiny)), x)
    scaled = (seen - np.asarray(place.low)) / np.asarray(place.length)
    around, free = places(kinds, Kind.AROUND), scaled[..., places(kinds, Kind.OPEN)]
    columns = []
    for axis, kind in enumerate(kinds):
        if kind is not Kind.AROUND:
            columns.append(scaled[..., axis])
            continue
        angle = 2 * np.pi * scaled[..., axis]
        if velocities is not None:
            angle = angle + np.einsum("upo,uo->up", free, velocities[:, around.index(axis)])
        radius = float(np.asarray(place.radius))
        columns += [radius * np.cos(angle), radius * np.sin(angle)]
    seen = np.stack(columns, axis=-1)
    return seen if place.corners is None else np.concatenate([seen, place.corners.in_numpy().seen(x, np)], axis=-1)


def _near(corners: Corners, middle: Float[np.ndarray, "units axes"], rng: np.random.Generator) -> np.ndarray:
    """Every other middle moved to somewhere near a corner, at a distance with an evenly spread logarithm."""
    units = len(middle)
    which = np.arange(units) // 2 % len(corners.place)
    distance = float(corners.size) * np.exp(-DECADES * rng.uniform(size=units))
    angle = 2 * np.pi * rng.uniform(size=units)
    near, axes = middle.copy(), list(corners.axes)
    near[:, axes] = corners.place[which] + distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.where((np.arange(units) % 2 == 1)[:, None], near, middle)


def _activated(activation: str, z: np.ndarray) -> np.ndarray:
    known = {"tanh": np.tanh, "sin": np.sin, "gaussian": lambda z: np.exp(-(z**2))}
    return known[activation](z) if activation in known else np.asarray(ACTIVATIONS[activation](jnp.asarray(z)))


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(0 < value < np.inf)


def _grained(numbers: np.ndarray) -> np.ndarray:
    return np.round(numbers / GRAIN) * GRAIN
