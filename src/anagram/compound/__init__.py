"""The compound model (D, B)∘u on batches of points: residual, features, and what follows from them."""

from anagram.compound.compound import CHUNK_BYTES, Compound, Gram, ResidualMap, Theta, gram_of, square, triangle_of

__all__ = ["CHUNK_BYTES", "Compound", "Gram", "ResidualMap", "Theta", "gram_of", "square", "triangle_of"]
