"""Derivatives of a network along many axes: the gradient is one matrix through all layers, and not a column for each axis.

What a Laplacian in a hundred dimensions needs is the value, the gradient G, and one column for each sum Σ c_k ∂^{α_k} of
first or second derivatives. With z = W a + b and the derivatives σ', σ'' at z,

    ∂_k σ(z) = σ' ∂_k z,    Σ c_k ∂_{i_k} ∂_{j_k} σ(z) = σ' Σ c_k ∂_{i_k} ∂_{j_k} z + σ'' Σ c_k G_{i_k} G_{j_k}.

The numbers are those of `anagram.models.jets`; a program of a few large operations is compiled in a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.models.inputs import FirstLayer
from anagram.statement.expressions import Index

FROM = 12  # axes on; with fewer of them the columns are few

Sum = tuple[tuple[Index, Any], ...]
Derivatives = Callable[[Array, int], list[Array]]


def applies(layer: FirstLayer, indices: Sequence[Index], sums: Sequence[Sum]) -> bool:
    """Whether all that is wanted are values, first derivatives, and sums of first or of second ones, of many axes."""
    if not layer.is_straight or layer.slopes.shape[0] < FROM:
        return False
    if not sums and sum(map(any, indices)) < FROM:
        return False
    orders = {sum(index) for terms in sums for index, _ in terms}
    return orders <= {1, 2} and all(sum(index) <= 1 for index in indices)


def gradient_jets(
    first: FirstLayer,
    weights: Sequence[Float[Array, "out in"]],
    biases: Sequence[Float[Array, " out"]],
    derivatives: Derivatives,
    indices: Sequence[Index],
    sums: Sequence[Sum],
) -> tuple[dict[Index, Float[Array, " outputs"]], list[Float[Array, " outputs"]]]:
    """The same as `anagram.models.jets.network_jets`, of what `applies` to."""
    wanted = [_Sum(terms) for terms in sums]
    axes = first.slopes.shape[0]
    # Rows: the value, the gradient, and the sums. In front of the first activation there are no second derivatives.
    gradient = first.weight.T * first.slopes[:, None]
    before = [first.value()[None], gradient, *(s.of_first(gradient)[None] for s in wanted)]
    for weight, bias in zip(weights, biases, strict=True):
        linear = jnp.concatenate(_activated(before, wanted, derivatives)) @ weight.T
        value, gradient, rest = linear[:1] + bias, linear[1 : axes + 1], linear[axes + 1 :]
        before = [value, gradient, *(row[None] for row in rest)]
    value, gradient, *totals = before
    found = {index: gradient[index.index(1)] if any(index) else value[0] for index in indices}
    return found, [total[0] for total in totals]


def _activated(before: list[Array], wanted: Sequence[_Sum], derivatives: Derivatives) -> list[Array]:
    value, gradient, *totals = before
    sigma = derivatives(value, 2 if any(s.order == 2 for s in wanted) else 1)
    after = [sigma[1] * total for total in totals]
    for place, s in enumerate(wanted):
        if s.order == 2:
            after[place] = after[place] + sigma[2] * s.of_products(gradient)
    return [sigma[0], sigma[1] * gradient, *after]


class _Sum:
    """Σ c_k ∂^{α_k}, all α_k of the same order, by the axes of its terms."""

    def __init__(self, terms: Sum) -> None:
        self.order = sum(terms[0][0])
        axes = [[axis for axis, times in enumerate(index) for _ in range(times)] for index, _ in terms]
        self.axes = np.array(axes).T
        numbers = [number for _, number in terms]
        self.numbers = (
            None
            if all(isinstance(n, int | float) and n == 1 for n in numbers)
            else jnp.stack([jnp.asarray(n, float) for n in numbers])
        )

    def of_first(self, gradient: Float[Array, "axes units"]) -> Float[Array, " units"]:
        """What it makes of a linear function."""
        return self._added(gradient[self.axes[0]]) if self.order == 1 else jnp.zeros_like(gradient[0])

    def of_products(self, gradient: Float[Array, "axes units"]) -> Float[Array, " units"]:
        """Σ c_k G_i G_j."""
        left, right = (_rows(gradient, places) for places in self.axes)
        return self._added(left * right)

    def _added(self, rows: Float[Array, "terms units"]) -> Float[Array, " units"]:
        return jnp.sum(rows, axis=0) if self.numbers is None else self.numbers @ rows


def _rows(matrix: Array, places: np.ndarray) -> Array:
    """Some rows; all of them in their order without moving any."""
    return matrix if np.array_equal(places, np.arange(len(matrix))) else matrix[places]
