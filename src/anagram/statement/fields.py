"""Fields: functions of one point, with an algebra and derivatives by axis name.

A `Field` is what the paper writes u, f, g: a function of a point of the domain. Users write operators as
expressions in fields, ``u.d("t") - 0.25 * u.d("x", "x")``, for a single point; mapping over points
happens elsewhere, in one place (`anagram.compound`). A field keeps the expression it was made by
(`anagram.statement.expressions`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from anagram.errors import ProblemError
from anagram.statement import expressions
from anagram.statement.arguments import call_by_name
from anagram.statement.beyond import moved, no_normal
from anagram.statement.evaluation import FunctionSource, PointFunction, evaluate, takes_traced
from anagram.statement.expressions import NORMAL, Apply, Index, Leaf, Named, Node, Number, Unknown, everything
from anagram.statement.notation import latex_of, text_of


@dataclass(frozen=True, eq=False)
class Frame:
    """What a field knows of the place it lives in: the named axes and, on a face, the outward normal.

    The normal is an array, or True where it is not known yet. The domain is the set over which the field is integrated
    where nothing else is said. Numbers, such as the variable of an integral, have no axes. Of the axes, `parameters`
    are no coordinates.
    """

    axes: tuple[str, ...]
    normal: Array | bool | None = None
    domain: Any = None
    parameters: tuple[str, ...] = ()

    def index(self, axis: str) -> int:
        """The position of a named axis."""
        if axis not in self.axes:
            raise ProblemError(f"there is no axis '{axis}' here; the axes are {', '.join(self.axes)}")
        return self.axes.index(axis)

    def orders(self, axes: Sequence[str]) -> Index:
        """How often each axis is named."""
        for axis in axes:
            if not isinstance(axis, str):
                raise ProblemError(f"derivatives are taken by axis name, as in u.d('x'), not {axis!r}")
            self.index(axis)
        return tuple(list(axes).count(axis) for axis in self.axes)

    @property
    def normal_components(self) -> list[Node]:
        """The outward normal, component by component."""
        if self.normal is None:
            raise no_normal()
        if self.normal is True:
            return [expressions.ZERO if axis in self.parameters else Named(NORMAL + axis) for axis in self.axes]
        components = [Number(self.normal[k]) for k in range(len(self.axes))]  # pyright: ignore[reportIndexIssue]
        return [expressions.ZERO if a in self.parameters else c for a, c in zip(self.axes, components, strict=True)]


class Field:
    """A function of one point, u: Ω → R or C.

    Fields add, multiply, divide and take powers, with each other and with numbers; NumPy's functions apply
    to them (``np.exp(u)``), any other function through `map`. Derivatives are taken by axis name.
    """

    __slots__ = ("frame", "node")

    def __init__(self, fn: PointFunction | Node, frame: Frame) -> None:
        self.node = fn if isinstance(fn, Node) else Leaf(FunctionSource(fn), "", (0,) * len(frame.axes))
        self.frame = frame

    # -- values ---------------------------------------------------------------------------------------
    def at(self, point: Array | None = None, /, **places: Any) -> Any:
        """The field elsewhere: ``u.at(x=0)``, with some coordinates replaced, is a field of the others.

        A coordinate is replaced by a number, by a field, ``u.at(x=-box.coordinate("x"))``, or by a function of
        coordinates, ``u.at(x=lambda x: -x)``. Derivatives elsewhere are ``u.d("x").at(x=1)``.

        For one point, given as the vector of its coordinates, this is the value there.
        """
        if (point is None) == (not places):
            raise ProblemError("name the coordinates of the other place, as in u.at(x=0)")
        if point is not None:
            return evaluate([self.node], point)[0]
        replaced = tuple((self.frame.index(axis), self._coordinate(axis, value)) for axis, value in places.items())
        return Field(moved(self.node, replaced), self.frame)

    def _coordinate(self, axis: str, value: Any) -> Node:
        """What stands for a coordinate elsewhere."""
        if callable(value) and not isinstance(value, Field):
            here = {name: coordinate(name, self.frame) for name in self.frame.axes}
            value = call_by_name(value, here, f"the coordinate {axis} of another place")
        if isinstance(value, Field):
            if value.frame.axes not in ((), self.frame.axes):
                raise ProblemError(f"the coordinate {axis} of another place is a field over other axes")
            return value.node
        number = np.asarray(_plain(value)) if not isinstance(value, Array) else value
        if np.ndim(number) or not np.issubdtype(number.dtype, np.number) or np.iscomplexobj(number):
            raise ProblemError(
                f"the coordinate {axis} of another place is a number, a field or a function of coordinates, "
                f"as in u.at({axis}=0), not {value!r}"
            )
        return Number(float(number) if not isinstance(value, Tracer) else number)

    def __call__(self, *coordinates: Any, **named: Any) -> Any:
        """The value at one point, by position ``u(0.5, 0.25)`` or by name ``u(t=0.5, x=0.25)``.

        Inside an operator, where the field is not known yet, this is the number that it has there.
        """
        given = dict(zip(self.frame.axes, coordinates, strict=False)) | named
        if len(coordinates) + len(named) != len(self.frame.axes) or set(given) != set(self.frame.axes):
            raise ProblemError(f"a point needs exactly the coordinates {', '.join(self.frame.axes)}")
        is_open = any(isinstance(node, Unknown | Named) for node in everything([self.node]))
        if is_open or any(isinstance(value, Field) for value in given.values()):
            return self.at(**given)
        return self.at(jnp.stack([jnp.asarray(given[a], dtype=float) for a in self.frame.axes]))

    # -- derivatives ----------------------------------------------------------------------------------
    def d(self, *axes: str) -> Field:
        """The derivative along the named axes: ``u.d("x")``, ``u.d("x", "x")``, ``u.d("t", "x")``."""
        if not axes:
            raise ProblemError("name the axis of the derivative, as in u.d('x')")
        return Field(self.node.along(self.frame.orders(axes)), self.frame)

    def gradient(self, *axes: str) -> tuple[Field, ...]:
        """∇u over the named axes (all but parameters if there is no time among them)."""
        return tuple(self.d(axis) for axis in _space(self.frame, axes, "gradient"))

    def laplacian(self, *axes: str) -> Field:
        """Δu over the named axes (all but parameters if there is no time among them)."""
        terms = [self.d(axis, axis) for axis in _space(self.frame, axes, "laplacian")]
        return sum(terms[1:], start=terms[0])

    def normal_derivative(self) -> Field:
        """∂u/∂n, the derivative along the outward normal of the face the condition holds on."""
        total = expressions.ZERO
        for axis, component in enumerate(self.frame.normal_components):
            total = expressions.add(total, expressions.multiply(component, self.node.derivative(axis)))
        return Field(total, self.frame)

    def normal(self, axis: str) -> Field:
        """The component of the outward normal along an axis, beside this field: ``p * p.normal("x")``."""
        return Field(self.frame.normal_components[self.frame.index(axis)], self.frame)

    # -- algebra --------------------------------------------------------------------------------------
    def map(self, function: Callable[..., Any], *others: Any) -> Field:
        """The field x ↦ function(u(x), ...), for example ``u.map(jnp.tanh)``."""
        # Functions of NumPy act on fields, and not on the traced numbers that all others are given.
        if isinstance(function, np.ufunc) or not takes_traced(function, *[()] * (1 + len(others))):
            found = function(self, *others)
            if isinstance(found, Field):
                return found
        return _combine(function, self, *others)

    def __add__(self, other: Any) -> Field:
        return _combine(operator.add, self, other)

    def __radd__(self, other: Any) -> Field:
        return _combine(operator.add, other, self)

    def __sub__(self, other: Any) -> Field:
        return _combine(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Field:
        return _combine(operator.sub, other, self)

    def __mul__(self, other: Any) -> Field:
        return _combine(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Field:
        return _combine(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Field:
        return _combine(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Field:
        return _combine(operator.truediv, other, self)

    def __pow__(self, other: Any) -> Field:
        return _combine(operator.pow, self, other)

    def __rpow__(self, other: Any) -> Field:
        return _combine(operator.pow, other, self)

    def __neg__(self) -> Field:
        return _combine(operator.neg, self)

    def __pos__(self) -> Field:
        return self

    def __abs__(self) -> Field:
        return _combine(jnp.abs, self)

    @property
    def real(self) -> Field:
        """The real part of a complex field."""
        return _combine(jnp.real, self)

    @property
    def imag(self) -> Field:
        """The imaginary part of a complex field."""
        return _combine(jnp.imag, self)

    def conj(self) -> Field:
        """The complex conjugate."""
        return _combine(jnp.conj, self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Let NumPy's functions act on fields: ``np.exp(u)``, ``np.float64(2) * u``."""
        counterpart = _OPERATORS.get(ufunc.__name__) or getattr(jnp, ufunc.__name__, None)
        if method != "__call__" or kwargs or counterpart is None:
            return NotImplemented
        return _combine(counterpart, *inputs)

    def _no_truth(self, *_: Any) -> bool:
        raise ProblemError(
            "a field has no truth value: comparisons such as `if u > 0` cannot steer an operator; "
            "use u.map(lambda v: jnp.where(v > 0, ..., ...))"
        )

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _no_truth

    def __iter__(self) -> Any:
        raise ProblemError("a field is a single value at each point and cannot be unpacked")

    def __repr__(self) -> str:
        return f"Field({text_of(self.node, self.frame.axes)} over {', '.join(self.frame.axes)})"

    def _repr_latex_(self) -> str:
        return f"${latex_of(self.node, self.frame.axes)}$"


