"""Solve differential equations with parametric models trained by natural gradient, to high accuracy.

Importing this package switches JAX to float64 and leaves half of the cores to it, see `anagram.environment`.
"""

from anagram.environment import prepare

prepare()

from anagram import catalogue, interop  # noqa: E402
from anagram.batch import sample  # noqa: E402
from anagram.compound import Compound  # noqa: E402
from anagram.condition import Condition  # noqa: E402
from anagram.domains import (  # noqa: E402
    Box,
    Cells,
    Chosen,
    GaussLegendre,
    Grid,
    LatinHypercube,
    Redrawn,
    Sobol,
    Tangent,
    Uniform,
)
from anagram.errors import (  # noqa: E402
    AnagramError,
    EstimateWarning,
    FileError,
    MissingError,
    PointsWarning,
    ProblemError,
    RunWarning,
    SettingError,
)
from anagram.fields import Field, divergence, gradient, laplacian  # noqa: E402
from anagram.files import load  # noqa: E402
from anagram.methods import Amstramgram, Anagram, Auto, Spring  # noqa: E402
from anagram.models import MLP, Fourier, ParametricModel, Polynomial  # noqa: E402
from anagram.problem import Problem  # noqa: E402
from anagram.repeat import repeat  # noqa: E402
from anagram.run import resume, solve  # noqa: E402
from anagram.setting import Setting  # noqa: E402
from anagram.solution import Solution  # noqa: E402
from anagram.tangent import TangentSpace  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "MLP",
    "Amstramgram",
    "Anagram",
    "AnagramError",
    "Auto",
    "Box",
    "Cells",
    "Chosen",
    "Compound",
    "Condition",
    "EstimateWarning",
    "Field",
    "FileError",
    "Fourier",
    "GaussLegendre",
    "Grid",
    "LatinHypercube",
    "MissingError",
    "ParametricModel",
    "PointsWarning",
    "Polynomial",
    "Problem",
    "ProblemError",
    "Redrawn",
    "RunWarning",
    "Setting",
    "SettingError",
    "Sobol",
    "Solution",
    "Spring",
    "Tangent",
    "TangentSpace",
    "Uniform",
    "catalogue",
    "divergence",
    "gradient",
    "interop",
    "laplacian",
    "load",
    "repeat",
    "resume",
    "sample",
    "solve",
]
