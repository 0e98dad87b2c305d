"""What shapes in space have in common."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.shape import Shape


class Solid(Shape):
    """A shape in space."""

    in_space = 3

    def __or__(self, other: Any) -> Any:
        return self._refuse_joining(other, "|")

    def __and__(self, other: Any) -> Any:
        return self._refuse_joining(other, "&")

    def __sub__(self, other: Any) -> Any:
        return self._refuse_joining(other, "-")

    def _refuse_joining(self, other: Any, sign: str) -> NoReturn:
        raise ProblemError(
            f"{self!r} {sign} {other!r} needs two closed surface meshes, ag.Mesh(...) {sign} ag.Mesh(...); solids of "
            "one profile are joined in the plane: ag.extrude or ag.revolve what comes out there"
        )


def checked_point(point: Any, what: str) -> np.ndarray:
    """Three finite coordinates."""
    found = _numbers(point)
    if found.shape != (3,) or not np.all(np.isfinite(found)):
        raise ProblemError(f"{what} needs three finite coordinates, not {point!r}")
    return found


def checked_radii(radii: Any, what: str) -> np.ndarray:
    """Three positive lengths."""
    found = _numbers(radii)
    if found.shape != (3,) or not np.all(np.isfinite(found) & (found > 0)):
        raise ProblemError(f"{what} needs three positive half-axes as its radii, not {radii!r}")
    return found


def checked_length(length: Any, what: str) -> float:
    """One positive length."""
    found = _numbers(length)
    if found.shape != () or not 0 < found < np.inf:
        raise ProblemError(f"{what} must be a positive number, not {length!r}")
    return float(found)


def _numbers(values: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return np.zeros(0)
