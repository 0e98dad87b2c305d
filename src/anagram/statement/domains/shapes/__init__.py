"""Shapes in the plane and in space."""

from anagram.statement.domains.shapes.balls import Ball, Ellipsoid
from anagram.statement.domains.shapes.interior import Interior
from anagram.statement.domains.shapes.meshes import Mesh
from anagram.statement.domains.shapes.planar import Planar
from anagram.statement.domains.shapes.polygon import Polygon
from anagram.statement.domains.shapes.round import Disk, Ellipse
from anagram.statement.domains.shapes.swept import Cylinder, extrude, revolve

__all__ = [
    "Ball",
    "Cylinder",
    "Disk",
    "Ellipse",
    "Ellipsoid",
    "Interior",
    "Mesh",
    "Planar",
    "Polygon",
    "extrude",
    "revolve",
]
