"""What a network sees of corners: the logarithm of the distance, and the direction.

Near a corner solutions look alike at all distances, u ≈ r^λ f(φ), with an exponent that belongs to the equation and to
what is given on the sides. In ln r and in cos φ, sin φ such a function is smooth: a network that sees these need not be
told the exponent, and is as fine near the corner as it has to be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.errors import SettingError
from anagram.statement.domains import Domain
from anagram.statement.expressions import Index

SEEN = 3  # inputs for each corner
DECADES = 10.0  # ln r is seen in units of this: [0, 1] are the distances from 5e-5 of the domain to all of it
NEAREST = 1e-14  # of the domain: distances below are all the same
CRACK = 1.9 * np.pi  # angles from here on: the two sides are told apart by half of the direction
NEAR = 1e-6  # of the domain: a corner is where it is said to be


class Corners(eqx.Module):
    """Corners in the plane of two axes; nothing of it is learned.

    Attributes:
        place: where they are.
        turned: the direction of the middle of the domain there, from which φ is counted.
        share: of φ that is seen: all of it, or half at the end of a crack.
        size: of the domain.
        axes: the numbers of the two axes.
    """

    place: Float[Array, "corners 2"]
    turned: Float[Array, " corners"]
    share: Float[Array, " corners"]
    size: Float[Array, ""]
    axes: tuple[int, int] = eqx.field(static=True)

    @property
    def inputs(self) -> int:
        """How many inputs they are."""
        return SEEN * self.place.shape[0]

    def seen(self, x: Any, arrays: Any = jnp) -> Any:
        """The inputs at points (…, axes); `arrays` is the module whose arrays these are."""
        distance, angle = self._polar(x, arrays)
        columns = [
            1 + arrays.log(distance / self.size) / DECADES,
            arrays.cos(self.share * angle),
            arrays.sin(self.share * angle),
        ]
        return arrays.concatenate(columns, axis=-1)

    def derivative(self, x: Float[Array, " axes"], index: Index) -> Float[Array, " inputs"] | None:
        """∂^α of the inputs, α ≠ 0; None where they do not depend on the axes of α.

        With w = r e^{iφ} they are the real part of log w, and both parts of w^a w̄^{−a} with a = share/2: powers, whose
        derivatives by w and w̄ are known, and ∂_x = e^{−iτ} ∂_w + e^{iτ} ∂_w̄, ∂_y = i (e^{−iτ} ∂_w − e^{iτ} ∂_w̄) for a
        plane that was turned by τ.
        """
        if any(order and axis not in self.axes for axis, order in enumerate(index)):
            return None
        along, across = (index[axis] for axis in self.axes)
        order = along + across
        distance, angle = self._polar(x, jnp)
        power = distance ** (-order)
        half = self.share / 2
        even, odd = jnp.zeros_like(angle), jnp.zeros_like(angle)
        for j in range(along + 1):
            for k in range(across + 1):
                times, back = j + k, order - j - k  # derivatives by w, and by w̄
                count = math.comb(along, j) * math.comb(across, k)
                factor = count * _falling(half, times) * _falling(-half, back)
                # i^k (−i)^{across − k}, and what the derivatives leave of the direction.
                turn = (0.5 * np.pi * (2 * k - across)) - self.turned * (times - back)
                turn = turn + (self.share - times + back) * angle
                even, odd = even + factor * jnp.cos(turn), odd + factor * jnp.sin(turn)
        turn = 0.5 * np.pi * across - order * (self.turned + angle)
        logarithm = (-1) ** (order - 1) * math.factorial(order - 1) * jnp.cos(turn) / DECADES
        return jnp.concatenate([power * logarithm, power * even, power * odd])

    def _polar(self, x: Any, arrays: Any) -> tuple[Any, Any]:
        """Distances and directions of points (…, axes), from all corners (…, corners)."""
        away = [x[..., axis, None] - self.place[:, place] for place, axis in enumerate(self.axes)]
        distance = arrays.hypot(*away)
        nothing = distance < NEAREST * self.size
        cos, sin = arrays.cos(self.turned), arrays.sin(self.turned)
        ahead = arrays.where(nothing, 1.0, cos * away[0] + sin * away[1])
        aside = arrays.where(nothing, 0.0, cos * away[1] - sin * away[0])
        return arrays.where(nothing, NEAREST * self.size, distance), arrays.arctan2(aside, ahead)

    def in_numpy(self) -> Corners:
        """The same with arrays of NumPy."""
        return Corners(*(np.asarray(a) for a in (self.place, self.turned, self.share, self.size)), axes=self.axes)  # pyright: ignore[reportArgumentType]


def corners_on(domain: Domain, given: Sequence[Sequence[float]]) -> Corners | None:
    """The corners that are given, on a domain; None if there are none."""
    if not given:
        return None
    if not domain.plane:
        raise SettingError(
            f"corners= is for domains in the plane, and {domain!r} has the axes {', '.join(domain.axes)}"
        )
    closed = [axis for axis in domain.plane if axis in (*domain.periodic_axes, *domain.parameter_axes)]
    if closed:
        raise SettingError(f"corners= is for places in a plane, and '{closed[0]}' is periodic or a parameter")
    axes = (domain.axes.index(domain.plane[0]), domain.axes.index(domain.plane[1]))
    size = float(np.max(domain.lengths[list(axes)]))
    place, turned, share = np.array(given, dtype=float), [], []
    for point in place:
        known = [c for c in domain.corners() if np.linalg.norm(c.point - point) < NEAR * size]
        turned.append(known[0].start + known[0].angle / 2 if known else 0.0)
        share.append(0.5 if known and known[0].angle > CRACK else 1.0)
    arrays = [jnp.asarray(a, dtype=float) for a in (place, turned, share, size)]
    return Corners(*arrays, axes=axes)


def checked_corners(given: Any, what: str) -> tuple[tuple[float, float], ...]:
    """Corners as pairs of numbers; an error for what are none."""
    found: list[tuple[float, float]] = []
    try:
        for point in () if given is None else given:
            x, y = (float(value) for value in point)
            found.append((x, y))
    except (TypeError, ValueError):
        found = [(np.nan, np.nan)]
    if not np.all(np.isfinite(found)):
        raise SettingError(f"corners= of {what} are pairs of finite coordinates, as in corners=[(0, 0)], not {given!r}")
    return tuple(found)


def corners_as_options(corners: Sequence[tuple[float, float]]) -> dict[str, list[list[float]]]:
    """For records; those of networks without corners are what they were."""
    return {"corners": [list(point) for point in corners]} if corners else {}


def _falling(power: Any, times: int) -> Any:
    """power (power − 1) …, so many factors: what derivatives of a power leave in front of it."""
    return math.prod((power - k for k in range(times)), start=1.0)
