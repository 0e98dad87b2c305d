"""Where conditions hold, and how points are drawn there."""

from anagram.statement.domains.box import Box, Face
from anagram.statement.domains.cells import Cells
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
from anagram.statement.domains.slices import Along, Slice

__all__ = [
    "Along",
    "Box",
    "Cells",
    "Chosen",
    "Cloud",
    "Face",
    "GaussLegendre",
    "Grid",
    "Kronecker",
    "LatinHypercube",
    "PointRule",
    "PointSet",
    "Redrawn",
    "Region",
    "Repeated",
    "Slice",
    "Sobol",
    "Tangent",
    "Uniform",
    "Union",
]
