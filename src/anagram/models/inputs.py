"""What a network sees of a point: coordinates in its own units, and on a periodic axis a point of a circle.

In place of x a network sees (cos φ, sin φ) with φ = 2π (x − low)/length. Whatever it makes of the pair is periodic,
with all derivatives, and every smooth periodic function is a smooth function of the pair.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.statement.domains import Domain
from anagram.statement.expressions import Index

RADIUS = 1.0  # of the circle beside axes of length one


class Placement(eqx.Module):
    """The units of a network, which are not learned: it gives offset + size·N, and sees (x − low)/length.

    On periodic axes `length` is the period, and `radius` that of the circle seen; it is None if there is no such axis.
    Compiled programs take them as arguments, so that other units are the same program.
    """

    low: Float[Array, " axes"]
    length: Float[Array, " axes"]
    offset: Float[Array, " outputs"]
    size: Float[Array, " outputs"]
    radius: Float[Array, ""] | None = None


def placed(domain: Domain, scale: float, offset: np.ndarray, size: np.ndarray) -> Placement:
    """The placement of a network on a box, seen as [0, scale] on every axis; with scale 0 as it is."""
    closed = np.array(closed_axes(domain))
    low = domain.low if scale else np.where(closed, domain.low, 0.0)
    length = np.where(closed | (scale == 0), np.where(closed, domain.lengths, 1.0), domain.lengths / (scale or 1.0))
    numbers = [jnp.asarray(v, dtype=float) for v in (low, length, offset, size)]
    return Placement(*numbers, radius=jnp.asarray(RADIUS * (scale or 1.0)) if closed.any() else None)


def closed_axes(domain: Domain) -> tuple[bool, ...]:
    """Which of the axes are periodic."""
    return tuple(axis in domain.periodic_axes for axis in domain.axes)


def count_inputs(closed: tuple[bool, ...]) -> int:
    """How many numbers a network sees of a point."""
    return len(closed) + sum(closed)


def seen(place: Placement, closed: tuple[bool, ...], x: Float[Array, " axes"]) -> Float[Array, " inputs"]:
    """A point as a network sees it."""
    scaled = (x - place.low) / place.length
    if not any(closed):
        return scaled
    return jnp.concatenate(
        [_circle(place, z, 0) if around else z[None] for z, around in zip(scaled, closed, strict=True)]
    )


def slopes(
    place: Placement, closed: tuple[bool, ...], x: Float[Array, " axes"], order: int
) -> dict[Index, tuple[slice, Array]]:
    """The derivatives, up to an order, that do not vanish: of which inputs they are, and their values."""
    scaled = (x - place.low) / place.length
    first = np.cumsum([0, *(2 if around else 1 for around in closed)])
    found: dict[Index, tuple[slice, Array]] = {}
    for axis, around in enumerate(closed):
        inputs = slice(int(first[axis]), int(first[axis + 1]))
        for power in range(1, (order if around else min(order, 1)) + 1):
            index = tuple(power if k == axis else 0 for k in range(len(closed)))
            steep = 1 / place.length[axis]
            value = _circle(place, scaled[axis], power) * (2 * np.pi * steep) ** power if around else steep[None]
            found[index] = (inputs, value)
    return found


def _circle(place: Placement, turns: Array, order: int) -> Float[Array, " 2"]:
    """A point of the circle, or its derivative by the angle."""
    assert place.radius is not None
    angle = 2 * np.pi * turns
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return place.radius * jnp.stack(((cos, sin), (-sin, cos), (-cos, -sin), (sin, -cos))[order % 4])
