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
        refuse_in_space(self, sign, other)


def refuse_in_space(one: Any, sign: str, other: Any) -> NoReturn:
    """Sets of solids are made of meshes, or in the plane; the error says how."""
    raise ProblemError(
        f"{one!r} {sign} {other!r} needs two closed surface meshes: mesh = lambda m: ag.Mesh(m.vertices, m.faces) and "
        f"mesh(trimesh.creation.box((2, 2, 2))) {sign} mesh(trimesh.creation.icosphere(4)), of the extra meshes; "
        "solids of one profile are joined in the plane: ag.extrude or ag.revolve what comes out there"
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
