"""Expressions: what a user wrote, as a tree whose derivatives have been pushed down to its leaves.

Derivatives of sums, products and other functions of fields follow from the chain rule, so that in the end an expression
reads certain partial derivatives of certain functions at a point, and combines their values. Whoever knows a function,
such as a network, then gives all derivatives that are read at once (`anagram.statement.evaluation`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp

NORMAL = "normal."  # what the names of the components of the outward normal begin with

Index = tuple[int, ...]  # how often a function is differentiated along each axis


class Source(Protocol):
    """A function of the point with one component or several, that can tell its derivatives."""

    def derivatives(self, x: Any, wanted: dict[Any, Wanted]) -> dict[Any, Derivatives]:
        """The wanted derivatives of each component at a point."""
        ...

    @property
    def adds_up(self) -> bool:
        """Whether sums of derivatives cost less than the derivatives themselves."""
        ...


class Wanted:
    """Which derivatives of a component are read: single ones, and sums Σ c_k ∂^{α_k} of the same order."""

    def __init__(self, indices: Sequence[Index], sums: Sequence[tuple[tuple[Index, Any], ...]] = ()) -> None:
        self.indices, self.sums = tuple(indices), tuple(sums)


class Derivatives:
    """Their values: by index, and in the order of the sums."""

    def __init__(self, values: dict[Index, Any], sums: Sequence[Any] = ()) -> None:
        self.values, self.sums = values, list(sums)


class Node:
    """A part of an expression. Nodes never change; the same node may be a part of several expressions."""

    __slots__ = ("_slopes",)

    def __init__(self) -> None:
        self._slopes: dict[int, Node] = {}

    @property
    def operands(self) -> tuple[Node, ...]:
        """The parts it is made of, at the same point."""
        return ()

    @property
    def beyond(self) -> tuple[Node, ...]:
        """The parts it is made of whose values are taken at other points."""
        return ()

    def with_parts(self, operands: Sequence[Node], beyond: Sequence[Node]) -> Node:
        """The same node made of other parts."""
        raise NotImplementedError(f"{type(self).__name__} has no parts")

    def derivative(self, axis: int) -> Node:
        """∂/∂x_axis, by the chain rule; the same node every time."""
        if axis not in self._slopes:
            self._slopes[axis] = self._derivative(axis)
        return self._slopes[axis]

    def _derivative(self, axis: int) -> Node:
        return ZERO

    def along(self, index: Index) -> Node:
        """The derivative of several orders."""
        node = self
        for axis, order in enumerate(index):
            for _ in range(order):
                node = node.derivative(axis)
        return node


class Number(Node):
    """A number that stands in the expression."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    @property
    def is_plain(self) -> bool:
        """Whether it is a real number of Python, which a compiled program may take as an argument."""
        return isinstance(self.value, int | float) and not isinstance(self.value, bool)


ZERO, ONE = Number(0.0), Number(1.0)


