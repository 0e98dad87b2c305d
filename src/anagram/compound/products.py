"""Products with J, chunk by chunk of points: J is never there, nor any matrix as large as the parameters squared.

A chunk has as many points as fit into memory with all that is computed on the way to their rows: that is what products
with J and Jᵀ have to hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Var
from jaxtyping import Array, Float

from anagram.compound.batch import Batch, ConditionBatch

if TYPE_CHECKING:
    from anagram.compound.compound import Compound

Theta = Float[Array, " params"]
Carry = TypeVar("Carry")

TOGETHER = 8  # vectors at most that are multiplied at once: more of them take memory and save little


def square(compound: Compound, theta: Theta, batch: Batch) -> Float[Array, ""]:
    """‖r‖²."""
    return _fold(compound, theta, batch, jnp.zeros(()), lambda total, rows: total + jnp.sum(rows(theta) ** 2))


def square_and_gradient(compound: Compound, theta: Theta, batch: Batch) -> tuple[Float[Array, ""], Theta]:
    """‖r‖² and Jᵀr."""

    def add(total: tuple[Array, Array], rows: Callable[[Theta], Array]) -> tuple[Array, Array]:
        values, pull_back = jax.vjp(rows, theta)
        return total[0] + jnp.sum(values**2), total[1] + pull_back(values)[0]

    return _fold(compound, theta, batch, (jnp.zeros(()), jnp.zeros_like(theta)), add)


def normal_times(
    compound: Compound, theta: Theta, batch: Batch, vectors: Float[Array, "vectors params"]
) -> Float[Array, "vectors params"]:
    """JᵀJ times each of some vectors."""

    def some(vectors: Float[Array, "some params"]) -> Float[Array, "some params"]:
        def add(total: Array, rows: Callable[[Theta], Array]) -> Array:
            _, push_forward = jax.linearize(rows, theta)
            pull_back = jax.linear_transpose(push_forward, theta)
            return total + jax.vmap(lambda vector: pull_back(push_forward(vector))[0])(vectors)

        return _fold(compound, theta, batch, jnp.zeros_like(vectors), add, len(vectors))

    count = len(vectors)
    together = next(size for size in range(min(count, TOGETHER), 0, -1) if count % size == 0)
    if together == count:
        return some(vectors)
    return jax.lax.map(some, vectors.reshape(-1, together, theta.size)).reshape(count, theta.size)


def bend(compound: Compound, theta: Theta, batch: Batch, v: Theta) -> Theta:
    """Jᵀ r_vv, with r_vv the second derivative of r along v."""

    def add(total: Array, rows: Callable[[Theta], Array]) -> Array:
        def along(t: Theta) -> Array:
            return jax.jvp(rows, (t,), (v,))[1]

        second = jax.jvp(along, (theta,), (v,))[1]
        return total + jax.vjp(rows, theta)[1](second)[0]

    return _fold(compound, theta, batch, jnp.zeros_like(theta), add, vectors=3)


def numbers_held(compound: Compound, key: str, theta: Theta, part: ConditionBatch) -> int:
    """How many numbers are computed on the way to the rows of one point; what all points share does not count."""
    point = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), part)
    traced = jax.make_jaxpr(lambda theta, point: compound.point_rows(key, theta, point))(
        jax.ShapeDtypeStruct(theta.shape, theta.dtype), point
    )
    return max(1, _depending(traced.jaxpr, set(traced.jaxpr.invars[1:])))


def _depending(program: Jaxpr, seen: set[Var]) -> int:
    """The size of all that a program computes from some variables, also inside of what it calls."""
    total = 0
    for equation in program.eqns:
        depends = [isinstance(var, Var) and var in seen for var in equation.invars]
        if not any(depends):
            continue
        seen.update(equation.outvars)
        total += sum(math.prod(getattr(var.aval, "shape", ())) for var in equation.outvars)
        for inner in _called(equation.params):
            # Arguments of what is called are the last ones of the call.
            arguments = zip(reversed(inner.invars), reversed(depends), strict=False)
            total += _depending(inner, {var for var, of_point in arguments if of_point})
    return total


def _called(parameters: dict[str, Any]) -> Iterator[Jaxpr]:
    for value in parameters.values():
        for inner in value if isinstance(value, tuple | list) else (value,):
            if isinstance(inner, ClosedJaxpr):
                yield inner.jaxpr
            elif isinstance(inner, Jaxpr):
                yield inner


def _fold(
    compound: Compound,
    theta: Theta,
    batch: Batch,
    start: Carry,
    add: Callable[[Carry, Callable[[Theta], Array]], Carry],
    vectors: int = 1,
) -> Carry:
    """Add up over chunks of points; each is handed on as the function from parameters to its rows."""
    total = start
    for key in compound.problem.soft:
        held = numbers_held(compound, key, theta, batch[key])
        chunks = compound.in_chunks(batch[key], held * (1 + vectors))

        def update(carry: Carry, chunk: ConditionBatch, key: str = key) -> tuple[Carry, None]:
            def rows(theta: Theta) -> Array:
                return jax.vmap(lambda point: compound.point_rows(key, theta, point))(chunk)

            return add(carry, rows), None

        if chunks.x.shape[0] == 1:
            total, _ = update(total, jax.tree.map(lambda a: a[0], chunks))
        else:
            total, _ = jax.lax.scan(update, total, chunks)
    return total
