"""Estimated errors along an axis: which member of a family is the worst, or which moment of an evolution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from anagram.errors import ProblemError
from anagram.statement.domains import Domain, Kronecker
from anagram.statement.domains.intervals import even_places

PLACES = 33  # along an axis
POINTS = 512  # at each of them
VANISHING = 1e-8  # of the largest values along the axis: errors are not relative to less


@dataclass(frozen=True)
class ErrorsAlong:
    """Relative errors at places along an axis, each on all points of the domain that have this coordinate.

    Attributes:
        axis: its name.
        places: where along it.
        estimated: the estimated relative errors, of the unknown that is worst there.
        true: those against the known solution; None if there is none.
    """

    axis: str
    places: Float[np.ndarray, " places"]
    estimated: Float[np.ndarray, " places"]
    true: Float[np.ndarray, " places"] | None = None

    @property
    def worst(self) -> tuple[float, float]:
        """Where the estimated error is largest, and how large it is there."""
        k = int(np.nanargmax(self.estimated))
        return float(self.places[k]), float(self.estimated[k])

    def __str__(self) -> str:
        place, error = self.worst
        return f"estimated relative error along {self.axis}: at most {error:.1e}, at {self.axis} = {place:.4g}"


def points_along(domain: Domain, axis: str, places: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Places along an axis and, for each of them one after the other, the same points with this coordinate."""
    if places is None:
        along = even_places(domain.intervals[axis], PLACES)
    else:
        along = np.atleast_1d(np.asarray(places, dtype=float))
        low, high = domain.intervals[axis]
        if along.ndim != 1 or not along.size or not np.all((along >= low) & (along <= high)):
            raise ProblemError(f"places along {axis} are numbers between {low:g} and {high:g}, not {places!r}")
    x = domain.draw(Kronecker(POINTS), np.random.default_rng(0)).x
    every = np.tile(x, (len(along), 1))
    every[:, domain.axes.index(axis)] = np.repeat(along, len(x))
    return along, every


def relative_along(errors: Mapping[str, np.ndarray], values: Mapping[str, np.ndarray], places: int) -> np.ndarray:
    """The relative errors at each place, of the unknown that is worst there; values outside of its set are NaN."""
    found = np.zeros(places)
    for name, error in errors.items():
        here, sizes = (_rms(v.reshape(places, -1)) for v in (error, values[name]))
        # What vanishes at a place has no relative error there.
        least = VANISHING * float(np.max(np.nan_to_num(sizes)))
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.fmax(found, np.where(here == 0, 0.0, here / np.maximum(sizes, least)))
    return found


def _rms(values: np.ndarray) -> np.ndarray:
    """Root mean squares of rows, NaN left out."""
    square = np.abs(values) ** 2
    known = np.isfinite(square)
    return np.sqrt(np.sum(np.where(known, square, 0.0), axis=1) / np.maximum(known.sum(axis=1), 1))


def chosen_axis(domain: Domain, axis: str | None) -> str:
    """The axis that is meant: the only parameter if nothing is said."""
    if axis is None:
        if len(domain.parameter_axes) != 1:
            raise ProblemError(f"name the axis along which errors are wanted, one of {', '.join(domain.axes)}")
        return domain.parameter_axes[0]
    if axis not in domain.axes:
        raise ProblemError(f"there is no axis '{axis}'; the axes are {', '.join(domain.axes)}")
    if axis in domain.space:
        raise ProblemError(f"'{axis}' is an axis of {domain!r}, which is not the same all along it: take another axis")
    return axis