class Named(Node):
    """A number known by its name alone until it is bound: an unknown coefficient, a component of the normal."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class Coordinate(Node):
    """x ↦ x_axis."""

    __slots__ = ("axis", "name")

    def __init__(self, axis: int, name: str) -> None:
        super().__init__()
        self.axis, self.name = axis, name

    def _derivative(self, axis: int) -> Node:
        return ONE if axis == self.axis else ZERO


class Unknown(Node):
    """∂^α of a field known by its name alone until it is bound."""

    __slots__ = ("index", "name")

    def __init__(self, name: str, index: Index) -> None:
        super().__init__()
        self.name, self.index = name, index

    def _derivative(self, axis: int) -> Node:
        return Unknown(self.name, _raised(self.index, axis))


class Leaf(Node):
    """∂^α of one component of a source."""

    __slots__ = ("component", "index", "source")

    def __init__(self, source: Source, component: Any, index: Index) -> None:
        super().__init__()
        self.source, self.component, self.index = source, component, index

    def _derivative(self, axis: int) -> Node:
        return Leaf(self.source, self.component, _raised(self.index, axis))


class LeafSum(Node):
    """Σ c_k ∂^{α_k} of one component of a source, all of the same order."""

    __slots__ = ("component", "source", "terms")

    def __init__(self, source: Source, component: Any, terms: tuple[tuple[Index, Node], ...]) -> None:
        super().__init__()
        self.source, self.component, self.terms = source, component, terms


class Apply(Node):
    """A function of the values of other expressions."""

    __slots__ = ("_operands", "function", "name")

    def __init__(self, function: Callable[..., Any], operands: Sequence[Node], name: str = "") -> None:
        super().__init__()
        self.function, self._operands = function, tuple(operands)
        self.name = name or getattr(function, "__name__", "f")

    @property
    def operands(self) -> tuple[Node, ...]:
        return self._operands

    def with_parts(self, operands: Sequence[Node], beyond: Sequence[Node]) -> Node:
        return Apply(self.function, operands, self.name)

    def _derivative(self, axis: int) -> Node:
        slopes = [operand.derivative(axis) for operand in self.operands]
        if all(is_zero(slope) for slope in slopes):
            return ZERO
        # Functions of users need not have a hash.
        rule = next((rule for known, rule in _RULES if known is self.function), None)
        found = None if rule is None else rule(self.operands, slopes)
        return self._pushed_forward(slopes) if found is None else found

    def _pushed_forward(self, slopes: list[Node]) -> Node:
        moving = tuple(k for k, slope in enumerate(slopes) if not is_zero(slope))
        tangents = [slopes[k] for k in moving]
        pushed = _Pushforward(self.function, len(self.operands), moving)
        return Apply(pushed, [*self.operands, *tangents], f"{self.name}'")


class _Pushforward:
    """(values, tangents) ↦ df(values)[tangents], of the operands that move."""

    def __init__(self, function: Callable[..., Any], count: int, moving: tuple[int, ...]) -> None:
        self.function, self.count, self.moving = function, count, moving

    def __call__(self, *arguments: Any) -> Any:
        values, tangents = list(arguments[: self.count]), arguments[self.count :]

        def restricted(*moving: Any) -> Any:
            for place, value in zip(self.moving, moving, strict=True):
                values[place] = value
            return self.function(*values)

        primals = [jnp.asarray(arguments[k], dtype=jnp.result_type(arguments[k], float)) for k in self.moving]
        directions = [jnp.asarray(t, dtype=p.dtype) for t, p in zip(tangents, primals, strict=True)]
        return jax.jvp(restricted, primals, directions)[1]


# -- building ---------------------------------------------------------------------------------------------
def is_zero(node: Node) -> bool:
    """Whether an expression is the number 0."""
    return isinstance(node, Number) and isinstance(node.value, int | float | complex) and node.value == 0


def _is_one(node: Node) -> bool:
    return isinstance(node, Number) and isinstance(node.value, int | float) and node.value == 1


def add(a: Node, b: Node) -> Node:
    """a + b."""
    if is_zero(a):
        return b
    return a if is_zero(b) else Apply(operator.add, (a, b))


def multiply(a: Node, b: Node) -> Node:
    """a·b."""
    if is_zero(a) or is_zero(b):
        return ZERO
    if _is_one(a):
        return b
    return a if _is_one(b) else Apply(operator.mul, (a, b))


def subtract(a: Node, b: Node) -> Node:
    """a − b."""
    if is_zero(b):
        return a
    return Apply(operator.neg, (b,)) if is_zero(a) else Apply(operator.sub, (a, b))


def divide(a: Node, b: Node) -> Node:
    """a/b."""
    return ZERO if is_zero(a) else Apply(operator.truediv, (a, b))


def power(a: Node, exponent: int) -> Node:
    """a^n for a whole number n."""
    if exponent == 0:
        return ONE
    return a if exponent == 1 else Apply(operator.pow, (a, Number(exponent)))


def _slope_of_quotient(operands: Sequence[Node], slopes: list[Node]) -> Node:
    (a, b), (da, db) = operands, slopes
    if is_zero(db):
        return divide(da, b)
    return divide(subtract(multiply(da, b), multiply(a, db)), power(b, 2))


def _slope_of_power(operands: Sequence[Node], slopes: list[Node]) -> Node | None:
    base, exponent = operands
    if not isinstance(exponent, Number) or not isinstance(exponent.value, int):
        return None
    n = exponent.value
    return multiply(Number(n), multiply(power(base, n - 1), slopes[0]))


def _linear(function: Callable[..., Any]) -> Callable[[Sequence[Node], list[Node]], Node]:
    return lambda _, slopes: Apply(function, slopes)


_RULES: list[tuple[Any, Callable[[Sequence[Node], list[Node]], Node | None]]] = [
    (operator.add, lambda _, d: add(*d)),
    (operator.sub, lambda _, d: subtract(*d)),
    (operator.neg, _linear(operator.neg)),
    (operator.mul, lambda o, d: add(multiply(d[0], o[1]), multiply(o[0], d[1]))),
    (operator.truediv, _slope_of_quotient),
    (operator.pow, _slope_of_power),
    (jnp.real, _linear(jnp.real)),
    (jnp.imag, _linear(jnp.imag)),
    (jnp.conj, _linear(jnp.conj)),
]


def degree(root: Node) -> int | None:
    """0 for an expression without unknowns, 1 for one that is affine in them, 2 for others; None if nobody knows."""
    found: dict[int, int | None] = {}
    for node in postorder([root]):
        match node:
            case Unknown() | LeafSum():
                found[id(node)] = 1
            case Node(beyond=(inner,)):  # a value elsewhere, an integral: linear in what is taken there
                here = any(found[id(operand)] != 0 for operand in node.operands)
                found[id(node)] = 2 if here else degree(inner)
            case Apply(operands=(base, exponent)) if node.function is operator.pow and _is_zero_or_one(exponent):
                found[id(node)] = 0 if is_zero(exponent) else found[id(base)]
            case Apply():
                found[id(node)] = _degree(node.function, [found[id(operand)] for operand in node.operands])
            case _:
                found[id(node)] = 0
    return found[id(root)]


def _is_zero_or_one(node: Node) -> bool:
    return is_zero(node) or _is_one(node)


def _degree(function: Callable[..., Any], degrees: Sequence[int | None]) -> int | None:
    known = [d for d in degrees if d is not None]
    if len(known) < len(degrees):
        return None
    if not any(known):
        return 0
    if function is operator.mul:
        return min(2, sum(known))
    if function is operator.truediv:
        return 2 if known[1] else known[0]
    if function is operator.pow:
        return 2
    kept = (operator.add, operator.sub, operator.neg, jnp.real, jnp.imag, jnp.conj)
    return max(known) if any(function is f for f in kept) else None


def _raised(index: Index, axis: int) -> Index:
    return (*index[:axis], index[axis] + 1, *index[axis + 1 :])


# -- walking ----------------------------------------------------------------------------------------------
def postorder(roots: Sequence[Node]) -> Iterator[Node]:
    """Every node once, operands before what is made of them; without recursion, sums may have many terms."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(node.operands))


