"""Values of a solution, and of operators applied to it, on a tensor grid, a bounded number of points at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anagram.errors import AnagramError, ProblemError
from anagram.showing.export.grid import TensorGrid, make_grid, refuse_too_much
from anagram.statement.arguments import call_by_name
from anagram.statement.fields import Field, parameters_in
from anagram.training.reached import Reached

CHUNK = 16_384  # points evaluated at once

Operators = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class GridValues:
    """A grid, and arrays of its shape by name: the unknowns first, then the operators."""

    grid: TensorGrid
    values: dict[str, np.ndarray]


def grid_values(
    solution: Reached, grid: Any, operators: Operators | None = None, *, at: Mapping[str, float] | None = None
) -> GridValues:
    """The unknowns, and operators applied to them, on a tensor grid.

    Args:
        solution: what is evaluated.
        grid: the number of points along each axis, ends included; or by axis a number or an array of coordinates.
        operators: more quantities by name, ``{"u_x": lambda u: u.d("x")}``.
        at: axes to hold at one place, ``{"x4": 0.5}``.

    Outside of a shape, on which grids are those of the box around it, values are NaN.
    """
    return GridEvaluator(solution, operators).on(make_grid(solution.domain, grid, at))


class GridEvaluator:
    """Evaluates unknowns and operators of one solution; compiled once for grids of one size."""

    def __init__(self, solution: Reached, operators: Operators | None = None) -> None:
        self.operators = _named_operators(solution, operators)
        self._theta, self._sought = jnp.asarray(solution.theta), solution.model.sought
        self.domain = solution.domain
        model, frame = solution.model, solution.domain.frame

        def one(name: str, theta: jax.Array, point: jax.Array) -> jax.Array:
            return _value(name, self.operators[name], model.quantities(theta, frame) | parameters_in(frame), point)

        self._types = {name: _type(name, one, self._theta, len(frame.axes)) for name in self.operators}

        def at(theta: jax.Array, point: jax.Array) -> list[jax.Array]:
            return [one(name, theta, point).astype(kind) for name, kind in self._types.items()]

        self._compiled = jax.jit(jax.vmap(at, (None, 0)))

    @property
    def is_complex(self) -> dict[str, bool]:
        """By name, whether a quantity has complex values."""
        return {name: np.issubdtype(kind, np.complexfloating) for name, kind in self._types.items()}

    def on(self, grid: TensorGrid) -> GridValues:
        """All values on a grid."""
        each = sum(kind.itemsize for kind in self._types.values())
        refuse_too_much(
            each * grid.size,
            f"a grid of {' × '.join(map(str, grid.shape))} points with {', '.join(self._types)}",
            "take fewer points, or hold some axes by at={...}",
        )
        flat = {name: np.empty(grid.size, kind) for name, kind in self._types.items()}
        met = False
        for start, x, values in self.chunks(grid):
            inside = self.inside(x)
            met |= bool(inside.any())
            for name, chunk in values.items():
                flat[name][start : start + len(chunk)] = np.where(inside, chunk, np.nan)
        if not met:
            raise ProblemError(
                f"no point of the grid lies in {self.domain!r}: take more of them, or another place by at="
            )
        return GridValues(grid, {name: array.reshape(grid.shape) for name, array in flat.items()})

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Which points (n, d) of a grid lie in the domain; the axes of a box have been looked at already."""
        return np.ones(len(x), dtype=bool) if self.domain.is_box else self.domain.contains(x)

    def at(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """All values at points (n, d)."""
        parts = [self._values(x[start : start + CHUNK], min(CHUNK, len(x))) for start in range(0, len(x), CHUNK)]
        return {name: np.concatenate([part[name] for part in parts]) for name in self._types}

    def _values(self, x: np.ndarray, length: int) -> dict[str, np.ndarray]:
        # The last piece is filled up, so that nothing is compiled for its length.
        filled = np.concatenate([x, np.repeat(x[-1:], length - len(x), axis=0)])
        values = self._compiled(self._theta, jnp.asarray(filled))
        named = {name: np.asarray(v)[: len(x)] for name, v in zip(self._types, values, strict=True)}
        return {name: self._sought.only_own(name, x, v) for name, v in named.items()}

    def chunks(self, grid: TensorGrid) -> Iterator[tuple[int, np.ndarray, dict[str, np.ndarray]]]:
        """Piece by piece: the place of the first point, the points (n, d), and the values by name."""
        length = min(CHUNK, grid.size)
        for start in range(0, grid.size, length):
            count = min(length, grid.size - start)
            x = grid.points(start, start + count)
            yield start, x, self._values(x, length)


def _named_operators(solution: Reached, operators: Operators | None) -> dict[str, Callable[..., Any]]:
    """The unknowns as operators, and the operators given; no two things have one name."""
    unknowns = [u.name for u in solution.model.sought.unknowns]
    named = {name: _picked(name) for name in unknowns}
    if operators is None:
        return named
    if not isinstance(operators, Mapping):
        raise ProblemError(
            f"operators are given by name, as in operators={{'{unknowns[0]}_x': lambda {unknowns[0]}: "
            f"{unknowns[0]}.d('x')}}, not {operators!r}"
        )
    for name, operator in operators.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ProblemError(f"{name!r} cannot be the name of an operator: take letters, digits and underscores")
        for kind, taken in (("unknown", unknowns), ("axis", solution.domain.axes)):
            if name in taken:
                raise ProblemError(f"the operator '{name}' is called like an {kind}: rename it")
        if not callable(operator):
            raise ProblemError(
                f"the operator '{name}' must be a function of fields, as in lambda u: u.d('x'), not {operator!r}"
            )
        named[name] = operator
    return named


def _picked(name: str) -> Callable[..., Any]:
    return lambda **fields: fields[name]


def _value(name: str, operator: Callable[..., Any], quantities: Mapping[str, Field], point: jax.Array) -> jax.Array:
    result = call_by_name(operator, quantities, f"the operator '{name}'")
    if isinstance(result, tuple | list):
        raise ProblemError(f"the operator '{name}' returns {len(result)} fields: give each of them a name of its own")
    if not isinstance(result, Field):
        raise ProblemError(f"the operator '{name}' must return a field, not {type(result).__name__}")
    return jnp.asarray(result.at(point))


def _type(name: str, one: Callable[..., jax.Array], theta: jax.Array, dimension: int) -> np.dtype:
    """Whether values are real or complex, found without computing any; mistakes show here."""
    try:
        shape = jax.eval_shape(
            lambda theta, point: one(name, theta, point), theta, jax.ShapeDtypeStruct((dimension,), jnp.float64)
        )
    except AnagramError:
        raise
    except Exception as error:
        raise ProblemError(f"the operator '{name}' fails: {type(error).__name__}: {error}") from error
    if shape.shape:
        raise ProblemError(f"the operator '{name}' must have one value at a point, it has the shape {shape.shape}")
    return np.dtype(complex if jnp.issubdtype(shape.dtype, jnp.complexfloating) else float)
