"""The compound model (D, B)∘u on batches of points: residual, features, and what follows from them."""

from anagram.compound.compound import CHUNK_BYTES, Compound, operator_numbers
from anagram.compound.linearisation import Linearisation, Unformed
from anagram.compound.residual_map import Gram, ResidualMap, Theta, gram_of, square, triangle_of

__all__ = [
    "CHUNK_BYTES",
    "Compound",
    "Gram",
    "Linearisation",
    "ResidualMap",
    "Theta",
    "Unformed",
    "gram_of",
    "operator_numbers",
    "square",
    "triangle_of",
]
