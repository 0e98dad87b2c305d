"""Waves around periodic axes, times polynomials along the others: u_θ = Σ_k θ_k φ_k, linear in its parameters.

On a ring nothing is finer for the same number of parameters where the solution is smooth. Whether it is the waves
that are missing or the polynomials is found by trying both; see `anagram.training.splits`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anagram.errors import SettingError
from anagram.models.inputs import Fixed, Kind, Kinds, Placement, axis_kinds, placed, places
from anagram.models.jets import Jets, Sum
from anagram.models.mlp import MLP, checked_units
from anagram.models.spec import ModelSpec
from anagram.statement.domains import Domain
from anagram.statement.expressions import Index

MOST_WIDE = 100_000
ROUND = 8  # degrees of polynomials are filled up to multiples of this: numbers nearby are one program


class Factors(Fixed):
    """What the functions are made of: cos(k·ψ − phase) with ψ around the periodic axes, and a degree for each other."""

    turns: Float[Array, "features around"]
    phase: Float[Array, " features"]
    degree: Int[Array, "features straight"]


class WaveNetwork(eqx.Module):
    """a ↦ W φ(a) + b between the units of its placement; W and b are learned, and φ are waves times polynomials."""

    factors: Factors
    weight: Float[Array, "outputs features"]
    bias: Float[Array, " outputs"]
    placement: Placement
    kinds: Kinds = eqx.field(static=True)
    degrees: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        zero = (0,) * len(self.kinds)
        return self.jets(x, [zero], [])[0][zero]

    def jets(self, x: Float[Array, " axes"], indices: Sequence[Index], sums: Sequence[Sum]) -> Jets:
        """The derivatives of all outputs at a point, single ones by index and sums in their order."""
        place, at = self.placement, _At(self, x)
        values = {index: place.size * self._linear(at[index], not any(index)) for index in indices}
        values = {index: value + (0 if any(index) else place.offset) for index, value in values.items()}
        totals = []
        for terms in sums:
            column = sum(c * at[index] for index, c in terms)
            whole = sum(c for index, c in terms if not any(index))
            totals.append(place.size * (self.weight @ column + whole * self.bias) + whole * place.offset)
        return values, totals

    def _linear(self, column: Array, is_value: bool) -> Array:
        return self.weight @ column + (self.bias if is_value else 0.0)

    def features(self, x: Float[np.ndarray, "points axes"]) -> Float[np.ndarray, "points features"]:
        """φ at some points. In NumPy: operations of JAX outside of programs are compiled one by one."""
        factors, scaled = self.factors, (x - np.asarray(self.placement.low)) / np.asarray(self.placement.length)
        angle = 2 * np.pi * scaled[:, places(self.kinds, Kind.AROUND)]
        found = np.cos(angle @ np.asarray(factors.turns).T - np.asarray(factors.phase))
        for column, axis in enumerate(places(self.kinds, Kind.OPEN)):
            values = np.polynomial.chebyshev.chebvander(2 * scaled[:, axis] - 1, self.degrees - 1)
            found = found * values[:, np.asarray(factors.degree)[:, column]]
        return found


class _At:
    """∂^α φ at a point, each made once."""

    def __init__(self, network: WaveNetwork, x: Float[Array, " axes"]) -> None:
        self.network, self.place = network, network.placement
        self.around, self.straight = (places(network.kinds, kind) for kind in (Kind.AROUND, Kind.OPEN))
        self.scaled = (x - self.place.low) / self.place.length
        factors = network.factors
        angle = factors.turns @ (2 * np.pi * self.scaled[np.array(self.around, int)]) - factors.phase
        self.turned = jnp.cos(angle), jnp.sin(angle)
        self.known: dict[Index, Array] = {}
        self.polynomials: dict[tuple[int, int], Array] = {}

    def __getitem__(self, index: Index) -> Array:
        if index not in self.known:
            self.known[index] = self._made(index)
        return self.known[index]

    def _made(self, index: Index) -> Array:
        factors = self.network.factors
        even, odd = self.turned
        order = sum(index[axis] for axis in self.around)
        column = (even, -odd, -even, odd)[order % 4]
        for number, axis in enumerate(self.around):
            if index[axis]:
                column = column * (2 * np.pi / self.place.length[axis] * factors.turns[:, number]) ** index[axis]
        for number, axis in enumerate(self.straight):
            column = column * self._polynomials(axis, index[axis])[factors.degree[:, number]]
        return column

    def _polynomials(self, axis: int, order: int) -> Array:
        key = axis, order
        if key not in self.polynomials:
            z = 2 * self.scaled[axis] - 1
            values = [jnp.ones_like(z), z]
            while len(values) < self.network.degrees:
                values.append(2 * z * values[-1] - values[-2])
            slope = (2 / self.place.length[axis]) ** order
            self.polynomials[key] = slope * (_derivative(self.network.degrees, order) @ jnp.stack(values))
        return self.polynomials[key]


class Waves(ModelSpec):
    """Waves around the periodic axes of a box, times polynomials along the others: ``Waves(400, waves=25)``.

    Args:
        width: the number of functions.
        waves: how many waves there are, from the longest on: cosines and sines of all whole numbers of turns. The rest
            of the width are Chebyshev polynomials, from the lowest degree on, for each of them.
        offset, size: see `anagram.MLP`.
    """

    closes = is_linear = True

    def __init__(
        self,
        width: int,
        *,
        waves: int,
        offset: float | Sequence[float] = 0.0,
        size: float | Sequence[float] = 1.0,
    ) -> None:
        for name, value in (("width", width), ("waves", waves)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= MOST_WIDE:
                raise SettingError(f"{name} of Waves is a whole number from 1 to {MOST_WIDE}, not {value!r}")
        self.like = MLP(int(width), offset=offset, size=size)  # says what is wrong with the rest
        self.width, self.waves = int(width), min(int(waves), int(width))

    def build(self, domain: Domain, outputs: int, key: jax.Array) -> WaveNetwork:
        kinds = axis_kinds(domain)
        around, straight = places(kinds, Kind.AROUND), places(kinds, Kind.OPEN)
        if not around or len(around) + len(straight) < len(kinds):
            raise SettingError("Waves are for boxes with a periodic axis and without parameters: take Features or MLP")
        offset, size = checked_units(self.like, outputs)
        waves = self.width + 1 if not straight else self.waves
        turns, phase = _lattice(waves, len(around))
        degrees = _degrees(-(-(self.width + 1) // waves), len(straight))
        # The lowest polynomial with all waves, then the next one. The constant is what the bias is for.
        wave, number = (np.arange(1, self.width + 1) % waves, np.arange(1, self.width + 1) // waves)
        factors = Factors(jnp.asarray(turns[wave]), jnp.asarray(phase[wave]), jnp.asarray(degrees[number]))
        highest = ROUND * -(-(1 + int(degrees.max(initial=1))) // ROUND)
        weight, placement = jnp.zeros((outputs, self.width)), placed(domain, 1.0, offset, size)
        return WaveNetwork(factors, weight, jnp.zeros(outputs), placement, kinds, highest)

    def count(self, domain: Domain, outputs: int) -> int:
        return outputs * (self.width + 1)

    def options(self) -> dict[str, Any]:
        units = self.like.options()
        return {"width": self.width, "waves": self.waves, **{name: units[name] for name in ("offset", "size")}}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Waves:
        options = dict(options)
        return cls(options.pop("width"), **options)

    def __repr__(self) -> str:
        return f"Waves({self.width}, waves={self.waves})"


def _lattice(count: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of turns and phases of the longest waves: the constant, then a cosine and a sine for each vector."""
    half: list[tuple[int, ...]] = []
    reach = 0
    while 1 + 2 * len(half) < count:
        reach += 1
        line = range(-reach, reach + 1)
        # One of k and −k, as far as all of a length are there; those of one length in an order that is always the same.
        every = itertools.product(*[line] * dimension)
        half = [k for k in every if k > (0,) * dimension and sum(n * n for n in k) <= reach**2]
    half.sort(key=lambda k: (sum(n * n for n in k), k))
    turns = [(0,) * dimension, *(k for k in half for _ in range(2))]
    phase = [0.0, *(p for _ in half for p in (0.0, np.pi / 2))]
    return np.array(turns[:count], dtype=float), np.array(phase[:count])


def _degrees(count: int, dimension: int) -> np.ndarray:
    """Degrees of the first polynomials, by their sum; none where there is no axis for them."""
    if dimension == 0:
        return np.zeros((count, 0), dtype=int)
    total = 0
    while math.comb(total + dimension, dimension) < count:
        total += 1
    every = [d for d in itertools.product(range(total + 1), repeat=dimension) if sum(d) <= total]
    return np.array(sorted(every, key=lambda d: (sum(d), d))[:count], dtype=int)


def _derivative(count: int, order: int) -> np.ndarray:
    """The matrix that takes Chebyshev polynomials to their derivatives."""
    one = np.zeros((count, count))
    for degree in range(1, count):
        found = np.polynomial.chebyshev.chebder(np.eye(count)[degree])
        one[degree, : len(found)] = found
    return np.linalg.matrix_power(one, order)
