"""A compound model on rows that lie on several devices: each has its share of the points of every condition.

Rows are in the order in which they lie, device by device, with rows of zeros where points were filled up. Nothing that
adds up over rows can tell. What leaves a device are sums: half of JᵀJ, which is symmetric, Jᵀr and ‖r‖²; or
triangular factors, which are gathered and factorised again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.compound.batch import Batch, share_of
from anagram.compound.layout import AXIS, BY_POINTS, EVERYWHERE, GROUP
from anagram.compound.residual_map import Gram, ResidualMap, Theta, gram_of, triangle_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from anagram.compound.compound import Compound

Folded = tuple[Float[Array, "half half"], Float[Array, "half half1"]]


class Laid(ResidualMap):
    """(D, B)∘u as it lies on the devices of its layout."""

    def __init__(self, compound: Compound) -> None:
        self.compound, self.layout = compound, compound.layout

    # -- rows -----------------------------------------------------------------------------------------
    def residual(self, theta: Theta, batch: Batch) -> Float[Array, " rows"]:
        """r(θ), as its rows lie."""
        return self._each(lambda own, theta, batch: own.residual(theta, batch), BY_POINTS)(theta, batch)

    def features(self, theta: Theta, batch: Batch) -> tuple[Float[Array, " rows"], Float[Array, "rows params"]]:
        """R and J, as their rows lie; all rows of a device are in its memory."""
        return self._each(lambda own, theta, batch: own.features(theta, batch), BY_POINTS)(theta, batch)

    def count_rows(self, batch: Batch) -> int:
        return self.compound.count_rows(batch)

    def unweighted(self, batch: Batch) -> Batch:
        return self.compound.unweighted(batch)

    def thinned(self, batch: Batch, rows: int) -> Batch:
        return self.compound.thinned(batch, rows)

    @property
    def is_affine(self) -> bool:
        return self.compound.is_affine

    def fits(self, theta: Theta, batch: Batch) -> bool:
        """Whether the rows of one device are small enough to be held as a whole."""
        share = self.layout.share
        return all(share(len(part.x)) <= self.compound.chunk(part, theta.size) for part in batch.values())

    def in_order(self, lying: Float[Array, "rows ..."], batch: Batch) -> Float[Array, "rows ..."]:
        """Rows in the order of the conditions, without those that were filled up; the same on all devices."""
        everywhere = jax.lax.with_sharding_constraint(lying, self.layout.everywhere)
        return everywhere[self._places(batch)]

    def _places(self, batch: Batch) -> np.ndarray:
        """Where each row lies, in the order of the conditions."""
        parts = [batch[key] for key in self.compound.problem.soft]
        shares = [self.layout.share(len(part.x)) for part in parts]
        each = [share * part.source.shape[1] for share, part in zip(shares, parts, strict=True)]
        places, before = [], 0
        for part, share, own in zip(parts, shares, each, strict=True):
            device, place = np.divmod(np.arange(len(part.x)), share)
            rows = part.source.shape[1]
            first = device * sum(each) + before + place * rows
            places.append((first[:, None] + np.arange(rows)).ravel())
            before += own
        return np.concatenate(places)

    # -- sums over rows ---------------------------------------------------------------------------------
    def squares(self, theta: Theta, batch: Batch) -> dict[str, Float[Array, ""]]:
        """‖r‖² of each condition by itself."""
        return self._each(lambda own, theta, batch: jax.lax.psum(own.squares(theta, batch), AXIS))(theta, batch)

    def gram(self, theta: Theta, batch: Batch, basis: Float[Array, "params columns"] | None = None) -> Gram:
        """JᵀJ, Jᵀr and ‖r‖²: each device adds up its chunks, then all are added up."""
        if basis is None:
            return self._each(lambda own, theta, batch: added_up(own.gram(theta, batch)))(theta, batch)
        both = self._each(lambda own, theta, batch, basis: added_up(own.gram(theta, batch, basis)))
        return both(theta, batch, basis)

    def gram_of_rows(self, residual: Float[Array, " rows"], features: Float[Array, "rows params"]) -> Gram:
        both = self.layout.over_points(lambda r, j: added_up(gram_of(r, j)), (BY_POINTS, BY_POINTS), EVERYWHERE)
        return both(residual, features)

    def triangle(self, theta: Theta, batch: Batch) -> Float[Array, "params1 params1"]:
        """The triangular factor of [J r]: of the rows of each device, and then of these factors."""
        count = self.layout.count
        return self._each(lambda own, theta, batch: joined(own.triangle(theta, batch), count))(theta, batch)

    def triangle_of_rows(
        self, residual: Float[Array, " rows"], features: Float[Array, "rows params"]
    ) -> Float[Array, "params1 params1"]:
        count = self.layout.count
        both = self.layout.over_points(
            lambda r, j: joined(triangle_of(r, j), count), (BY_POINTS, BY_POINTS), EVERYWHERE
        )
        return both(residual, features)

    # -- products with J, which is never there ----------------------------------------------------------
    def square(self, theta: Theta, batch: Batch) -> Float[Array, ""]:
        return self._each(lambda own, theta, batch: jax.lax.psum(own.square(theta, batch), AXIS))(theta, batch)

    def square_and_gradient(self, theta: Theta, batch: Batch) -> tuple[Float[Array, ""], Theta]:
        both = self._each(lambda own, theta, batch: jax.lax.psum(own.square_and_gradient(theta, batch), AXIS))
        return both(theta, batch)

    def normal_times(
        self, theta: Theta, batch: Batch, vectors: Float[Array, "vectors params"]
    ) -> Float[Array, "vectors params"]:
        each = self._each(
            lambda own, theta, batch, vectors: jax.lax.psum(own.normal_times(theta, batch, vectors), AXIS)
        )
        return each(theta, batch, vectors)

    def bend(self, theta: Theta, batch: Batch, v: Theta) -> Theta:
        return self._each(lambda own, theta, batch, v: jax.lax.psum(own.bend(theta, batch, v), AXIS))(theta, batch, v)

    def _each(self, function: Callable[..., Any], given: Any = EVERYWHERE) -> Callable[..., Any]:
        """A function that each device applies to a compound model of its own, parameters, and its share of a batch."""
        alone, numbers = self.compound.alone, self.compound.numbers

        def inside(numbers: Any, theta: Theta, batch: Batch, *rest: Any) -> Any:
            share = {key: share_of(part, self.layout) for key, part in batch.items()}
            return function(alone.with_numbers(numbers), theta, share, *rest)

        spread = self.layout.over_points(inside, EVERYWHERE, given)
        return lambda *arguments: spread(numbers, *arguments)


# -- what is sent ---------------------------------------------------------------------------------------
def added_up(gram: Gram) -> Gram:
    """The sum of the normal equations of all devices. Half of a symmetric matrix is enough."""
    folded, gradient, square = jax.lax.psum((fold(gram.matrix), gram.gradient, gram.square), AXIS)
    upper = unfold(folded, gram.gradient.size)
    return Gram(upper + jnp.triu(upper, 1).T, gradient, square)


def joined(triangle: Float[Array, "size size"], devices: int) -> Float[Array, "size size"]:
    """The triangular factor of those of all devices, group by group, and then of groups of groups.

    All devices of a group do the same with the same numbers, so that they have the same factor to the last bit.
    """
    size, apart = triangle.shape[0], 1
    for members in group_sizes(devices):
        groups = [
            [first + place * apart for place in range(members)]
            for block in range(0, devices, apart * members)
            for first in range(block, block + apart)
        ]
        gathered = jax.lax.all_gather(fold(triangle), AXIS, axis_index_groups=groups)
        stacked = jax.vmap(lambda folded: unfold(folded, size))(gathered).reshape(-1, size)
        triangle = jnp.linalg.qr(stacked, mode="r")
        apart *= members
    return triangle


def group_sizes(devices: int) -> list[int]:
    """Numbers whose product is that of the devices, as few as can be without large ones among them."""
    primes, left, divisor = [], devices, 2
    while left > 1:
        while left % divisor == 0:
            primes.append(divisor)
            left //= divisor
        divisor += 1
    sizes: list[int] = []
    for prime in sorted(primes, reverse=True):
        if sizes and sizes[-1] * prime <= GROUP:
            sizes[-1] *= prime
        else:
            sizes.append(prime)
    return sizes


def fold(matrix: Float[Array, "size size"]) -> Folded:
    """The upper half of a square matrix without gaps: the corner beside the diagonal, and two triangles in one.

    Above the diagonal of the second lies the first triangle, below it the last one, turned over.
    """
    size = matrix.shape[0]
    half = -(-size // 2)
    matrix = jnp.pad(matrix, (0, 2 * half - size))
    first, corner, last = matrix[:half, :half], matrix[:half, half:], matrix[half:, half:]
    both = jnp.pad(jnp.triu(first), ((0, 0), (1, 0))) + jnp.pad(jnp.triu(last).T, ((0, 0), (0, 1)))
    return corner, both


def unfold(folded: Folded, size: int) -> Float[Array, "size size"]:
    """The upper half of the matrix that was folded, with zeros below the diagonal."""
    corner, both = folded
    half = corner.shape[0]
    first, last = jnp.triu(both[:, 1:]), jnp.tril(both[:, :half]).T
    whole = jnp.block([[first, corner], [jnp.zeros_like(corner), last]])
    return whole[:size, :size]
