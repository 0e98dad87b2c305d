"""Values of expressions at a point: every function gives all derivatives that are read of it at once."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import jet
from jaxtyping import Array, Inexact

from anagram.statement.expressions import (
    Apply,
    Coordinate,
    Derivatives,
    Elsewhere,
    Index,
    Leaf,
    LeafSum,
    Node,
    Number,
    Wanted,
    postorder,
    rewritten,
)

PointFunction = Callable[[Array], Inexact[Array, ""]]


def evaluate(roots: Sequence[Node], x: Any) -> list[Any]:
    """The values of expressions at one point, given as the vector of its coordinates."""
    values = _values(with_sums(roots), x, lambda function, operands: function(*operands))
    return [jnp.asarray(value) for value in values]


def evaluate_many(roots: Sequence[Node], x: np.ndarray) -> list[np.ndarray]:
    """The values of expressions at many points (n, d), at once and without compiling anything.

    Sources must give arrays for a point whose coordinates are arrays; functions of which nothing is known are mapped.
    """
    columns = list(np.asarray(x, dtype=float).T)
    with np.errstate(all="ignore"):
        values = _values(roots, columns, lambda function, operands: _apply_many(function, operands, len(x)))
    return [np.broadcast_to(np.asarray(value), (len(x),)) for value in values]


def _values(roots: Sequence[Node], x: Any, apply: Callable[[Callable[..., Any], list[Any]], Any]) -> list[Any]:
    """Evaluate leaves first, then what is made of them; `x` has a coordinate, or an array of them, for each axis."""
    nodes, values = list(postorder(roots)), {}
    for node in nodes:
        if isinstance(node, Number):
            values[id(node)] = node.value
        elif isinstance(node, Coordinate):
            values[id(node)] = x[node.axis]
        elif isinstance(node, Elsewhere):
            many = isinstance(x, list)
            there = (
                evaluate_many([node.inner], np.asarray(node.point)[None])
                if many
                else evaluate([node.inner], node.point)
            )
            values[id(node)] = there[0][0] if many else there[0]
    _read([node for node in nodes if isinstance(node, Leaf | LeafSum)], x, values)
    for node in nodes:
        if isinstance(node, Apply):
            values[id(node)] = apply(node.function, [values[id(operand)] for operand in node.operands])
    return [values[id(root)] for root in roots]


def _elsewhere(node: Elsewhere, *, many: bool) -> Any:
    """The value at a point of its own, the same for one point and for many."""
    if many:
        return evaluate_many([node.inner], np.asarray(node.point)[None])[0][0]
    return evaluate([node.inner], node.point)[0]


_ELEMENTWISE = (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg)


def _apply_many(function: Callable[..., Any], operands: list[Any], count: int) -> Any:
    if function in _ELEMENTWISE:
        return function(*operands)
    mapped = [0 if np.shape(operand) == (count,) else None for operand in operands]
    if all(axis is None for axis in mapped):
        return np.asarray(function(*operands))
    return np.asarray(jax.vmap(function, mapped)(*operands))


def _read(leaves: Sequence[Leaf | LeafSum], x: Any, values: dict[int, Any]) -> None:
    """Ask every source once for everything that is read of it."""
    by_source: dict[int, list[Leaf | LeafSum]] = {}
    for leaf in leaves:
        by_source.setdefault(id(leaf.source), []).append(leaf)
    for group in by_source.values():
        wanted: dict[Any, Wanted] = {}
        for component in dict.fromkeys(leaf.component for leaf in group):
            own = [leaf for leaf in group if leaf.component == component]
            indices = dict.fromkeys(leaf.index for leaf in own if isinstance(leaf, Leaf))
            sums = [_numbers(leaf.terms, x) for leaf in own if isinstance(leaf, LeafSum)]
            wanted[component] = Wanted(tuple(indices), sums)
        found = group[0].source.derivatives(x, wanted)
        for component, derivatives in found.items():
            sums = iter(derivatives.sums)
            for leaf in group:
                if leaf.component == component:
                    values[id(leaf)] = derivatives.values[leaf.index] if isinstance(leaf, Leaf) else next(sums)


def _numbers(terms: tuple[tuple[Index, Node], ...], x: Any) -> tuple[tuple[Index, Any], ...]:
    def value(node: Node) -> Any:
        if isinstance(node, Apply):  # a sign, or a sum of coefficients
            return node.function(*(value(operand) for operand in node.operands))
        return x[node.axis] if isinstance(node, Coordinate) else node.value  # pyright: ignore[reportAttributeAccessIssue]

    return tuple((index, value(coefficient)) for index, coefficient in terms)


# -- sums of derivatives ------------------------------------------------------------------------------------
_ADDITIVE = (operator.add, operator.sub, operator.neg)


def with_sums(roots: Sequence[Node]) -> list[Node]:
    """The expressions with sums of derivatives of the highest order as one leaf each, where a source gains by it.

    A derivative that is read by itself as well, or that others of higher order are made of, stays by itself.
    """
    while True:  # a sum may have sums inside its terms
        nodes = list(postorder(roots))
        if not any(isinstance(node, Leaf) and node.source.adds_up for node in nodes):
            return list(roots)
        replaced = _sums(roots, nodes)
        if not replaced:
            return list(roots)
        roots = rewritten(roots, lambda node, replaced=replaced: replaced.get(id(node)))


def _sums(roots: Sequence[Node], nodes: Sequence[Node]) -> dict[int, Node]:
    """What to replace sums by."""
    parents: dict[int, list[Node]] = {}
    for node in nodes:
        for operand in node.operands:
            parents.setdefault(id(operand), []).append(node)
    reads = Counter((id(n.source), n.component, n.index) for n in nodes if isinstance(n, Leaf))
    below = {
        (id(n.source), _lowered(index, axis))
        for n in nodes
        if isinstance(n, Leaf | LeafSum)
        for index in ([n.index] if isinstance(n, Leaf) else [index for index, _ in n.terms])
        for axis, order in enumerate(index)
        if order
    }
    is_root = {id(root) for root in roots}
    replaced: dict[int, Node] = {}
    for node in nodes:
        if not _adds(node) or any(_adds(parent) for parent in parents.get(id(node), ())):
            continue
        terms = _terms(node, parents, is_root)
        here = Counter((id(leaf.source), leaf.component, leaf.index) for leaf, _ in terms)
        groups: dict[tuple[int, Any, int], list[tuple[Leaf, Node]]] = {}
        for leaf, coefficient in terms:
            which = (id(leaf.source), leaf.component, leaf.index)
            alone = reads[which] == here[which] and len(parents[id(leaf)]) == 1
            if alone and (id(leaf.source), leaf.index) not in below and sum(leaf.index) > 0 and leaf.source.adds_up:
                groups.setdefault((id(leaf.source), leaf.component, sum(leaf.index)), []).append((leaf, coefficient))
        for group in groups.values():
            if len(group) > 1:
                first = group[0][0]
                combined = LeafSum(first.source, first.component, _collected(group))
                gone = {id(leaf) for leaf, _ in group}
                replaced[id(node)] = _without(replaced.get(id(node), node), gone, combined)
    return replaced


def _collected(terms: Sequence[tuple[Leaf, Node]]) -> tuple[tuple[Index, Node], ...]:
    """Each index once, with the sum of its coefficients."""
    total: dict[Index, Node] = {}
    for leaf, coefficient in terms:
        before = total.get(leaf.index)
        if before is None:
            total[leaf.index] = coefficient
        elif (
            isinstance(before, Number) and isinstance(coefficient, Number) and before.is_plain and coefficient.is_plain
        ):
            total[leaf.index] = Number(before.value + coefficient.value)
        else:
            total[leaf.index] = Apply(operator.add, (before, coefficient))
    return tuple(total.items())


def _adds(node: Node) -> bool:
    return isinstance(node, Apply) and node.function in _ADDITIVE


_UNIT = Number(1.0)


def _summands(root: Node, *, into: Callable[[Node], bool] = lambda _: True) -> Iterator[tuple[Node, bool]]:
    """What a sum is made of, each with whether it is subtracted; sums inside are entered where `into` allows it."""
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, negative = stack.pop()
        if isinstance(node, Apply) and _adds(node) and (node is root or into(node)):
            signs = (negative, negative != (node.function is operator.sub))
            if node.function is operator.neg:
                signs = (not negative,)
            stack.extend(zip(node.operands, signs, strict=True))
        else:
            yield node, negative


def _terms(root: Node, parents: dict[int, list[Node]], is_root: set[int]) -> list[tuple[Leaf, Node]]:
    """The leaves that a sum is made of, each with its coefficient: a number, a coordinate, or ±1."""

    def is_own(node: Node) -> bool:
        return len(parents[id(node)]) == 1 and id(node) not in is_root  # otherwise it is read elsewhere too

    found: list[tuple[Leaf, Node]] = []
    for node, negative in _summands(root, into=is_own):
        if not is_own(node):
            continue
        if isinstance(node, Leaf):
            found.append((node, _signed(_UNIT, negative)))
        elif isinstance(node, Apply) and node.function is operator.mul:
            left, right = node.operands
            if isinstance(left, Leaf):
                left, right = right, left
            if isinstance(right, Leaf) and _is_real(left) and len(parents[id(right)]) == 1:
                found.append((right, _signed(left, negative)))
    return found


def _is_real(node: Node) -> bool:
    return isinstance(node, Coordinate) or (isinstance(node, Number) and not jnp.iscomplexobj(node.value))


def _signed(node: Node, negative: bool) -> Node:
    if not negative:
        return node
    return Number(-1.0) if node is _UNIT else Apply(operator.neg, (node,))


def _without(root: Node, gone: set[int], combined: Node) -> Node:
    """The sum without some of its terms, plus another one."""
    total = combined
    for node, negative in reversed(list(_summands(root))):
        if id(node) not in gone and not any(id(operand) in gone for operand in node.operands):
            total = Apply(operator.sub if negative else operator.add, (total, node))
    return total


def _lowered(index: Index, axis: int) -> Index:
    return (*index[:axis], index[axis] - 1, *index[axis + 1 :])


# -- functions of which nothing is known but how to call them ------------------------------------------------
class FunctionSource:
    """A function of one point; its derivatives are taken by automatic differentiation, one by one."""

    adds_up = False

    def __init__(self, function: PointFunction, label: str = "f") -> None:
        self.function, self.label = function, label

    def derivatives(self, x: Any, wanted: dict[Any, Wanted]) -> dict[Any, Derivatives]:
        many = isinstance(x, list)  # one array for each coordinate

        def value(index: Index) -> Any:
            function = nested(self.function, index)
            return np.asarray(jax.vmap(function)(jnp.asarray(np.stack(x, axis=1)))) if many else function(x)

        return {c: Derivatives({index: value(index) for index in which.indices}) for c, which in wanted.items()}


def nested(function: PointFunction, index: Index) -> PointFunction:
    """∂^α of a function of one point.

    One and two derivatives along an axis are nested forward mode; from the third on Taylor mode is used, whose cost
    grows with the square of the order and not exponentially.
    """
    for axis, order in enumerate(index):
        if order:
            function = along(function, jnp.eye(len(index))[axis], order)
    return function


def along(function: PointFunction, direction: Array, order: int) -> PointFunction:
    """The derivative of the given order along a fixed direction."""
    if order == 1:
        return lambda x: jax.jvp(function, (x,), (direction,))[1]
    if order == 2:
        return along(along(function, direction, 1), direction, 1)
    return lambda x: _taylor(function, x, direction, order)


def _taylor(function: PointFunction, x: Array, direction: Array, order: int) -> Inexact[Array, ""]:
    """d^n/ds^n function(x + s·direction) at s = 0, by propagating a truncated Taylor series."""
    series = [direction] + [jnp.zeros_like(direction)] * (order - 1)
    try:
        return jet.jet(function, (x,), (series,))[1][order - 1]
    except Exception:  # whatever a missing or partial Taylor rule of JAX raises
        # Nested forward mode is slower but always exists, and has its own word on real mistakes.
        for _ in range(order):
            function = along(function, direction, 1)
        return function(x)
