"""The solution as a pure function of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from anagram.errors import ProblemError
from anagram.training.reached import Reached


def as_function(solution: Reached, *, with_parameters: bool = False) -> Any:
    """The solution as a pure function for programs of JAX: `jit`, `vmap`, `grad`, `jacfwd`, `hessian` apply to it.

    The function takes coordinates by position or by name, ``f(0.5, 0.25)`` or ``f(t=0.5, x=0.25)``, numbers or
    arrays that broadcast; or one array whose last axis has the coordinates of points. With several unknowns it
    returns a dictionary by name. Learned coefficients are in `solution.coefficients`.

    Args:
        solution: what the function evaluates.
        with_parameters: return the pair of a function f(θ, coordinates...) and θ, to differentiate or to train
            further by θ.
    """
    model, axes = solution.model, solution.domain.axes
    names = [u.name for u in model.sought.unknowns]

    def at(theta: jax.Array, point: jax.Array) -> Any:
        fields = model.quantities(theta, solution.domain.frame)
        values = {name: fields[name].at(point) for name in names}
        return values[names[0]] if len(names) == 1 else values

    @jax.jit
    def evaluate(theta: jax.Array, points: jax.Array) -> Any:
        mapped: Callable[..., Any] = at
        for _ in points.shape[:-1]:
            mapped = jax.vmap(mapped, (None, 0))
        return mapped(theta, points)

    def of_parameters(theta: Any, /, *coordinates: Any, **named: Any) -> Any:
        return evaluate(jnp.asarray(theta, dtype=float), _points(axes, coordinates, named))

    theta = jnp.asarray(solution.theta)
    if with_parameters:
        return of_parameters, theta

    def function(*coordinates: Any, **named: Any) -> Any:
        return of_parameters(theta, *coordinates, **named)

    function.__doc__ = f"{', '.join(names)} of ({', '.join(axes)}), the solution of {solution.summary['problem']}."
    return function


def _points(axes: tuple[str, ...], coordinates: tuple[Any, ...], named: dict[str, Any]) -> jax.Array:
    """Coordinates as an array (..., d), as `Solution` reads them, but traceable."""
    dimension = len(axes)
    if len(coordinates) == 1 and not named and jnp.ndim(coordinates[0]) >= (1 if dimension > 1 else 2):
        points = jnp.asarray(coordinates[0], dtype=float)
        if points.shape[-1] != dimension:
            raise ProblemError(
                f"an array of points needs {dimension} columns ({', '.join(axes)}), it has {points.shape[-1]}"
            )
        return points
    given = dict(zip(axes, coordinates, strict=False)) | named
    if len(coordinates) + len(named) != dimension or set(given) != set(axes):
        raise ProblemError(f"a point needs exactly the coordinates {', '.join(axes)}")
    columns = [jnp.asarray(given[axis], dtype=float) for axis in axes]
    try:
        return jnp.stack(jnp.broadcast_arrays(*columns), axis=-1)
    except ValueError:
        shapes = ", ".join(f"{axis} {c.shape}" for axis, c in zip(axes, columns, strict=True))
        raise ProblemError(f"the coordinates do not fit together; their shapes are {shapes}") from None
