"""Shapes in the plane and in space."""

from anagram.statement.domains.shapes.round import Disk, Ellipse

__all__ = ["Disk", "Ellipse"]
