"""Solids given by the triangles of their surface."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.arguments import bind_predicate
from anagram.statement.domains.shape import SPACE
from anagram.statement.domains.shapes.meshes.charts import Enclosed, Triangles
from anagram.statement.domains.shapes.meshes.files import read_mesh, write_stl
from anagram.statement.domains.shapes.meshes.joining import joined
from anagram.statement.domains.shapes.meshes.soundness import smooth_groups, sound_surface
from anagram.statement.domains.shapes.solid import Solid

MOST_PIECES = 64  # of a surface that are told apart; one that has more is rough everywhere


class Mesh(Solid):
    """A solid by the triangles of its closed surface: ``Mesh(vertices, faces)``, ``Mesh.from_file("part.stl")``.

    Its boundary is called surface; the smooth pieces of it, which end at edges of more than 30°, are surface.0,
    surface.1 and so on, in the order in which they begin among the triangles. Parts can be named by functions that say
    where they are: ``Mesh(vertices, faces, parts={"inlet": lambda z: z < 0.01})``.

    Meshes are joined by ``a | b``, ``a & b`` and ``a - b``.

    Args:
        vertices: the corners of the triangles (v, 3).
        faces: the numbers of the three corners of each triangle (f, 3), counterclockwise seen from outside, or from
            inside for all of them.
        parts: functions of the point, by the names of the parts: true in the middle of the triangles that belong to it.
            A triangle belongs to the first part that takes it.
        name: of what is left of its boundary.
        axes: names of the coordinates.
    """

    def __init__(
        self,
        vertices: Any,
        faces: Any,
        *,
        parts: Mapping[str, Callable[..., Any]] | None = None,
        name: str = "surface",
        axes: Sequence[str] = SPACE,
    ) -> None:
        super().__init__(axes)
        self.parts_given, self.name = dict(parts or {}), name
        self.surface = sound_surface(vertices, faces, "the mesh")
        self._faces_of = self._by_name()

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        parts: Mapping[str, Callable[..., Any]] | None = None,
        name: str = "surface",
        axes: Sequence[str] = SPACE,
    ) -> Mesh:
        """The mesh of an STL file; of an OBJ, OFF or PLY file with the extra ``anagram-pinn[meshes]``."""
        vertices, faces = read_mesh(path)
        try:
            return cls(vertices, faces, parts=parts, name=name, axes=axes)
        except ProblemError as error:
            raise ProblemError(f"'{Path(path)}': {error}") from error

    def to_file(self, path: str | os.PathLike[str]) -> None:
        """Write its surface as a binary STL file, whose numbers have seven digits."""
        write_stl(self.surface.corners, path)

    @property
    def vertices(self) -> np.ndarray:
        """The corners of its triangles (v, 3), each once."""
        return self.surface.vertices

    @property
    def triangles(self) -> np.ndarray:
        """The numbers of the corners of its triangles (f, 3), counterclockwise seen from outside."""
        return self.surface.faces

    def _by_name(self) -> dict[str, np.ndarray]:
        """The triangles of the named parts."""
        left = np.ones(len(self.surface.faces), dtype=bool)
        found: dict[str, np.ndarray] = {}
        middle = self.surface.corners.mean(axis=1)
        for part, where in self.parts_given.items():
            if part == self.name or not isinstance(part, str):
                raise ProblemError(f"a part of a mesh needs a name other than {self.name!r}, not {part!r}")
            if not callable(where):
                raise ProblemError(f"the part '{part}' of a mesh needs a function of the point, not {where!r}")
            here = left & bind_predicate(where, self.axes, f"the function of the part '{part}'")(middle)
            if not here.any():
                raise ProblemError(f"the part '{part}' of the mesh has no triangles: its function is true of none left")
            found[part] = np.flatnonzero(here)
            left &= ~here
        return {**found, self.name: np.flatnonzero(left)} if left.any() else found

    def charts(self) -> list[Enclosed]:
        return [Enclosed(self.surface)]

    def boundary_charts(self) -> dict[str, Sequence[Triangles]]:
        return {name: [Triangles(self.surface, g) for g in self._pieces(f)] for name, f in self._faces_of.items()}

    def _pieces(self, faces: np.ndarray) -> list[np.ndarray]:
        """Its smooth pieces among some triangles."""
        here = np.isin(np.arange(len(self.surface.faces)), faces)
        found = [piece[here[piece]] for piece in self._groups if here[piece].any()]
        return found if len(found) <= MOST_PIECES else [faces]

    @functools.cached_property
    def _groups(self) -> list[np.ndarray]:
        return smooth_groups(self.surface)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return self.surface.vertices.min(axis=0), self.surface.vertices.max(axis=0)

    def contains(self, x: np.ndarray) -> np.ndarray:
        return self.surface.contains(np.asarray(x, dtype=float))

    def __or__(self, other: Any) -> Any:
        return self._joined(other, "|")

    def __and__(self, other: Any) -> Any:
        return self._joined(other, "&")

    def __sub__(self, other: Any) -> Any:
        return self._joined(other, "-")

    def _joined(self, other: Any, how: str) -> Mesh:
        if not isinstance(other, Mesh):
            return self._refuse_joining(other, how)
        if other.axes != self.axes:
            raise ProblemError(f"meshes with the axes {self.axes} and {other.axes} cannot be joined: name them alike")
        return Mesh(*joined(self.surface, other.surface, how), name=self.name, axes=self.axes)

    def __repr__(self) -> str:
        return f"Mesh({len(self.surface.vertices)} vertices, {len(self.surface.faces)} faces)"
