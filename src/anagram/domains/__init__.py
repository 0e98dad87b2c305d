"""Where conditions hold, and how points are drawn there."""

from anagram.domains.box import Box, Face
from anagram.domains.region import Cloud, PointSet, Region, Union
from anagram.domains.rules import (
    Chosen,
    GaussLegendre,
    Grid,
    LatinHypercube,
    PointRule,
    Sobol,
    Uniform,
)

__all__ = [
    "Box",
    "Chosen",
    "Cloud",
    "Face",
    "GaussLegendre",
    "Grid",
    "LatinHypercube",
    "PointRule",
    "PointSet",
    "Region",
    "Sobol",
    "Uniform",
    "Union",
]
