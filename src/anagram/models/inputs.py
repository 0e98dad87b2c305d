"""The first layer of a network: what it sees of a point, on periodic axes among others.

Along an open axis a unit sees the coordinate in units of its own. A periodic axis is a circle to it: in place of x it
sees cos ψ and sin ψ with ψ = 2π (x − low)/period + v·s, where s are the coordinates along the open axes. Whatever is
made of the pair is periodic, with all derivatives. Every unit learns its own v: it looks at the circle from a frame
that moves along it, so that what travels around is at rest to some of the units.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.statement.domains import Domain
from anagram.statement.expressions import Index

RADIUS = 1.0  # of the circle, beside open axes of length one
DRIFT = 3.0  # how large the first velocities v are where nothing is known of them

Closed = tuple[bool, ...]


class Fixed(eqx.Module):
    """Arrays of a module that are not learned. Compiled programs take them as arguments: others are one program."""


class Placement(Fixed):
    """The units of a network, which are not learned: it gives offset + size·N, and sees (x − low)/length.

    On periodic axes `length` is the period, and `radius` that of the circle; it is None if there is no such axis.
    """

    low: Float[Array, " axes"]
    length: Float[Array, " axes"]
    offset: Float[Array, " outputs"]
    size: Float[Array, " outputs"]
    radius: Float[Array, ""] | None = None


def placed(domain: Domain, scale: float, offset: np.ndarray, size: np.ndarray) -> Placement:
    """The placement of a network on a box, seen as [0, scale] along open axes; with scale 0 as it is."""
    closed = np.array(closed_axes(domain))
    low = np.where(closed | (scale > 0), domain.low, 0.0)
    length = np.where(closed, domain.lengths, domain.lengths / scale if scale else 1.0)
    numbers = [jnp.asarray(v, dtype=float) for v in (low, length, offset, size)]
    return Placement(*numbers, radius=jnp.asarray(RADIUS * (scale or 1.0)) if closed.any() else None)


def closed_axes(domain: Domain) -> Closed:
    """Which of the axes are periodic."""
    return tuple(axis in domain.periodic_axes for axis in domain.axes)


def count_inputs(closed: Closed) -> int:
    """How many columns the matrix of a first layer has: two for a periodic axis."""
    return len(closed) + sum(closed)


def velocities_shape(closed: Closed, width: int) -> tuple[int, int, int]:
    """How many velocities a first layer has: of every unit, along every periodic axis, for every open one."""
    return width, sum(closed), len(closed) - sum(closed)


class FirstLayer:
    """W a(x) + b at a point, with its derivatives."""

    def __init__(
        self,
        weight: Float[Array, "units inputs"],
        bias: Float[Array, " units"],
        velocities: Float[Array, "units closed open"] | None,
        place: Placement,
        closed: Closed,
        x: Float[Array, " axes"],
    ) -> None:
        self.weight, self.bias, self.velocities, self.place, self.closed = weight, bias, velocities, place, closed
        self.scaled = (x - place.low) / place.length
        self.slopes = 1 / place.length
        self.open = [axis for axis, around in enumerate(closed) if not around]
        self.around = [axis for axis, around in enumerate(closed) if around]
        self.column = np.cumsum([0, *(1 + around for around in closed)])[:-1].tolist()
        # By periodic axis, what units make of their pair, and the derivative of that by the angle.
        self.turned = {axis: self._turned(number, axis) for number, axis in enumerate(self.around)}

    @property
    def is_straight(self) -> bool:
        """Whether nothing but first derivatives is left of it."""
        return not self.around

    def value(self) -> Float[Array, " units"]:
        """W a + b."""
        if self.is_straight:
            return self.weight @ self.scaled + self.bias
        straight = self.weight[:, [self.column[axis] for axis in self.open]] @ self.scaled[np.array(self.open, int)]
        return sum((pair[0] for pair in self.turned.values()), start=straight + self.bias)

    def derivative(self, index: Index) -> Float[Array, " units"] | None:
        """∂^α (W a), for α ≠ 0; None where it vanishes."""
        order = sum(index)
        terms = [
            self.weight[:, self.column[axis]] * self.slopes[axis] for axis in self.open if order == 1 and index[axis]
        ]
        for number, axis in enumerate(self.around):
            if any(index[other] for other in self.around if other != axis):
                continue
            if self.velocities is None and index[axis] < order:
                continue
            factor = (2 * np.pi * self.slopes[axis]) ** index[axis] if index[axis] else 1.0
            for place, other in enumerate(self.open):
                if self.velocities is not None and index[other]:
                    factor = factor * (self.velocities[:, number, place] * self.slopes[other]) ** index[other]
            even, odd = self.turned[axis]
            terms.append(factor * (even, odd, -even, -odd)[order % 4])
        return sum(terms[1:], start=terms[0]) if terms else None

    def _turned(self, number: int, axis: int) -> tuple[Array, Array]:
        angle = 2 * np.pi * self.scaled[axis]
        if self.velocities is not None:
            angle = angle + self.velocities[:, number] @ self.scaled[np.array(self.open, int)]
        assert self.place.radius is not None
        cos, sin = self.place.radius * jnp.cos(angle), self.place.radius * jnp.sin(angle)
        one, two = self.weight[:, self.column[axis]], self.weight[:, self.column[axis] + 1]
        return one * cos + two * sin, two * cos - one * sin
