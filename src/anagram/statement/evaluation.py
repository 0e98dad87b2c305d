"""Values of expressions at a point: every function gives all derivatives that are read of it at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import jet
from jaxtyping import Array, Inexact

from anagram.environment import quick_compilation
from anagram.errors import ProblemError
from anagram.statement.beyond import Elsewhere, Integral, Variable, axes_read, no_normal
from anagram.statement.expressions import (
    Apply,
    Coordinate,
    Derivatives,
    Index,
    Leaf,
    LeafSum,
    Named,
    Node,
    Number,
    Wanted,
    everything,
    postorder,
)
from anagram.statement.sums import with_sums

PointFunction = Callable[[Array], Inexact[Array, ""]]
CHUNK = 1024  # points at which a user's function is evaluated at once


def evaluate(roots: Sequence[Node], x: Any) -> list[Any]:
    """The values of expressions at one point, given as the vector of its coordinates."""
    return [jnp.asarray(value) for value in _values(with_sums(roots), _Point(x, {}))]


def evaluate_many(roots: Sequence[Node], x: np.ndarray) -> list[np.ndarray]:
    """The values of expressions at many points (n, d), at once and without compiling anything.

    Sources must give arrays for a point whose coordinates are arrays; functions of which nothing is known are mapped.
    """
    columns = list(np.asarray(x, dtype=float).T)
    with np.errstate(all="ignore"):
        values = _values(roots, _Points(columns, {}, len(x)))
    return [np.broadcast_to(np.asarray(value), (len(x),)) for value in values]


class _Point:
    """One point, and the values that the variables of integrals have."""

    def __init__(self, x: Any, variables: dict[int, Any]) -> None:
        self.x, self.variables = x, variables

    def number(self, value: Any) -> Any:
        """The value of a number here."""
        return value

    def apply(self, function: Callable[..., Any], operands: list[Any]) -> Any:
        """A function of values here."""
        return function(*operands)

    def elsewhere(self, inner: Sequence[Node], places: dict[int, Any]) -> list[Any]:
        """The values of expressions at the point with other coordinates."""
        if any(jnp.iscomplexobj(place) for place in places.values()):
            raise ProblemError("the coordinates of another place are real numbers, and one of them is complex")
        x = jnp.stack([jnp.asarray(places.get(k, self.x[k]), dtype=float) for k in range(self.x.shape[0])])
        return _values(with_sums(inner), _Point(x, self.variables))

    def integral(self, node: Integral) -> Any:
        """The sum over the nodes of a quadrature."""
        names = [id(variable) for variable in node.variables]

        def at(row: Array) -> Any:
            here = _Point(self.x, {**self.variables, **dict(zip(names, row, strict=True))})
            return jnp.asarray(_values(with_sums([node.inner]), here)[0])

        values = jax.vmap(at)(jnp.asarray(node.quadrature.nodes))
        return jnp.asarray(node.quadrature.weights) @ values


class _Points:
    """Many points, as an array for each coordinate, of which every `times` ones stand for one that was asked for."""

    def __init__(self, x: list[np.ndarray], variables: dict[int, Any], count: int, times: int = 1) -> None:
        self.x, self.variables, self.count, self.times = x, variables, count, times

    def number(self, value: Any) -> Any:
        return np.repeat(value, self.times) if self.times > 1 and np.ndim(value) else value

    def apply(self, function: Callable[..., Any], operands: list[Any]) -> Any:
        return _apply_many(function, operands, self.count)

    def elsewhere(self, inner: Sequence[Node], places: dict[int, Any]) -> list[Any]:
        x = [np.broadcast_to(np.asarray(places.get(k, own)), (self.count,)) for k, own in enumerate(self.x)]
        return _values(inner, _Points(x, self.variables, self.count, self.times))

    def integral(self, node: Integral) -> Any:
        rule = node.quadrature
        size, names = len(rule.weights), [id(variable) for variable in node.variables]
        alone = not self.variables and not _reads_point(node.inner, len(self.x))
        count = 1 if alone else self.count  # an integral that is the same everywhere is evaluated once
        x = [np.repeat(column[:count], size) for column in self.x]
        outer = {key: np.repeat(v, size) if np.ndim(v) else v for key, v in self.variables.items()}
        own = dict(zip(names, np.tile(rule.nodes, (count, 1)).T, strict=True))
        here = _Points(x, {**outer, **own}, count * size, self.times * size)
        values = np.broadcast_to(np.asarray(_values([node.inner], here)[0]), (count * size,))
        found = values.reshape(count, size) @ rule.weights
        return found[0] if alone else found


def _reads_point(root: Node, dimension: int) -> bool:
    """Whether values differ from point to point; those of numbers do where they are arrays."""
    arrays = any(isinstance(node, Number) and np.ndim(node.value) for node in everything([root]))
    return arrays or bool(axes_read([root], dimension))


def _values(roots: Sequence[Node], here: _Point | _Points) -> list[Any]:
    """Evaluate leaves first, all at once, then what is made of them."""
    nodes, values = list(postorder(roots)), {}
    _read([node for node in nodes if isinstance(node, Leaf | LeafSum)], here.x, values)
    places: dict[Any, list[Elsewhere]] = {}
    for node in nodes:
        if isinstance(node, Elsewhere):
            places.setdefault(_place(node), []).append(node)
    for node in nodes:
        if id(node) in values:
            continue
        if isinstance(node, Number):
            values[id(node)] = here.number(node.value)
        elif isinstance(node, Coordinate):
            values[id(node)] = here.x[node.axis]
        elif isinstance(node, Named):  # all others have been bound
            raise no_normal()
        elif isinstance(node, Variable):
            values[id(node)] = here.variables[id(node)]
        elif isinstance(node, Elsewhere):  # all that is read at this place
            together = places[_place(node)]
            there = {axis: values[id(place)] for axis, place in node.places}
            found = here.elsewhere([other.inner for other in together], there)
            values |= {id(other): value for other, value in zip(together, found, strict=True)}
        elif isinstance(node, Integral):
            values[id(node)] = here.integral(node)
        elif isinstance(node, Apply):
            values[id(node)] = here.apply(node.function, [values[id(operand)] for operand in node.operands])
    return [values[id(root)] for root in roots]


def _place(node: Elsewhere) -> Any:
    """What tells a place from others: axes with equal numbers or with the same expressions."""
    return tuple(
        (axis, ("number", place.value) if isinstance(place, Number) and place.is_plain else ("node", id(place)))
        for axis, place in node.places
    )


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


# -- functions of which nothing is known but how to call them ------------------------------------------------
class FunctionSource:
    """A function of one point; its derivatives are taken by automatic differentiation, one by one."""

    adds_up = False

    def __init__(self, function: PointFunction, label: str = "f") -> None:
        self.function, self.label = function, label
        self._compiled: dict[Index, Callable[[np.ndarray], Array]] = {}

    def derivatives(self, x: Any, wanted: dict[Any, Wanted]) -> dict[Any, Derivatives]:
        many = isinstance(x, list)  # one array for each coordinate

        def value(index: Index) -> Any:
            return self._at_many(np.stack(x, axis=1), index) if many else nested(self.function, index)(x)

        return {c: Derivatives({index: value(index) for index in which.indices}) for c, which in wanted.items()}

    def _at_many(self, points: np.ndarray, index: Index) -> np.ndarray:
        """Compiled once, as a whole and not operation by operation."""
        if index not in self._compiled:
            mapped = jax.vmap(nested(self.function, index))
            self._compiled[index] = jax.jit(mapped, compiler_options=quick_compilation())
        return in_chunks(self._compiled[index], points)


def in_chunks(call: Callable[[np.ndarray], Any], points: np.ndarray) -> Any:
    """Arrays that a compiled function gives at points (n, d): in chunks of one size, for which it is compiled once.

    The last one is filled with copies of a point.
    """
    missing = -len(points) % CHUNK
    everywhere = np.concatenate([points, np.repeat(points[-1:], missing, axis=0)]) if missing else points
    chunks = [call(everywhere[k : k + CHUNK]) for k in range(0, len(everywhere), CHUNK)]
    return jax.tree.map(lambda *parts: np.concatenate([np.asarray(p) for p in parts])[: len(points)], *chunks)


def takes_traced(function: Callable[..., Any], *shapes: tuple[int, ...]) -> bool:
    """Whether a function can be given traced numbers; those with functions of NumPy inside cannot.

    Whatever else is wrong with it is said where it is used.
    """
    try:
        jax.eval_shape(function, *(jax.ShapeDtypeStruct(shape, float) for shape in shapes))
    except jax.errors.TracerArrayConversionError:
        return False
    except Exception:
        return True
    return True


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
