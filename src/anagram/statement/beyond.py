"""Expressions that look beyond their point: values elsewhere, and integrals.

Both are made of an inner expression whose values are taken at other points. A value elsewhere replaces some coordinates
by other expressions; an integral sums over the nodes of a quadrature, through variables that stand in its integrand.
∫ u(t, x) dx is the integral over s of the value of u elsewhere, at x = s: derivatives follow from the chain rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from anagram.errors import ProblemError
from anagram.statement import expressions
from anagram.statement.expressions import (
    NORMAL,
    Coordinate,
    Leaf,
    LeafSum,
    Named,
    Node,
    Number,
    Unknown,
    everything,
    postorder,
    rewritten,
)

Places = tuple[tuple[int, Node], ...]  # axes, and what stands for their coordinates


class Variable(Node):
    """The variable of an integral."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class Elsewhere(Node):
    """The value of an expression at the point some of whose coordinates are replaced."""

    __slots__ = ("inner", "places")

    def __init__(self, inner: Node, places: Places) -> None:
        super().__init__()
        self.inner, self.places = inner, tuple(sorted(places, key=lambda place: place[0]))

    @property
    def operands(self) -> tuple[Node, ...]:
        return tuple(node for _, node in self.places)

    @property
    def beyond(self) -> tuple[Node, ...]:
        return (self.inner,)

    def with_parts(self, operands: Sequence[Node], beyond: Sequence[Node]) -> Node:
        axes = [axis for axis, _ in self.places]
        return Elsewhere(beyond[0], tuple(zip(axes, operands, strict=True)))

    def _derivative(self, axis: int) -> Node:
        slopes = [(k, place.derivative(axis)) for k, place in self.places]
        if axis not in dict(self.places):
            slopes.append((axis, expressions.ONE))
        total: Node = expressions.ZERO
        for k, slope in slopes:
            if not expressions.is_zero(slope):
                there = moved(self.inner.derivative(k), self.places)
                total = expressions.add(total, expressions.multiply(there, slope))
        return total


def moved(inner: Node, places: Places) -> Node:
    """The value of an expression elsewhere; of a number it is that number."""
    return inner if isinstance(inner, Number) else Elsewhere(inner, places)


class Quadrature(NamedTuple):
    """Nodes (one column for each variable) and weights that integrate; how the set they lie in is written."""

    nodes: Float[np.ndarray, "nodes variables"]
    weights: Float[np.ndarray, " nodes"]
    over: str


class Integral(Node):
    """Σ_k w_k inner(s_k): the integral of an expression over its variables, at the same point."""

    __slots__ = ("inner", "quadrature", "variables")

    def __init__(self, inner: Node, variables: Sequence[Variable], quadrature: Quadrature) -> None:
        super().__init__()
        self.inner, self.variables, self.quadrature = inner, tuple(variables), quadrature

    @property
    def beyond(self) -> tuple[Node, ...]:
        return (self.inner,)

    def with_parts(self, operands: Sequence[Node], beyond: Sequence[Node]) -> Node:
        return Integral(beyond[0], self.variables, self.quadrature)

    def _derivative(self, axis: int) -> Node:
        slope = self.inner.derivative(axis)
        return slope if expressions.is_zero(slope) else Integral(slope, self.variables, self.quadrature)


def axes_read(roots: Sequence[Node], dimension: int) -> set[int]:
    """The axes on which the values of expressions may depend."""
    found: set[int] = set()
    for node in postorder(roots):
        if isinstance(node, Unknown | Leaf | LeafSum):
            return set(range(dimension))
        if isinstance(node, Coordinate):
            found.add(node.axis)
        elif isinstance(node, Elsewhere):
            found |= axes_read([node.inner], dimension) - {axis for axis, _ in node.places}
        elif isinstance(node, Integral):
            found |= axes_read([node.inner], dimension)
    return found


def looks_beyond(roots: Sequence[Node]) -> bool:
    """Whether values at other points are read."""
    return any(node.beyond for node in postorder(roots))


def shared_parts(roots: Sequence[Node], dimension: int) -> list[Node]:
    """The values elsewhere and integrals that are the same at every point, and no parts of each other."""
    found: dict[int, Node] = {}
    for node in postorder(roots):
        if isinstance(node, Elsewhere | Integral) and not axes_read([node], dimension) and not reads_normal([node]):
            found[id(node)] = node
    inside = {id(part) for node in found.values() for part in postorder(node.operands)}
    return [node for key, node in found.items() if key not in inside]


def with_shared(roots: Sequence[Node], parts: Sequence[Node], values: Sequence[object]) -> list[Node]:
    """The expressions with numbers in the place of some of their parts."""
    numbers = {id(part): Number(value) for part, value in zip(parts, values, strict=True)}
    return rewritten(roots, lambda node: numbers.get(id(node)))


def reads_normal(roots: Sequence[Node]) -> bool:
    """Whether the normal of the point is read, here or in what is taken elsewhere."""
    return any(isinstance(node, Named) and node.name.startswith(NORMAL) for node in everything(roots))


def no_normal() -> ProblemError:
    """The error for points that have no normal."""
    return ProblemError(
        "the normal derivative exists only on a face: give the condition on=domain.face(...), "
        "domain.faces(...) or domain.boundary(), or integrate it over one of these"
    )


def refuse_normal(roots: Sequence[Node]) -> None:
    """Raise an error where the normal is read of points that have none."""
    if reads_normal(roots):
        raise no_normal()