# NumPy's numbers multiply fields by NumPy's functions.
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "true_divide": operator.truediv,
    "power": operator.pow,
    "negative": operator.neg,
}


def constant(value: Any, frame: Frame) -> Field:
    """The field that has one value everywhere; unknown coefficients enter operators so."""
    return Field(Number(value), frame)


def coordinate(axis: str, frame: Frame) -> Field:
    """The field x ↦ x_axis."""
    return Field(expressions.Coordinate(frame.index(axis), axis), frame)


def parameters_in(frame: Frame) -> dict[str, Field]:
    """The parameters among the axes as fields, by name: operators may take them beside the unknowns."""
    return {axis: coordinate(axis, frame) for axis in frame.parameters}


def symbol(name: str, frame: Frame) -> Field:
    """A field that is known by its name alone."""
    return Field(Unknown(name, (0,) * len(frame.axes)), frame)


def named_number(name: str, frame: Frame) -> Field:
    """An unknown number that is known by its name alone."""
    return Field(Named(name), frame)


def laplacian(u: Field, *axes: str) -> Field:
    """Δu; the function form of `Field.laplacian`."""
    return u.laplacian(*axes)


def gradient(u: Field, *axes: str) -> tuple[Field, ...]:
    """∇u; the function form of `Field.gradient`."""
    return u.gradient(*axes)


