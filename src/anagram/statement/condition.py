"""Conditions: an operator, a source, and the region on which D(u) = f holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.environment import quick_compilation
from anagram.errors import ProblemError
from anagram.statement.arguments import bind_axes, call_by_name, parameter_names
from anagram.statement.beyond import refuse_normal
from anagram.statement.domains import PointSet, Region
from anagram.statement.evaluation import evaluate_many, in_chunks
from anagram.statement.expressions import NORMAL, Node, Number, bound
from anagram.statement.fields import Field, Frame, named_number, parameters_in, symbol
from anagram.statement.noise import check_belief
from anagram.statement.notation import latex_of, text_of


@dataclass(frozen=True, eq=False)
class Condition:
    """D(u) = f on a region.

    Args:
        operator: maps fields to a field, ``lambda u: u.d("t") - u.d("x", "x")``; its parameters are named
            after the unknowns, coefficients and parameters it uses. It may return several fields (a vector-valued
            condition) and complex ones.
        on: the region; the whole domain if left out.
        equals: the source f: a number, a function of the point ``lambda t, x: ...``, a tuple of these
            for a vector-valued condition, or an array or a list of values on ``domain.points(...)``.
        weight: how much the mean square of this condition counts in the loss; see `Problem.weight` for what it is
            unless given. A positive number; or a positive function of the point ``lambda t, x: 1 / (0.1 + t)``, or an
            array of values on ``domain.points(...)``, by which the weight of each point is multiplied.
        exact: whether it holds exactly, because it is built into the model: u = G + Φ·N. For the value of an unknown
            on faces and parts of the boundary, and for its slope on a face where its value is exact too.
        noise: for values measured at ``domain.points(...)``: the standard deviation of their errors, a number or an
            array with one for each value; ``"estimate"`` if it is not known. Such rows count by their likelihood, and
            other conditions are believed before them; see `anagram.statement.noise`.
        robust: for measured values with outliers: ``"huber"``, or the number of standard deviations beyond which an
            error counts by its size and no longer by its square.
        prior: whether it only says what is likely, such as that a field is smooth (see `smooth`). It counts as little
            as the noise of the data allows, which is decided by their marginal likelihood.
    """

    operator: Callable[..., Any]
    on: Region | None = None
    equals: Any = 0.0
    weight: Any = None
    exact: bool = False
    noise: Any = None
    robust: Any = None
    prior: bool = False

    def __post_init__(self) -> None:
        if not callable(self.operator):
            raise ProblemError(
                f"the operator of a condition must be a function of fields, as in lambda u: u, not {self.operator!r}"
            )
        if self.on is not None and not isinstance(self.on, Region):
            raise ProblemError(f"on= needs a region such as domain.face(t=0) or domain.boundary(), not {self.on!r}")
        if not isinstance(self.exact, bool):
            raise ProblemError(f"exact= is True or False, not {self.exact!r}")
        if self.exact and self.weight is not None:
            raise ProblemError(
                "a condition with exact=True holds exactly and is no part of the loss: leave weight= out"
            )
        if self.weight is not None and not self.is_weighted_by_position:
            check_weight(self.weight)
        check_belief(self)

    @property
    def is_weighted_by_position(self) -> bool:
        """Whether its points count differently."""
        return callable(self.weight) or np.ndim(self.weight) > 0


def check_weight(weight: Any) -> None:
    """Refuse what cannot be the weight of a condition."""
    if isinstance(weight, bool) or not isinstance(weight, int | float | np.number) or not 0 < float(weight) < np.inf:
        raise ProblemError(
            f"the weight of a condition must be a positive number, or a positive function of the point, not {weight!r}"
        )


def apply_operator(condition: Condition, quantities: Mapping[str, Field], what: str) -> tuple[Field, ...]:
    """D(u) as a tuple of fields, one for each component."""
    result = call_by_name(condition.operator, quantities, f"{what}: the operator")
    components = tuple(result) if isinstance(result, tuple | list) else (result,)
    if not components:
        raise ProblemError(f"{what}: the operator returned no field")
    for component in components:
        if not isinstance(component, Field):
            raise ProblemError(
                f"{what}: the operator must return a field made from the unknowns, not {type(component).__name__}"
            )
    return components


def stated(
    condition: Condition, frame: Frame, unknowns: Mapping[str, Any], numbers: Sequence[str], what: str
) -> tuple[Node, ...]:
    """The expressions of D(u), one for each component, in fields and numbers that are known by their names alone.

    `unknowns` has the set on which each of them lives, by name.
    """
    plain = replace(frame, normal=None, domain=None)
    quantities = {n: symbol(n, replace(frame, domain=domain)) for n, domain in unknowns.items()}
    quantities |= {n: named_number(n, plain) for n in numbers} | parameters_in(plain)
    nodes = tuple(field.node for field in apply_operator(condition, quantities, what))
    if condition.on is None or not condition.on.has_normal:
        refuse_normal(nodes)
    return nodes


def with_fields(
    expressions: Sequence[Node],
    quantities: Mapping[str, Field],
    axes: Sequence[str],
    normal: Any = None,
    numbers: Sequence[Any] | None = None,
) -> list[Node]:
    """Expressions with fields in the place of names, the normal of the point, and other values of their numbers."""
    nodes = {name: field.node for name, field in quantities.items()}
    components = {} if normal is None else {NORMAL + axis: normal[k] for k, axis in enumerate(axes)}
    return bound(expressions, nodes, {**nodes, **components}, numbers)


def equation_of(expressions: Sequence[Node], equals: Any, axes: Sequence[str], *, latex: bool = False) -> str:
    """D(u) = f as a reader would write it."""
    write = latex_of if latex else text_of
    sides = [write(node, axes) for node in expressions]
    sources = equals if isinstance(equals, tuple | list) and len(equals) == len(sides) else [equals] * len(sides)
    separator = r",\quad " if latex else ", "
    return separator.join(f"{s} = {_source_text(f, axes, write)}" for s, f in zip(sides, sources, strict=True))


def _source_text(equals: Any, axes: Sequence[str], write: Callable[..., str]) -> str:
    if isinstance(equals, Field):
        return write(equals.node, axes)
    if callable(equals):
        function = equals.function if isinstance(equals, Mapped) else equals
        names = [name for name in parameter_names(function) or () if name in axes] or list(axes)
        return f"f({', '.join(names)})"
    array = np.asarray(equals)
    return write(Number(array.item()), axes) if array.ndim == 0 and array.dtype != object else "data"


def real_rows(values: Sequence[Array]) -> Float[Array, " rows"]:
    """Stack the components of a condition at one point; a complex one gives its two parts."""
    parts: list[Array] = []
    for value in values:
        parts += [jnp.real(value), jnp.imag(value)] if jnp.iscomplexobj(value) else [value]
    return jnp.stack([jnp.asarray(p, dtype=float) for p in parts])


def source_rows(
    equals: Any, region: Region, x: np.ndarray, is_complex: Sequence[bool], what: str
) -> Float[np.ndarray, "points rows"]:
    """The values f(x_i) of a source, one row for each real component of the condition."""
    columns = _source_columns(equals, region, x, len(is_complex), what)
    rows: list[np.ndarray] = []
    for k, (column, complex_row) in enumerate(zip(columns, is_complex, strict=True)):
        if np.iscomplexobj(column) and not complex_row:
            raise ProblemError(f"{what}: the source is complex but component {k} of the operator is real")
        check_finite(column, region.axes, x, f"{what}: the source")
        rows += [np.real(column), np.imag(column)] if complex_row else [column]
    return np.stack([np.asarray(r, dtype=float) for r in rows], axis=1)


def weight_values(weight: Any, region: Region, x: np.ndarray, what: str) -> Float[np.ndarray, " points"]:
    """What the weights of points are multiplied by: a function of the point, or values on given points."""
    what = f"{what}: the weight"
    if callable(weight):
        columns = _source_columns(weight, region, x, 1, what)
        values = columns[0]
    else:
        values = np.asarray(weight)
        if not isinstance(region, PointSet) or values.shape != (len(x),):
            raise ProblemError(
                f"{what} is an array of shape {values.shape}: it needs one value for each of on=domain.points(...); "
                "on other regions give a number or a function of the point"
            )
    if values.dtype == object or not np.issubdtype(values.dtype, np.number) or np.iscomplexobj(values):
        raise ProblemError(f"{what} must be real numbers")
    check_finite(values, region.axes, x, what)
    if not np.all(values > 0):
        first = int(np.argmin(values))
        raise ProblemError(
            f"{what} must be positive, it is {values[first]:g} at {describe_point(region.axes, x[first])}"
        )
    return values.astype(float)


class Mapped:
    """A user's function of one point, made a function of many; compiled once, whatever their number."""

    def __init__(self, function: Callable[..., Any], axes: Sequence[str], what: str) -> None:
        self.function = function
        self._bound = bind_axes(function, axes, what)
        self._chunk = jax.jit(
            jax.vmap(lambda p: tuple(jnp.asarray(v) for v in self.components(p))), compiler_options=quick_compilation()
        )

    def together(self, x: np.ndarray) -> list[np.ndarray]:
        """The components at points (n, d)."""
        return list(in_chunks(self._chunk, x))

    def components(self, point: Any) -> tuple[Any, ...]:
        """The components at one point."""
        value = self._bound(point)
        return tuple(value) if isinstance(value, tuple | list) else (value,)

    def __call__(self, point: Any) -> Any:
        """The value at one point."""
        return self._bound(point)


