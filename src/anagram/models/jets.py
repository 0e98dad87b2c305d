"""Partial derivatives of a network, propagated through its layers once, all of them together.

A layer z = W a + b is linear: every derivative of z is W times that of a, so that the derivatives that are needed
are columns of one product. Of an activation the derivatives follow from those of σ and Faà di Bruno's formula,

    ∂^α σ(z) = Σ_π σ^{(|π|)}(z) Π_{β ∈ π} ∂^β z,

over the partitions π of the multi-index α. A derivative of the highest order enters only as σ'(z) ∂^α z and by lower
ones: of a sum Σ c_k ∂^{α_k}, such as a Laplacian, one column is carried and not its terms.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.models import manyaxes
from anagram.models.inputs import FirstLayer
from anagram.statement.expressions import Index

HIGHEST_ORDER = 8  # the number of partitions grows faster than exponentially

Columns = dict[Any, Array]
Sum = tuple[tuple[Index, Any], ...]
Jets = tuple[dict[Index, Float[Array, " outputs"]], list[Float[Array, " outputs"]]]


def network_jets(
    first: FirstLayer,
    weights: Sequence[Float[Array, "out in"]],
    biases: Sequence[Float[Array, " out"]],
    activation: str,
    indices: Sequence[Index],
    sums: Sequence[Sum],
) -> Jets:
    """Derivatives of the outputs of W_L σ(… σ(W_1 a + b_1) …) + b_L.

    Args:
        first: W_1 a + b_1 at the point.
        weights: W_2 … W_L.
        biases: b_2 … b_L.
        activation: the name of σ.
        indices: the derivatives that are wanted.
        sums: the sums of derivatives that are wanted, each of one order.

    Returns:
        The derivatives by index, and the sums in their order.
    """
    if manyaxes.applies(first, indices, sums):
        return manyaxes.gradient_jets(first, weights, biases, _DERIVATIVES[activation], indices, sums)
    plan = _Plan(indices, sums)
    columns = _first(first, activation, plan)
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        columns = _activated(_linear(columns, weight, bias, plan), activation, plan)
    columns = _linear(columns, weights[-1], biases[-1], plan)
    return {index: columns[index] for index in indices}, [columns[place] for place in plan.places]


class _Plan:
    """Which derivatives are carried through the layers: those that are wanted, and all that these are made of."""

    def __init__(self, indices: Sequence[Index], sums: Sequence[Sum]) -> None:
        # Equal sums of several components are carried once.
        self.sums: list[Sum] = []
        self.places: list[int] = []
        for terms in sums:
            place = next((k for k, known in enumerate(self.sums) if _same(known, terms)), None)
            if place is None:
                place = len(self.sums)
                self.sums.append(terms)
            self.places.append(place)
        needed = {sub for index in indices for sub in _sub_indices(index)}
        needed |= {sub for terms in self.sums for index, _ in terms for sub in _sub_indices(index) if sub != index}
        axes = len(next(itertools.chain(indices, (i for terms in self.sums for i, _ in terms))))
        self.zero: Index = (0,) * axes
        self.carried = sorted(needed | {self.zero}, key=lambda index: (sum(index), index))
        self.order = max([sum(i) for i in self.carried] + [sum(terms[0][0]) for terms in self.sums])


def _first(layer: FirstLayer, activation: str, plan: _Plan) -> Columns:
    """The derivatives after the first layer and its activation."""
    if layer.is_straight:
        # One partition is left of Faà di Bruno's formula.
        read = {axis for index in _all(plan) for axis, order in enumerate(index) if order}
        steep = {axis: layer.weight[:, axis] * layer.slopes[axis] for axis in sorted(read)}
        sigma = activation_derivatives(activation, layer.value(), plan.order)
        columns: Columns = {index: sigma[sum(index)] * _product(steep, index) for index in plan.carried}
        for number, terms in enumerate(plan.sums):
            total = _add(_times(c, _product(steep, index)) for index, c in terms)
            columns[number] = sigma[sum(terms[0][0])] * total
        return columns
    before: Columns = {plan.zero: layer.value()}
    for index in plan.carried[1:]:
        if (found := layer.derivative(index)) is not None:
            before[index] = found
    for number, terms in enumerate(plan.sums):
        there = [_times(c, found) for index, c in terms if (found := layer.derivative(index)) is not None]
        if there:
            before[number] = _add(there)
    return _activated(before, activation, plan)


def _all(plan: _Plan) -> Iterator[Index]:
    yield from plan.carried
    yield from (index for terms in plan.sums for index, _ in terms)


def _linear(columns: Columns, weight: Array, bias: Array, plan: _Plan) -> Columns:
    stacked = jnp.stack(list(columns.values())) @ weight.T
    return {key: stacked[place] + bias if key == plan.zero else stacked[place] for place, key in enumerate(columns)}


def _activated(columns: Columns, activation: str, plan: _Plan) -> Columns:
    sigma = activation_derivatives(activation, columns[plan.zero], plan.order)
    result: Columns = {plan.zero: sigma[0]}
    for index in plan.carried[1:]:
        result[index] = _chain(index, columns, sigma, whole=True)
    for number, terms in enumerate(plan.sums):
        lower = [
            _times(c, chained)
            for index, c in terms
            if (chained := _chain(index, columns, sigma, whole=False)) is not None
        ]
        highest = [sigma[1] * columns[number]] if number in columns else []
        result[number] = _add([*highest, *lower])
    return result


def _chain(index: Index, columns: Columns, sigma: list[Array], *, whole: bool) -> Any:
    """Faà di Bruno's formula; without its term σ'(z) ∂^α z where that is carried in a sum. None if nothing is left.

    Derivatives of z that are not there vanish.
    """
    by_order: dict[int, list[Array]] = {}
    for count, blocks in partitions(index):
        if (len(blocks) > 1 or whole) and all(block in columns for block in blocks):
            first, *others = (columns[block] for block in blocks)
            product = math.prod(others, start=first)
            by_order.setdefault(len(blocks), []).append(count * product if count > 1 else product)
    terms = [sigma[order] * _add(products) for order, products in by_order.items()]
    return _add(terms) if terms else None


@functools.cache
def partitions(index: Index) -> list[tuple[int, tuple[Index, ...]]]:
    """The partitions of a multi-index into blocks, and how often each of them occurs."""
    elements = [axis for axis, order in enumerate(index) for _ in range(order)]
    found: Counter[tuple[Index, ...]] = Counter()
    for partition in _set_partitions(len(elements)):
        blocks = [Counter(elements[e] for e in block) for block in partition]
        found[tuple(sorted(tuple(block[axis] for axis in range(len(index))) for block in blocks))] += 1
    return [(count, blocks) for blocks, count in found.items()]


def _set_partitions(size: int) -> Iterator[list[list[int]]]:
    if size == 0:
        yield []
        return
    for smaller in _set_partitions(size - 1):
        yield [*smaller, [size - 1]]
        for place in range(len(smaller)):
            yield [[*block, size - 1] if k == place else block for k, block in enumerate(smaller)]


def _sub_indices(index: Index) -> Iterator[Index]:
    return itertools.product(*(range(order + 1) for order in index))


def _same(one: Sum, other: Sum) -> bool:
    """Whether two sums are the same one; numbers that are not known yet are the same only if they are one object."""
    return len(one) == len(other) and all(
        i == j and (c is d or (isinstance(c, int | float) and isinstance(d, int | float) and c == d))
        for (i, c), (j, d) in zip(one, other, strict=True)
    )


def _product(steep: dict[int, Array], index: Index) -> Any:
    factors = [steep[axis] for axis, order in enumerate(index) for _ in range(order)]
    return math.prod(factors[1:], start=factors[0]) if factors else 1.0


def _times(number: Any, array: Any) -> Any:
    return array if isinstance(number, int | float) and number == 1 else number * array


def _add(terms: Any) -> Any:
    first, *others = terms
    return sum(others, start=first)


# -- activations --------------------------------------------------------------------------------------------
def activation_derivatives(name: str, z: Array, order: int) -> list[Array]:
    """σ(z), σ'(z), … up to the order."""
    return _DERIVATIVES[name](z, order)