def everything(roots: Sequence[Node]) -> Iterator[Node]:
    """Every node, also those whose values are taken at other points."""
    for node in postorder(roots):
        yield node
        yield from everything(node.beyond)


def rewritten(
    roots: Sequence[Node], replace: Callable[[Node], Node | None], beyond: Callable[[Node], Node] | None = None
) -> list[Node]:
    """The expressions with nodes replaced: by what `replace` gives, or else as they are with replaced operands.

    `beyond` gives what is put in the place of parts whose values are taken at other points; they stay without it.
    """
    new: dict[int, Node] = {}
    for node in postorder(roots):
        found = replace(node)
        if found is None:
            operands = [new[id(operand)] for operand in node.operands]
            changed = any(n is not o for n, o in zip(operands, node.operands, strict=True))
            if changed or (beyond is not None and node.beyond):
                found = node.with_parts(operands, node.beyond if beyond is None else [beyond(b) for b in node.beyond])
        new[id(node)] = node if found is None else found
    return [new[id(root)] for root in roots]


ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv)


def free_numbers(roots: Sequence[Node]) -> list[Number]:
    """The numbers that a compiled program can take as arguments: real operands of + − · /, in order.

    Exponents and arguments of other functions are not among them: there a number may decide which program it is.
    """
    found: dict[int, Number] = {}
    for node in postorder(roots):
        if isinstance(node, Apply) and node.function in ARITHMETIC:
            found |= {id(o): o for o in node.operands if isinstance(o, Number) and o.is_plain and o is not ONE}
    return list(found.values())


def bound(
    roots: Sequence[Node],
    fields: dict[str, Node],
    named: dict[str, Any] | None = None,
    numbers: Sequence[Any] | None = None,
) -> list[Node]:
    """The expressions with fields and named numbers in their places, and free numbers by other values.

    Args:
        roots: the expressions.
        fields: what stands for each unknown, by name.
        named: values of coefficients and of the components of the normal.
        numbers: values of the `free_numbers`, in their order.
    """
    places = {} if numbers is None else {id(n): v for n, v in zip(free_numbers(roots), numbers, strict=True)}

    def replace(node: Node) -> Node | None:
        if isinstance(node, Unknown):
            return fields[node.name].along(node.index)
        if isinstance(node, Named):
            value = (named or {})[node.name]
            return value if isinstance(value, Node) else Number(value)
        return Number(places[id(node)]) if id(node) in places else None

    return rewritten(roots, replace, lambda inner: bound([inner], fields, named)[0])
