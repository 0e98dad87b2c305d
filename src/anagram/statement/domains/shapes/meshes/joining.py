"""Unions, intersections and differences of meshes."""

from __future__ import annotations

from typing import Any

import numpy as np

from anagram.errors import MissingError, ProblemError
from anagram.statement.domains.shapes.meshes.surface import Surface


def joined(one: Surface, other: Surface, how: str) -> tuple[np.ndarray, np.ndarray]:
    """The vertices and triangles of a union ``|``, an intersection ``&`` or a difference ``-``."""
    try:
        import manifold3d
    except ModuleNotFoundError as error:
        raise MissingError(
            f"joining meshes needs manifold3d ({error}); install it with: pip install 'anagram-pinn[meshes]'"
        ) from error
    solids: list[Any] = []
    for surface in (one, other):
        mesh = manifold3d.Mesh64(surface.vertices, surface.faces.astype(np.uint64))
        mesh.merge()
        solids.append(manifold3d.Manifold(mesh))
        if solids[-1].status() != manifold3d.Error.NoError:
            raise ProblemError(
                f"a mesh cannot be joined ({solids[-1].status()}): more than two triangles meet at one of its edges"
            )
    a, b = solids
    found = {"|": lambda: a + b, "&": lambda: a ^ b, "-": lambda: a - b}[how]().to_mesh64()
    if len(found.tri_verts) == 0:
        raise ProblemError(f"nothing is left of the one mesh {how} the other one")
    return np.array(found.vert_properties[:, :3], dtype=float), np.array(found.tri_verts, dtype=np.int64)
