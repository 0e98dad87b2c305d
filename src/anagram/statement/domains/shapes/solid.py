"""What shapes in space have in common."""

from __future__ import annotations

from collections.abc import Sequence
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
    return _checked(point, f"{what} needs three finite coordinates, not {point!r}", positive=False)


def checked_radii(radii: Any, what: str) -> np.ndarray:
    """Three positive lengths."""
    return _checked(radii, f"{what} needs positive radii, not {radii!r}", positive=True)


def _checked(values: Sequence[float], message: str, *, positive: bool) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (3,) or not np.all(np.isfinite(found)) or (positive and not np.all(found > 0)):
        raise ProblemError(message)
    return found