class OnPoints(Mapped):
    """A function that is known at many points at once, (n, d) ↦ (n,): nothing of it is traced or compiled here."""

    def __init__(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        self.function = function

    def together(self, x: np.ndarray) -> list[np.ndarray]:
        return [self.function(x)]

    def components(self, point: Any) -> tuple[Any, ...]:
        return (self(point),)

    def __call__(self, point: Any) -> Any:
        return self.function(np.asarray(point, dtype=float)[None])[0]


def mapped_source(equals: Any, axes: Sequence[str], what: str) -> Any:
    """A source that will be evaluated again and again: its functions are compiled once."""
    if isinstance(equals, Mapped):
        return equals
    if isinstance(equals, tuple | list):
        return tuple(mapped_source(e, axes, what) for e in equals)
    if callable(equals) and not isinstance(equals, Field):
        return Mapped(equals, axes, f"{what}: the source")
    return equals


def evaluate_function(
    function: Callable[..., Any] | Mapped, axes: Sequence[str], x: np.ndarray, what: str
) -> list[np.ndarray]:
    """A user's function of one point at many points, as a list of components.

    Traced and mapped if it can be; functions that only work on plain numbers are called point by point.
    """
    mapped = function if isinstance(function, Mapped) else Mapped(function, axes, what)
    try:
        try:
            columns = mapped.together(np.asarray(x, dtype=float))
        except (jax.errors.JAXTypeError, TypeError):
            table = [_at_point(mapped.components, axes, p, what) for p in x]
            columns = [np.asarray([row[k] for row in table]) for k in range(len(table[0]))]
    except ProblemError:
        raise
    except Exception as error:
        raise ProblemError(f"{what} failed at {describe_point(axes, x[0])}: {type(error).__name__}: {error}") from error
    for column in columns:
        if column.shape != (len(x),):
            raise ProblemError(
                f"{what} must give one number at each point, it gave an array of shape {column.shape[1:]}"
            )
        if column.dtype == object or not np.issubdtype(column.dtype, np.number):
            raise ProblemError(f"{what} must give numbers")
    return columns


def _at_point(
    components: Callable[[Any], tuple[Any, ...]], axes: Sequence[str], point: np.ndarray, what: str
) -> tuple[Any, ...]:
    try:
        return components([float(c) for c in point])
    except Exception as error:
        where = describe_point(axes, point)
        raise ProblemError(f"{what} failed at {where}: {type(error).__name__}: {error}") from error


def check_finite(values: np.ndarray, axes: Sequence[str], x: np.ndarray, what: str) -> None:
    """Raise an error that names the first point at which a value is not finite."""
    bad = ~np.isfinite(values)
    if bad.any():
        first = int(np.argmax(bad))
        raise ProblemError(
            f"{what} is {values[first]} at {describe_point(axes, x[first])}"
            f" ({int(bad.sum())} of {len(x)} points); change it there or leave these points out"
        )


def describe_point(axes: Sequence[str], x: np.ndarray) -> str:
    """A point as a reader would write it."""
    return "(" + ", ".join(f"{a}={v:.6g}" for a, v in zip(axes, x, strict=True)) + ")"


def _source_columns(equals: Any, region: Region, x: np.ndarray, count: int, what: str) -> list[np.ndarray]:
    if callable(equals) and not isinstance(equals, Field):
        columns = evaluate_function(equals, region.axes, x, f"{what}: the source")
        if len(columns) != count:
            raise ProblemError(f"{what}: the operator has {count} component(s) but the source has {len(columns)}")
        return columns
    if isinstance(equals, Field):
        return _repeat(evaluate_many([equals.node], x)[0], count, what)
    if isinstance(equals, tuple | list) and not _is_one_for_each(equals, region, count):
        if len(equals) != count:
            hint = "" if count > 1 else "; one value for each point goes with on=domain.points(...)"
            raise ProblemError(f"{what}: the operator has {count} component(s) but the source has {len(equals)}{hint}")
        return [_source_columns(e, region, x, 1, what)[0] for e in equals]
    array = np.asarray(equals)
    if array.dtype == object or not np.issubdtype(array.dtype, np.number):
        raise ProblemError(f"{what}: equals= must be a number, a function of the point or an array, not {equals!r}")
    if array.ndim == 0:
        return [np.full(len(x), array[()]) for _ in range(count)]
    if not isinstance(region, PointSet):
        raise ProblemError(
            f"{what}: the source is an array of shape {array.shape}, which fits only on=domain.points(...); "
            "on other regions give a number or a function of the point"
        )
    if array.shape not in ((len(x), count), *(((len(x),),) if count == 1 else ())):
        wanted = f"({len(x)},)" if count == 1 else f"({len(x)}, {count})"
        raise ProblemError(f"{what}: the source has shape {array.shape}, the points and components need {wanted}")
    return list(array.reshape(len(x), count).T)


def _is_one_for_each(equals: Sequence[Any], region: Region, count: int) -> bool:
    """Whether a list of numbers has a value for each of the given points, and not one for each component."""
    if not isinstance(region, PointSet) or (len(equals) == count and (count > 1 or len(region.x) > 1)):
        return False
    numbers = all(isinstance(value, int | float | complex | np.number) for value in np.ravel(np.array(equals, object)))
    return len(equals) == len(region.x) and numbers


def _repeat(values: np.ndarray, count: int, what: str) -> list[np.ndarray]:
    if count != 1:
        raise ProblemError(f"{what}: the operator has {count} components but the source is a single field")
    return [values]
