"""Waves around periodic axes, times polynomials along the others: u_θ = Σ_k θ_k φ_k, linear in its parameters.

On a ring nothing is finer for the same number of parameters where the solution is smooth. Whether it is the waves
that are missing or the polynomials is found by trying both; see `anagram.training.splits`. Without periodic axes
there are polynomials alone, see `anagram.models.chebyshev`: the same network, without waves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
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
from anagram.statement.domains import Domain, GaussLegendre
from anagram.statement.domains.bends import MOST_TERMS, PLAIN, Bend
from anagram.statement.domains.rules import MOST_NODES
from anagram.statement.expressions import Index

MOST_WIDE = 100_000
# Functions in a table at least; more of them are powers of two, so that numbers nearby are one program.
FEWEST_FINE, FEWEST_COARSE = 64, 16
NODES = 1.4  # along an axis, for each function of it alone
MOST_FOR_EACH = 12  # nodes for each function; on a grid of several axes there may be more
LAST = 0.1  # of the functions along the fine axes, or along the others, are their tail


class Table(Fixed):
    """Functions of some axes: cos(k·ψ − phase) with ψ around the periodic ones, and a degree for each other."""

    turns: Float[Array, "functions around"]
    phase: Float[Array, " functions"]
    degree: Int[Array, "functions straight"]


class Factors(Fixed):
    """What the functions are made of: each is the product of a fine one and of a coarse one, of other axes."""

    fine: Table
    coarse: Table
    fine_of: Int[Array, " features"]
    coarse_of: Int[Array, " features"]
    bends: Float[Array, "straight terms"] | None = None  # of the open axes; None if they are plain


class WaveNetwork(eqx.Module):
    """a ↦ W φ(a) + b between the units of its placement; W and b are learned, and φ are waves times polynomials.

    As φ_k = f_i c_j, the sum over all k is two products with a matrix: Σ_j (Σ_i W_ij f_i) c_j. `is_fine` says which
    axes the fine functions depend on. Tables are as long as round numbers, and so are `degrees`, the numbers of
    polynomials along the open axes: about as many functions are one program.
    """

    factors: Factors
    weight: Float[Array, "outputs features"]
    bias: Float[Array, " outputs"]
    placement: Placement
    kinds: Kinds = eqx.field(static=True)
    degrees: tuple[int, ...] = eqx.field(static=True)
    is_fine: tuple[bool, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        zero = (0,) * len(self.kinds)
        return self.jets(x, [zero], [])[0][zero]

    def jets(self, x: Float[Array, " axes"], indices: Sequence[Index], sums: Sequence[Sum]) -> Jets:
        """The derivatives of all outputs at a point, single ones by index and sums in their order."""
        place = self.placement
        at = _At(self, x, [*indices, *(index for terms in sums for index, _ in terms)])
        values = {index: place.size * self._plus_bias(at[index], index) + self._offset(index) for index in indices}
        totals = []
        for terms in sums:
            total = sum(
                c * (place.size * self._plus_bias(at[index], index) + self._offset(index)) for index, c in terms
            )
            totals.append(total)
        return values, totals

    def _plus_bias(self, linear: Array, index: Index) -> Array:
        return linear if any(index) else linear + self.bias

    def _offset(self, index: Index) -> Array | float:
        return 0.0 if any(index) else self.placement.offset

    def features(self, x: Float[np.ndarray, "points axes"]) -> Float[np.ndarray, "points features"]:
        """φ at some points. In NumPy: operations of JAX outside of programs are compiled one by one."""
        scaled = (x - np.asarray(self.placement.low)) / np.asarray(self.placement.length)
        angle = 2 * np.pi * scaled[:, places(self.kinds, Kind.AROUND)]
        polynomials = [
            np.polynomial.chebyshev.chebvander(self.bent(column, 2 * scaled[:, axis] - 1), count - 1)
            for column, (axis, count) in enumerate(zip(places(self.kinds, Kind.OPEN), self.degrees, strict=True))
        ]

        def of(table: Table) -> np.ndarray:
            found = np.cos(angle @ np.asarray(table.turns).T - np.asarray(table.phase))
            for column, values in enumerate(polynomials):
                found = found * values[:, np.asarray(table.degree)[:, column]]
            return found

        factors = self.factors
        return of(factors.fine)[:, np.asarray(factors.fine_of)] * of(factors.coarse)[:, np.asarray(factors.coarse_of)]

    def bend(self, column: int) -> Bend | None:
        """How an open axis is bent."""
        bends = self.factors.bends
        return None if bends is None else Bend(tuple(np.asarray(bends)[column].tolist()))

    def bent(self, column: int, z: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
        """What the polynomials of an open axis see of it, from places in [−1, 1]."""
        bend = self.bend(column)
        return z if bend is None else bend(z)

    def resolving_rule(self, axes: Sequence[str]) -> GaussLegendre | None:
        """Nodes that tell its functions from each other; None where these would be too many."""
        keys, counts = self.function_keys(), {}
        around, straight = (places(self.kinds, kind) for kind in (Kind.AROUND, Kind.OPEN))
        for column, axis in enumerate(around):
            counts[axes[axis]] = 1 + 2 * int(np.max(np.abs(keys[:, column])))
        for column, axis in enumerate(straight):
            counts[axes[axis]] = 1 + int(np.max(keys[:, len(around) + 1 + column]))
        nodes = {axis: math.ceil(NODES * count) + 2 for axis, count in counts.items()}
        most = MOST_FOR_EACH * self.weight.shape[1]
        if max(nodes.values()) > MOST_NODES or math.prod(nodes.values()) > max(most, FEWEST_FINE**2):
            return None
        bends = {axes[axis]: self.bend(column) for column, axis in enumerate(straight)}
        return GaussLegendre(**nodes).bent({axis: bend for axis, bend in bends.items() if bend is not None})

    def function_keys(self) -> Float[np.ndarray, "features numbers"]:
        """Turns, phase and degrees of each function: what tells them apart."""
        fine, coarse = (
            np.column_stack([table.turns, table.phase, table.degree])[np.asarray(which)]
            for table, which in (
                (self.factors.fine, self.factors.fine_of),
                (self.factors.coarse, self.factors.coarse_of),
            )
        )
        return fine + coarse  # of other axes: where one has numbers the other has zeros


class _At:
    """Σ_k θ_k ∂^α φ_k at a point, what several α have in common made once."""

    def __init__(self, network: WaveNetwork, x: Float[Array, " axes"], wanted: Sequence[Index]) -> None:
        self.network, self.place = network, network.placement
        self.around, self.straight = (places(network.kinds, kind) for kind in (Kind.AROUND, Kind.OPEN))
        self.scaled = (x - self.place.low) / self.place.length
        factors = network.factors
        shape = (len(network.weight), len(factors.fine.phase), len(factors.coarse.phase))
        self.matrix = jnp.zeros(shape).at[:, factors.fine_of, factors.coarse_of].add(network.weight)
        # The highest derivative along each axis that is read.
        self.highest = [max(orders) for orders in zip(*wanted, strict=True)]
        self.polynomials: dict[int, Array] = {}
        self.known: dict[tuple[str, Index], Array] = {}

    def __getitem__(self, index: Index) -> Array:
        is_fine = self.network.is_fine
        fine = tuple(n if own else 0 for n, own in zip(index, is_fine, strict=True))
        coarse = tuple(0 if own else n for n, own in zip(index, is_fine, strict=True))
        factors = self.network.factors
        along = self._once(
            "along", fine, lambda: jnp.tensordot(self._functions(factors.fine, fine), self.matrix, (0, 1))
        )
        return along @ self._once("across", coarse, lambda: self._functions(factors.coarse, coarse))

    def _once(self, name: str, index: Index, make: Callable[[], Array]) -> Array:
        if (name, index) not in self.known:
            self.known[name, index] = make()
        return self.known[name, index]

    def _functions(self, table: Table, index: Index) -> Array:
        """∂^α of the functions of a table."""
        angle = table.turns @ (2 * np.pi * self.scaled[np.array(self.around, int)]) - table.phase
        order = sum(index[axis] for axis in self.around)
        column = (jnp.cos, lambda a: -jnp.sin(a), lambda a: -jnp.cos(a), jnp.sin)[order % 4](angle)
        for number, axis in enumerate(self.around):
            if index[axis]:
                column = column * (2 * np.pi / self.place.length[axis] * table.turns[:, number]) ** index[axis]
        for number, axis in enumerate(self.straight):
            column = column * self._polynomials(axis, index[axis])[table.degree[:, number]]
        return column

    def _polynomials(self, axis: int, order: int) -> Array:
        """The derivatives of this order of T_0, T_1, …; those up to the highest order are made together."""
        if axis not in self.polynomials:
            z, highest, column = 2 * self.scaled[axis] - 1, self.highest[axis], self.straight.index(axis)
            slopes = (2 / self.place.length[axis]) ** jnp.arange(highest + 1)
            count, bends = self.network.degrees[column], self.network.factors.bends
            if bends is None:
                found = chebyshev(z, count, highest)
            else:
                series = bends[column] @ chebyshev(z, bends.shape[1], highest)
                found = composed(chebyshev(series[0], count, highest), series)
            self.polynomials[axis] = slopes * found
        return self.polynomials[axis][:, order]


def composed(
    outer: Float[Array, "functions orders"], inner: Float[Array, " orders"]
) -> Float[Array, "functions orders"]:
    """Derivatives of f(s(z)) up to an order, from those of f at s and those of s at z.

    As s(z + ε) − s(z) = h(ε), the Taylor series of f(s + h) is summed power by power.
    """
    count = len(inner)
    taylor = [inner[k] / math.factorial(k) for k in range(count)]
    power: list[Any] = [1.0] + [0.0] * (count - 1)  # of h, to the order that is asked for
    total = [outer[:, 0]] + [jnp.zeros_like(outer[:, 0])] * (count - 1)
    for j in range(1, count):
        power = [sum(power[k - i] * taylor[i] for i in range(1, k + 1)) for k in range(count)]
        total = [t + outer[:, j] / math.factorial(j) * p for t, p in zip(total, power, strict=True)]
    return jnp.stack([math.factorial(k) * t for k, t in enumerate(total)], axis=1)


def chebyshev(z: Float[Array, ""], count: int, order: int) -> Float[Array, "count orders"]:
    """Chebyshev polynomials and their derivatives up to an order, by the derivatives of their recurrence.

    Of T_{n+1} = 2 z T_n − T_{n−1} the k-th one is T_{n+1}^(k) = 2 z T_n^(k) + 2 k T_n^(k−1) − T_{n−1}^(k). They are
    made in a loop, so that programs stay small.
    """
    times = 2.0 * jnp.arange(1, order + 1)

    def onwards(before: Array, now: Array) -> Array:
        return 2 * z * now - before + jnp.zeros_like(now).at[1:].set(times * now[:-1])

    first = jnp.zeros(order + 1).at[0].set(1.0)
    second = (z * first).at[1:2].set(1.0)
    step = lambda two, _: ((two[1], onwards(*two)), two[0])  # noqa: E731
    return jax.lax.scan(step, (first, second), length=count)[1]


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
            raise SettingError(
                "Waves are for boxes with a periodic axis and without parameters: take Chebyshev, Features or MLP"
            )
        fine, coarse = self.split(domain)
        waves = table_of(kinds, around, _lattice(fine.max() + 1, len(around)))
        polynomials = table_of(kinds, straight, total_degrees(coarse.max() + 1, len(straight)))
        return product_network(domain, self.like, outputs, waves, polynomials, fine, coarse, domain.periodic_axes)

    def split(self, domain: Domain) -> tuple[np.ndarray, np.ndarray]:
        """Which wave, and which of the polynomials, each function is the product of."""
        return split(self.width, self.waves, is_all=not places(axis_kinds(domain), Kind.OPEN))

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


def split(width: int, count: int, *, is_all: bool) -> tuple[np.ndarray, np.ndarray]:
    """Which of the fine functions, and which of the coarse ones, each function is the product of.

    The first coarse one with all `count` fine ones, then the next one. The constant is what the bias is for.
    """
    count = width + 1 if is_all else count
    number = np.arange(1, width + 1)
    return number % count, number // count


def along_one_axis(count: int, dimension: int, *, around: bool) -> int:
    """How many functions of one axis alone there are among so many of several axes."""
    if around:
        return 1 + 2 * int(np.abs(_lattice(count, dimension)[0]).max())
    return 1 + int(total_degrees(count, dimension).max())


def by_degree(table: Table, which: Int[np.ndarray, " features"]) -> Int[np.ndarray, " features"]:
    """Numbers of functions in a table; those of several axes by their degree, or by the length of their waves.

    Two degrees count as one: of a symmetric solution every other one is zero.
    """
    turns, degree = np.asarray(table.turns), np.asarray(table.degree)
    if np.count_nonzero(np.column_stack([turns, degree]).any(axis=0)) < 2:
        return which
    if np.any(degree):
        total = degree.sum(axis=1)[which]
        total = (total - total.max() - 1) // 2
    else:
        total = np.unique(np.sum(turns**2, axis=1), return_inverse=True)[1][which]
    return total - total.min()


def tails(
    weight: Float[np.ndarray, "outputs features"],
    bias: Float[np.ndarray, " outputs"],
    fine: Int[np.ndarray, " features"],
    coarse: Int[np.ndarray, " features"],
) -> tuple[float, float]:
    """How large the parameters of the last fine functions are, and of the last coarse ones, beside all of them.

    Functions are told apart by number, or by degree, where several have the same. Where a solution is resolved the last
    ones are small: which of the two is larger says what is missing.
    """
    power = np.sum(np.abs(weight) ** 2, axis=0)
    whole = float(np.sum(power) + np.sum(np.abs(bias) ** 2))
    if not np.isfinite(whole) or whole <= 0:
        return 1.0, 1.0

    def tail(number: np.ndarray) -> float:
        profile = np.bincount(number, power)
        last = max(2, round(LAST * len(profile)))  # every other one may be zero: of an even solution all sines are
        return float(np.sqrt(profile[-last:].max() / whole))

    return tail(fine), tail(coarse)


def product_network(
    domain: Domain,
    like: MLP,
    outputs: int,
    fine: Table,
    coarse: Table,
    fine_of: Int[np.ndarray, " features"],
    coarse_of: Int[np.ndarray, " features"],
    fine_axes: Sequence[str],
    bends: Mapping[str, Bend] | None = None,
) -> WaveNetwork:
    """The network with these functions, none of them learned yet, in the units of a recipe."""
    offset, size = checked_units(like, outputs)
    kinds = axis_kinds(domain)
    straight = [domain.axes[axis] for axis in places(kinds, Kind.OPEN)]
    degrees = np.concatenate([fine.degree, coarse.degree]).max(axis=0, initial=0)
    fewest = [FEWEST_FINE if axis in fine_axes else FEWEST_COARSE for axis in straight]
    counts = tuple(_round(1 + int(degree), least) for degree, least in zip(degrees, fewest, strict=True))
    rows = _rows([(bends or {}).get(axis, PLAIN) for axis in straight]) if bends else None
    tables = _filled(fine, FEWEST_FINE), _filled(coarse, FEWEST_COARSE)
    factors = Factors(*tables, jnp.asarray(fine_of), jnp.asarray(coarse_of), rows)
    weight, placement = jnp.asarray(np.zeros((outputs, len(fine_of)))), placed(domain, 1.0, offset, size)
    is_fine = tuple(axis in fine_axes for axis in domain.axes)
    return WaveNetwork(factors, weight, jnp.zeros(outputs), placement, kinds, counts, is_fine)


def table_of(kinds: Kinds, axes: Sequence[int], functions: tuple[np.ndarray, np.ndarray] | np.ndarray) -> Table:
    """A table of waves, as turns and phases, or of polynomials, as degrees along some axes."""
    around, straight = places(kinds, Kind.AROUND), places(kinds, Kind.OPEN)
    turns, phase = functions if isinstance(functions, tuple) else (None, np.zeros(len(functions)))
    degree = np.zeros((len(phase), len(straight)), dtype=int)
    if not isinstance(functions, tuple):
        degree[:, [straight.index(axis) for axis in axes]] = functions
    turns = np.zeros((len(phase), len(around))) if turns is None else turns
    # Put where they are as they are: anything else is a program to compile for every new shape.
    return jax.device_put(Table(*map(np.asarray, (turns, phase, degree))))  # pyright: ignore[reportArgumentType]


def _rows(bends: Sequence[Bend]) -> Float[Array, "straight terms"]:
    """Bends as a matrix, all of them as long as any may be: another one is the same program."""
    rows = np.zeros((len(bends), MOST_TERMS))
    for row, bend in zip(rows, bends, strict=True):
        row[: len(bend.coefficients)] = bend.coefficients
    return jnp.asarray(rows)


def _filled(table: Table, fewest: int) -> Table:
    """A table that is as long as a round number; the functions at its end are not used."""
    count = len(table.phase)
    more = _round(count, fewest) - count

    def longer(array: Array) -> np.ndarray:
        return np.concatenate([np.asarray(array), np.zeros((more, *array.shape[1:]), array.dtype)])

    return jax.device_put(jax.tree.map(longer, table))


def _round(count: int, fewest: int) -> int:
    return max(fewest, 2 ** (count - 1).bit_length())


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


def total_degrees(count: int, dimension: int) -> np.ndarray:
    """Degrees of the first polynomials, by their sum; none where there is no axis for them."""
    if dimension == 0:
        return np.zeros((count, 0), dtype=int)
    total = 0
    while math.comb(total + dimension, dimension) < count:
        total += 1
    every = [d for d in itertools.product(range(total + 1), repeat=dimension) if sum(d) <= total]
    return np.array(sorted(every, key=lambda d: (sum(d), d))[:count], dtype=int)