def divergence(fields: Sequence[Field], *axes: str) -> Field:
    """Div F = Σ ∂F_k/∂x_k for fields given in the order of the named axes."""
    fields = tuple(fields)
    if not fields:
        raise ProblemError("the divergence needs one field for each space axis; none was given")
    axes = _space(fields[0].frame, axes, "divergence")
    if len(axes) != len(fields):
        raise ProblemError(
            f"the divergence over ({', '.join(axes)}) needs {len(axes)} fields, {len(fields)} were given"
        )
    terms = [f.d(axis) for f, axis in zip(fields, axes, strict=True)]
    return sum(terms[1:], start=terms[0])


def _space(frame: Frame, axes: tuple[str, ...], what: str) -> tuple[str, ...]:
    # Summing over the time axis too would be a silent and very common mistake.
    if axes:
        return axes
    places = tuple(axis for axis in frame.axes if axis not in frame.parameters)
    if "t" in places:
        space = ", ".join(f"'{a}'" for a in places if a != "t")
        raise ProblemError(f"the axes include the time 't': name the space axes, as in {what}({space or '...'})")
    if not places:
        raise ProblemError(f"all axes are parameters: there is no space for a {what}")
    return places


def _combine(function: Callable[..., Any], *operands: Any) -> Field:
    fields = [o for o in operands if isinstance(o, Field)]
    frame = joined([field.frame for field in fields])
    for other in operands:
        if isinstance(other, tuple | list) or (callable(other) and not isinstance(other, Field)):
            raise ProblemError(
                f"a field cannot be combined with {type(other).__name__}; make it a field first: "
                "domain.field(lambda x: ...) for a function of the point"
            )
    nodes = [operand.node if isinstance(operand, Field) else Number(_plain(operand)) for operand in operands]
    return Field(Apply(function, nodes), frame)


def joined(frames: Sequence[Frame]) -> Frame:
    """The frame of what is made of several fields.

    Known functions of the point have no normal and no domain; the unknowns beside them may. Of unknowns that live on
    different sets nobody knows over which of them they would be integrated.
    """
    first = next((frame for frame in frames if frame.axes), frames[0])
    for frame in frames:
        if frame.axes not in ((), first.axes):
            raise ProblemError(
                f"fields over ({', '.join(first.axes)}) and ({', '.join(frame.axes)}) cannot be combined"
            )
    domains = {id(frame.domain): frame.domain for frame in frames if frame.domain is not None}
    normal = next((frame.normal for frame in frames if frame.normal is not None), None)
    parameters = max((frame.parameters for frame in frames), key=len)
    return Frame(first.axes, normal, next(iter(domains.values())) if len(domains) == 1 else None, parameters)


def _plain(value: Any) -> Any:
    """A number as Python has it, if it is one; anything else as it is."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value.item()
    return value
