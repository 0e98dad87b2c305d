"""Solids bounded by triangles."""

from anagram.statement.domains.shapes.meshes.mesh import Mesh

__all__ = ["Mesh"]
