"""The first layer of a network: what it sees of a point, on periodic axes among others.

Along an open axis a unit sees the coordinate in units of its own. A periodic axis is a circle to it: in place of x it
sees cos ψ and sin ψ with ψ = 2π (x − low)/period + v·s, where s are the coordinates along the open axes. Whatever is
made of the pair is periodic, with all derivatives. Every unit learns its own v: it looks at the circle from a frame
that moves along it, so that what travels around is at rest to some of the units. Of a parameter whose values are spread
by their logarithms it sees the logarithm; frames do not move along parameters. Of corners it may see more, see
`anagram.models.nearcorners`: these are the last inputs.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.models.nearcorners import SEEN, Corners
from anagram.statement.domains import Domain, Parameter, Periodic
from anagram.statement.expressions import Index

RADIUS = 1.0  # of the circle, beside open axes of length one
DRIFT = 3.0  # how large the first velocities v are where nothing is known of them


class Kind(enum.StrEnum):
    """How an axis is seen."""

    OPEN = "open"  # as a coordinate between two ends
    AROUND = "around"  # as a circle
    PARAMETER = "parameter"  # as a number
    LOG = "log"  # as the logarithm of a parameter


Kinds = tuple[Kind, ...]


class Fixed(eqx.Module):
    """Arrays of a module that are not learned. Compiled programs take them as arguments: others are one program."""


class Placement(Fixed):
    """The units of a network, which are not learned: it gives offset + size·N, and sees (x − low)/length.

    On periodic axes `length` is the period, and `radius` that of the circle; it is None if there is no such axis.
    `corners` are those of which more is seen.
    """

    low: Float[Array, " axes"]
    length: Float[Array, " axes"]
    offset: Float[Array, " outputs"]
    size: Float[Array, " outputs"]
    radius: Float[Array, ""] | None = None
    corners: Corners | None = None


def placed(
    domain: Domain, scale: float, offset: np.ndarray, size: np.ndarray, corners: Corners | None = None
) -> Placement:
    """The placement of a network on a box, seen as [0, scale] but along periodic axes; with scale 0 as it is."""
    kinds = axis_kinds(domain)
    closed, log = np.array([kind is Kind.AROUND for kind in kinds]), [kind is Kind.LOG for kind in kinds]
    ends = [np.log(i) if is_log else i for i, is_log in zip(domain.intervals.values(), log, strict=True)]
    begins, lengths = np.array([low for low, _ in ends]), np.array([high - low for low, high in ends])
    low = np.where(closed | (scale > 0), begins, 0.0)
    length = np.where(closed, lengths, lengths / scale if scale else 1.0)
    numbers = [jnp.asarray(v, dtype=float) for v in (low, length, offset, size)]
    radius = jnp.asarray(RADIUS * (scale or 1.0)) if closed.any() else None
    return Placement(*numbers, radius=radius, corners=corners)


def axis_kinds(domain: Domain) -> Kinds:
    """How each of the axes is seen."""

    def kind(interval: Any) -> Kind:
        if isinstance(interval, Parameter):
            return Kind.LOG if interval.log else Kind.PARAMETER
        return Kind.AROUND if isinstance(interval, Periodic) else Kind.OPEN

    return tuple(kind(interval) for interval in domain.intervals.values())


def places(kinds: Kinds, *wanted: Kind) -> list[int]:
    """The numbers of the axes of some kinds."""
    return [axis for axis, kind in enumerate(kinds) if kind in wanted]


def count_inputs(kinds: Kinds, corners: int = 0) -> int:
    """How many columns the matrix of a first layer has: two for a periodic axis, and those of corners."""
    return len(kinds) + len(places(kinds, Kind.AROUND)) + SEEN * corners


def velocities_shape(kinds: Kinds, width: int) -> tuple[int, int, int]:
    """How many velocities a first layer has: of every unit, along every periodic axis, for every open one."""
    return width, len(places(kinds, Kind.AROUND)), len(places(kinds, Kind.OPEN))


class FirstLayer:
    """W a(x) + b at a point, with its derivatives."""

    def __init__(
        self,
        weight: Float[Array, "units inputs"],
        bias: Float[Array, " units"],
        velocities: Float[Array, "units closed open"] | None,
        place: Placement,
        kinds: Kinds,
        x: Float[Array, " axes"],
    ) -> None:
        self.weight, self.bias, self.velocities, self.place, self.x = weight, bias, velocities, place, x
        self.open, self.around, self.log = (places(kinds, k) for k in (Kind.OPEN, Kind.AROUND, Kind.LOG))
        self.straight = places(kinds, Kind.OPEN, Kind.PARAMETER, Kind.LOG)
        seen = x
        for axis in self.log:
            seen = seen.at[axis].set(jnp.log(x[axis]))
        self.scaled = (seen - place.low) / place.length
        self.slopes = 1 / place.length
        *self.column, self.of_axes = np.cumsum([0, *(1 + (kind is Kind.AROUND) for kind in kinds)]).tolist()
        # By periodic axis, what units make of their pair, and the derivative of that by the angle.
        self.turned = {axis: self._turned(number, axis) for number, axis in enumerate(self.around)}

    @property
    def is_straight(self) -> bool:
        """Whether nothing but first derivatives is left of it."""
        return not self.around and not self.log and self.place.corners is None

    def value(self) -> Float[Array, " units"]:
        """W a + b."""
        bias = self.bias
        if self.place.corners is not None:
            bias = bias + self.weight[:, self.of_axes :] @ self.place.corners.seen(self.x)
        if not self.around:
            return self.weight[:, : self.of_axes] @ self.scaled + bias
        columns = [self.column[axis] for axis in self.straight]
        straight = self.weight[:, columns] @ self.scaled[np.array(self.straight, int)]
        return sum((pair[0] for pair in self.turned.values()), start=straight + bias)

    def derivative(self, index: Index) -> Float[Array, " units"] | None:
        """∂^α (W a), for α ≠ 0; None where it vanishes."""
        order = sum(index)
        terms = [
            self.weight[:, self.column[axis]] * self._slope(axis, order)
            for axis in self.straight
            if index[axis] == order and (order == 1 or axis in self.log)
        ]
        for number, axis in enumerate(self.around):
            # What a unit sees of a circle depends on the coordinate around it, and on those along which it moves.
            if any(index[other] for other in range(len(index)) if other != axis and other not in self.open):
                continue
            if self.velocities is None and index[axis] < order:
                continue
            factor = (2 * np.pi * self.slopes[axis]) ** index[axis] if index[axis] else 1.0
            for place, other in enumerate(self.open):
                if self.velocities is not None and index[other]:
                    factor = factor * (self.velocities[:, number, place] * self.slopes[other]) ** index[other]
            even, odd = self.turned[axis]
            terms.append(factor * (even, odd, -even, -odd)[order % 4])
        corners = self.place.corners
        near = None if corners is None else corners.derivative(self.x, index)
        if near is not None:
            terms.append(self.weight[:, self.of_axes :] @ near)
        return sum(terms[1:], start=terms[0]) if terms else None

    def _slope(self, axis: int, order: int) -> Array:
        """The derivative of this order of what is seen of an axis that is no circle."""
        if axis not in self.log:
            return self.slopes[axis]
        return self.slopes[axis] * (-1) ** (order - 1) * math.factorial(order - 1) / self.x[axis] ** order

    def _turned(self, number: int, axis: int) -> tuple[Array, Array]:
        angle = 2 * np.pi * self.scaled[axis]
        if self.velocities is not None:
            angle = angle + self.velocities[:, number] @ self.scaled[np.array(self.open, int)]
        assert self.place.radius is not None
        cos, sin = self.place.radius * jnp.cos(angle), self.place.radius * jnp.sin(angle)
        one, two = self.weight[:, self.column[axis]], self.weight[:, self.column[axis] + 1]
        return one * cos + two * sin, two * cos - one * sin