def _tanh(z: Array, order: int) -> list[Array]:
    # With t = tanh z: dt/dz = 1 − t², so all derivatives are 1 − t² times a polynomial in t.
    t = jnp.tanh(z)
    return [t, *_polynomial_derivatives(t, 1 - t * t, np.poly1d([-1, 0, 1]), order)]


def _sigmoid(z: Array, order: int) -> list[Array]:
    s = jax.nn.sigmoid(z)
    return [s, *_polynomial_derivatives(s, s * (1 - s), np.poly1d([-1, 1, 0]), order)]


def _polynomial_derivatives(t: Array, slope: Array, of: np.poly1d, order: int) -> list[Array]:
    """Derivatives of t(z) where dt/dz = of(t) = slope."""
    values, factor = [], np.poly1d([1.0])
    for _ in range(order):
        values.append(slope * _horner(factor.coeffs, t))
        factor = factor.deriv() * of + factor * of.deriv()
    return values


def _horner(coefficients: np.ndarray, t: Array) -> Any:
    value: Any = float(coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * t + float(coefficient) if coefficient else value * t
    return value


def _sin(z: Array, order: int) -> list[Array]:
    s, c = jnp.sin(z), jnp.cos(z)
    return [(s, c, -s, -c)[k % 4] for k in range(order + 1)]


def _gaussian(z: Array, order: int) -> list[Array]:
    g = jnp.exp(-(z**2))
    values, factor = [], np.poly1d([1.0])
    for _ in range(order + 1):
        values.append(g * _horner(factor.coeffs, z))
        factor = factor.deriv() - factor * np.poly1d([2.0, 0.0])
    return values


def _softplus(z: Array, order: int) -> list[Array]:
    return [jax.nn.softplus(z), *(_sigmoid(z, order - 1) if order else [])]


def _silu(z: Array, order: int) -> list[Array]:
    return _times_z(z, _sigmoid(z, order))


def _gelu(z: Array, order: int) -> list[Array]:
    normal = jnp.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    values, factor = [jax.scipy.stats.norm.cdf(z)], np.poly1d([1.0])
    for _ in range(order):
        values.append(normal * _horner(factor.coeffs, z))
        factor = factor.deriv() - factor * np.poly1d([1.0, 0.0])
    return _times_z(z, values)


def _times_z(z: Array, values: list[Array]) -> list[Array]:
    """The derivatives of z·f(z) from those of f."""
    return [z * v + k * values[k - 1] if k else z * v for k, v in enumerate(values)]


_DERIVATIVES: dict[str, Callable[[Array, int], list[Array]]] = {
    "tanh": _tanh,
    "sin": _sin,
    "gelu": _gelu,
    "silu": _silu,
    "softplus": _softplus,
    "sigmoid": _sigmoid,
    "gaussian": _gaussian,
}
