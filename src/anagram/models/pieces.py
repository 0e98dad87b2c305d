"""Models in pieces: one network for each stretch of an axis, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.errors import SettingError
from anagram.models.spec import ModelSpec, spec_from_json, spec_to_json
from anagram.statement.domains import Box, Domain


class PieceByPiece(eqx.Module):
    """The module of the stretch that a point lies in."""

    parts: list[Any]
    edges: tuple[float, ...] = eqx.field(static=True)
    axis: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        place = jnp.searchsorted(jnp.asarray(self.edges[1:-1]), x[self.axis], side="right")
        return jnp.stack([jnp.ravel(part(x)) for part in self.parts])[place]


class Pieces(ModelSpec):
    """Models side by side along an axis, each on a stretch of its own.

    Args:
        parts: a recipe for every stretch.
        axis: the axis that is cut.
        edges: where the stretches begin and end, one number more than there are parts.
    """

    closes = True  # where its parts do

    def __init__(self, *parts: ModelSpec, axis: str, edges: Sequence[float]) -> None:
        self.parts, self.axis, self.edges = parts, str(axis), tuple(float(e) for e in edges)
        if not parts or not all(isinstance(part, ModelSpec) for part in parts):
            raise SettingError("a model in pieces needs a recipe such as MLP(8) for every piece")
        if len(self.edges) != len(parts) + 1 or not all(np.diff(self.edges) > 0):
            raise SettingError(f"{len(parts)} pieces need {len(parts) + 1} edges that increase, not {edges!r}")

    def stretch(self, domain: Domain, piece: int) -> Box:
        """The part of the domain on which a piece lives."""
        if self.axis not in domain.axes:
            raise SettingError(f"there is no axis '{self.axis}'; the axes are {', '.join(domain.axes)}")
        if self.axis in domain.periodic_axes:
            raise SettingError(f"the axis '{self.axis}' is periodic: it has no beginning, and is not cut into pieces")
        return Box(**{**domain.intervals, self.axis: (self.edges[piece], self.edges[piece + 1])})

    def build(self, domain: Domain, outputs: int, key: jax.Array) -> PieceByPiece:
        keys = jax.random.split(key, len(self.parts))
        parts = [
            part.build(self.stretch(domain, k), outputs, own)
            for k, (part, own) in enumerate(zip(self.parts, keys, strict=True))
        ]
        return PieceByPiece(parts, self.edges, domain.axes.index(self.axis))

    def count(self, domain: Domain, outputs: int) -> int:
        return sum(part.count(self.stretch(domain, k), outputs) for k, part in enumerate(self.parts))

    def options(self) -> dict[str, Any]:
        return {"parts": [spec_to_json(part) for part in self.parts], "axis": self.axis, "edges": list(self.edges)}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Pieces:
        return cls(*map(spec_from_json, options["parts"]), axis=options["axis"], edges=options["edges"])

    def __repr__(self) -> str:
        kinds = list(dict.fromkeys(map(repr, self.parts)))
        return f"Pieces({len(self.parts)} along {self.axis}: {', '.join(kinds[:3])}{', …' if len(kinds) > 3 else ''})"
