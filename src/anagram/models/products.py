"""Products of a model with known functions, and their derivatives by Leibniz' rule."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from jaxtyping import Array

from anagram.statement.evaluation import nested
from anagram.statement.expressions import Derivatives, Index, Wanted
from anagram.statement.unknowns import Ansatz


def below(index: Index) -> Iterator[tuple[Index, int]]:
    """All β ≤ α, with the binomial coefficients of ∂^α(Φ N) = Σ binom(α, β) ∂^{α−β}Φ ∂^β N."""
    for lower_one in itertools.product(*(range(order + 1) for order in index)):
        yield lower_one, math.prod(math.comb(a, b) for a, b in zip(index, lower_one, strict=True))


def lower(wanted: Wanted) -> Wanted:
    """The derivatives of N that derivatives of Φ N are made of; sums of the highest order remain sums."""
    indices = {b: None for index in wanted.indices for b, _ in below(index)}
    for terms in wanted.sums:
        indices |= {b: None for index, _ in terms for b, _ in below(index) if b != index}
    return Wanted(tuple(indices), wanted.sums)


class Known:
    """A known function and its derivatives at one point, each made once."""

    def __init__(self, function: Callable[[Array], Any], x: Array) -> None:
        self.function, self.x = function, x
        self.found: dict[Index, Any] = {}

    def __getitem__(self, index: Index) -> Any:
        if index not in self.found:
            self.found[index] = nested(self.function, index)(self.x)
        return self.found[index]


def product(factor: Known, index: Index, of: dict[Index, Any], *, without_highest: bool = False) -> Any:
    """∂^α(Φ N) from the derivatives of N; without Φ ∂^α N if that is known otherwise."""
    total: Any = 0.0
    for b, count in below(index):
        if not (without_highest and b == index):
            total = total + count * factor[_minus(index, b)] * of[b]
    return total


def product_sum(factor: Known, terms: Any, of: dict[Index, Any], highest: Any) -> Any:
    """Σ c_k ∂^{α_k}(Φ N), where Σ c_k ∂^{α_k} N is given."""
    zero = tuple(0 for _ in terms[0][0])
    rest = sum(c * product(factor, index, of, without_highest=True) for index, c in terms)
    return factor[zero] * highest + rest


def combined(ansatz: Ansatz, x: Array, wanted: Wanted, of: Derivatives) -> Derivatives:
    """The wanted derivatives of G + Φ N from those of N."""
    known, factor = Known(ansatz.known, x), Known(ansatz.factor, x)
    values = {index: known[index] + product(factor, index, of.values) for index in wanted.indices}
    sums = [
        sum(c * known[index] for index, c in terms) + product_sum(factor, terms, of.values, highest)
        for terms, highest in zip(wanted.sums, of.sums, strict=True)
    ]
    return Derivatives(values, sums)


def _minus(index: Index, other: Index) -> Index:
    return tuple(a - b for a, b in zip(index, other, strict=True))
