"""Where conditions hold, and how points are drawn there."""

from anagram.statement.domains.box import Box, Face
from anagram.statement.domains.cells import Cells
from anagram.statement.domains.domain import Domain
from anagram.statement.domains.graded import Graded
from anagram.statement.domains.intervals import Interval, Parameter, Periodic, parameter, periodic
from anagram.statement.domains.region import Cloud, PointSet, Region, Union
from anagram.statement.domains.rules import (
    Chosen,
    GaussLegendre,
    Grid,
    Kronecker,
    LatinHypercube,
    PointRule,
    Redrawn,
    Repeated,
    Sobol,
    Tangent,
    Uniform,
)
from anagram.statement.domains.shapes import (
    Ball,
    Cylinder,
    Disk,
    Ellipse,
    Ellipsoid,
    Interior,
    Mesh,
    Planar,
    Polygon,
    extrude,
    revolve,
)
from anagram.statement.domains.slices import Along, Slice

__all__ = [
    "Along",
    "Ball",
    "Box",
    "Cells",
    "Chosen",
    "Cloud",
    "Cylinder",
    "Disk",
    "Domain",
    "Ellipse",
    "Ellipsoid",
    "Face",
    "GaussLegendre",
    "Graded",
    "Grid",
    "Interior",
    "Interval",
    "Kronecker",
    "LatinHypercube",
    "Mesh",
    "Parameter",
    "Periodic",
    "Planar",
    "PointRule",
    "PointSet",
    "Polygon",
    "Redrawn",
    "Region",
    "Repeated",
    "Slice",
    "Sobol",
    "Tangent",
    "Uniform",
    "Union",
    "extrude",
    "parameter",
    "periodic",
    "revolve",
]
