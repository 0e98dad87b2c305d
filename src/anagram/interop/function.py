"""A plain function as a residual map, so that methods can lower its sum of squares."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from anagram.compound import CHUNK_BYTES, ResidualMap, Theta
from anagram.compound.batch import Batch
from anagram.errors import SettingError

MODES = ("fwd", "bwd")


class FunctionMap(ResidualMap):
    """θ ↦ r(θ) = fn(y), with the numbers of the tree y as θ and those of the tree fn(y) as r.

    There are no points here: its batch is empty.

    Args:
        fn: takes a tree like `y` and returns a tree of arrays.
        y: a tree of float64 arrays.
        jac: ``fwd`` takes J column by column, ``bwd`` row by row; unless given, whichever needs fewer sweeps.
    """

    def __init__(self, fn: Callable[[Any], Any], y: Any, jac: str | None = None) -> None:
        if jac is not None and jac not in MODES:
            raise SettingError(f"jac must be one of {', '.join(MODES)}, not {jac!r}")
        self.fn = fn
        columns = _count(y, "y0")
        self.size = _count(jax.eval_shape(fn, y), "the residual")
        self.theta, self.unravel = ravel_pytree(y)
        self.jac = jac or ("fwd" if columns <= self.size else "bwd")
        self.batch: Batch = {}

    def count_rows(self, batch: Batch) -> int:
        return self.size

    def residual(self, theta: Theta, batch: Batch) -> Float[Array, " rows"]:
        return ravel_pytree(self.fn(self.unravel(theta)))[0]

    def features(self, theta: Theta, batch: Batch) -> tuple[Float[Array, " rows"], Float[Array, "rows params"]]:
        def function(t: Theta) -> Float[Array, " rows"]:
            return self.residual(t, batch)

        if self.jac == "fwd":
            residual, push_forward = jax.linearize(function, theta)
            return residual, _sweep(push_forward, theta.size, residual.size).T
        residual, pull_back = jax.vjp(function, theta)
        return residual, _sweep(lambda row: pull_back(row)[0], residual.size, theta.size)


def _sweep(product: Callable[[Array], Array], count: int, length: int) -> Array:
    """A product with each unit vector, as many at once as `CHUNK_BYTES` allows."""
    units, size = jnp.eye(count), max(1, CHUNK_BYTES // (8 * max(count, length)))
    return jax.vmap(product)(units) if count <= size else jax.lax.map(product, units, batch_size=size)


def _count(tree: Any, what: str) -> int:
    """How many numbers a tree has; all of them must be float64."""
    leaves = jax.tree.leaves(tree)
    for leaf in leaves:
        dtype = jnp.result_type(leaf)
        if jnp.issubdtype(dtype, jnp.complexfloating):
            raise SettingError(f"{what} is complex: split it into real and imaginary parts")
        if dtype != jnp.float64:
            raise SettingError(f"{what} has numbers of type {dtype}, and methods need float64: convert them first")
    count = sum(math.prod(jnp.shape(leaf)) for leaf in leaves)
    if count == 0:
        raise SettingError(f"{what} has no numbers in it")
    return count
