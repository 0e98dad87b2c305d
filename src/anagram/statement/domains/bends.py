"""Coordinates that are bent along an axis, so that thin layers are wide in them.

A bend is a polynomial s(z) that grows from −1 to 1 as z does. Functions that change fast where s does are smooth
functions of s: polynomials of s, and nodes that are spread evenly in it, are few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from anagram.errors import SettingError

MOST_TERMS = 64
LOOKED_AT = 4097  # places at which it is checked that a bend grows
ENDS = 1e-9  # how far from −1 and 1 it may end
NEWTON = 6  # steps from a place on a fine table to rounding

Array = np.ndarray


@dataclass(frozen=True)
class Bend:
    """A change of coordinates z ↦ s(z) of [−1, 1], as the coefficients of its Chebyshev polynomials."""

    coefficients: tuple[float, ...]

    def __call__(self, z: Float[Array, " places"]) -> Float[Array, " places"]:
        return np.polynomial.chebyshev.chebval(z, self.coefficients)

    def slope(self, z: Float[Array, " places"]) -> Float[Array, " places"]:
        """ds/dz."""
        return np.polynomial.chebyshev.chebval(z, np.polynomial.chebyshev.chebder(self.coefficients))

    def back(self, s: Float[Array, " places"]) -> Float[Array, " places"]:
        """The places z with these values of s."""
        places, values = self._table
        z = np.interp(s, values, places)
        for _ in range(NEWTON):
            z = np.clip(z - (self(z) - s) / self.slope(z), -1.0, 1.0)
        return z

    def nodes(
        self, fraction: Float[Array, " nodes"], weight: Float[Array, " nodes"]
    ) -> tuple[Float[Array, " nodes"], Float[Array, " nodes"]]:
        """Nodes of a rule for s as fractions of the interval of z, with weights that integrate over z."""
        z = self.back(2 * fraction - 1)
        moved = weight / self.slope(z)
        return (z + 1) / 2, moved / moved.sum()

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        places = -np.cos(np.linspace(0, np.pi, LOOKED_AT))
        return places, self(places)


PLAIN = Bend((0.0, 1.0))


def checked_bends(bends: Any, what: str) -> dict[str, Bend]:
    """Bends by axis, from coefficients that may come from a file; an error for what is none."""
    if bends is None:
        return {}
    if not isinstance(bends, Mapping):
        raise SettingError(f"bends= of {what} gives coefficients by axis, as in bends={{'x': [0.0, 1.0]}}")
    return {
        str(axis): _checked(value.coefficients if isinstance(value, Bend) else value, what)
        for axis, value in bends.items()
    }


def _checked(value: Any, what: str) -> Bend:
    numbers = (isinstance(value, Sequence) and not isinstance(value, str)) or np.ndim(value) == 1
    plain = numbers and all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in value)
    if not plain or not 2 <= len(value) <= MOST_TERMS or not np.all(np.isfinite(np.asarray(value, dtype=float))):
        raise SettingError(f"a bend of {what} is a list of 2 to {MOST_TERMS} coefficients of Chebyshev polynomials")
    bend = Bend(tuple(float(v) for v in value))
    places, values = bend._table
    if abs(values[0] + 1) > ENDS or abs(values[-1] - 1) > ENDS or np.min(bend.slope(places)) <= 0:
        raise SettingError(f"a bend of {what} must grow from −1 to 1 as its coordinate does")
    return bend


def bends_as_lists(bends: Mapping[str, Bend]) -> dict[str, list[float]]:
    """For records."""
    return {axis: list(bend.coefficients) for axis, bend in bends.items()}
