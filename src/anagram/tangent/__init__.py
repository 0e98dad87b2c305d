"""The tangent space: kernels, Green's function, the corrections of Theorem 1, points chosen by it, error estimates."""

from anagram.tangent.corrections import Corrections, corrections, spanning_points
from anagram.tangent.space import TangentSpace

__all__ = ["Corrections", "TangentSpace", "corrections", "spanning_points"]
