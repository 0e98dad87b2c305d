"""Models: parametric families of fields u: θ ↦ u_θ."""

from anagram.models.corners import singular_corners
from anagram.models.features import Features, trained_layers
from anagram.models.kinks import Kink, kinks_of
from anagram.models.linear import Fourier, Polynomial
from anagram.models.mlp import MLP
from anagram.models.parametric import ParametricModel, count_parameters
from anagram.models.pieces import Pieces
from anagram.models.singular import Enriched, Singular
from anagram.models.spec import ModelSpec, spec_from_json, spec_to_json
from anagram.models.waves import Waves

__all__ = [
    "MLP",
    "Enriched",
    "Features",
    "Fourier",
    "Kink",
    "ModelSpec",
    "ParametricModel",
    "Pieces",
    "Polynomial",
    "Singular",
    "Waves",
    "count_parameters",
    "kinks_of",
    "singular_corners",
    "spec_from_json",
    "spec_to_json",
    "trained_layers",
]
