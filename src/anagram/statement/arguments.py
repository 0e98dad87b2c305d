"""Calling users' functions with what their parameters name: axes, unknowns, coefficients."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anagram.errors import ProblemError

_NAMED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def parameter_names(function: Callable[..., Any]) -> list[str] | None:
    """The parameters that must be supplied, or None if the function takes whatever comes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # builtins without a signature
        return None
    if any(p.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) for p in parameters):
        return None
    return [p.name for p in parameters if p.kind in _NAMED and p.default is inspect.Parameter.empty]


def call_by_name(function: Callable[..., Any], available: Mapping[str, Any], what: str) -> Any:
    """Call with the values whose names the function's parameters bear."""
    names = parameter_names(function)
    if names is None:
        return _call_open(function, available)
    for name in names:
        if name not in available:
            known = ", ".join(available)
            raise ProblemError(f"{what} takes '{name}', which is not one of: {known}")
    optional = [n for n in _optional_names(function) if n in available]
    kinds = {p.name: p.kind for p in inspect.signature(function).parameters.values()}
    # What jax.grad makes of a function bears its names, but takes places.
    by_place = (inspect.Parameter.POSITIONAL_ONLY,)
    if _passes_on(function):
        by_place = (*by_place, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [n for n in names if kinds[n] in by_place]
    named = {n: available[n] for n in (*names, *optional) if n not in positional}
    return function(*(available[n] for n in positional), **named)


def bind_axes(function: Callable[..., Any], axes: Sequence[str], what: str) -> Callable[[Any], Any]:
    """Turn ``lambda t, x: ...`` into a function of one point given as a vector."""
    if not callable(function):
        raise ProblemError(f"{what} must be a function of the point, not {function!r}")
    for name in parameter_names(function) or ():
        if name not in axes:
            raise ProblemError(
                f"{what} takes '{name}', which is not an axis: its parameters must be among {', '.join(axes)}"
            )
    return lambda x: call_by_name(function, {axis: x[k] for k, axis in enumerate(axes)}, what)


def bind_predicate(function: Callable[..., Any], axes: Sequence[str], what: str) -> Callable[[np.ndarray], np.ndarray]:
    """Turn ``lambda x, z: x > z`` into a function of points (n, d) that says for each of them whether it is true."""
    call = bind_axes(function, axes, what)

    def holds(x: np.ndarray) -> np.ndarray:
        # Most functions of one point take columns of numbers too, which is far quicker; those with an `if` do not.
        try:
            found = np.asarray(call(x.T))
        except Exception:
            found = np.zeros(())
        if found.shape == (len(x),) and found.dtype == bool:
            return found
        return np.array([bool(call(point)) for point in x], dtype=bool)

    return holds


def broadcast_columns(coordinates: Mapping[str, Any], axes: Sequence[str]) -> list[np.ndarray]:
    """Coordinates by axis as arrays of one shape."""
    try:
        columns = [np.asarray(coordinates[axis], dtype=float) for axis in axes]
    except (TypeError, ValueError) as error:
        raise ProblemError(f"coordinates must be numbers: {error}") from error
    try:
        return list(np.broadcast_arrays(*columns))
    except ValueError:
        shapes = ", ".join(f"{axis} {column.shape}" for axis, column in zip(axes, columns, strict=True))
        raise ProblemError(f"the coordinates do not fit together; their shapes are {shapes}") from None


def _optional_names(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind in _NAMED and p.default is not inspect.Parameter.empty]


def _passes_on(function: Callable[..., Any]) -> bool:
    """Whether it hands its arguments, as they are, to the function that it was made of."""
    own = inspect.signature(function, follow_wrapped=False).parameters.values()
    return any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in own)


def _call_open(function: Callable[..., Any], available: Mapping[str, Any]) -> Any:
    try:
        kinds = [p.kind for p in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        kinds = []
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return function(**available)
    return function(*available.values())
