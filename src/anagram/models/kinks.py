"""Kinks: what solutions look like where an equation jumps, so that a smooth model need not imitate it.

Where a known function of an equation jumps across the plane x = x₀, the highest derivative ∂ₓᵐu jumps with it. A model
with (x − x₀)₊ᵐ times another smooth one added has such a jump, and is as smooth as before on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from anagram.errors import SettingError
from anagram.statement.domains import Domain
from anagram.statement.jumps import jumps_inside
from anagram.statement.problem import Problem

MOST_KINKS = 4  # that a model is enriched with: each is as dear as the model itself
MOST_ORDER = 8


class Kink:
    """A kink across one axis: ``MLP(16, 16) + Kink(x=0.5, order=1)`` has a slope that jumps at x = 0.5.

    Args:
        order: the derivative that jumps, 0 for the value itself.
        place: the name of the axis and the place on it.
    """

    def __init__(self, *, order: int, **place: float) -> None:
        if isinstance(order, bool) or not isinstance(order, int) or not 0 <= order <= MOST_ORDER:
            raise SettingError(f"the order of a kink is a whole number from 0 to {MOST_ORDER}, not {order!r}")
        if len(place) != 1:
            raise SettingError("a kink lies across one axis, as in Kink(x=0.5, order=1)")
        (self.axis, value), self.order = next(iter(place.items())), order
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
            raise SettingError(f"the place of a kink is a finite number, not {value!r}")
        self.place = float(value)

    @property
    def terms(self) -> tuple[int, ...]:
        """The orders of its functions."""
        return (self.order,)

    def functions(self, domain: Domain) -> list[Callable[[Array], Array]]:
        """Its function of a point of the domain."""
        if self.axis not in domain.axes:
            raise SettingError(f"{self!r}: {domain!r} has the axes {', '.join(domain.axes)}")
        low, high = domain.intervals[self.axis]
        if not low < self.place < high:
            raise SettingError(f"{self!r} lies outside of {self.axis}, between {low:g} and {high:g}")
        return [KinkFunction(domain.axes.index(self.axis), self.place, float(high - low), self.order)]

    def __radd__(self, other: Any) -> Any:
        from anagram.models.singular import Enriched

        return Enriched(other, self)

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {self.axis: self.place, "order": self.order}

    def __repr__(self) -> str:
        return f"Kink({self.axis}={self.place:g}, order={self.order})"


@dataclass(frozen=True)
class KinkFunction:
    """(x − x₀)₊ᵐ in units of the domain; two with the same numbers are equal."""

    axis: int
    place: float
    length: float
    order: int

    def __call__(self, x: Array) -> Array:
        beyond = (x[self.axis] - self.place) / self.length
        return jnp.where(beyond > 0, beyond**self.order, 0.0)


def kinks_of(problem: Problem) -> tuple[Kink, ...]:
    """The kinks that the equations of a problem ask for; none if they are too many."""
    found = [Kink(order=jump.order, **{jump.axis: jump.place}) for jump in jumps_inside(problem)]
    return tuple(found) if len(found) <= MOST_KINKS else ()
