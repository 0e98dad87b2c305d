"""Shapes in the plane and in space."""

from anagram.statement.domains.shapes.interior import Interior
from anagram.statement.domains.shapes.planar import Planar
from anagram.statement.domains.shapes.polygon import Polygon
from anagram.statement.domains.shapes.round import Disk, Ellipse

__all__ = ["Disk", "Ellipse", "Interior", "Planar", "Polygon"]
