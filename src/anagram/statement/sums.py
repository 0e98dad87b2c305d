"""Sums of derivatives of the highest order, such as Laplacians, found in expressions and made one leaf each."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax.numpy as jnp

from anagram.statement.expressions import Apply, Coordinate, Index, Leaf, LeafSum, Node, Number, postorder, rewritten

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
