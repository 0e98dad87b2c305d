"""Solve differential equations with parametric models trained by natural gradient, to high accuracy.

Importing this package switches JAX to float64 and leaves half of the cores to it, see `anagram.environment`.
"""

from anagram.environment import prepare

prepare()

from anagram import catalogue, interop  # noqa: E402
from anagram.compound import Compound  # noqa: E402
from anagram.compound.batch import sample  # noqa: E402
from anagram.compound.layout import on_devices  # noqa: E402
from anagram.errors import (  # noqa: E402
    AnagramError,
    DataWarning,
    EstimateWarning,
    FileError,
    MissingError,
    PointsWarning,
    ProblemError,
    ProblemWarning,
    RunWarning,
    SettingError,
)
from anagram.methods import Amstramgram, Anagram, Auto, Spring  # noqa: E402
from anagram.models import (  # noqa: E402
    MLP,
    Chebyshev,
    Features,
    Fourier,
    Kink,
    ParametricModel,
    Polynomial,
    Separable,
    Singular,
    Waves,
)
from anagram.repeat import repeat  # noqa: E402
from anagram.several import homotopy, modes, solutions  # noqa: E402
from anagram.solution import Solution, load  # noqa: E402
from anagram.solving import resume, solve  # noqa: E402
from anagram.statement.condition import Condition  # noqa: E402
from anagram.statement.domains import (  # noqa: E402
    Ball,
    Box,
    Cells,
    Chosen,
    Cylinder,
    Disk,
    Ellipse,
    Ellipsoid,
    GaussLegendre,
    Graded,
    Grid,
    Interior,
    LatinHypercube,
    Mesh,
    Polygon,
    Redrawn,
    Sobol,
    Tangent,
    Uniform,
    extrude,
    parameter,
    periodic,
    revolve,
)
from anagram.statement.fields import Field, divergence, gradient, laplacian  # noqa: E402
from anagram.statement.integrals import integral  # noqa: E402
from anagram.statement.measurements import Measurements, data  # noqa: E402
from anagram.statement.problem import Problem  # noqa: E402
from anagram.statement.smoothness import smooth  # noqa: E402
from anagram.tangent import TangentSpace  # noqa: E402
from anagram.training.setting import Setting  # noqa: E402
from anagram.version import __version__  # noqa: E402

__all__ = [
    "MLP",
    "Amstramgram",
    "Anagram",
    "AnagramError",
    "Auto",
    "Ball",
    "Box",
    "Cells",
    "Chebyshev",
    "Chosen",
    "Compound",
    "Condition",
    "Cylinder",
    "DataWarning",
    "Disk",
    "Ellipse",
    "Ellipsoid",
    "EstimateWarning",
    "Features",
    "Field",
    "FileError",
    "Fourier",
    "GaussLegendre",
    "Graded",
    "Grid",
    "Interior",
    "Kink",
    "LatinHypercube",
    "Measurements",
    "Mesh",
    "MissingError",
    "ParametricModel",
    "PointsWarning",
    "Polygon",
    "Polynomial",
    "Problem",
    "ProblemError",
    "ProblemWarning",
    "Redrawn",
    "RunWarning",
    "Separable",
    "Setting",
    "SettingError",
    "Singular",
    "Sobol",
    "Solution",
    "Spring",
    "Tangent",
    "TangentSpace",
    "Uniform",
    "Waves",
    "__version__",
    "catalogue",
    "data",
    "divergence",
    "extrude",
    "gradient",
    "homotopy",
    "integral",
    "interop",
    "laplacian",
    "load",
    "modes",
    "on_devices",
    "parameter",
    "periodic",
    "repeat",
    "resume",
    "revolve",
    "sample",
    "smooth",
    "solutions",
    "solve",
]
