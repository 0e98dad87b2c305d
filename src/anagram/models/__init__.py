"""Models: parametric families of fields u: θ ↦ u_θ."""

from anagram.models.chebyshev import Chebyshev
from anagram.models.corners import corners_seen, rough_corners, singular_corners
from anagram.models.features import Features, trained_layers
from anagram.models.kinks import Kink, kinks_of
from anagram.models.linear import Fourier, Polynomial
from anagram.models.mlp import MLP
from anagram.models.parametric import ParametricModel, count_parameters
from anagram.models.pieces import Pieces
from anagram.models.separable import Separable
from anagram.models.singular import Enriched, Singular
from anagram.models.spec import ModelSpec, spec_from_json, spec_to_json
from anagram.models.waves import Waves, along_one_axis

__all__ = [
    "MLP",
    "Chebyshev",
    "Enriched",
    "Features",
    "Fourier",
    "Kink",
    "ModelSpec",
    "ParametricModel",
    "Pieces",
    "Polynomial",
    "Separable",
    "Singular",
    "Waves",
    "along_one_axis",
    "corners_seen",
    "count_parameters",
    "kinks_of",
    "rough_corners",
    "singular_corners",
    "spec_from_json",
    "spec_to_json",
    "trained_layers",
]
