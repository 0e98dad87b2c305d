"""Trying every condition out on test fields, at the moment a problem is stated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from anagram.errors import ProblemError
from anagram.statement.condition import Condition, apply_operator, describe_point, real_rows, source_rows
from anagram.statement.domains import GaussLegendre, Region, Sobol
from anagram.statement.fields import Field, Frame, constant

if TYPE_CHECKING:
    from anagram.statement.problem import Problem

# Test fields: a + b sin(w·x + φ). The different levels a let functions such as sqrt or log of the
# unknown be defined on at least one of them.
_LEVELS = (0.3, 1.5, -1.2, 4.0)


def check_conditions(problem: Problem) -> dict[str, tuple[bool, ...]]:
    """Check operators and sources; return, per condition, which of its components are complex."""
    components: dict[str, tuple[bool, ...]] = {}
    clouds = {}
    for key, condition in problem.conditions.items():
        what = f"condition '{key}'"
        region = problem.region(key)
        cloud = region.draw(_probe_rule(region), np.random.default_rng(0))
        if len(cloud.x) == 0:
            raise ProblemError(f"{what}: the region {region!r} has no points")
        components[key] = _components(problem, condition, region, what)
        source_rows(condition.equals, region, cloud.x, components[key], what)
        clouds[key] = cloud
    _check_values(problem, clouds)
    return components


def _probe_rule(region: Region) -> Any:
    # Off the edges: whether they belong to the points is for the rule of a run to say.
    return GaussLegendre(5) if region.dimension <= 2 else Sobol(64)


def is_linear(problem: Problem) -> bool:
    """Whether all operators are affine in the unknowns, tried out on multiples of the test fields.

    Coefficients to be learned multiply the unknowns: with them a problem is not linear.
    """
    if problem.coefficients:
        return False
    multiples = jnp.array([-1.0, 0.0, 1.0, 2.0])
    for key in problem.conditions:
        region = problem.region(key)
        cloud = region.draw(_probe_rule(region), np.random.default_rng(0))
        minus, zero, one, two = np.asarray(
            jax.jit(jax.vmap(lambda t, key=key, cloud=cloud: _rows_at(problem, key, cloud, 1.0, t)))(multiples)
        )
        size = np.abs(minus) + np.abs(zero) + np.abs(one) + np.abs(two)
        bend = np.maximum(np.abs(minus + one - 2 * zero), np.abs(two + zero - 2 * one))
        if not np.isfinite(size).all() or np.any(bend > 1e-9 * size.max()):
            return False
    return True


def _test_quantities(problem: Problem, frame: Frame, level: Any, multiple: Any = 1.0) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for k, unknown in enumerate(problem.unknowns):
        wave = np.cos(np.arange(len(frame.axes)) + k) + 1.3

        def value(x: Array, wave: np.ndarray = wave, k: int = k, twofold: bool = unknown.is_complex) -> Array:
            real = level + 0.25 * jnp.sin(wave @ x + k)
            return multiple * (real + 1j * jnp.cos(wave @ x) if twofold else real)

        fields[unknown.name] = Field(value, frame)
    return fields | {name: constant(guess, frame) for name, guess in problem.coefficients.items()}


def _components(problem: Problem, condition: Condition, region: Region, what: str) -> tuple[bool, ...]:
    def values(x: Array, normal: Array) -> list[Array]:
        frame = Frame(region.axes, normal if region.has_normal else None)
        return [f.at(x) for f in apply_operator(condition, _test_quantities(problem, frame, 1.0), what)]

    point = jax.ShapeDtypeStruct((len(region.axes),), jnp.result_type(float))
    try:
        shapes = jax.eval_shape(values, point, point)
    except ProblemError as error:
        message = str(error)
        raise ProblemError(message if message.startswith(what) else f"{what}: {message}") from error
    except Exception as error:
        hint = "write np.exp(u) or u.map(jnp.exp) for functions of fields, domain.field(...) for functions of the point"
        if "Field" in str(error):
            raise ProblemError(f"{what}: a function was given a field that it does not know: {hint}") from error
        reason = (str(error).splitlines() or [""])[0]
        raise ProblemError(
            f"{what}: the operator failed with {type(error).__name__}: {reason}. Perhaps: {hint}"
        ) from error
    for shape in shapes:
        if shape.shape != ():
            raise ProblemError(
                f"{what}: the operator must give one number at a point, it gave an array of shape {shape.shape}; "
                "return a tuple of fields for a vector-valued condition"
            )
    return tuple(bool(jnp.issubdtype(s.dtype, jnp.complexfloating)) for s in shapes)


def _check_values(problem: Problem, clouds: dict[str, Any]) -> None:
    """An operator that is not finite on any of the test fields is not finite on the unknown either."""

    def rows(level: Array) -> dict[str, Array]:
        return {key: _rows_at(problem, key, cloud, level) for key, cloud in clouds.items()}

    for key, values in jax.jit(jax.vmap(rows))(jnp.array(_LEVELS)).items():
        finite = np.isfinite(np.asarray(values)).all(axis=2)
        hopeless = ~finite.any(axis=0)
        if hopeless.any():
            first = int(np.argmax(hopeless))
            raise ProblemError(
                f"condition '{key}' is not finite at {describe_point(problem.domain.axes, clouds[key].x[first])} "
                "for any of the fields it was tried on: look for a division by zero, a logarithm or a root there"
            )


def _rows_at(problem: Problem, key: str, cloud: Any, level: Any, multiple: Any = 1.0) -> Array:
    """D of a test field, or of a multiple of it, at the points of a cloud."""

    def at(x: Array, normal: Array) -> Array:
        frame = Frame(problem.domain.axes, normal if problem.region(key).has_normal else None)
        quantities = _test_quantities(problem, frame, level, multiple)
        return real_rows([f.at(x) for f in apply_operator(problem.conditions[key], quantities, key)])

    normal = cloud.x * 0 if cloud.normal is None else cloud.normal
    return jax.vmap(at)(jnp.asarray(cloud.x), jnp.asarray(normal))
